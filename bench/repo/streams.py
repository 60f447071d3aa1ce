"""A repo with many streams: how long until a consumer has what was inserted, how much memory, how long a start takes.

Processes of their own with real sockets: a repo whose store has 1,000 or 100,000 streams with one reading each, a panel
that publishes one reading every 50 ms, a consumer subscribed to that panel's streams. The latency of a reading is from
when it is on the repo's disk until the consumer has it, verified. Both sizes are measured in turns; `growth` is one
median over the other.

Memory is what the process of a repo has more with 100,000 streams than with 1,000, by the number of streams, a while
after its start; RocksDB's share is in it. The start is from opening the store to being ready to answer.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.figure import Figure, progress
from bench.repo._child import END, Boss, Child
from bench.repo._filled import fill
from bench.repo._hall import Hall, make_hall, panel, repo, running_repo
from roost.host.client import connect
from roost.host.residence import Residence
from roost.machine import Effect
from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.pubsub.consumers.arrival import Deliver, Subscribed
from roost.pubsub.consumers.consumer import Consumer
from roost.sim.deployment import GROUP, streams

FEW, MANY = 1_000, 100_000
READINGS = 60  # of a round
PACE = 20  # a second
ROUNDS = 3


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-streams-") as folder:
        halls = {count: make_hall(Path(folder, str(count))) for count in (FEW, MANY)}
        for count, hall in halls.items():
            progress(f"repo.streams: a store with {count} streams")
            with Child(fill, hall.folder / "repo1", count - len(streams("pi1"))) as filler:
                filler.hear()
        yield from memory(halls)
        yield from notification(halls)


def memory(halls: dict[int, Hall]) -> Iterator[Figure]:
    sizes: dict[int, int] = {}
    for count, hall in halls.items():
        with Child(start, hall) as child:
            sizes[count], took = child.hear()
        if count == MANY:
            yield Figure(f"memory_{MANY}", (sizes[MANY] - sizes[FEW]) / (MANY - FEW), "bytes/stream")
            yield Figure(f"start_{MANY}", took, "s")


async def start(boss: Boss, hall: Hall) -> None:
    """A child that starts a repo, and says how much memory it has and how long it took."""
    hall.verifier()  # imports and compiles what is needed for it
    began = time.perf_counter()
    async with running_repo(hall, "repo1"):
        took = time.perf_counter() - began
        boss.say((_resident_bytes(), took))
        await boss.hear()


def _resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc does not say how much memory this process has")


def notification(halls: dict[int, Hall]) -> Iterator[Figure]:
    delays: dict[int, list[float]] = {count: [] for count in halls}
    with ExitStack() as stack:
        places = {}
        for count, hall in halls.items():
            keeper = stack.enter_context(Child(repo, hall, "repo1"))
            keeper.hear()
            taker = stack.enter_context(Child(consumer, hall))
            taker.hear()
            source = stack.enter_context(Child(panel, hall, "pi1", "repo1"))
            source.hear()
            places[count] = (keeper, taker, source)
        for number in range(ROUNDS + 1):
            progress(f"repo.notification round {number}/{ROUNDS}")
            for count, (keeper, taker, source) in places.items():
                source.ask((READINGS, PACE))
                delivered = taker.ask(READINGS)
                kept = keeper.ask("kept")[0]
                if number:
                    delays[count] += [(when - kept[name]) / 1e6 for name, when in delivered.items()]
    medians = {count: statistics.median(found) for count, found in delays.items()}
    for count, median in medians.items():
        yield Figure(f"notification_{count}", median, "ms")
    yield Figure("notification_growth", medians[MANY] / medians[FEW], "times")


class ConsumerResidence(Residence[Consumer]):
    """A consumer on a face; `delivered` says when what came."""

    def __init__(self, *arguments: object) -> None:
        self.delivered: dict[bytes, int] = {}
        self.subscribed = False
        super().__init__(*arguments)  # type: ignore[arg-type]  # as they are

    @property
    def name(self) -> Name:
        return GROUP.name

    async def delivery_of(self, count: int) -> dict[bytes, int]:
        """Wait until so many readings have come: when each did."""
        await self.until(lambda: len(self.delivered) >= count)
        delivered, self.delivered = self.delivered, {}
        self.act(partial(self.part.take, len(delivered)))
        return delivered

    def note(self, effect: Effect) -> bool:
        if isinstance(effect, Deliver):
            self.delivered[effect.arrival.data.name.value] = time.time_ns()
        self.subscribed |= isinstance(effect, Subscribed)
        return isinstance(effect, (Deliver, Subscribed))


async def consumer(boss: Boss, hall: Hall) -> None:
    """A child that says, when so many readings have come, when each of them did."""
    verifier = hall.verifier()

    def make(found: bytes) -> Consumer:
        return Consumer(GROUP, [TopicFilter("pi1/#")], verifier, random.Random(), saved=found, file="place")

    async with connect(hall.socket("repo1"), verifier=verifier) as face:
        residence = ConsumerResidence(face._way(), make, None)  # as `Face.join` does
        await residence.open()
        await residence.until(lambda: residence.subscribed)
        boss.say("ready")
        while (word := await boss.hear()) != END:
            boss.say(await residence.delivery_of(word))
        await residence.close()
