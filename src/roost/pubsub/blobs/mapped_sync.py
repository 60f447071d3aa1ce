"""A member of a State Vector Sync group whose Interests carry mapping, and who tells what others' carry [SVS-PS §8].

What was just published rides on the Sync Interest that announces it, so that who hears it knows the application names
at once. No more rides than `MAX_RIDING_BYTES`, nor than the packet has room for: the rest, and what a lost Interest
carried, is asked for by mapping queries. Only one node is spoken for in an Interest, as ndn-svs has it: ourselves.

A mapping names its node without a boot time. In version 3 it is about the newest boot of that name in the same vector;
entries with numbers beyond what that vector says are passed over. It is told (`Mapped`) before what is `Learned` from
the same Interest, and only if the Interest was believed and its vector taken.

Who has just joined and hears of nobody asks again, a few times, before it waits for the periodic time: its first
Interest may have been taken for one that is in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, Effect, Randomness, Rejected
from roost.naming import Name
from roost.pubsub.blobs.mapping import Entry, Mapped, decode_mapping
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Event, Stream
from roost.sync.svs import Svs
from roost.sync.svs_interest import MAPPING_DATA, open_interest
from roost.sync.svs_settings import SvsSettings
from roost.sync.vector_format import Heard, key_of, stream_of
from roost.wire import Interest, Signer
from roost.wire.tlv import tlv

MAX_RIDING_BYTES: Final = 6000
_EAGER_MS: Final = (1200, 2400, 4800)
_HEAD_BYTES: Final = 8  # of a MappingData and the Name in it
_SAMPLE_BYTES: Final = 64


class MappedSvs(Svs):
    """The machine of `roost.sync.svs`, with riders."""

    def __init__(
        self,
        group: Name,
        settings: SvsSettings,
        signer: Signer,
        randomness: Randomness,
        ledger: Ledger,
        *,
        max_riding_bytes: int = MAX_RIDING_BYTES,
    ) -> None:
        super().__init__(group, settings, signer, randomness, ledger)
        self.left_behind = 0  # entries that found no room
        self.teller.rider = self._board
        self._max_riding_bytes: Final = max_riding_bytes
        self._eager: list[int] = []  # how long to wait before asking again; bound: those above
        self._stream = Stream(Name())  # whose entries ride
        self._waiting: Final[list[tuple[int, bytes]]] = []  # numbers and entries to ride; bound: max_riding_bytes
        self._waiting_bytes = 0

    def ride(self, stream: Stream, entry: Entry) -> None:
        """Have an entry of ours ride on the Interest that announces its number; call it before `announce`."""
        wire = entry.encode()
        if stream != self._stream:
            self._waiting.clear()
            self._waiting_bytes = _HEAD_BYTES + len(stream.name.value)
            self._stream = stream
        if self._waiting_bytes + len(wire) > self._max_riding_bytes:
            self.left_behind += 1
            return
        self._waiting.append((entry.number, wire))
        self._waiting_bytes += len(wire)

    def merge(self, numbers: Mapping[Stream, int], now: int) -> list[Effect]:
        """Know of numbers that somebody told us otherwise than by sync, and tell the group."""
        version = self.settings.version
        known = {key_of(stream, version): number for stream, number in numbers.items()}
        newest = max([stream.boot for stream in numbers], default=0)
        revision = self._vector.revision
        effects = self._heard(Heard(dict(sorted(known.items())), newest, 0), now)
        return effects + self._tell(revision, now)

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        self._eager = list(_EAGER_MS)
        return super().start(now)

    def _send(self, now: int) -> list[Effect]:
        effects = super()._send(now)
        if self._eager and not self._suppressed and len(self._vector.numbers) <= 1:  # which may be our own
            self._timer = now + self._eager.pop(0) * MS
        return effects

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in a Sync Interest with what it carries, or that our numbers are on the disk."""
        effects = super().receive(event, now)
        if not isinstance(event, Asked) or any(isinstance(effect, Rejected) for effect in effects):
            return effects
        return self._carried(event.interest) + effects

    def _board(self, room: int) -> bytes:
        """What rides on the Interest that is being made: of what it announces, as much as there is room for."""
        node = self._stream.name
        announced = self._vector.numbers.get(key_of(self._stream, self.settings.version), 0)
        due = [wire for number, wire in self._waiting if number <= announced]
        self._waiting[:] = [each for each in self._waiting if each[0] > announced]
        self._waiting_bytes = _HEAD_BYTES + len(node.value) + sum([len(wire) for _, wire in self._waiting])
        size = _HEAD_BYTES + len(node.value)
        riding: list[bytes] = []
        for wire in due:
            size += len(wire)
            if size > room:
                break
            riding.append(wire)
        self.left_behind += len(due) - len(riding)
        return tlv(MAPPING_DATA, node.wire + b"".join(riding)) if riding else b""

    def _carried(self, interest: Interest) -> list[Effect]:
        try:
            opened = open_interest(interest, self.prefix, self.settings.version)
            mappings = [decode_mapping(wire) for wire in opened.mappings]
        except BadPacket as error:
            return [Rejected(str(interest.name), f"its mapping cannot be read: {error}", interest.wire[:_SAMPLE_BYTES])]
        effects: list[Effect] = []
        for mapping in mappings:
            stream, high = _newest(opened.heard, mapping.node, self.settings.version)
            entries = tuple([entry for entry in mapping.entries if entry.number <= high])
            if stream is not None and entries:
                effects.append(Mapped(stream, entries))
        return effects


def _newest(heard: Heard, node: Name, version: int) -> tuple[Stream | None, int]:
    """The newest stream of a node in a vector, and its number."""
    found: Stream | None = None
    high = 0
    for key, number in heard.entries.items():
        if key.startswith(node.value):
            stream = stream_of(key, version)
            if stream.name == node and (found is None or stream.boot >= found.boot):
                found, high = stream, number
    return found, high
