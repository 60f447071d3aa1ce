"""A repo of a group, as one machine: everything that NDN-PS has inside a repo, around one shelf [NDN-PS §III, fig. 2].

    producers    insertion ──▶ shelf ──▶ disk ──▶ kept ──┬──▶ records, full sync ──▶ other repos    (replication)
    other repos  replication ──▶ shelf ──▶ disk ──▶ kept ┼──▶ partial sync ──▶ consumers            (subscriptions)
                                                         └──▶ notification stream ──▶ whoever listens
    anybody      data interface, questions ◀── store

What is kept is on the disk before anybody hears of it. Anti-entropy finds what is missing or damaged, pruning drops
what the rules let go. The repo shows its own certificates, and keeps those it had to fetch to believe others, so that
readings can be verified when who made them sleeps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from roost.forwarding.endpoint_effects import Asked
from roost.machine import Effect, Randomness, earliest
from roost.machine.disk import Save, Saved
from roost.naming import Name, building
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.commanding import Commander
from roost.pubsub.credentials import Credentials
from roost.pubsub.membership import Membership
from roost.pubsub.repos.anti_entropy import AntiEntropy
from roost.pubsub.repos.comparison import HOLDINGS, Comparison
from roost.pubsub.repos.copying import Copied, Copying
from roost.pubsub.repos.data_interface import DataInterface
from roost.pubsub.repos.disk_watch import DiskWatch
from roost.pubsub.repos.events import Events
from roost.pubsub.repos.insertion import Insertion
from roost.pubsub.repos.peers import Peers
from roost.pubsub.repos.pruning import Pruning
from roost.pubsub.repos.questions import Questions
from roost.pubsub.repos.recording import Recording
from roost.pubsub.repos.replication import Replication
from roost.pubsub.repos.retrieval import Retrieval
from roost.pubsub.repos.versioned import Versioned
from roost.pubsub.resident import Deny, Event
from roost.pubsub.vetting import Then
from roost.repo.batch import ALL_KEPT, Receipt
from roost.repo.cause import INSERT, REPLICATION
from roost.repo.holdings import encode_holdings
from roost.repo.numbering import latest_of
from roost.repo.record import CARRY_BYTES
from roost.repo.recount import highest
from roost.repo.retention import Rule, Rules
from roost.repo.shelf import Shelf
from roost.repo.shelf_effects import Dropped, Kept
from roost.repo.shelving import STREAM_MARK
from roost.repo.shelving import Then as Outcome
from roost.repo.store import Damaged, Entry, Store, Unwritten, Written
from roost.sync.ledger import Ledger
from roost.sync.port import Learned, Ready, Reply, Stream
from roost.sync.presets import REPOS_FULL, ROOST_PARTIAL, FullPreset, PartialPreset
from roost.sync.psync_full import PSyncFull
from roost.sync.psync_producer import PSyncProducer
from roost.trust.acceptance import Checker
from roost.wire import Data, Signer

_FULL: Final = "full"  # the ledgers of the two sync members, which are no files: their numbers are in the store
_PARTIAL: Final = "partial"
_ASKED_FOR_HELP: Final = 4


class Timed(Protocol):
    """A part that wants to be called when it is time."""

    def tick(self, now: int) -> list[Effect]: ...
    def deadline(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class RepoSettings:
    """What can be chosen about a repo."""

    carry_bytes: int = CARRY_BYTES  # up to which records carry the readings themselves; 0: names only
    retention: tuple[Rule, ...] = ()
    tells: bool = False  # whether its driver hears what it keeps (`Kept`), for who hands it on
    full: FullPreset = REPOS_FULL
    partial: PartialPreset = ROOST_PARTIAL


class Repo:
    """One repo's part in one group; `place` says which, `signer` is the key that it has for this group."""

    def __init__(
        self,
        place: building.Repo,
        store: Store,
        verifier: Checker,
        signer: Signer,
        randomness: Randomness,
        now: int,
        *,
        settings: RepoSettings = RepoSettings(),  # noqa: B008  frozen
        certificates: Sequence[Data] = (),
    ) -> None:
        name, group = place.name, place.group
        prefixes = (group.service, name)
        self.place: Final = place
        self.store: Final = store
        self.asking: Final = Asking(
            verifier, name, certified=self._certified, at_hand=self._certificate, helpers=self._others
        )
        self.shelf: Final = Shelf(str(name), store, record=self._record)
        self.credentials: Final = Credentials(certificates)
        ledger = _records_of(name, store)
        full = PSyncFull(group.replication, settings.full, signer, randomness, ledger)
        self.full: Final = Membership(full, verifier)
        self.partial: Final = Membership(self._make_partial(settings, signer, randomness), verifier)
        self.peers: Final = Peers(name, randomness)
        self.recording: Final = Recording(
            name,
            signer,
            self.shelf,
            self._announce,
            carry_bytes=settings.carry_bytes,
            certain=not ledger.damaged,
        )
        self.retrieval: Final = Retrieval(self.asking, self.shelf, self.peers)
        self.comparison: Final = Comparison(self.asking, self.shelf, self.peers, self.retrieval, randomness)
        self.replication: Final = Replication(
            self.asking, self.shelf, store, self.peers, self.retrieval, self.comparison.compare
        )
        self.anti_entropy: Final = AntiEntropy(
            group.name, self.asking, self.shelf, store, self.peers, self.retrieval, self.replication
        )
        self.copying: Final = Copying(self.peers, self._insert_at)
        self.insertion: Final = Insertion(
            self.asking, self.shelf, signer, randomness, group.name, prefixes, copier=self.copying.copy
        )
        self.questions: Final = Questions(store, self.shelf.holdings, signer, prefixes, self.anti_entropy.damaged)
        self.data_interface: Final = DataInterface(store, self.anti_entropy.damaged)
        self.events: Final = Events(name, signer, self._latest_names, now)
        self.holdings: Final = Versioned(name / HOLDINGS, signer, lambda: encode_holdings(self.shelf.holdings))
        self.pruning: Final = Pruning(store, self.shelf, self.shelf.holdings, Rules(group.name, settings.retention))
        self.disk: Final = DiskWatch(name)
        self._tells: Final = settings.tells
        self._started = False
        self._commanders: Final[dict[Name, Commander]] = {}  # bound: MAX_PEERS
        self._signer: Final = signer
        self._randomness: Final = randomness

    @property
    def name(self) -> Name:
        """The repo's own prefix."""
        return self.place.name

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours: the whole group, and our certificates."""
        return (self.place.group.name, *self.credentials.prefixes())

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register: the group's data, what all repos answer, what only we do, and our certificates."""
        group = self.place.group
        return (group.name, group.service, group.replication, self.name, *self.credentials.prefixes())

    # -- commands

    def insert(self, packet: Data, cause: int, then: Then, now: int) -> list[Effect]:
        """Keep a packet that somebody brings by another way, if it is believed; `then` gets why not, or nothing."""

        def checked(refusal: str, now: int) -> list[Effect]:
            if refusal:
                return [self.asking.rejected(packet, refusal), *then(refusal, now)]
            return self.shelf.put([packet], cause, lambda outcome, now: then(outcome[0], now), now)

        refusal = self.insertion.permission.to_keep(packet.name)
        effects = checked(refusal, now) if refusal else self.asking.check(packet, checked, now)
        return self._settle(effects, now)

    def publish(self, entries: Sequence[Entry], then: Outcome, now: int) -> list[Effect]:
        """Keep what this process has signed itself, and need not verify; `then` gets for each why not, or nothing."""
        return self._settle(self.shelf.keep(entries, INSERT, then, now), now)

    def copy(self, packets: Sequence[Data], copies: int, then: Copied, now: int) -> list[Effect]:
        """Have packets that are kept here on `copies` repos in all; `then` gets why they are not, or nothing."""
        return self._settle(self.copying.copy(packets, copies, then, now), now)

    def spread(self, packets: Sequence[Data], then: Copied, now: int) -> list[Effect]:
        """Have packets that are kept here at every other repo that answers; `then` comes when each has answered."""
        return self._settle(self.copying.spread(packets, then, now), now)

    def keep_certificates(self, known: Iterable[Data], now: int) -> list[Effect]:
        """Keep certificates of the group that are known here as those that are fetched: whoever lacks one asks us."""
        group = self.place.group.name
        lacking = [each for each in known if each.name.starts_with(group) and self._certificate(each.name) is None]
        return self._settle([effect for each in lacking for effect in self._certified(each, now)], now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Read what is on the disk, and join; joins again if it had started before."""
        effects: list[Effect] = []
        if not self._started:
            self._started = True
            effects += self.shelf.start(now)
            self.recording.recall()
            effects += self._recall(now)
            latest = [(stream, row.highest) for stream, row in self.shelf.holdings if not self.peers.is_repo(stream)]
            effects += self._of_partial(self.partial.member.publish(latest, now), now)
            for part in (self.comparison, self.anti_entropy, self.pruning):
                effects += part.start(now)
            effects += self._of_full(self.full.member.produce(self.name, now), now)
        effects += self.asking.settle(self.full, self.full.start(now), now)
        effects += self.asking.settle(self.partial, self.partial.start(now), now)
        return self._settle(effects, now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or what became of a batch."""
        if isinstance(event, Asked):
            effects = self._asked(event, now)
        elif isinstance(event, (Written, Unwritten)):
            effects = self.disk.receive(event) + self.shelf.receive(event, now) + self.recording.kept(now)
        elif isinstance(event, Saved):
            effects = []
        else:
            effects = self.asking.receive(event, now)
        return self._settle(effects, now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self.asking.settle(self.full, self.full.tick(now), now)
        effects += self.asking.settle(self.partial, self.partial.tick(now), now)
        for part in self._timed():
            deadline = part.deadline()
            if deadline is not None and deadline <= now:
                effects += part.tick(now)
        return self._settle(effects, now)

    def deadline(self) -> int | None:
        """When any part of it wants to be called."""
        parts = [part.deadline() for part in self._timed()]
        return earliest(self.full.deadline(), self.partial.deadline(), *parts)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        sizes = {"asked": (len(self.asking), self.asking.max_asked)}
        parts = (self.shelf, self.recording, self.retrieval, self.comparison, self.replication, self.anti_entropy)
        for part in (*parts, self.copying, self.insertion, self.events):
            sizes |= part.sizes()
        return sizes

    # -- what comes in

    def _asked(self, asked: Asked, now: int) -> list[Effect]:
        """Let whoever it is for answer."""
        group, name = self.place.group, asked.interest.name
        if name.starts_with(group.replication):
            return self.asking.settle(self.full, self.full.receive(asked, now), now)
        if name.starts_with(group.subscriptions):
            return self.asking.settle(self.partial, self.partial.receive(asked, now), now)
        if name.starts_with(group.service) or name.starts_with(self.name):
            for part in (self.insertion, self.questions, self.events, self.holdings):
                effects = part.asked(asked, now)
                if effects is not None:
                    return effects
        shown = self.credentials.answer(asked.interest)
        if shown is not None:
            return [Reply(shown.wire, asked.token)]
        found = self.data_interface.asked(asked, now)
        return [Deny(asked.interest, asked.token)] if found is None else found

    def _timed(self) -> tuple[Timed, ...]:
        return (
            self.insertion,
            self.recording,
            self.retrieval,
            self.replication,
            self.comparison,
            self.anti_entropy,
            self.events,
            self.pruning,
            *self._commanders.values(),
        )

    # -- what the parts tell each other

    def _settle(self, effects: list[Effect], now: int) -> list[Effect]:
        """Pass on what one part tells until only what concerns the world is left."""
        out: list[Effect] = []
        inside = deque(effects)
        while inside:
            effect = inside.popleft()
            if isinstance(effect, Kept):
                inside.extend(self._kept(effect, now))
                if self._tells:
                    out.append(effect)
            elif isinstance(effect, Dropped):
                inside.extend(self.events.dropped(effect, now))
            elif isinstance(effect, Learned):
                self.recording.meet(now)
                inside.extend(self.replication.learned(effect, now))
            elif isinstance(effect, Ready):
                inside.extend(self.recording.ready(effect.number, now))
                inside.extend(self.replication.look(self.name, effect.number - 1, now))  # those our disk has lost
            elif isinstance(effect, Save):
                inside.extend(self._saved(Saved(effect.file, effect.ticket), now))
            else:
                out.append(effect)
        return out

    def _kept(self, kept: Kept, now: int) -> list[Effect]:
        """Tell consumers and listeners what is on the disk now."""
        latest = latest_of([entry.name for entry in kept.entries])
        news = [(name, high) for value, high in latest.items() if not self.peers.is_repo(name := Name(value))]
        effects = self._of_partial(self.partial.member.publish(news, now), now)
        effects += self.events.kept(kept, now)
        return effects + self.pruning.kept(kept.entries, now)

    def _saved(self, event: Saved, now: int) -> list[Effect]:
        """The numbers of our sync members are in the store, so what they want saved is."""
        member = self.full if event.file == _FULL else self.partial
        return self.asking.settle(member, member.receive(event, now), now)

    def _of_full(self, effects: list[Effect], now: int) -> list[Effect]:
        return self.asking.settle(self.full, self.full.act(effects, now), now)

    def _of_partial(self, effects: list[Effect], now: int) -> list[Effect]:
        return self.asking.settle(self.partial, self.partial.act(effects, now), now)

    def _record(self, entries: list[Entry], cause: int) -> list[Entry]:
        return self.recording.record(entries, cause)

    def _announce(self, stream: Name, high: int, now: int) -> list[Effect]:
        return self._of_full(self.full.member.announce(stream, high, now), now)

    def _certificate(self, name: Name) -> Data | None:
        """A certificate that was kept, by (a prefix of) its name; those that are asked for hold KEY in it."""
        try:
            found = self.store.find(name)
        except Damaged:
            return None
        return None if found is None else Data.decode(found)

    def _others(self, now: int) -> tuple[Name, ...]:
        """Who may have kept a certificate that nobody answers for: some other repos."""
        return tuple(peer.name for peer in self.peers.order(None, now)[:_ASKED_FOR_HELP])

    def _certified(self, certificate: Data, now: int) -> list[Effect]:
        """Keep a certificate that was fetched, if it is believed, for those who cannot reach its holder."""

        def checked(refusal: str, now: int) -> list[Effect]:
            return [] if refusal else self.shelf.put([certificate], REPLICATION, lambda _, __: [], now)

        return self.asking.check(certificate, checked, now)

    def _insert_at(self, repo: Name, packets: Sequence[Data], then: Copied, now: int) -> list[Effect]:
        """Have another repo keep these."""
        commander = self._commanders.get(repo)
        if commander is None:
            commander = Commander(self.asking, self._signer, self._randomness, self.place.group.name, repo)
            self._commanders[repo] = commander

        def answered(receipt: Receipt | None, reason: str, now: int) -> list[Effect]:
            return then("" if receipt is not None and receipt.code == ALL_KEPT else reason or "it refused", now)

        return commander.insert_batch(packets, answered, now)

    def _recall(self, now: int) -> list[Effect]:
        """Go on with the other repos as far as the disk knows them, and know their numbers better than they may."""
        effects: list[Effect] = []
        for stream, row in list(self.shelf.holdings):
            if self.peers.is_repo(stream) and stream != self.name:
                self.full.member.recall(stream, row.highest)
                effects += self.replication.look(stream, row.highest, now)
        return effects

    def _latest_names(self) -> list[Name]:
        return [numbered(stream, row.highest) for stream, row in self.shelf.holdings if row.highest]

    # -- its other sync member

    def _make_partial(self, settings: RepoSettings, signer: Signer, randomness: Randomness) -> PSyncProducer:
        ledger = Ledger.of(_PARTIAL, [])
        return PSyncProducer(
            self.place.group.subscriptions, settings.partial, signer, randomness, ledger, carried=self._carried
        )

    def _carried(self, stream: Name, number: int) -> bytes | None:
        try:
            return self.store.get(numbered(stream, number))
        except Damaged:
            return None


def _records_of(repo: Name, store: Store) -> Ledger:
    """Which numbers of records the disk knows to be given; nothing at all is as doubtful as something damaged."""
    last, certain = highest(store, repo, STREAM_MARK)
    return Ledger.of(_FULL, [(Stream(repo), last)] if last else [], damaged=not (last and certain))
