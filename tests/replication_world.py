"""Small repos that replicate with each other, as pure objects on one medium under a virtual clock.

Just enough of a repo and of a network: an Interest goes to whom its hint or its name says, full sync to everybody else.
The repo proper is `roost.pubsub.repos.repo`, the simulator `roost.sim`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Final

from roost.forwarding.endpoint_effects import TIMED_OUT, Asked, Delivered, Failed
from roost.machine import MS, SECOND, Effect, Note, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.building import REPLICATION, SERVICE, numbered
from roost.pubsub.asking import Asking
from roost.pubsub.membership import Ask, Cancel, Membership
from roost.pubsub.repos.anti_entropy import AntiEntropy
from roost.pubsub.repos.comparison import HOLDINGS, Comparison
from roost.pubsub.repos.peers import Peers
from roost.pubsub.repos.recording import Recording
from roost.pubsub.repos.replication import Replication
from roost.pubsub.repos.retrieval import Retrieval
from roost.pubsub.repos.versioned import Versioned
from roost.repo.holdings import encode_holdings
from roost.repo.memory import MemoryStore
from roost.repo.question import ASK, Bundle, decode_question, encode_bundle
from roost.repo.record import CARRY_BYTES
from roost.repo.shelf import Shelf
from roost.repo.shelf_effects import Dropped, Kept
from roost.repo.store import Damaged, Entry, Unwritten, Write, Written
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Learned, Ready, Reply, Stream
from roost.sync.presets import ROOST_FULL
from roost.sync.psync_full import PSyncFull
from roost.trust.acceptance import ACCEPT_ANY, Checker
from roost.wire import Data, DigestSigner, Interest, Signer, make_data
from roost.wire.interest import matches
from roost.wire.reading import Reading

GROUP = Name.parse("/BigCompany/Building1/Electricity")
FULL = GROUP / SERVICE / REPLICATION
START = 1_790_000_000 * SECOND
DELAY = 2 * MS
STREAM = GROUP / "Panel1" / "Heater" / "Voltage"


def reading(stream: Name, number: int, signer: Signer | None = None, size: int = 20) -> Data:
    content = Reading(START + number, 42, bytes(size)).encode()
    return make_data(numbered(stream, number), content, signer or DigestSigner())


class Rotten(MemoryStore):
    """A store in which packets can go bad."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: set[Name] = set()

    def get(self, name: Name) -> bytes | None:
        if name in self.bad:
            raise Damaged(name)
        return super().get(name)

    def range(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
        return [pair for pair in super().range(stream, low, high, limit) if numbered(stream, pair[0]) not in self.bad]


class SmallRepo:
    """One repo: what it keeps, and what replicates it."""

    def __init__(
        self,
        world: World,
        name: str,
        store: Rotten | None = None,
        *,
        signer: Signer | None = None,
        verifier: Checker = ACCEPT_ANY,
        carry_bytes: int = CARRY_BYTES,
    ) -> None:
        self.world: Final = world
        self.name: Final = GROUP / "Repo" / name
        self.store: Final = store or Rotten()
        self.signer: Final = signer or DigestSigner()
        randomness = Random(name)
        self.asking: Final = Asking(verifier, self.name)
        self.shelf: Final = Shelf("store", self.store, record=self._record)
        self.shelf.start(world.now)
        self.peers: Final = Peers(self.name, randomness)
        self.retrieval: Final = Retrieval(self.asking, self.shelf, self.peers)
        self.comparison: Final = Comparison(self.asking, self.shelf, self.peers, self.retrieval, randomness)
        self.replication: Final = Replication(
            self.asking, self.shelf, self.store, self.peers, self.retrieval, self.comparison.compare
        )
        self.anti_entropy: Final = AntiEntropy(
            GROUP, self.asking, self.shelf, self.store, self.peers, self.retrieval, self.replication
        )
        highest = self.shelf.holdings.highest(self.name)
        known = [(Stream(self.name), highest)] if highest else []
        ledger = Ledger.of("numbers", known, damaged=not highest)
        self.member: Final = PSyncFull(FULL, ROOST_FULL, self.signer, randomness, ledger)
        self.membership: Final = Membership(self.member, verifier)
        self.recording: Final = Recording(self.name, self.signer, self.shelf, self._announce, carry_bytes=carry_bytes)
        self.object: Final = Versioned(self.name / HOLDINGS, self.signer, lambda: encode_holdings(self.shelf.holdings))
        self.disk_full = False
        self.told: list[Effect] = []
        self.up = True
        self.due: int | None = None

    def start(self, now: int) -> list[Effect]:
        effects = self.asking.settle(self.membership, self.membership.start(now), now)
        effects += self.asking.settle(self.membership, self.member.produce(self.name, now), now)
        return effects + self.comparison.start(now) + self.anti_entropy.start(now)

    def insert(self, *packets: Data, cause: int = 1) -> list[str]:
        """Insert at this repo; returns what becomes of it, one by one, once it is on the disk."""
        outcome: list[str] = []

        def then(refusals: list[str], now: int) -> list[Effect]:  # noqa: ARG001
            outcome.extend(refusals)
            return []

        self.world.do(self, self.shelf.put(packets, cause, then, self.world.now))
        return outcome

    def _record(self, entries: list[Entry], cause: int) -> list[Entry]:
        return self.recording.record(entries, cause)

    def _announce(self, stream: Name, high: int, now: int) -> list[Effect]:
        return self.asking.settle(
            self.membership, self.membership.act(self.member.announce(stream, high, now), now), now
        )

    def tick(self, now: int) -> list[Effect]:
        effects = self.asking.settle(self.membership, self.membership.tick(now), now)
        return effects + [
            effect
            for part in (self.retrieval, self.replication, self.comparison, self.anti_entropy)
            for effect in part.tick(now)
        ]

    def deadline(self) -> int | None:
        parts = (self.membership, self.retrieval, self.replication, self.comparison, self.anti_entropy)
        return min([due for part in parts if (due := part.deadline()) is not None], default=None)

    def inside(self, effect: Effect, now: int) -> list[Effect] | None:
        """What follows inside; None for what concerns the world."""
        if isinstance(effect, Save):
            saved = self.membership.receive(Saved(effect.file, effect.ticket), now)
            return self.asking.settle(self.membership, saved, now)
        if isinstance(effect, Learned):
            return self.replication.learned(effect, now)
        if isinstance(effect, Ready):
            return self.recording.ready(effect.number, now) + self.replication.look(self.name, effect.number - 1, now)
        if isinstance(effect, (Kept, Dropped)):
            self.told.append(effect)
            return self.recording.kept(now)
        if isinstance(effect, (Note, Announced, Rejected)):
            self.told.append(effect)
            return []
        return None

    def asked(self, asked: Asked, now: int) -> list[Effect]:
        name = asked.interest.name
        if name.starts_with(FULL):
            return self.asking.settle(self.membership, self.membership.receive(asked, now), now)
        if name.starts_with(self.name / ASK):
            return self._bundle(asked, now)
        answer = self.object.asked(asked, now)
        if answer is not None:
            return answer
        try:
            packet = self.store.get(name)
        except Damaged as damage:
            return self.anti_entropy.damaged(damage.name, now)
        return [] if packet is None else [Reply(packet, asked.token)]

    def _bundle(self, asked: Asked, now: int) -> list[Effect]:
        name = asked.interest.name
        question = decode_question(name.at(-1))
        assert isinstance(question, Bundle)
        row = self.shelf.holdings.of(question.stream)
        dropped = [
            (max(low, question.low), high) for low, high in row.gone if low <= question.high >= question.low <= high
        ]
        wires: list[bytes] = []
        for _, wire in self.store.range(question.stream, question.low, question.high, 128):
            if sum(map(len, wires)) + len(wire) > 7500:
                break
            wires.append(wire)
        full = Name.parse(f"{name}/v={now // MS}/seg=0")
        return [Reply(make_data(full, encode_bundle(wires, dropped), self.signer, freshness_ms=100).wire, asked.token)]


class World:
    """The medium, the disks, and the time."""

    def __init__(self, seed: int = 1, loss: float = 0.0) -> None:
        self.now = START
        self.loss = loss
        self._random = Random(seed)
        self.repos: list[SmallRepo] = []
        self.cut: set[tuple[Name, Name]] = set()  # pairs that do not hear each other
        self.asked: list[tuple[Name, Interest]] = []  # by whom
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._pending: dict[tuple[Name, int], Interest] = {}

    def add(
        self,
        name: str,
        store: Rotten | None = None,
        *,
        carry_bytes: int = CARRY_BYTES,
        signer: Signer | None = None,
        verifier: Checker = ACCEPT_ANY,
    ) -> SmallRepo:
        repo = SmallRepo(self, name, store, carry_bytes=carry_bytes, signer=signer, verifier=verifier)
        self.repos.append(repo)
        self.do(repo, repo.start(self.now))
        return repo

    def crash(self, repo: SmallRepo) -> None:
        repo.up = False
        self.repos.remove(repo)

    def part(self, *repos: SmallRepo) -> None:
        """Cut some off from the others."""
        for repo in repos:
            for other in self.repos:
                if other not in repos:
                    self.cut |= {(repo.name, other.name), (other.name, repo.name)}

    def run(self, span: int, until: Callable[[], bool] = lambda: False) -> bool:
        end = self.now + span
        while not until():
            due = min([repo.due for repo in self.repos if repo.due is not None], default=end + 1)
            if self._agenda:
                due = min(due, self._agenda[0][0])
            if due > end:
                self.now = end
                return until()
            self.now = max(self.now, due)
            if self._agenda and self._agenda[0][0] <= self.now:
                heappop(self._agenda)[2]()
                continue
            for repo in list(self.repos):
                if repo.due is not None and repo.due <= self.now:
                    self.do(repo, repo.tick(self.now))
                    assert (repo.deadline() or end + 1) > self.now, "a tick that does not settle its deadline"
        return True

    def later(self, span: int, action: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._agenda, (self.now + span, self._count, action))

    def do(self, repo: SmallRepo, effects: list[Effect]) -> None:
        left = list(effects)
        while left:
            effect = left.pop(0)
            more = repo.inside(effect, self.now)
            if more is not None:
                left = more + left
            elif isinstance(effect, Write):
                self._write(repo, effect)
            elif isinstance(effect, Ask):
                self._ask(repo, effect)
            elif isinstance(effect, Cancel):
                self._pending.pop((repo.name, effect.ticket), None)
            elif isinstance(effect, Reply):
                self._reply(repo, effect)
            else:
                raise AssertionError(f"nobody knows what to do with {effect}")
        repo.due = repo.deadline()

    def _write(self, repo: SmallRepo, effect: Write) -> None:
        def written() -> None:
            if not repo.up:
                return
            if repo.disk_full:
                self.do(repo, repo.shelf.receive(Unwritten(effect.store, effect.ticket, "the disk is full"), self.now))
                return
            repo.store.write([effect.batch])
            repo.store.bad.difference_update([entry.name for entry in effect.batch.puts], effect.batch.deletes)
            self.do(repo, repo.shelf.receive(Written(effect.store, effect.ticket), self.now))

        self.later(MS, written)

    def _ask(self, repo: SmallRepo, effect: Ask) -> None:
        interest = Interest.decode(effect.question.encoded())
        self.asked.append((repo.name, interest))
        self._pending[repo.name, effect.ticket] = interest
        tries = effect.question.tries
        token = repo.name.value + b"|" + effect.ticket.to_bytes(8, "big")

        def arrive(to: SmallRepo) -> None:
            if to.up and (repo.name, effect.ticket) in self._pending:
                self.do(to, to.asked(Asked(to.name, interest, token), self.now))

        def expire() -> None:
            if repo.up and self._pending.pop((repo.name, effect.ticket), None) is not None:
                self.do(repo, repo.asking.receive(Failed(effect.ticket, TIMED_OUT, "nothing came"), self.now))

        where = interest.hints[0] if interest.hints else interest.name
        for other in self.repos:
            hears = where.starts_with(FULL) or where.starts_with(other.name)
            lost = self._random.random() < self.loss
            if other is not repo and hears and not lost and (repo.name, other.name) not in self.cut:
                self.later(DELAY, lambda other=other: arrive(other))  # type: ignore[misc]
        self.later(interest.lifetime_ms * MS * tries, expire)

    def _reply(self, repo: SmallRepo, effect: Reply) -> None:
        asker, _, ticket = effect.token[:-9], b"", int.from_bytes(effect.token[-8:], "big")
        data = Data.decode(effect.packet)

        def arrive() -> None:
            for other in self.repos:
                if other.name.value == asker and (other.name, ticket) in self._pending:
                    assert matches(self._pending.pop((other.name, ticket)), data.name, data.implicit_digest)
                    self.do(other, other.asking.receive(Delivered(ticket, data, False), self.now))

        if (repo.name.value, asker) not in {(a.value, b.value) for a, b in self.cut}:
            self.later(DELAY, arrive)
