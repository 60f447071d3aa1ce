"""The inserter: each packet once at a repo, however often it is handed in, and what differs is never overwritten."""

from __future__ import annotations

import random

import pytest
from tests.panel_world import CURRENT, KEYS, NAME, VOLTAGE, WORLD, FakeRepo
from tests.trust_world import NOW, PANEL1

from roost.errors import Backpressure
from roost.forwarding.endpoint_effects import TIMED_OUT, Asked, Delivered, Failed
from roost.machine import SECOND, Effect, Note, Rejected
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.pubsub import orders
from roost.pubsub.asking import Asking
from roost.pubsub.inserter import MAX_COMPARED, Inserter, make_inserter
from roost.pubsub.membership import Ask
from roost.pubsub.orders import MAX_WAITING, Outcome
from roost.pubsub.panels.dispatch import BATCH_READINGS, MAX_PAUSE, MIN_PAUSE, WINDOW, Inserted
from roost.pubsub.resident import Part
from roost.repo.batch import Receipt
from roost.repo.shelving import CONFLICT, DELETED
from roost.sync.port import Reply
from roost.wire import Data, Interest, encode_interest, make_data
from roost.wire.digest import DigestSigner

SERVICE = Group.at(NAME.prefix(-1)).service
SIGNER = KEYS.signer_for(numbered(VOLTAGE, 1), NOW)


def packet(number: int, content: bytes = b"230", stream: Name = VOLTAGE, freshness_ms: int = 0) -> Data:
    return make_data(numbered(stream, number), content, SIGNER, freshness_ms=freshness_ms)


