"""The repos of each group, as far as this node knows them: whether they answer, and how far they are behind.

Every few seconds each other repo is asked how far its copy of our records is (`roost.repo.question`); what it lacks of
them are readings that it does not have yet from here. That is what can be said from here: a repo may be behind others
and not behind us. What is on its way is no trouble: a repo lags when it lacks for some seconds what it was told of. One
that does not answer for a while is silent. An answer is believed only if it is signed as its
repo has to sign (the verifier of this node's repo is asked).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket, RoostError
from roost.forwarding.pending import Question
from roost.host.clock import Clock
from roost.machine import SECOND
from roost.naming import Name
from roost.pubsub.repos.peers import MAX_PEERS
from roost.pubsub.repos.repo import Repo
from roost.repo.question import ASK, Latest, decode_streams, encode_question
from roost.repo.record import decode_record
from roost.web.index import Index
from roost.web.index_rows import GroupRow
from roost.wire import Data
from roost.wire.data import decode_data

EVERY_S: Final = 3.0
PATIENCE_MS: Final = 1500
SILENT: Final = 10 * SECOND  # without an answer
GRACE: Final = 6 * SECOND  # for what is on its way
SILENCE: Final = "silent"  # the health of such a one
MAX_RECORDS: Final = 256  # that are looked at to count what is in them

Ask = Callable[[Question], Awaitable[Data | None]]


@dataclass(frozen=True, slots=True)
class RepoState:
    """What is known of one repo of a group."""

    id: Name
    name: str
    here: bool
    health: str  # ok, lagging, silent or unknown
    lag: int | None  # readings that it lacks of what we have told of; of our own, records of others that we lack
    seen: int | None


class _Peer:
    """One other repo."""

    def __init__(self, since: int) -> None:
        self.since: Final = since  # when we began to ask
        self.seen = 0
        self.lag: int | None = None
        self.is_late = False  # with what it could have had long ago


class Neighbours:
    """All of them."""

    def __init__(self, index: Index, clock: Clock, ask: Ask) -> None:
        self._index: Final = index
        self._clock: Final = clock
        self._ask: Final = ask
        self._peers: Final[dict[Name, _Peer]] = {}  # bound: MAX_PEERS of each group
        self._told: Final[dict[Name, deque[tuple[int, int]]]] = {}  # by group, when our records had come how far
        self._behind: Final[dict[Name, int]] = {}  # by group, since when our own repo lacks records; bound: the groups

    def repos(self, group: GroupRow, now: int) -> list[RepoState]:
        """The repos of a group, ours first."""
        repo = group.repo
        behind = sum([repo.replication.lacking(peer.name) for peer in repo.peers])
        is_late = behind > 0 and now - self._behind.get(group.name, now) >= GRACE
        health = "lagging" if is_late else "ok"
        own = RepoState(repo.name, repo.place.repo, here=True, health=health, lag=behind, seen=now)
        return [own, *[self._state(name, now) for name in _others(repo)]]

    async def look(self) -> None:
        """Ask all of them, again and again."""
        while True:
            for group in self._index.groups.values():
                self._note(group)
            asked = [(group, name) for group in self._index.groups.values() for name in _others(group.repo)]
            await asyncio.gather(*[self._look_at(group, name) for group, name in asked])
            await asyncio.sleep(EVERY_S)

    def _note(self, group: GroupRow) -> None:
        """Remember how far our records have come, and since when some of others are lacking."""
        now, repo = self._clock(), group.repo
        if any(repo.replication.lacking(peer.name) for peer in repo.peers):
            self._behind.setdefault(group.name, now)
        else:
            self._behind.pop(group.name, None)
        told = self._told.setdefault(group.name, deque())
        told.append((now, repo.shelf.holdings.highest(repo.name)))
        while len(told) > 1 and told[1][0] <= now - GRACE:
            told.popleft()

    def _due(self, group: GroupRow) -> int:
        """How far our records had come some seconds ago: whoever has less of them is late."""
        told = self._told.get(group.name)
        return told[0][1] if told and told[0][0] <= self._clock() - GRACE else 0

    async def _look_at(self, group: GroupRow, name: Name) -> None:
        peer = self._peers.setdefault(name, _Peer(self._clock()))
        repo = group.repo
        question = Latest(repo.name, time=self._clock())
        place = name / ASK / encode_question(question)
        try:
            data = await self._ask(Question(place, can_be_prefix=True, must_be_fresh=True, lifetime_ms=PATIENCE_MS))
            if data is None:
                return
            said = dict(decode_streams(data.content).entries)
        except (BadPacket, RoostError):
            return
        peer.seen = self._clock()
        known = said.get(repo.name, 0)
        peer.lag = _readings(repo, known)
        peer.is_late = known < self._due(group)

    def _state(self, name: Name, now: int) -> RepoState:
        peer = self._peers.get(name)
        label = str(name.at(-1))
        if peer is None:
            return RepoState(name, label, here=False, health="unknown", lag=None, seen=None)
        if now - max(peer.seen, peer.since) > SILENT:
            return RepoState(name, label, here=False, health=SILENCE, lag=peer.lag, seen=peer.seen or None)
        if not peer.seen:
            return RepoState(name, label, here=False, health="unknown", lag=None, seen=None)
        return RepoState(
            name, label, here=False, health="lagging" if peer.is_late else "ok", lag=peer.lag, seen=peer.seen
        )


def _others(repo: Repo) -> list[Name]:
    """The other repos of a group: those that are heard of, and those whose records are here from earlier."""
    known = {peer.name for peer in repo.peers}
    prefix = repo.name.prefix(-1)
    known.update([name for name in repo.shelf.holdings.under(prefix, None, MAX_PEERS) if repo.peers.is_repo(name)])
    return sorted(known - {repo.name})


def _readings(repo: Repo, known: int) -> int:
    """How many readings our records tell of behind number `known`."""
    newest = repo.shelf.holdings.highest(repo.name)
    if newest <= known:
        return 0
    count = 0
    read = repo.store.range(repo.name, known + 1, newest, MAX_RECORDS)
    for _, wire in read:
        try:
            record = decode_record(decode_data(wire).content)
        except BadPacket:
            continue
        count += len(record.packets) + len(record.names) + sum([held.high - held.low + 1 for held in record.held])
    return count + max(0, newest - known - len(read))
