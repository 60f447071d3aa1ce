"""State Vector Sync with 1,000, 10,000 and 100,000 streams: what one announcement and one vector with news cost.

Whole steps of the machine, with windows, as in a group of Roost members: `update` is announce, saved, and the signed
Interest that tells it; `difference` is an Interest that comes in, is opened, merged, and found to hold twenty numbers
that are new. A window has as many entries as fit a packet, so neither should grow much with the number of streams:
growth is a figure of its own. There is no peer: other implementations send all streams at once, which from about 200 on
does not fit a packet.
"""

import time
from collections.abc import Iterator
from random import Random

from bench.figure import Figure, progress
from roost.machine import SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Express, Learned, Stream
from roost.sync.svs import Svs
from roost.sync.svs_settings import SvsSettings
from roost.sync.vector_format import key_of
from roost.wire import DigestSigner, Interest

SIZES = (1000, 10_000, 100_000)
NEWS = 20
BATCH = 100
ROUNDS = 11
NOW = 1_800_000_000 * SECOND
BOOT = 1_700_000_000
GROUP = Name.parse("/bench/group")


def run() -> Iterator[Figure]:
    pairs: dict[int, _Two] = {}
    for size in SIZES:
        progress(f"sync.vectors: making {size} streams")
        pairs[size] = _Two(size)
    rounds: dict[int, list[tuple[float, float]]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):  # in turns, so that a busy neighbour disturbs all sizes alike
        for size, pair in pairs.items():
            rounds[size].append(pair.measure())
    best = {size: [min(times) for times in zip(*measured, strict=True)] for size, measured in rounds.items()}
    for index, name in enumerate(("update", "difference")):
        for size in SIZES:
            yield Figure(f"vectors.{name}_{size}", best[size][index], "us")
        yield Figure(f"vectors.{name}_growth", best[SIZES[-1]][index] / best[SIZES[0]][index], "times")


class _Two:
    """One that produces all streams, and one that hears of them."""

    def __init__(self, size: int) -> None:
        self._draw = Random(size)
        self._streams = [GROUP / f"Panel{number % 97}" / f"Metric{number}" for number in range(size)]
        self._numbers = dict.fromkeys(self._streams, 1)
        self._producer = _member(1)
        for stream in self._streams:
            self._producer.produce(stream, NOW)
        self._announce(self._streams)
        self._hearer = _member(2)
        self._hearer._vector.load({key_of(Stream(stream, BOOT), 3): 2 for stream in self._streams})
        self._hearer.start(NOW)

    def measure(self) -> tuple[float, float]:
        """Microseconds of one update and of one difference."""
        single = self._draw.sample(self._streams, BATCH)
        began = time.perf_counter()
        updates = [self._announce([stream]) for stream in single]
        update = (time.perf_counter() - began) / BATCH
        for wire in updates:  # so that what is new is as much in every round and with every size
            self._hearer.receive(Asked(Interest.decode(wire)), NOW)
        told = [self._announce(self._draw.sample(self._streams, NEWS)) for _ in range(BATCH)]
        interests = [Interest.decode(wire) for wire in told]
        learned = 0
        began = time.perf_counter()
        for interest in interests:
            learned += sum(isinstance(effect, Learned) for effect in self._hearer.receive(Asked(interest), NOW))
        difference = (time.perf_counter() - began) / BATCH
        if learned != BATCH * NEWS:
            raise AssertionError(f"{learned} of {BATCH * NEWS} news were learned: this does not measure differences")
        return update * 1e6, difference * 1e6

    def _announce(self, streams: list[Name]) -> bytes:
        """Announce the next number of these streams at once; returns the Interest that tells it."""
        effects: list[Effect] = []
        for stream in streams:
            self._numbers[stream] += 1
            effects += self._producer.announce(stream, self._numbers[stream], NOW)
        wire = b""
        while effects:
            more: list[Effect] = []
            for effect in effects:
                if isinstance(effect, Save):
                    more += self._producer.receive(Saved(effect.file, effect.ticket), NOW)
                elif isinstance(effect, Express):
                    wire = effect.interest
            effects = more
        return wire


def _member(seed: int) -> Svs:
    member = Svs(GROUP, SvsSettings(), DigestSigner(), Random(seed), Ledger("ledger", b""))
    member.start(BOOT * SECOND)
    return member
