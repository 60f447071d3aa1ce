"""The collector: modules asked on a schedule, verified, published for; sleeping ones tolerated."""

from __future__ import annotations

from random import Random

import pytest
from tests.trust_world import NOW, PANEL1, SCHEMA, STREAM, World

from roost.errors import Backpressure, BadConfig
from roost.forwarding.endpoint_effects import TIMED_OUT, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import MS, Effect, Note, Rejected
from roost.naming import Name
from roost.naming.conventions import version
from roost.pubsub.asking import Asking
from roost.pubsub.membership import Ask
from roost.pubsub.panels.collector import MAX_STRETCH, SLEEPY, Collector, Module
from roost.trust import Verifier
from roost.trust.acceptance import ACCEPT_ANY, Checker
from roost.wire import Data, make_data
from roost.wire.digest import DigestSigner
from roost.wire.reading import OCTET_STREAM, TEXT, Lineage, Reading

PANEL = Name.parse("/G/P")
PREFIX = Name.parse("/modules/room1")
INTERVAL = 1000 * MS


class Room:
    """A collector, the Interests it has sent, and what it published."""

    def __init__(self, checker: Checker = ACCEPT_ANY, **options: int) -> None:
        self.asking = Asking(checker, PANEL)
        self.published: list[tuple[Name, Reading]] = []
        self.full = False
        self.collector = Collector(self.asking, self.publish, Random(3), **options)
        self.asked: list[tuple[int, Question]] = []
        self.told: list[Effect] = []
        self.now = NOW

    def publish(self, stream: Name, reading: Reading, now: int) -> list[Effect]:
        assert now == self.now
        if self.full:
            raise Backpressure("full", 10)
        self.published.append((stream, reading))
        return []

    def do(self, effects: list[Effect]) -> None:
        self.asked += [(effect.ticket, effect.question) for effect in effects if isinstance(effect, Ask)]
        self.told += [effect for effect in effects if not isinstance(effect, Ask)]

    def next_round(self) -> int:
        """Let time pass until somebody is asked; returns how long that took."""
        deadline = self.collector.deadline()
        assert deadline is not None
        passed = deadline - self.now
        self.now = deadline
        self.do(self.collector.tick(self.now))
        return passed

    def answer(self, content: bytes, number: int = 1, count: int = 1) -> None:
        for _ in range(count):
            ticket, question = self.asked.pop(0)
            data = make_data(question.name / version(number), content, DigestSigner(), freshness_ms=100)
            self.do(self.asking.receive(Delivered(ticket, data, congested=False), self.now))

    def hand_in(self, data: Data) -> None:
        ticket, _ = self.asked.pop(0)
        self.do(self.asking.receive(Delivered(ticket, data, congested=False), self.now))

    def miss(self) -> None:
        while self.asked:
            ticket, _ = self.asked.pop(0)
            self.do(self.asking.receive(Failed(ticket, TIMED_OUT, "no answer"), self.now))

    def events(self) -> list[str]:
        return [effect.event for effect in self.told if isinstance(effect, Note)]


def room_with(*metrics: str) -> Room:
    room = Room()
    room.collector.add(Module(PREFIX, PANEL / "room1", metrics or ("temp",), 1000, 500), NOW)
    return room


def test_each_metric_is_asked_for_fresh_and_published_under_its_device() -> None:
    room = room_with("temp", "hum")
    room.next_round()
    assert [question.name for _, question in room.asked] == [PREFIX / "temp", PREFIX / "hum"]
    assert all(question.can_be_prefix and question.must_be_fresh for _, question in room.asked)
    assert {question.lifetime_ms for _, question in room.asked} == {500}
    room.answer(b"21.5")
    room.answer(b"\xff\xfe")
    assert room.published == [
        (PANEL / "room1" / "temp", Reading(room.now, TEXT, b"21.5")),
        (PANEL / "room1" / "hum", Reading(room.now, OCTET_STREAM, b"\xff\xfe")),
    ]
    assert room.next_round() == INTERVAL


def test_the_time_of_an_envelope_counts_and_its_lineage_does_not() -> None:
    room = room_with()
    lineage = Lineage((Name.parse("/G/P/x/y/seq=1"),), bytes(32))
    for time, expected in ((7, 7), (0, None)):
        room.next_round()
        room.answer(Reading(time, 112, b"pack", lineage).encode(), number=time)
        assert room.published.pop() == (PANEL / "room1" / "temp", Reading(expected or room.now, 112, b"pack"))


