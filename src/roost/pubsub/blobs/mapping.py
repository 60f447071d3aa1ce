"""MappingData: which application names stand behind which numbers of a producer [SVS-PS §8; our sheet §8].

    MappingData 205 { Name of the node, MappingEntry 206 { SeqNo 204, application Name, further elements * } *,
                      [ Oldest 248 ] }

Of the further elements two are known here: the time of publication in microseconds (56, which SVS-PS recommends) and
the size of the blob in bytes (246, ours: an even number, so that others pass over it). All else is an application's;
it is kept as it came, as who answers for another producer must not change what that one said.

Oldest is ours, and told in groups of version 3 only: the first number that the producer still has.

Entries come in any order. NDNts wraps the time twice (an element 56 in an element 56); both forms are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.machine import Effect
from roost.naming import Name
from roost.naming.component import TIMESTAMP
from roost.naming.number import read_nni
from roost.sync.port import Stream
from roost.sync.svs_interest import MAPPING_DATA
from roost.sync.vector_format import MAX_NUMBER, SEQ_NO
from roost.wire.tlv import NAME, element, number, tlv

ENTRY: Final = 206
SIZE: Final = 246
OLDEST: Final = 248
MAX_ENTRIES: Final = 1024  # of one MappingData; what fits a packet is less
MAX_OTHERS_BYTES: Final = 512  # of an entry's elements that are not known here
_NUMBER_SIZES: Final = frozenset({1, 2, 4, 8})


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one publication before it is fetched."""

    number: int
    name: Name  # that the application gave it
    time_us: int = 0  # of publication, since 1970; 0 if nothing is said
    size_bytes: int = -1  # of the blob; -1 if nothing is said
    others: bytes = b""  # further elements, as they came

    def encode(self) -> bytes:
        """Write the MappingEntry."""
        value = number(SEQ_NO, self.number) + self.name.wire
        if self.time_us:
            value += number(TIMESTAMP, self.time_us)
        if self.size_bytes >= 0:
            value += number(SIZE, self.size_bytes)
        return tlv(ENTRY, value + self.others)


@dataclass(frozen=True, slots=True)
class Mapping:
    """Entries of one node; without a name and entries it says nothing, as ndn-svs does with every Sync Interest."""

    node: Name
    entries: tuple[Entry, ...]
    oldest: int = 0  # 0: nothing is said


@dataclass(frozen=True, slots=True)
class Mapped(Effect):
    """Somebody told which application names these numbers of a stream have."""

    stream: Stream
    entries: tuple[Entry, ...]


def encode_mapping(node: Name, entries: Iterable[Entry], oldest: int = 0) -> bytes:
    """Write a MappingData."""
    told = number(OLDEST, oldest) if oldest else b""
    return tlv(MAPPING_DATA, node.wire + b"".join([entry.encode() for entry in entries]) + told)


def decode_mapping(wire: bytes, position: int = 0, end: int = -1) -> Mapping:
    """Read the MappingData that fills `wire[position:end]`; raises `BadPacket`."""
    stop = len(wire) if end < 0 else end
    low, high = _expect(wire, position, stop, MAPPING_DATA)
    if high != stop:
        raise BadPacket(f"{stop - high} bytes follow the MappingData")
    start, at = _expect(wire, low, high, NAME)
    node = Name.decode(wire[start:at])
    entries: dict[int, Entry] = {}
    oldest = 0
    while at < high:
        type_, start, end = element(wire, at, high)
        if type_ == OLDEST:
            oldest = min(read_nni(wire, start, end), MAX_NUMBER)
            at = end
            continue
        start, at = _expect(wire, at, high, ENTRY)
        entry = _entry(wire, start, at)
        entries[entry.number] = entry
        if len(entries) > MAX_ENTRIES:
            raise BadPacket(f"a MappingData has more than {MAX_ENTRIES} entries")
    if entries and not node:
        raise BadPacket("a MappingData has entries, and does not say of which node")
    return Mapping(node, tuple(entries.values()), oldest)


def _entry(wire: bytes, low: int, high: int) -> Entry:
    start, at = _expect(wire, low, high, SEQ_NO)
    sequence = read_nni(wire, start, at)
    if not 1 <= sequence <= MAX_NUMBER:
        raise BadPacket(f"a mapping entry has number {sequence}: publications are numbered from 1 to {MAX_NUMBER}")
    start, at = _expect(wire, at, high, NAME)
    name = Name.decode(wire[start:at])
    time_us, size_bytes, others = 0, -1, b""
    while at < high:
        begun = at
        type_, start, at = element(wire, at, high)
        if type_ == TIMESTAMP:
            time_us = _time(wire, start, at)
        elif type_ == SIZE:
            size_bytes = read_nni(wire, start, at)
        else:
            others += wire[begun:at]
    if len(others) > MAX_OTHERS_BYTES:
        raise BadPacket(f"the mapping entry of {name} has more than {MAX_OTHERS_BYTES} bytes that are not known here")
    return Entry(sequence, name, time_us, size_bytes, others)


def _time(wire: bytes, low: int, high: int) -> int:
    """A time, or one that is wrapped as a component once more."""
    if high - low not in _NUMBER_SIZES:
        low, end = _expect(wire, low, high, TIMESTAMP)
        if end != high:
            raise BadPacket(f"{high - end} bytes follow the time in a mapping entry")
    return read_nni(wire, low, high)


def _expect(wire: bytes, position: int, end: int, wanted: int) -> tuple[int, int]:
    type_, low, high = element(wire, position, end)
    if type_ != wanted:
        raise BadPacket(f"element {wanted} was expected at byte {position} of a mapping, this is {type_}")
    return low, high
