"""What a consumer of partial sync wants, as it goes into the name of its Interests [PSync §6, §7; NDN-PS, footnote 3].

`NameList` is a list of streams and travels as a Bloom filter, which every PSync producer understands; the filter finds
some other streams too, so a consumer checks replies against the list itself. `RangeList` is a list of ranges of names
and travels as it is, exactly; only our own producers understand it.

A range [low, high] holds every name from low to high in canonical order, both inclusive, and, because a name stands
before all that it is a prefix of, everything below high as well: [/Building1, /Building1] is the whole building,
streams that come to be later included. Ranges that overlap are sent as one, so equal wishes have equal names.

    ranges = range*            the value of one name component, at most MAX_RANGES ranges and MAX_RANGES_BYTES
    range  = 130 length Name [Name]       low and high; only one Name if they are the same
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from roost.errors import Backpressure, BadName, BadPacket
from roost.naming import Component, Name
from roost.naming.component import GENERIC
from roost.naming.name import NAME_TYPE
from roost.sync.bloom import BloomFilter
from roost.sync.presets import PartialPreset
from roost.sync.psync_names import RANGES, parse_number
from roost.wire.tlv import elements, tlv

MAX_NAMES: Final = 1000  # 1800 bytes of Bloom filter with the usual 1 in 1000
MAX_RANGES: Final = 64
MAX_RANGES_BYTES: Final = 2000
_RANGE: Final = 130


class NameRange(NamedTuple):
    """The names from low to high, and those below high."""

    low: Name
    high: Name

    def covers(self, name: Name) -> bool:
        """Whether a name lies in the range."""
        return self.low <= name and (name <= self.high or name.starts_with(self.high))

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"


class Ranges:
    """Some ranges, brought into order; immutable."""

    def __init__(self, ranges: Iterable[NameRange]) -> None:
        self.ranges: Final = _merged(sorted(ranges))
        self._lows: Final = [each.low for each in self.ranges]

    def __contains__(self, name: Name) -> bool:
        index = bisect_right(self._lows, name)
        return index > 0 and self.ranges[index - 1].covers(name)

    def encode(self) -> bytes:
        """Write them for a name component."""
        written = [each.low.wire if each.low == each.high else each.low.wire + each.high.wire for each in self.ranges]
        return b"".join([tlv(_RANGE, names) for names in written])

    @staticmethod
    def decode(raw: bytes) -> Ranges:
        """Take them from the network."""
        if len(raw) > MAX_RANGES_BYTES:
            raise BadPacket(f"the ranges have {len(raw)} bytes, {MAX_RANGES_BYTES} is the limit")
        found: list[NameRange] = []
        for type_, start, end in elements(raw):
            if type_ != _RANGE:
                raise BadPacket(f"a range (element {_RANGE}) was expected, this is element {type_}")
            if len(found) >= MAX_RANGES:
                raise BadPacket(f"there are more than {MAX_RANGES} ranges, the limit")
            found.append(_read_range(raw, start, end))
        return Ranges(found)


Wanted: TypeAlias = BloomFilter | Ranges  # what a producer asks of either: `stream in wanted`


def decode_wanted(components: tuple[Component, ...]) -> Wanted:
    """Read the subscription list of a sync Interest."""
    if components[0] == RANGES:
        return Ranges.decode(components[1].value)
    count, p_milli, bits = components
    return BloomFilter.decode(parse_number(count, "count"), parse_number(p_milli, "probability"), bits.value)


class NameList:
    """Streams by their names."""

    def __init__(self, names: Iterable[Name] = ()) -> None:
        self._names: Final[dict[Name, None]] = {}  # in the order they came; bound: MAX_NAMES
        self._components: tuple[Component, ...] = ()
        for name in names:
            self.add(name)

    def add(self, wanted: Name | NameRange) -> bool:
        """Want a stream more; returns whether that is new."""
        if isinstance(wanted, NameRange):
            raise BadName(f"{wanted} is a range, this is a list of names: use a RangeList")
        if wanted in self._names:
            return False
        if len(self._names) >= MAX_NAMES:
            raise Backpressure(f"{wanted}: {MAX_NAMES} names are the limit; use a RangeList", 0)
        self._names[wanted] = None
        self._components = ()
        return True

    def remove(self, wanted: Name | NameRange) -> bool:
        """Want a stream no longer; returns whether it was wanted."""
        if isinstance(wanted, NameRange) or wanted not in self._names:
            return False
        del self._names[wanted]
        self._components = ()
        return True

    def covers(self, stream: Name) -> bool:
        """Whether a stream is wanted, without any false positive."""
        return stream in self._names

    def fingerprint(self) -> bytes:
        """What tells this list from others; a Bloom filter does not."""
        return sha256(b"".join([name.wire for name in sorted(self._names)])).digest()

    def components(self, preset: PartialPreset) -> tuple[Component, ...]:
        """The list as it goes into a name: a Bloom filter and its two numbers."""
        if not self._components:
            sketch = BloomFilter(max(preset.bloom_count, len(self._names)), preset.bloom_p_milli)
            for name in self._names:
                sketch.add(name)
            count, p_milli = [Component.numbered(number, GENERIC) for number in (sketch.count, sketch.p_milli)]
            self._components = (count, p_milli, Component(sketch.encode()))
        return self._components


class RangeList:
    """Streams by ranges; a name stands for itself and all below it."""

    def __init__(self, ranges: Iterable[Name | NameRange] = ()) -> None:
        self._wanted: Final[dict[NameRange, None]] = {}  # as they were given; bound: MAX_RANGES
        self._ranges = Ranges(())
        for each in ranges:
            self.add(each)

    def add(self, wanted: Name | NameRange) -> bool:
        """Want a range more; returns whether that is new."""
        each = _range_of(wanted)
        if each.low > each.high:
            raise BadName(f"{each} is no range: its low end stands behind its high end")
        if each in self._wanted:
            return False
        ranges = Ranges([*self._wanted, each])
        if len(self._wanted) >= MAX_RANGES or len(ranges.encode()) > MAX_RANGES_BYTES:
            raise Backpressure(f"{each}: {MAX_RANGES} ranges and {MAX_RANGES_BYTES} bytes are the limit", 0)
        self._wanted[each] = None
        self._ranges = ranges
        return True

    def remove(self, wanted: Name | NameRange) -> bool:
        """Want a range, as it was added, no longer; returns whether it was wanted."""
        each = _range_of(wanted)
        if each not in self._wanted:
            return False
        del self._wanted[each]
        self._ranges = Ranges(self._wanted)
        return True

    def covers(self, stream: Name) -> bool:
        """Whether a stream is wanted."""
        return stream in self._ranges

    def fingerprint(self) -> bytes:
        """What tells this list from others."""
        return sha256(self._ranges.encode()).digest()

    def components(self, preset: PartialPreset) -> tuple[Component, ...]:  # noqa: ARG002  the shape of a list
        """The list as it goes into a name."""
        return (RANGES, Component(self._ranges.encode()))


Subscriptions: TypeAlias = NameList | RangeList


def _range_of(wanted: Name | NameRange) -> NameRange:
    return wanted if isinstance(wanted, NameRange) else NameRange(wanted, wanted)


def _merged(ranges: list[NameRange]) -> tuple[NameRange, ...]:
    """Join sorted ranges that overlap."""
    found: list[NameRange] = []
    for each in ranges:
        if found and found[-1].covers(each.low):
            found[-1] = NameRange(found[-1].low, _further(found[-1].high, each.high))
        else:
            found.append(each)
    return tuple(found)


def _further(one: Name, other: Name) -> Name:
    """The high end that reaches further: a prefix of the other one, or else the larger."""
    if one.starts_with(other):
        return other
    return one if other.starts_with(one) else max(one, other)


def _read_range(raw: bytes, start: int, end: int) -> NameRange:
    found = elements(raw, start, end)
    if not 1 <= len(found) <= 2 or any(type_ != NAME_TYPE for type_, _, _ in found):
        raise BadPacket("a range holds one name or two")
    names = [Name.decode(raw[low:high]) for _, low, high in found]
    if names[0] > names[-1]:
        raise BadPacket(f"[{names[0]}, {names[-1]}] is no range: its low end stands behind its high end")
    return NameRange(names[0], names[-1])
