"""A consumer, repos and a lossy network between them under a virtual clock, for tests of subscriptions.

The repos are real where it counts: store in memory, questions, data interface, producer of partial sync. One of them is
the nearest; what it is told reaches the others later. The consumer's disk keeps what was saved, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from random import Random

from roost.forwarding import endpoint_effects as endpoint
from roost.forwarding.endpoint_effects import TIMED_OUT, Delivered, Failed
from roost.machine import MS, SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.building import Company, numbered
from roost.pubsub.consumers.arrival import Arrival, Deliver, Missing
from roost.pubsub.consumers.consumer import Consumer, ConsumerSettings
from roost.pubsub.consumers.policy import Policy
from roost.pubsub.consumers.wishes import Wish
from roost.pubsub.membership import Ask, Cancel
from roost.pubsub.repos.data_interface import DataInterface
from roost.pubsub.repos.questions import Questions
from roost.repo.memory import MemoryStore
from roost.repo.store import Batch, Entry
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Reply
from roost.sync.presets import ROOST_PARTIAL
from roost.sync.psync_producer import PSyncProducer
from roost.trust.acceptance import ACCEPT_ANY, Checker
from roost.wire import Data, DigestSigner, Interest, encode_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

COMPANY = Company(Name.parse("/BigCompany"), frozenset({"Building1"}))
GROUP = COMPANY.group("Building1", "Electricity")
START = 1_790_000_000 * SECOND
HOP = 2 * MS


def stream(panel: str = "Panel1", device: str = "Heater", metric: str = "Voltage") -> Name:
    return GROUP.stream(panel, device, metric).name


def reading(name: Name, time: int, value: float = 230.5) -> bytes:
    content = Reading(time, SENML_CBOR, encode_values([Value(value, "V")])).encode()
    return encode_data(name, content, DigestSigner())


class FakeHoldings:
    """What the table of a repo says, for tests."""

    def __init__(self) -> None:
        self.numbers: dict[Name, int] = {}
        self.gone: dict[Name, list[tuple[int, int]]] = {}
        self.missing: dict[Name, list[tuple[int, int]]] = {}

    def highest(self, stream: Name) -> int:
        return self.numbers.get(stream, 0)

    def lowest(self, stream: Name) -> int:
        runs = [*self.dropped(stream, 1, self.highest(stream)), *self.holes(stream, self.highest(stream))]
        absent = {number for low, high in runs for number in range(low, high + 1)}
        return next((number for number in range(1, self.highest(stream) + 1) if number not in absent), 0)

    def under(self, prefix: Name, after: Name | None, limit: int) -> list[Name]:
        return [name for name in sorted(self.numbers) if name.starts_with(prefix) and (after is None or name > after)][
            :limit
        ]

    def dropped(self, stream: Name, low: int, high: int) -> list[tuple[int, int]]:
        return [run for run in self.gone.get(stream, []) if run[0] <= high and run[1] >= low]

    def is_held(self, stream: Name, number: int) -> bool:
        absent = [*self.gone.get(stream, ()), *self.missing.get(stream, ())]
        return 1 <= number <= self.highest(stream) and not any(low <= number <= high for low, high in absent)

    def holes(self, stream: Name, limit: int) -> list[tuple[int, int]]:
        return self.missing.get(stream, [])[:limit]

    def gaps(self, stream: Name) -> list[tuple[int, int]]:
        return self.missing.get(stream, [])

    def lacking(
        self, prefix: Name, after: Name | None, limit: int, max_bytes: int
    ) -> Iterator[tuple[Name, list[tuple[int, int]]]]:
        page = self.under(prefix, after, limit)
        yield from [(stream, self.gaps(stream)) for stream in page if self.gaps(stream) and len(stream) <= max_bytes]
        if len(page) == limit:
            yield page[-1], []


class FakeRepo:
    """One repo."""

    def __init__(self, number: int, *, carries: bool = False, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.holdings = FakeHoldings()
        self.damaged: list[Name] = []
        self.asked: list[Name] = []
        signer = DigestSigner()
        prefixes = (GROUP.service, GROUP.repo(f"Repo{number}").name)
        self.questions = Questions(self.store, self.holdings, signer, prefixes, self._damaged)
        self.interface = DataInterface(self.store, self._damaged)
        ledger = Ledger("unused", b"")
        carried = self._carried if carries else None
        self.producer = PSyncProducer(GROUP.subscriptions, ROOST_PARTIAL, signer, Random(number), ledger, carried)

    def put(self, entries: Sequence[tuple[Name, int, bytes, int]], now: int) -> list[Effect]:
        """Store readings (stream, number, packet, event time) and tell of them."""
        self.store.write([Batch(tuple(Entry(numbered(each[0], each[1]), each[2], each[3]) for each in entries))])
        for name, number, _, _ in entries:
            self.holdings.numbers[name] = max(number, self.holdings.highest(name))
        return self.producer.publish([(name, number) for name, number, _, _ in entries], now)

    def drop(self, name: Name, low: int, high: int) -> None:
        self.store.write([Batch(deletes=tuple(numbered(name, number) for number in range(low, high + 1)))])
        self.holdings.gone.setdefault(name, []).append((low, high))

    def ask(self, interest: Interest, token: bytes, now: int) -> list[Effect]:
        self.asked.append(interest.name)
        if interest.name.starts_with(GROUP.subscriptions):
            return self.producer.receive(Asked(interest, token), now)
        asked = endpoint.Asked(GROUP.service, interest, token)
        answer = self.questions.asked(asked, now)
        return answer if answer is not None else self.interface.asked(asked, now) or []

    def _damaged(self, name: Name, now: int) -> list[Effect]:  # noqa: ARG002  a callback's shape
        self.damaged.append(name)
        return []

    def _carried(self, name: Name, number: int) -> bytes | None:
        return self.store.get(numbered(name, number))


class World:
    """All of it; `app` is called with each arrival, and acknowledges and takes by default."""

    def __init__(
        self,
        wishes: Sequence[Wish] = (),
        policy: Policy | None = None,
        *,
        seed: int = 1,
        loss: float = 0.0,
        repos: int = 1,
        carries: bool = False,
        settings: ConsumerSettings | None = None,
        verifier: Checker = ACCEPT_ANY,
    ) -> None:
        self.now = START
        self.loss = loss
        self.random = Random(seed)
        self.repos = [FakeRepo(number, carries=carries) for number in range(repos)]
        self.nearest = 0
        self.acknowledges = True
        self.takes = True
        self.told: list[Effect] = []
        self.arrivals: list[Arrival] = []
        self.disk = b""
        self._wishes = wishes
        self._policy = policy
        self._settings = settings
        self._verifier = verifier
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._turn = count()
        self._boot = 0
        self._open: dict[int, Interest] = {}
        self.consumer = self._new()

    # -- the consumer's life

    def _new(self) -> Consumer:
        return Consumer(
            GROUP,
            self._wishes,
            self._verifier,
            self.random,
            saved=self.disk,
            file="place",
            policy=self._policy,
            settings=self._settings,
        )

    def start(self) -> None:
        self.do(self.consumer.start(self.now))

    def restart(self) -> None:
        """Crash: what was not saved is gone, and so is every question."""
        self._boot += 1
        self._open.clear()
        self.consumer = self._new()
        self.start()

    def numbers(self, name: Name | None = None) -> list[int]:
        return [arrival.number for arrival in self.arrivals if name is None or arrival.stream == name]

    def missing(self) -> list[tuple[int, int]]:
        return [(effect.low, effect.high) for effect in self.told if isinstance(effect, Missing)]

    # -- the repos

    def publish(self, name: Name, numbers: Sequence[int], *, lag: int = 0) -> None:
        """Insert readings at the nearest repo; the others have them `lag` later."""
        entries = [(name, number, reading(numbered(name, number), self.now), self.now) for number in numbers]
        for index, repo in enumerate(self.repos):
            delay = 0 if index == self.nearest else lag
            self._at(delay, lambda repo=repo: self._replied(repo.put(entries, self.now)))  # type: ignore[misc]

    # -- time

    def run(self, duration: int) -> None:
        until = self.now + duration
        while True:
            due = self.consumer.deadline()
            soonest = self._agenda[0][0] if self._agenda else until + 1
            if due is not None and due <= min(soonest, until):
                self.now = max(self.now, due)
                self.do(self.consumer.tick(self.now))
            elif soonest <= until:
                self.now, _, action = heappop(self._agenda)
                action()
            else:
                self.now = until
                return

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Ask):
                self._asked(effect)
            elif isinstance(effect, Cancel):
                self._open.pop(effect.ticket, None)
            elif isinstance(effect, Save):
                self._at(HOP, lambda effect=effect, boot=self._boot: self._save(effect, boot))  # type: ignore[misc]
            else:
                self.told.append(effect)
                if isinstance(effect, Deliver):
                    self._delivered(effect.arrival)
                elif isinstance(effect, Missing) and self.acknowledges:
                    self.do(self.consumer.acknowledge(effect.stream, effect.high, self.now))

    def _delivered(self, arrival: Arrival) -> None:
        self.arrivals.append(arrival)
        boot, consumer = self._boot, self.consumer

        def dealt_with() -> None:
            if boot != self._boot:
                return
            if self.acknowledges:
                self.do(consumer.acknowledge(arrival.stream, arrival.number, self.now))
            if self.takes:
                self.do(consumer.take(1, self.now))

        self._at(HOP, dealt_with)

    def _save(self, save: Save, boot: int) -> None:
        if boot != self._boot:
            return
        self.disk = save.data if save.replace else self.disk + save.data
        self.do(self.consumer.receive(Saved(save.file, save.ticket), self.now))

    def _asked(self, ask: Ask) -> None:
        interest = Interest.decode(ask.question.encoded())
        self._open[ask.ticket] = interest
        boot = self._boot
        token = b"%d/%d" % (boot, ask.ticket)

        def expire() -> None:
            if boot == self._boot and self._open.pop(ask.ticket, None) is not None:
                self.do(self.consumer.receive(Failed(ask.ticket, TIMED_OUT, "nobody answered"), self.now))

        self._at(interest.lifetime_ms * MS, expire)
        if self.random.random() >= self.loss:
            repo = self.repos[self.nearest]
            self._at(HOP, lambda: self._replied(repo.ask(interest, token, self.now)))

    def _replied(self, effects: list[Effect]) -> None:
        for effect in effects:
            assert isinstance(effect, Reply), effect
            boot, ticket = map(int, effect.token.split(b"/"))
            data = Data.decode(effect.packet)
            if self.random.random() >= self.loss:
                self._at(HOP, lambda ticket=ticket, data=data, boot=boot: self._answer(boot, ticket, data))  # type: ignore[misc]

    def _answer(self, boot: int, ticket: int, data: Data) -> None:
        if boot == self._boot and self._open.pop(ticket, None) is not None:
            self.do(self.consumer.receive(Delivered(ticket, data, congested=False), self.now))

    def _at(self, delay: int, action: Callable[[], None]) -> None:
        heappush(self._agenda, (self.now + delay, next(self._turn), action))
