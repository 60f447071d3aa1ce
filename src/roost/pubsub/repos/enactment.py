"""What a repo's record says, done here: what it took in is fetched, what it deleted is deleted [NDN-PS §III-C].

    Data carried inside ──verified──┐
    runs of readings ───fetched─────┼──▶ all here ──▶ what was carried and the record itself, kept in one instant
    names of other packets ─sought──┘

The record is kept last, so that a record that is held is one that is done with; as long as something that it carries
cannot be verified or something that it names cannot be had, it is not. What is here already is neither verified nor
fetched again. A repo has a say about its group's packets, and not about other groups' or other repos' records
(`repos.permission`): what it says about these is refused and passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.machine import Effect
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.repos.peers import Peers
from roost.pubsub.repos.permission import permission_at
from roost.pubsub.repos.retrieval import Retrieval
from roost.pubsub.repos.seeking import seek, verify
from roost.pubsub.repos.stock import Stock
from roost.repo.cause import DELETE, REPLICATION
from roost.repo.numbering import numbered as number_in
from roost.repo.record import Held, Record
from roost.repo.store import Damaged, Store
from roost.wire import Data

MAX_DROPPED: Final = 1000  # deletions that are written at once

Parts: TypeAlias = Callable[[int, int], list[Effect]]  # how many are missing, once the rest is here


class Enactment:
    """Does what records say."""

    def __init__(self, asking: Asking, shelf: Stock, store: Store, peers: Peers, retrieval: Retrieval) -> None:
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._store: Final = store
        self._peers: Final = peers
        self._retrieval: Final = retrieval
        self._permission: Final = permission_at(peers.repo)

    def enact(self, repo: Name, data: Data, record: Record, ended: Parts, now: int) -> list[Effect]:
        """Do what a record of `repo` says, and keep it; `ended` hears how much of it could not be had."""
        record, refused = self._allowed(data, record)
        if record.cause == DELETE:
            return refused + self._drop(data, record, ended, now)
        return refused + self._take(repo, data, record, ended, now)

    def is_missing(self, stream: Name, number: int) -> bool:
        """Whether a reading is neither here nor dropped on purpose."""
        holdings = self._shelf.holdings
        return not holdings.is_held(stream, number) and not holdings.is_gone(stream, number)

    def _allowed(self, data: Data, record: Record) -> tuple[Record, list[Effect]]:
        """What of a record its repo may say, and a refusal if that is not all of it."""
        said = [*[numbered(run.stream, run.low) for run in record.held], *record.names]
        refusals = {name: self._permission.to_keep(name) for name in [*said, *[each.name for each in record.packets]]}
        refusal = next((f"{data.name}: {refusal}" for refusal in refusals.values() if refusal), "")
        if not refusal:
            return record, []
        allowed = Record(
            record.cause,
            tuple([run for run in record.held if not refusals[numbered(run.stream, run.low)]]),
            tuple([name for name in record.names if not refusals[name]]),
            tuple([packet for packet in record.packets if not refusals[packet.name]]),
        )
        return allowed, [self._asking.rejected(data, refusal)]

    def _drop(self, data: Data, record: Record, ended: Parts, now: int) -> list[Effect]:
        """Delete what a record says, here or not, so that it does not come back; some at a time."""
        holdings = self._shelf.holdings
        names = list(record.names)
        for stream, low, high in record.held:
            names += [
                numbered(stream, number) for number in range(low, high + 1) if not holdings.is_gone(stream, number)
            ]

        def go_on(refusals: list[str], now: int) -> list[Effect]:
            if any(refusals):  # the disk is full, say: what is not deleted here has to be deleted later
                return ended(len(names) + len(refusals), now)
            if not names:
                return self._keep([], data, ended, now)
            some = names[-MAX_DROPPED:]
            del names[-MAX_DROPPED:]
            return self._shelf.drop(some, go_on, now, cause=REPLICATION)

        return go_on([], now)

    def _take(self, repo: Name, data: Data, record: Record, ended: Parts, now: int) -> list[Effect]:
        """Get what a record speaks of, part by part; the record is kept when all parts are there."""
        carried: list[Data] = []
        missing = 0
        left = 2 + len(record.held)  # parts that are not here yet
        effects: list[Effect] = []

        def came(lacking: int, now: int) -> list[Effect]:
            nonlocal left, missing
            left -= 1
            missing += lacking
            if left:
                return []
            if missing:
                return self._keep_some(carried, missing, ended, now)
            return self._keep(carried, data, ended, now)

        def verified(believed: list[Data], now: int) -> list[Effect]:
            carried.extend(believed)
            return came(len(lacking) - len(believed), now)

        lacking = [packet for packet in record.packets if not self._is_here(packet.name)]
        effects += verify(self._asking, lacking, verified, now)
        effects += self._seek_names(repo, [name for name in record.names if not self._is_here(name)], came, now)
        for run in record.held:
            effects += self._want(repo, run, came, now)
        return effects

    def _want(self, repo: Name, run: Held, came: Parts, now: int) -> list[Effect]:
        if not any(self.is_missing(run.stream, number) for number in range(run.low, run.high + 1)):
            return came(0, now)
        return self._retrieval.want(run.stream, run.low, run.high, repo, came, now)

    def _is_here(self, name: Name) -> bool:
        stream, number = number_in(name)
        if number:
            return not self.is_missing(Name(stream), number)
        try:
            return self._store.get(name) is not None
        except Damaged:
            return False

    def _seek_names(self, repo: Name, names: list[Name], came: Parts, now: int) -> list[Effect]:
        """Fetch packets that are no readings, one after the other, and have them kept."""
        lacking = 0
        seeking = going = False

        def go_on(now: int) -> list[Effect]:
            nonlocal going, seeking
            if going:  # what is over at once goes on here, not deeper
                return []
            going = True
            effects: list[Effect] = []
            while names and not seeking:
                seeking = True
                effects += seek(self._asking, self._peers, names.pop(), repo, found, now)
            going = False
            return effects if seeking else effects + came(lacking, now)

        def found(data: Data | None, now: int) -> list[Effect]:
            return over(1, now) if data is None else self._shelf.put([data], REPLICATION, kept, now)

        def kept(refusals: list[str], now: int) -> list[Effect]:
            return over(bool(refusals[0]), now)

        def over(missing: int, now: int) -> list[Effect]:
            nonlocal lacking, seeking
            lacking += missing
            seeking = False
            return go_on(now)

        return go_on(now)

    def _keep(self, packets: list[Data], record: Data, ended: Parts, now: int) -> list[Effect]:
        """Keep what was carried, and with it the record itself, so that we can serve it too."""

        def kept(refusals: list[str], now: int) -> list[Effect]:
            return ended(bool(refusals[-1]), now)

        return self._shelf.put([*packets, record], REPLICATION, kept, now)

    def _keep_some(self, packets: list[Data], missing: int, ended: Parts, now: int) -> list[Effect]:
        """Keep what could be verified of what was carried; the record waits for the rest."""
        if not packets:
            return ended(missing, now)
        return self._shelf.put(packets, REPLICATION, lambda _, now: ended(missing, now), now)
