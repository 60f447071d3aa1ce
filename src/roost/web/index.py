"""The streams of a node as its page shows them: an index that goes along with what the repos keep.

    Kept ──▶ newest number, time and interval of each stream ──▶ lists, groups, who waits for readings
                                          └─▶ due when nothing came for three intervals ──▶ stale

An interval is described, or learnt from many regular gaps (`roost.web.index_rhythm`); without one nothing is stale.

Nothing is read from a disk for it and nothing is decoded: 10,000 streams cost what comes, not what there is. What a
stream is about (its topic, whether a macro made it) is learnt from one reading of it, when somebody asks
(`roost.web.index_reading`).
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.pubsub.repos.repo import Repo
from roost.repo.catalogue import catalogue_of
from roost.repo.numbering import numbered
from roost.repo.shelf_effects import Kept
from roost.web.index_rhythm import Rhythm
from roost.web.index_rows import GroupRow, PanelRow, StreamRow
from roost.wire.data import decode_data

MAX_STREAMS: Final = 200_000  # as many as a repo holds
STALE_INTERVALS: Final = 3
MIN_STALE: Final = 5 * SECOND  # whatever the interval: a pause is no failure
LIVE: Final = 60 * SECOND  # a reading that is older when it comes is replayed, and the next one is not expected
PAST: Final = 3600 * SECOND  # who fell silent so long before anybody looked is not missed: it may have been replayed
_OWN: Final = b"$roost"  # what nodes tell each other (`roost.broker.announcement`)

Heard: TypeAlias = Callable[[StreamRow, int], None]  # a stream, and the number that came


class Index:
    """All of them; made and used in the event loop."""

    def __init__(self, max_streams: int = MAX_STREAMS) -> None:
        self.max_streams: Final = max_streams
        self.refused = 0  # readings of streams that there was no room for
        self.groups: Final[dict[Name, GroupRow]] = {}  # bound: the configuration
        self.order: Final[list[StreamRow]] = []  # by name; bound: max_streams, as of those below
        self.came: Final[list[StreamRow]] = []  # the same in the order in which they came
        self.stale: Final[dict[StreamRow, int]] = {}  # those that are, and since when
        self.watchers: Final[list[Heard]] = []  # bound: who makes it
        self._rows: Final[dict[bytes, StreamRow]] = {}
        self._by_text: Final[dict[str, StreamRow]] = {}
        self._ignored: Final[set[bytes]] = set()  # streams in repos that are none of readings
        self._due: Final[list[tuple[int, int, StreamRow]]] = []  # when to see whether one is stale, once each
        self._queued: Final[set[StreamRow]] = set()  # the same

    def __len__(self) -> int:
        return len(self.order)

    def get(self, text: str) -> StreamRow | None:
        """The stream of this name."""
        return self._by_text.get(text)

    def add_group(self, repo: Repo) -> GroupRow:
        """Have a group that a repo here keeps."""
        group = self.groups[repo.place.group.name] = GroupRow(repo)
        return group

    def fill(self, group: GroupRow) -> Iterator[Name]:
        """Take in what a repo holds already, a stream with each step; gives descriptions that are to be read."""
        for name, row in list(group.repo.shelf.holdings):
            if row.highest and name.value not in self._rows:
                self._add(group, name.value, row.highest)
            yield name

    def kept(self, repo: Repo, kept: Kept, now: int) -> None:
        """Take in what a repo has on its disk now."""
        group = self.groups.get(repo.place.group.name)
        if group is None:
            return
        count = 0
        for entry in kept.entries:
            stream, number = numbered(entry.name)
            row = self._rows.get(stream) if number else None
            if row is None and number:
                row = self._add(group, stream, 0)
            if row is not None:
                count += 1
                self._hear(row, number, entry.time, now)
                for watcher in self.watchers:
                    watcher(row, number)
            elif group.catalogue.concerns(entry.name):
                describe(group, entry.name, entry.wire)
        if count:
            group.count(count, now)

    def learn(self, row: StreamRow, times: Sequence[int]) -> None:
        """Take in when readings were measured that were there before, the newest last."""
        time = times[-1]
        if time > row.time:
            row.time = time
            self._tell_time(row, time)
        row.heard = row.heard or time
        gaps = [after - before for before, after in itertools.pairwise(times) if after > before]
        if len(gaps) > len(row.rhythm or ()):
            row.rhythm = Rhythm(gaps)
        self._watch(row)

    def expected(self, row: StreamRow) -> int:
        """The interval between two readings of a stream, described or learnt; 0 if nobody knows."""
        return _described(row) or row.interval

    def tick(self, now: int) -> None:
        """Find streams that became stale; each is looked at when it is due."""
        while self._due and self._due[0][0] <= now:
            _, _, row = heappop(self._due)
            self._queued.discard(row)
            due = self._due_at(row)
            if due is not None and due > now:
                self._push(due, row)
            elif due is not None and not row.stale and (now - due <= PAST or _described(row)):
                row.stale = True
                row.group.stale += 1
                row.group.panels[row.panel].stale += 1
                self.stale[row] = row.heard

    # -- inside

    def _hear(self, row: StreamRow, number: int, time: int, now: int) -> None:
        if number > row.number:
            if number == row.number + 1 and row.time and time > row.time:
                row.rhythm = row.rhythm or Rhythm()
                row.rhythm.take(time - row.time)
            row.number = number
            row.time = time or row.time
            self._tell_time(row, time)
        row.heard = row.group.panels[row.panel].heard = now
        if row.stale:
            row.stale = False
            row.group.stale -= 1
            row.group.panels[row.panel].stale -= 1
            del self.stale[row]
        self._watch(row)

    def _tell_time(self, row: StreamRow, time: int) -> None:
        group, panel = row.group, row.group.panels[row.panel]
        group.time = max(group.time, time)
        panel.time = max(panel.time, time)

    def _watch(self, row: StreamRow) -> None:
        if row not in self._queued and not row.stale:
            due = self._due_at(row)
            if due is not None:
                self._push(due, row)

    def _push(self, due: int, row: StreamRow) -> None:
        self._queued.add(row)
        heappush(self._due, (due, id(row), row))

    def _due_at(self, row: StreamRow) -> int | None:
        is_live = abs(row.heard - row.time) <= LIVE
        interval = _described(row) or (row.interval if is_live else 0)
        return row.heard + max(MIN_STALE, STALE_INTERVALS * interval) if interval and row.heard else None

    def _add(self, group: GroupRow, stream: bytes, number: int) -> StreamRow | None:
        if stream in self._ignored:
            return None
        name = Name(stream)
        if not _is_of_readings(group, name):
            if len(self._ignored) < self.max_streams:
                self._ignored.add(stream)
            return None
        if len(self._rows) >= self.max_streams:
            self.refused += 1
            return None
        row = StreamRow(group, name, number)
        self._rows[stream] = self._by_text[row.text] = row
        self.came.append(row)
        insort(self.order, row)
        insort(group.rows, row)
        group.panels.setdefault(row.panel, PanelRow(row.panel)).streams += 1
        return row


def _described(row: StreamRow) -> int:
    """The interval that a stream's panel says, 0 if it says none."""
    said = row.group.catalogue.get(row.name)
    return 0 if said is None else said.interval_ms * MS


def describe(group: GroupRow, name: Name, wire: bytes) -> None:
    """Take in a description of a stream; what is none is left out."""
    try:
        content = decode_data(wire).content
    except BadPacket:
        return
    group.catalogue.take(name, content)


def _is_of_readings(group: GroupRow, name: Name) -> bool:
    """Whether a stream is one of readings: repos' records, catalogues and what nodes tell each other are not."""
    parts = len(group.name)
    if not name.starts_with(group.name) or len(name) <= parts + 1 or group.repo.peers.is_repo(name):
        return False
    return name != catalogue_of(name.prefix(parts + 1)) and name.at(parts + 1).value != _OWN
