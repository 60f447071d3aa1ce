"""The story of a run: the timeline, written for people from what the trace kept, the part that matters and no more."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from roost.machine import SECOND
from roost.sim.describe import describe, packet_summary
from roost.sim.driver import START
from roost.sim.medium import OVERFLOWED, OVERSIZED, Medium
from roost.sim.trace import SAVING, SENT, TOLD
from roost.sim.world import World


def timeline(world: World, limit: int = 60, around: int | None = None) -> Iterator[str]:
    """Write at most `limit` lines: those up to a time and a few after it, or the last ones; and what was left out."""
    lines = list(world.trace.lines)
    end = len(lines)
    if around is not None:
        end = min(end, bisect_right(lines, around, key=lambda line: line[0]) + limit // 4)
    begin = max(0, end - limit)
    width = max([len(name) for name in world.stations], default=0)
    before = begin + world.trace.lines_seen - len(lines)
    if before:
        yield f"… {before} lines before"
    for time, station, about, what in lines[begin:end]:
        yield f"{(time - START) / SECOND:13.6f} s  {station or '—':{width}}  {_words(station, about, what)}"
    if end < len(lines):
        yield f"… {len(lines) - end} lines after"


def _words(station: str, about: int, what: Any) -> str:  # noqa: ANN401  as `about` says
    if about == SENT:
        return _sent(station, *what)
    if about == TOLD:
        return f"is told: {what or 'a command'}"
    if about == SAVING:
        return f"{'replaces' if what.replace else 'appends to'} {what.file}: {len(what.data)} bytes"
    return describe(what)


def _sent(station: str, packet: bytes, medium: Medium, heard: int, others: int) -> str:
    where = medium.name if medium.shared else "".join(name for name in medium.stations if name != station)
    words = f"{packet_summary(packet)} → {where}"
    if heard == OVERSIZED:
        return f"{words}, dropped: larger than the mtu, {medium.wire.mtu}"
    if heard == OVERFLOWED:
        return f"{words}, dropped: the queue is full"
    if medium.shared:
        return f"{words}, heard by {heard} of {others}"
    return words if heard else f"{words}, lost"
