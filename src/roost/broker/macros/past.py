"""What macros can look back on: the newest readings of groups from the repo of this node, retained messages elsewhere.

Readings of one stream are looked through from its newest number backwards, in pieces, as far as they were handed on:
what is beyond that is still to arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import nlargest
from typing import Final

from roost.broker.macros.macros import sample_of_message
from roost.broker.message import Message
from roost.broker.recall import History
from roost.process.sample import Sample

PIECE: Final = 512  # readings that are read at a time


class MacroPast:
    """Satisfies `roost.process.window.History`; `history` gives the groups' once they are joined."""

    def __init__(self) -> None:
        self.history: Callable[[], History | None] = _no_history
        self.retained: Callable[[bytes], list[Message]] = _nothing_retained

    def latest(self, topic_filter: str, count: int) -> list[Sample]:
        """The newest samples of a filter, the newest first."""
        wanted = topic_filter.encode()
        found: list[Sample] = []
        history = self.history()
        for stream in [] if history is None else history.streams(wanted):
            assert history is not None  # noqa: S101  it has streams
            found += _newest(history, stream, count)
        found += [sample_of_message(each, b"", 0) for each in self.retained(wanted) if each.origin is None]
        return nlargest(count, _each_once(found), key=_order)


def _each_once(found: list[Sample]) -> list[Sample]:
    """Leave out results that two nodes have made of the same reading: of their streams the first has it."""
    made: dict[tuple[str, bytes, int], bytes] = {}
    for each in found:
        if each.root[0]:
            place = each.topic, *each.root
            made[place] = min(each.stream, made.get(place, each.stream))
    return [each for each in found if not each.root[0] or made[each.topic, *each.root] == each.stream]


def _newest(history: History, stream: bytes, count: int) -> list[Sample]:
    """The last readings of a stream."""
    found: list[Sample] = []
    high = history.present(stream)
    while high > 0 and len(found) < count:
        low = max(1, high - min(PIECE, count - len(found)) + 1)
        some: list[Sample] = []
        at = low
        while at <= high and (read := history.read(stream, at, high, PIECE)):  # of large ones some at a time
            some += [sample_of_message(message, stream, number) for number, message in read if message is not None]
            at = read[-1][0] + 1
        found += reversed(some)
        high = low - 1
    return found


def _order(sample: Sample) -> tuple[int, bytes, int]:
    return sample.time, sample.stream, sample.number


def _no_history() -> History | None:
    return None


def _nothing_retained(_filter: bytes) -> list[Message]:
    return []
