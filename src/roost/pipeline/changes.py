"""Results that are told anew with every batch: only what has changed is published, numbered behind the newest.

For complete and update mode, where a row is the present state of its stream, and not a result of its own. The newest
reading of the stream says what has been published, so a retried batch finds its own reading there and adds nothing. A
stream is one row of a batch at most: of several, the last one counts.

No repo knows for sure which is the newest: one that was away lags behind the others, and an answer may come from a
cache. So each that is named is asked (`others_of`), and the highest number counts. Where another content has a number
all the same, which publishing finds out, `again` goes on behind it.

    changes = Changes(group, panel, others_of(access, group.name))
    rows = changes.numbered(rows)
    rows = changes.again(names that are taken)        at most ROUNDS times
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from roost.errors import BadPacket, Unreachable, Untrusted
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.pipeline.faces import face_of
from roost.pipeline.virtual import VirtualPanel
from roost.pipeline.virtual_rows import PoisonRow, VirtualRow
from roost.pubsub.consumers.arrival import Arrival
from roost.wire import Data

ROUNDS: Final = 8  # of going on behind numbers that are taken
MAX_OTHERS: Final = 4  # repos asked one by one, each over a face of its own
AWAY_S: Final = 30.0  # until one that could not be reached is dialled again
_TROUBLE: Final = (Unreachable, Untrusted, BadPacket)


class Past(Protocol):
    """What repos are asked: `roost.host.blocking_streams.SyncStreamGroup`."""

    def streams(self, prefix: Name) -> dict[Name, int]:
        """The streams at or below a prefix, each with its highest number."""
        ...

    def read(self, stream: Name, low: int, high: int) -> list[Arrival]:
        """The readings low to high, without those that were dropped."""
        ...


class Changes:
    """Numbers the rows of one batch by what their streams have, as the repos of `group`, and `others`, tell."""

    def __init__(self, group: Past, panel: VirtualPanel, others: Sequence[Past] = ()) -> None:
        self._asked: Final[list[Past]] = [group, *others]
        self._panel: Final = panel
        self._given: Final[dict[Name, VirtualRow]] = {}  # by stream, with the number it got last; bound: the batch

    def numbered(self, rows: Iterable[VirtualRow]) -> Iterator[VirtualRow]:
        """The rows that say something new, with the numbers they get."""
        for row in {row.output: row for row in rows}.values():
            first = replace(row, number=1)
            try:
                stream = self._packet(first).name.prefix(-1)
            except PoisonRow:
                yield first
                continue
            yield from self._following(stream, first, 0)

    def again(self, taken: Iterable[Name]) -> Iterator[VirtualRow]:
        """The rows whose numbers were taken meanwhile, with higher ones, unless what they say is published by now."""
        for stream in [name.prefix(-1) for name in taken]:
            row = self._given[stream]
            yield from self._following(stream, row, row.number)

    def _following(self, stream: Name, row: VirtualRow, taken: int) -> Iterator[VirtualRow]:
        number, content = self._newest(stream, taken)
        if content is None or content != self._packet(replace(row, number=number)).content:
            self._given[stream] = replace(row, number=number + 1)
            yield self._given[stream]

    def _newest(self, stream: Name, taken: int) -> tuple[int, bytes | None]:
        """The highest number, and what it says; None if that is dropped, or known to be something else only."""
        told = self._told(stream)
        highest = max([number for _, number in told])
        if highest < taken or not highest:
            return taken, None
        trouble: Exception | None = None
        for past in [past for past, number in told if number == highest]:
            try:
                readings = past.read(stream, highest, highest)
            except _TROUBLE as error:
                trouble = error
            else:
                return highest, readings[0].data.content if readings else None
        raise Unreachable(f"{stream} has {highest} readings, and no repo gives the newest: {trouble}")

    def _told(self, stream: Name) -> list[tuple[Past, int]]:
        """The highest number that each repo tells; who does not answer once is not asked for the rest of the batch."""
        told: list[tuple[Past, int]] = []
        trouble: Exception | None = None
        for past in [*self._asked]:
            try:
                told.append((past, past.streams(stream).get(stream, 0)))
            except _TROUBLE as error:
                trouble = error
                if len(self._asked) > 1:
                    self._asked.remove(past)
        if not told:
            raise Unreachable(f"no repo says how many readings {stream} has: {trouble}")
        return told

    def _packet(self, row: VirtualRow) -> Data:
        try:
            return self._panel.packet(row)
        except PoisonRow:
            return self._panel.packet(marker_of(row))


def marker_of(row: VirtualRow) -> VirtualRow:
    """The empty marker that stands for a row that cannot be a reading."""
    return replace(row, value=None, unit="", quality="good", missing_names="")


_away: Final[dict[Access, float]] = {}  # until when not to dial; bound: the repos that this process is told of


def others_of(access: Access, group: Name) -> list[Past]:
    """A group as each repo has it that is named, if several are; without those that are away."""
    found: list[Past] = []
    for uri in access.repos[:MAX_OTHERS] if len(access.repos) > 1 else ():
        alone = replace(access, repos=(uri,), bulk=(), group="")
        if time.monotonic() < _away.get(alone, 0.0):
            continue
        try:
            face = face_of(alone)
        except Unreachable:
            _away[alone] = time.monotonic() + AWAY_S
        else:
            if face.is_up:
                found.append(face.group(group))
    return found
