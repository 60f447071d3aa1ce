"""The strategy fail-over, and faces that are down: who is asked next when a hop does not answer."""

from __future__ import annotations

from random import Random

import pytest

from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.settings import ForwarderSettings
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.forwarding.strategy_failover import MAX_HOPS, FailOver
from roost.machine import MS, Effect
from roost.naming import Name
from roost.sim import START
from roost.wire import Data, DigestSigner, LpPacket, decode_lp, encode_data, encode_interest
from roost.wire.lp import CONGESTION, NO_ROUTE

N = Name.parse
SIGNER = DigestSigner()
LIFETIME_MS = 1000


class Bench:
    """A forwarder with one consumer and three ways to /g, the first the cheapest."""

    def __init__(self, strategy: str = "fail-over", hops: int = 3) -> None:
        self.now = START
        self.asked = 0
        self.forwarder = Forwarder(ForwarderSettings(), Random(1))
        self.forwarder.strategies.set(N("/g"), STRATEGY_PREFIX / strategy)
        self.consumer, *self.hops = (self._face() for _ in range(hops + 1))
        self.forwarder.fib.set(N("/g"), [(hop, 10 * cost) for cost, hop in enumerate(self.hops)], self.now)

    def ask(self, prefix: str = "/g", name: str = "", **options: object) -> list[int]:
        """Send a new Interest, or one with a name again; returns which of the hops it went to, from 0."""
        self.asked += 1
        wire = encode_interest(
            N(name or f"{prefix}/{self.asked}"),
            nonce=self.asked.to_bytes(4, "big"),
            lifetime_ms=LIFETIME_MS,
            **options,  # type: ignore[arg-type]
        )
        return self.to_hops(self.give(self.consumer, wire))

    def give(self, face: int, wire: bytes) -> list[Effect]:
        return self.forwarder.receive(Arrived(face, [wire]), self.now)

    def answer(self, hop: int, name: str = "") -> None:
        data = encode_data(N(name or f"/g/{self.asked}"), b"", SIGNER)
        self.give(self.hops[hop], data)

    def nack(self, hop: int, reason: int) -> list[Effect]:
        interest = encode_interest(N(f"/g/{self.asked}"), nonce=self.asked.to_bytes(4, "big"), lifetime_ms=LIFETIME_MS)
        return self.give(self.hops[hop], LpPacket(interest, nack=reason).encode())

    def after(self, milliseconds: int) -> None:
        self.now += milliseconds * MS
        self.forwarder.tick(self.now)

    def unanswered(self, count: int) -> list[list[int]]:
        """Ask one after the other, and let each expire."""
        went = []
        for _ in range(count):
            went.append(self.ask())
            self.after(LIFETIME_MS + 100)
        return went

    def to_hops(self, effects: list[Effect]) -> list[int]:
        return [
            self.hops.index(effect.face) for effect in effects if isinstance(effect, Send) and effect.face in self.hops
        ]

    def nacks(self, effects: list[Effect]) -> list[int]:
        """The reasons of the Nacks that the consumer got."""
        return [
            decode_lp(packet).nack
            for effect in effects
            if isinstance(effect, Send) and effect.face == self.consumer
            for packet in effect.packets
        ]

    def strategy(self) -> FailOver:
        name = N("/g/1")
        found = self.forwarder.strategies.lookup(name.value, name.cuts)
        assert isinstance(found, FailOver)
        return found

    def _face(self) -> int:
        face = self.forwarder.free_face_id()
        self.forwarder.open_face(face, FaceSpec(f"t://{face}", "t://", local=False), self.now)
        return face


def test_after_two_silences_another_hop_is_asked_and_stays_in_use() -> None:
    bench = Bench()
    assert bench.unanswered(2) == [[0], [0]]
    for _ in range(5):
        assert bench.ask() == [1]
        bench.answer(1)


def test_best_route_itself_asks_the_silent_one_for_ever() -> None:
    bench = Bench("best-route")
    assert bench.unanswered(5) == [[0]] * 5


def test_a_silent_hop_gets_a_copy_every_two_seconds_until_it_answers_and_is_then_preferred_again() -> None:
    bench = Bench()
    bench.unanswered(2)
    went = []
    for _ in range(60):
        went.append(bench.ask())
        bench.answer(1)
        bench.after(100)
    assert went.count([1, 0]) == 3
    assert went.count([1]) == 57
    bench.answer(0, "/g/too-late-for-anybody")
    assert bench.ask() == [0]