class Repo(FakeRepo):
    """Says what a repo says where it has another packet of a name, and refuses what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: dict[Name, str] = {}

    def insert_batch(self, packets: list[Data], then: Inserted, now: int, *, copies: int = 1) -> list[Effect]:
        self.left_house.clear()  # unlike a panel, an inserter may be given a second packet of a name
        return super().insert_batch(packets, then, now, copies=copies)

    def keep(self, packets: list[Data]) -> Receipt:
        refused: list[tuple[int, str]] = []
        for index, data in enumerate(packets):
            if data.name in self.reasons:
                refused.append((index, self.reasons[data.name]))
            elif self.kept.setdefault(data.name, data.wire) != data.wire:
                refused.append((index, CONFLICT))
        return Receipt(206 if refused else 200, len(packets) - len(refused), tuple(refused))


class Desk:
    """An inserter, its repo, and what it asks for."""

    def __init__(self) -> None:
        self.repo = Repo()
        self.now = NOW
        self.told: list[Effect] = []
        self.asked: list[Ask] = []
        self.inserter = Inserter(NAME, SERVICE, Asking(WORLD.verifier(), NAME), self.repo, random.Random(1), copies=2)
        self.do(self.inserter.start(NOW))

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Ask):
                self._ask(effect)
            else:
                self.told.append(effect)

    def _ask(self, ask: Ask) -> None:
        for certificate in WORLD.certificates():
            if certificate.name.starts_with(ask.question.name):
                self.deliver(ask, certificate.data)
                return
        self.asked.append(ask)

    def deliver(self, ask: Ask, data: Data) -> None:
        self.do(self.inserter.receive(Delivered(ask.ticket, data, congested=False), self.now))

    def insert(self, *packets: Data) -> int:
        self.do(self.inserter.insert(packets, self.now))
        return self.inserter.orders.last

    def answer(self, receipt: Receipt | None = None) -> None:
        """Have all that was sent answered, and what is sent because of that."""
        while self.repo.waiting:
            packets, then = self.repo.waiting.pop(0)
            self.do(then(receipt or self.repo.keep(packets), "", self.now))

    def fail(self, receipt: Receipt | None = None) -> None:
        """Have what was sent so far not taken."""
        waiting, self.repo.waiting[:] = list(self.repo.waiting), []
        for _, then in waiting:
            self.do(then(receipt, "timed out", self.now))

    def serve(self) -> None:
        """Answer what is asked by name from what the repo has."""
        while self.asked:
            ask = self.asked.pop(0)
            self.deliver(ask, Data.decode(self.repo.kept[ask.question.name]))

    def wait(self, ns: int) -> None:
        end = self.now + ns
        while (deadline := self.inserter.deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.do(self.inserter.tick(self.now))
        self.now = end

    def outcomes(self) -> dict[int, Outcome]:
        return {effect.order: effect.outcome for effect in self.told if isinstance(effect, orders.Inserted)}


def test_an_order_is_told_when_a_repo_has_all_of_it() -> None:
    desk = Desk()
    count = 2 * BATCH_READINGS
    first = desk.insert(*[packet(number) for number in range(1, count + 1)])
    second = desk.insert(packet(1, stream=CURRENT))
    assert len(desk.repo.waiting) > 1
    packets, then = desk.repo.waiting.pop(0)
    desk.do(then(desk.repo.keep(packets), "", NOW))
    assert desk.outcomes() == {}
    desk.answer()
    assert desk.outcomes() == {first: Outcome(kept=count), second: Outcome(kept=1)}
    assert len(desk.repo.kept) == count + 1
    assert set(desk.repo.copies) == {2}
    assert len(desk.inserter.orders) == 0


def test_the_same_packet_in_several_orders_is_sent_once_and_counts_for_each() -> None:
    desk = Desk()
    for _ in range(3):
        desk.insert(packet(1), packet(1), packet(2))
    assert [len(packets) for packets, _ in desk.repo.waiting] == [2]
    desk.answer()
    assert desk.outcomes() == dict.fromkeys((1, 2, 3), Outcome(kept=3))
    desk.insert(packet(1))
    desk.answer()
    assert desk.outcomes()[4] == Outcome(kept=1)


def test_nothing_to_insert_is_done_at_once() -> None:
    desk = Desk()
    assert desk.outcomes() == {}
    desk.insert()
    assert desk.outcomes() == {1: Outcome()}


def test_several_batches_are_under_way_and_no_more_than_the_window() -> None:
    desk = Desk()
    desk.insert(*[packet(number) for number in range(1, (WINDOW + 2) * BATCH_READINGS)])
    assert len(desk.repo.waiting) == WINDOW
    desk.answer()
    assert desk.outcomes()[1].kept == (WINDOW + 2) * BATCH_READINGS - 1


def test_without_a_receipt_it_pauses_and_sends_again() -> None:
    desk = Desk()
    desk.insert(packet(1))
    for receipt in (None, Receipt(503, text="the disk is full", retry_after_ms=10_000)):
        desk.fail(receipt)
        assert desk.repo.waiting == []
        desk.wait(MIN_PAUSE // 4)
        assert desk.repo.waiting == []
        desk.wait(10 * SECOND)
        assert len(desk.repo.waiting) == 1
    desk.answer()
    assert desk.outcomes() == {1: Outcome(kept=1)}
    assert [dict(note.facts)["reason"] for note in desk.told if isinstance(note, Note)] == ["timed out", "timed out"]


def test_when_the_network_is_back_nothing_waits_longer() -> None:
    desk = Desk()
    desk.insert(packet(1))
    for _ in range(12):
        desk.fail()
        desk.wait(MAX_PAUSE)
    desk.fail()
    assert desk.repo.waiting == []
    desk.do(desk.inserter.start(desk.now))
    assert len(desk.repo.waiting) == 1


def test_the_same_content_by_another_signature_is_present_and_another_content_a_conflict() -> None:
    desk = Desk()
    desk.insert(packet(1), packet(2))
    desk.answer()
    desk.insert(packet(1, freshness_ms=5), packet(2, b"231"), packet(3))
    desk.answer()
    assert [ask.question.name for ask in desk.asked] == [numbered(VOLTAGE, 1), numbered(VOLTAGE, 2)]
    assert all(ask.question.hints == (SERVICE,) for ask in desk.asked)
    assert 2 not in desk.outcomes()
    desk.serve()
    outcome = desk.outcomes()[2]
    assert (outcome.kept, outcome.present, outcome.refused) == (1, 1, ())
    assert [name for name, _ in outcome.conflicts] == [numbered(VOLTAGE, 2)]
    assert desk.inserter.conflicts == 1
    assert [note.event for note in desk.told if isinstance(note, Note)] == ["conflict"]
    assert desk.repo.kept[numbered(VOLTAGE, 2)] == packet(2).wire


def test_what_is_kept_is_not_believed_unless_its_panel_signed_it() -> None:
    desk = Desk()
    name = numbered(VOLTAGE, 1)
    desk.repo.kept[name] = make_data(name, b"230", DigestSigner()).wire
    desk.insert(packet(1))
    desk.answer()
    desk.serve()
    ((refused, reason),) = desk.outcomes()[1].refused
    assert refused == name
    assert "could not be compared" in reason
    assert any(isinstance(effect, Rejected) for effect in desk.told)


def test_what_is_kept_and_cannot_be_fetched_is_neither_there_nor_a_conflict() -> None:
    desk = Desk()
    desk.repo.kept[numbered(VOLTAGE, 1)] = packet(1, b"231").wire
    desk.insert(packet(1))
    desk.answer()
    (ask,) = desk.asked
    desk.do(desk.inserter.receive(Failed(ask.ticket, TIMED_OUT, "nobody answered"), desk.now))
    assert "nobody answered" in desk.outcomes()[1].refused[0][1]
    assert desk.inserter.conflicts == 0


def test_so_many_are_compared_at_a_time() -> None:
    desk = Desk()
    count = MAX_COMPARED + 10
    desk.insert(*[packet(number) for number in range(1, count + 1)])
    desk.answer()
    desk.insert(*[packet(number, freshness_ms=5) for number in range(1, count + 1)])
    desk.answer()
    assert len(desk.asked) == MAX_COMPARED
    desk.serve()
    assert desk.outcomes()[2] == Outcome(present=count)
    assert desk.inserter.sizes()["compared"] == (0, MAX_COMPARED)


def test_what_is_refused_and_what_was_dropped_is_told() -> None:
    desk = Desk()
    desk.repo.reasons = {numbered(VOLTAGE, 1): "no key may sign it", numbered(VOLTAGE, 2): DELETED}
    desk.insert(packet(1), packet(2), packet(3))
    desk.answer()
    assert desk.outcomes() == {1: Outcome(1, 0, (), ((numbered(VOLTAGE, 1), "no key may sign it"),), 1)}


def test_two_contents_of_one_name_in_hand_are_a_conflict_and_the_first_one_counts() -> None:
    desk = Desk()
    desk.insert(packet(1), packet(1, b"231"))
    desk.answer()
    outcome = desk.outcomes()[1]
    assert outcome.kept == 1
    assert [name for name, _ in outcome.conflicts] == [numbered(VOLTAGE, 1)]


def test_a_packet_too_large_for_a_batch_is_refused_and_holds_nothing_up() -> None:
    desk = Desk()
    desk.insert(packet(1, bytes(7990)), packet(2))
    desk.answer()
    outcome = desk.outcomes()[1]
    assert outcome.kept == 1
    assert "make it smaller" in outcome.refused[0][1]


def test_more_than_there_is_room_for_is_turned_away_whole() -> None:
    desk = Desk()
    few = [packet(number) for number in range(1, 3)]
    desk.insert(*few)
    with pytest.raises(Backpressure) as full:
        desk.inserter.insert(few * (MAX_WAITING // 2), NOW)
    assert full.value.retry_after_ms
    assert desk.inserter.orders.turned_away == 1
    desk.answer()
    assert desk.outcomes() == {1: Outcome(kept=2)}


def test_what_was_given_up_is_not_sent_again_but_for_what_others_wait_for() -> None:
    desk = Desk()
    many = [packet(number) for number in range(1, (WINDOW + 1) * BATCH_READINGS + 1)]
    given_up = desk.insert(*many)
    other = desk.insert(many[-1])
    assert desk.inserter.abandon(given_up) == len(many)
    assert desk.inserter.abandon(given_up) == 0
    assert len(desk.inserter.orders) == 1
    under_way = sum(len(packets) for packets, _ in desk.repo.waiting)
    desk.answer()
    assert desk.outcomes() == {other: Outcome(kept=1)}
    assert numbered(VOLTAGE, len(many)) in desk.repo.kept
    assert len(desk.repo.kept) == under_way + 1 < len(many)


def test_what_was_given_up_while_it_paused_is_forgotten() -> None:
    desk = Desk()
    first = desk.insert(packet(1), packet(2))
    desk.fail()
    desk.inserter.abandon(first)
    second = desk.insert(packet(2))
    desk.wait(MAX_PAUSE)
    desk.answer()
    desk.wait(MAX_PAUSE)
    desk.answer()
    assert desk.outcomes() == {second: Outcome(kept=1)}
    assert list(desk.repo.kept) == [numbered(VOLTAGE, 2)]


def test_it_shows_the_certificates_that_repos_ask_for() -> None:
    held = WORLD[PANEL1]
    place = Group.at(NAME.prefix(-1)).panel("Panel1")
    inserter: Part = make_inserter(
        place, WORLD.verifier(), held.signer, random.Random(1), certificates=[held.certificate.data]
    )
    assert list(inserter.prefixes) == list(inserter.routes) == [held.key.name]
    interest = Interest.decode(encode_interest(held.key.name, can_be_prefix=True))
    (reply,) = inserter.receive(Asked(held.key.name, interest, b"t"), NOW)
    assert reply == Reply(held.certificate.data.wire, b"t")
    shown = make_inserter(place, WORLD.verifier(), held.signer, random.Random(1), shown=[held.key.name])
    assert (list(shown.prefixes), list(shown.routes)) == ([], [held.key.name])  # the face answers for it