def test_modules_begin_at_different_times_and_keep_their_rhythm() -> None:
    room = Room()
    for number in range(30):
        room.collector.add(Module(PREFIX / f"m{number}", PANEL / f"m{number}", ("temp",), 1000), NOW)
    times = []
    for _ in range(30):
        room.next_round()
        times.append(room.now)
        room.answer(b"1", count=len(room.asked))
    assert len(set(times)) > 25
    assert max(times) < NOW + INTERVAL
    again = []
    for _ in range(30):
        room.next_round()
        again.append(room.now - INTERVAL)
        room.answer(b"2", number=2, count=len(room.asked))
    assert again == times


def test_the_same_packet_is_not_published_twice() -> None:
    room = room_with()
    for number in (1, 1, 2, 1):
        room.next_round()
        room.answer(b"21.5", number)
    assert len(room.published) == 3
    assert room.collector.repeated == 1


def test_a_module_that_sleeps_is_asked_less_often_and_told_once_and_again_when_it_wakes() -> None:
    room = room_with()
    room.next_round()
    pauses = []
    for _ in range(12):
        room.miss()
        pauses.append(room.next_round())
    assert pauses[: SLEEPY + 1] == [INTERVAL, INTERVAL, 2 * INTERVAL, 4 * INTERVAL]
    assert pauses[-1] == MAX_STRETCH * INTERVAL
    assert room.events() == ["module asleep"]
    assert room.collector.asleep() == [PREFIX]
    room.answer(b"1")
    assert room.events() == ["module asleep", "module awake"]
    assert room.next_round() == INTERVAL
    assert room.collector.missed == 12


def test_a_module_that_answers_for_one_metric_is_awake() -> None:
    room = room_with("temp", "hum")
    for number in range(SLEEPY + 2):
        room.next_round()
        room.answer(b"1", number)
        room.miss()
    assert room.events() == []


def test_a_start_asks_sleeping_modules_soon() -> None:
    room = room_with()
    for _ in range(10):
        room.next_round()
        room.miss()
    room.do(room.collector.start(room.now))
    assert room.next_round() < INTERVAL


def test_a_slow_answer_costs_rounds_and_not_the_rhythm() -> None:
    room = room_with()
    room.next_round()
    began = room.now
    room.now += 2 * INTERVAL + 5
    assert room.collector.deadline() is None
    room.answer(b"1")
    room.next_round()
    assert room.now == began + 3 * INTERVAL


def test_a_full_outbox_is_noted_and_counted() -> None:
    room = room_with()
    room.next_round()
    room.full = True
    room.answer(b"1")
    assert room.events() == ["reading not published"]
    assert room.collector.unpublished == 1
    room.full = False
    room.next_round()
    room.answer(b"1")  # the same packet, which nobody has yet
    assert len(room.published) == 1
    assert room.collector.repeated == 0


def test_what_the_verifier_does_not_believe_is_not_published() -> None:
    world = World()
    room = Room(Verifier(SCHEMA, [world.anchor.certificate]))
    stream = Name.parse(STREAM)
    room.collector.add(Module(stream.prefix(-1), PANEL / "x", ("Voltage",), 1000), NOW)
    room.next_round()
    room.hand_in(make_data(stream / "by nobody", b"1", DigestSigner()))
    assert room.published == []
    assert [effect.source for effect in room.told if isinstance(effect, Rejected)] == [str(PANEL)]
    assert room.collector.missed == 1
    assert PANEL1 in str(stream)


def test_modules_are_checked_and_bounded() -> None:
    for metrics, interval_ms, lifetime_ms in (((), 1000, 1), (("a", "a"), 1000, 1), (("a",), 1, 1), (("a",), 1000, 0)):
        with pytest.raises(BadConfig):
            Module(PREFIX, PANEL, metrics, interval_ms, lifetime_ms)
    room = Room(max_modules=1)
    room.collector.add(Module(PREFIX, PANEL / "x", ("a",)), NOW)
    with pytest.raises(Backpressure, match="1 modules"):
        room.collector.add(Module(PREFIX, PANEL / "y", ("a",)), NOW)