def test_a_silence_does_not_count_if_the_hop_answered_something_else_meanwhile() -> None:
    bench = Bench()
    for _ in range(4):
        bench.ask(name="/g/nobody-has-this")
        bench.after(LIFETIME_MS // 2)
        bench.ask()
        bench.answer(0)
        bench.after(LIFETIME_MS)
    assert bench.ask() == [0]


def test_a_hop_that_another_outran_was_silent_too() -> None:
    bench = Bench()
    for number in range(2):
        assert bench.ask(name=f"/g/r{number}") == [0]
        bench.after(300)
        assert bench.ask(name=f"/g/r{number}") == [1]  # a retransmission
        bench.answer(1, f"/g/r{number}")
    assert bench.ask() == [1]


def test_when_all_are_silent_they_are_asked_in_turn() -> None:
    bench = Bench()
    went = bench.unanswered(12)
    assert [each[0] for each in went[:6]] == [0, 0, 1, 1, 2, 2]
    assert all(went), "silence never means that there is no way"
    for low in range(6, 10):  # with the copies that probe, everyone is reached by one of any three Interests
        assert {hop for each in went[low : low + 3] for hop in each} == {0, 1, 2}


def test_what_was_learned_under_one_choice_says_nothing_under_another() -> None:
    bench = Bench()
    bench.forwarder.strategies.set(N("/g/sync"), STRATEGY_PREFIX / "fail-over")
    for _ in range(5):
        bench.ask("/g/sync")
        bench.after(LIFETIME_MS + 100)
    assert bench.ask() == [0]


def test_a_hop_without_a_route_costs_a_round_trip_and_no_lifetime() -> None:
    bench = Bench()
    assert bench.ask() == [0]
    assert bench.to_hops(bench.nack(0, NO_ROUTE)) == [1]
    assert bench.to_hops(bench.nack(1, NO_ROUTE)) == [2]
    assert bench.nacks(bench.nack(2, NO_ROUTE)) == [NO_ROUTE]
    assert len(bench.forwarder.pit) == 0


def test_other_nacks_are_passed_on() -> None:
    bench = Bench()
    bench.ask()
    assert bench.nacks(bench.nack(0, CONGESTION)) == [CONGESTION]


def test_a_nack_is_a_sign_of_life() -> None:
    bench = Bench()
    bench.unanswered(1)
    bench.ask()
    bench.nack(0, CONGESTION)
    bench.unanswered(1)
    assert bench.ask() == [0]


@pytest.mark.parametrize("gone", ["down", "closed"])
def test_what_is_pending_on_a_face_that_goes_is_sent_on_at_once(gone: str) -> None:
    bench = Bench()
    bench.ask()
    go = bench.forwarder.face_down if gone == "down" else bench.forwarder.close_face
    assert bench.to_hops(go(bench.hops[0], bench.now)) == [1]
    assert bench.ask() == [1]


def test_an_interest_with_a_hint_is_sent_on_where_the_hint_leads() -> None:
    bench = Bench()
    bench.forwarder.strategies.set(N("/elsewhere"), STRATEGY_PREFIX / "fail-over")
    assert bench.ask("/elsewhere", hints=(N("/g"),)) == [0]
    assert bench.to_hops(bench.forwarder.face_down(bench.hops[0], bench.now)) == [1]


def test_a_face_that_is_up_again_is_used_again() -> None:
    bench = Bench()
    bench.forwarder.face_down(bench.hops[0], bench.now)
    assert bench.ask() == [1]
    bench.forwarder.face_up(bench.hops[0], bench.now)
    assert bench.ask() == [0]


def test_best_route_leaves_what_is_pending_on_a_face_that_goes_down_to_retransmission() -> None:
    bench = Bench("best-route")
    bench.ask(name="/g/1")
    assert bench.forwarder.face_down(bench.hops[0], bench.now) == []
    bench.after(100)
    assert bench.ask(name="/g/1") == [1]


@pytest.mark.parametrize("strategy", ["best-route", "fail-over"])
def test_who_has_no_other_way_is_told_so_at_once(strategy: str) -> None:
    bench = Bench(strategy, hops=1)
    bench.forwarder.face_down(bench.hops[0], bench.now)
    interest = encode_interest(N("/g/x"), nonce=b"abcd")
    assert bench.nacks(bench.give(bench.consumer, interest)) == [NO_ROUTE]


def test_what_waits_for_a_face_under_multicast_goes_out_when_it_is_up_again() -> None:
    bench = Bench("multicast", hops=1)
    bench.forwarder.face_down(bench.hops[0], bench.now)
    assert bench.ask() == []
    assert bench.to_hops(bench.forwarder.face_up(bench.hops[0], bench.now)) == [0]


def test_a_face_that_is_unknown_or_no_different_changes_nothing() -> None:
    bench = Bench()
    assert bench.forwarder.face_down(999, bench.now) == []
    assert bench.forwarder.face_up(bench.hops[0], bench.now) == []
    bench.forwarder.face_down(bench.hops[0], bench.now)
    bench.ask()
    assert bench.forwarder.face_down(bench.hops[0], bench.now) == []


def test_the_memory_is_bounded_and_says_what_it_forgot() -> None:
    strategy = Bench().strategy()
    for hop in range(MAX_HOPS + 10):
        strategy.after_answer(hop, None, START)
    assert strategy.forgotten == 10


def test_a_forgotten_hop_counts_as_heard() -> None:
    bench = Bench()
    bench.unanswered(2)
    assert bench.strategy().is_silent(bench.hops[0])
    for hop in range(10_000, 10_000 + MAX_HOPS):
        bench.strategy().after_answer(hop, None, bench.now)
    assert bench.ask() == [0]


def test_the_answer_goes_to_who_asked_whichever_hop_it_comes_from() -> None:
    bench = Bench()
    bench.unanswered(2)
    bench.after(2000)
    assert sorted(bench.ask()) == [0, 1]
    data = encode_data(N(f"/g/{bench.asked}"), b"x", SIGNER)
    (sent,) = [each for each in bench.give(bench.hops[0], data) if isinstance(each, Send)]
    assert sent.face == bench.consumer
    assert Data.decode(sent.packets[0]).content == b"x"
    assert bench.give(bench.hops[1], data) == []
