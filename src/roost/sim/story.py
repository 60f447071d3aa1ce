"""The story of a run: the timeline, written for people from what the trace kept, the part that matters and no more."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby
from typing import Any, TypeAlias

from roost.machine import SECOND
from roost.sim.describe import describe, packet_summary
from roost.sim.driver import START
from roost.sim.medium import OVERFLOWED, OVERSIZED, Medium
from roost.sim.trace import SAVING, SENT, TOLD, Line
from roost.sim.world import World

Sending: TypeAlias = tuple[bytes, Medium, int, int]  # packet, where, heard by how many, of how many others


def timeline(world: World, limit: int = 60, around: int | None = None) -> Iterator[str]:
    """Write at most `limit` lines: those up to a time and a few after it, or the last ones; and what was left out."""
    told = [list(lines) for _, lines in groupby(world.trace.lines, _one_send)]
    end = len(told)
    if around is not None:
        end = min(end, bisect_right(told, around, key=lambda lines: lines[0][0]) + limit // 4)
    begin = max(0, end - limit)
    width = max([len(name) for name in world.stations], default=0)
    before = begin + world.trace.lines_seen - len(world.trace.lines)
    if before:
        yield f"… {before} lines before"
    for lines in told[begin:end]:
        time, station, about, what = lines[0]
        words = _sent(station, [line[3] for line in lines]) if about == SENT else _words(about, what)
        yield f"{(time - START) / SECOND:13.6f} s  {station or '—':{width}}  {words}"
    if end < len(told):
        yield f"… {len(told) - end} lines after"


def _one_send(line: Line) -> object:
    """What lines have in common that are told as one: the packet that a station sends to many at once."""
    time, station, about, what = line
    return (time, station, what[0]) if about == SENT else id(line)


def _words(about: int, what: Any) -> str:  # noqa: ANN401  as `about` says
    if about == TOLD:
        return f"is told: {what or 'a command'}"
    if about == SAVING:
        return f"{'replaces' if what.replace else 'appends to'} {what.file}: {len(what.data)} bytes"
    return describe(what)


def _sent(station: str, sendings: list[Sending]) -> str:
    return f"{packet_summary(sendings[0][0])} → {', '.join([_where(station, *each) for each in sendings])}"


def _where(station: str, _packet: bytes, medium: Medium, heard: int, others: int) -> str:
    where = medium.name if medium.shared else "".join(name for name in medium.stations if name != station)
    if heard == OVERSIZED:
        return f"{where} (dropped: larger than the mtu, {medium.wire.mtu})"
    if heard == OVERFLOWED:
        return f"{where} (dropped: the queue is full)"
    if medium.shared:
        return f"{where} (heard by {heard} of {others})"
    return where if heard else f"{where} (lost)"
