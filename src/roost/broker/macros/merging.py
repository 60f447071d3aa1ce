"""Streams as one: by time, each in its own order, and results behind those that they come after (`macros.order`).

Of one time a reading goes before what was made of it, and that before the next reading of the stream. A stream need not
be in the order of its times: what stands first in it is what counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from roost.broker.macros.order import before
from roost.broker.message import Message
from roost.process.sample import Sample

_END: Final = (1 << 63) - 1

_Key = tuple[bool, int, bytes, int, bytes]


class Entry(NamedTuple):
    """A reading, whether it comes without its payload, and the places in other streams that are before it."""

    sample: Sample
    is_large: bool
    after: list[tuple[bytes, int]]


def entry_of(message: Message, sample: Sample, *, is_large: bool = False) -> Entry:
    """A message as one."""
    return Entry(sample, is_large, before(message))


def merged(strands: Mapping[bytes, Iterator[Entry]], is_first: Callable[[Sample], bool]) -> Iterator[Entry]:
    """Merge them; those go before all others for which `is_first` says so, as far as their streams allow."""
    reached: dict[bytes, int] = {}
    heads: list[tuple[_Key, bytes, Entry]] = []
    early: list[tuple[_Key, bytes, Entry]] = []  # bound of both: the streams

    def advance(stream: bytes) -> None:
        entry = next(strands[stream], None)
        reached[stream] = _END if entry is None else entry.sample.number - 1
        if entry is not None:
            heappush(heads, (_key(entry.sample, is_first(entry.sample)), stream, entry))

    for stream in strands:
        advance(stream)
    while heads or early:
        is_stuck = not heads  # what comes before is not there, or comes after itself
        if is_stuck:
            heads, early = early, heads
            heapify(heads)
        head = heappop(heads)
        _, stream, entry = head
        if not is_stuck and any(reached.get(other, _END) < number for other, number in entry.after):
            early.append(head)
            continue
        yield entry
        advance(stream)
        while early:
            heappush(heads, early.pop())


def _key(sample: Sample, is_first: bool) -> _Key:  # noqa: FBT001  part of the key
    root, number = sample.origin
    return not is_first, sample.time, root, number, sample.stream if sample.root[0] else b""
