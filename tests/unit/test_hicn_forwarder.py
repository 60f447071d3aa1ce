"""The table of an hICN forwarder, row by row."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import Backpressure
from roost.hicn import Data, Form, HicnName, Interest, Prefix, decode, encode
from roost.hicn.face import Arrived, HicnFaceSpec, Send
from roost.hicn.fib import Fib
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.hicn.manifest import SuffixList
from roost.hicn.strategy import StrategyKind
from roost.machine import MS, Rejected

A, B, UP, OTHER = 1, 2, 3, 4
PREFIX = Prefix.parse("abcd::/16")


def name(suffix: int = 100) -> HicnName:
    return HicnName.parse(f"abcd::1|{suffix}")


class Bench:
    """Askers A and B, a local face UP that is routed to, and a face OTHER that is not."""

    def __init__(self, **settings: object) -> None:
        self.now = 1_000 * MS
        self.forwarder = HicnForwarder(HicnSettings(**settings), Random(1))  # type: ignore[arg-type]
        self.forwarder.start(self.now)
        for face, local in ((A, False), (B, False), (UP, True), (OTHER, False)):
            assert self.forwarder.open_face(face, HicnFaceSpec(f"face {face}", local=local))
        self.forwarder.add_route(PREFIX, UP)
        self.rejected: list[str] = []

    def give(self, face: int, *wires: bytes) -> dict[int, list[bytes]]:
        effects = self.forwarder.receive(Arrived(face, list(wires)), self.now)
        self.rejected += [effect.reason for effect in effects if isinstance(effect, Rejected)]
        return {effect.face: effect.packets for effect in effects if isinstance(effect, Send)}

    def ask(self, face: int, suffix: int = 100, lifetime_ms: int = 2000) -> list[int]:
        return list(self.give(face, encode(Interest(name(suffix), lifetime_ms))))

    def answer(self, face: int, suffix: int = 100, content: bytes = b"x", lifetime_ms: int = 50_000) -> list[int]:
        return list(self.give(face, encode(Data(name(suffix), content, lifetime_ms))))

    def after(self, milliseconds: int, *, tick: bool = True) -> None:
        self.now += milliseconds * MS
        if tick:
            self.forwarder.tick(self.now)


def test_an_interest_leaves_byte_for_byte_and_data_comes_back_with_its_label() -> None:
    bench = Bench()
    asked = encode(Interest(name(), payload=b"home/temp"))
    assert bench.give(A, asked) == {UP: [asked]}
    answer = encode(Data(name(), b"hi", path_label=0x81))
    assert bench.give(UP, answer) == {A: [encode(Data(name(), b"hi", path_label=0x03 ^ A))]}
    assert not bench.forwarder.table.pending
    assert bench.forwarder.deadline() is None


def test_without_a_route_it_is_dropped_in_silence_and_nothing_waits() -> None:
    bench = Bench()
    assert bench.give(A, encode(Interest(HicnName.parse("abce::1|1")))) == {}
    assert bench.forwarder.dropped == {"no route": 1}
    assert not bench.forwarder.table.pending


def test_an_interest_never_goes_back_where_it_came_from() -> None:
    assert Bench().ask(UP) == []


def test_fresh_data_answers_from_the_cache_and_its_label_starts_anew() -> None:
    bench = Bench()
    bench.ask(A)
    bench.answer(UP)
    bench.after(49_999)
    (wire,) = bench.give(B, encode(Interest(name())))[B]
    assert decode(wire) == Data(name(), b"x", path_label=B)
    assert bench.forwarder.hits == 1


def test_stale_data_is_asked_for_again() -> None:
    bench = Bench()
    bench.answer(UP)
    bench.after(50_000)
    assert bench.ask(A) == [UP]


@pytest.mark.parametrize("tick", [True, False])
def test_another_face_joins_and_the_later_expiry_counts(tick: bool) -> None:
    bench = Bench()
    assert bench.ask(A) == [UP]
    bench.after(1500, tick=tick)
    assert bench.ask(B) == []
    bench.after(1999, tick=tick)
    assert bench.answer(UP) == [A, B]


@pytest.mark.parametrize("tick", [True, False])
def test_the_same_face_asks_again_and_the_later_expiry_counts(tick: bool) -> None:
    bench = Bench()
    assert bench.ask(A) == [UP]
    bench.after(1500, tick=tick)
    assert bench.ask(A) == [UP]
    bench.after(1999, tick=tick)
    assert bench.answer(UP) == [A]


@pytest.mark.parametrize("tick", [True, False])
def test_who_asks_again_after_its_time_is_heard_when_what_was_sent_for_others_is_over(tick: bool) -> None:
    bench = Bench()
    assert bench.ask(A) == [UP]
    bench.after(1000, tick=tick)
    assert bench.ask(B) == []
    bench.after(1010, tick=tick)  # A's is over, and so is what was sent for it
    assert bench.ask(A) == [UP]
    bench.after(1010, tick=tick)  # B's is over, what was sent for A is not
    assert bench.ask(B) == []
    bench.after(1010, tick=tick)
    assert bench.ask(A) == [UP]
    bench.after(100, tick=tick)
    assert bench.ask(A) == [UP]  # within its time: it has lost something
    assert bench.answer(UP) == [A, B]


@pytest.mark.parametrize("tick", [True, False])
def test_an_expired_question_starts_anew(tick: bool) -> None:
    bench = Bench()
    bench.ask(A)
    bench.after(2000, tick=tick)
    assert bench.ask(B) == [UP]
    assert bench.answer(UP) == [B]


def test_data_from_a_face_that_was_not_asked_is_dropped_and_the_question_stays() -> None:
    bench = Bench()
    bench.ask(A)
    assert bench.answer(OTHER) == []
    assert bench.forwarder.dropped == {"wrong face": 1}
    assert bench.answer(UP) == [A]


@pytest.mark.parametrize("tick", [True, False])
def test_late_data_is_cached_from_a_local_face_and_delivered_to_nobody(tick: bool) -> None:
    bench = Bench()
    bench.ask(A)
    bench.after(2000, tick=tick)
    assert bench.answer(UP) == []
    assert bench.ask(A) == [A]


@pytest.mark.parametrize("tick", [True, False])
def test_late_data_from_a_remote_face_is_lost(tick: bool) -> None:
    bench = Bench()
    bench.forwarder.fib.drop_face(UP)
    bench.forwarder.add_route(PREFIX, OTHER)
    bench.ask(A)
    bench.after(2000, tick=tick)
    assert bench.answer(OTHER) == []
    assert bench.ask(A) == [OTHER]


def test_data_nobody_asked_for_is_cached_from_local_faces_only() -> None:
    bench = Bench()
    assert bench.answer(UP, 1) == bench.answer(OTHER, 2) == []
    assert bench.ask(A, 1) == [A]
    assert bench.ask(A, 2) == [UP]


def test_a_local_face_overwrites_what_is_cached_and_a_remote_one_does_not() -> None:
    bench = Bench()
    for face, content in ((UP, b"one"), (UP, b"two"), (OTHER, b"three")):
        bench.answer(face, content=content)
    (wire,) = bench.give(A, encode(Interest(name())))[A]
    packet = decode(wire)
    assert isinstance(packet, Data)
    assert packet.payload == b"two"


def test_an_interest_without_a_lifetime_is_sent_and_does_not_wait() -> None:
    bench = Bench()
    assert bench.ask(A, lifetime_ms=0) == [UP]
    assert not bench.forwarder.table.pending
    assert bench.answer(UP) == []


def test_data_without_a_lifetime_is_delivered_and_never_cached() -> None:
    bench = Bench()
    bench.answer(UP, lifetime_ms=1000)
    bench.answer(UP, lifetime_ms=0)
    assert bench.ask(A) == [UP]
    assert bench.answer(UP, lifetime_ms=0) == [A]
    assert bench.ask(A) == [UP]


def test_the_cache_forgets_what_came_first_whoever_asked_for_it() -> None:
    bench = Bench(store_packets=2)
    bench.answer(UP, 1)
    bench.answer(UP, 2)
    assert bench.ask(A, 1) == [A]
    bench.answer(UP, 3)
    assert [bench.ask(A, suffix) for suffix in (1, 2, 3)] == [[UP], [A], [A]]


def test_a_question_in_one_form_is_answered_in_the_other() -> None:
    bench = Bench()
    bench.ask(A)
    (wire,) = bench.give(UP, encode(Data(name(), b"x", form=Form.COMPACT)))[A]
    assert decode(wire) == Data(name(), b"x", form=Form.COMPACT, path_label=A)


def test_a_list_asks_on_only_for_what_is_not_here() -> None:
    bench = Bench()
    bench.answer(UP, 2)
    sent = bench.give(A, encode(Interest(name(1), manifest=SuffixList.of(1, 2, 3))))
    assert [decode(wire) for wire in sent[UP]] == [Interest(name(1), manifest=SuffixList((1, 2, 3), 0b101))]
    assert [decode(wire).name for wire in sent[A]] == [name(2)]
    assert bench.answer(UP, 3) == bench.answer(UP, 1) == [A]


def test_what_is_no_packet_costs_only_itself() -> None:
    bench = Bench()
    fatal = bytearray(encode(Interest(name(), payload=b"home/temp")))
    fatal[53] |= 0x20
    assert list(bench.give(A, bytes(fatal), b"", encode(Interest(name())))) == [UP]
    assert len(bench.rejected) == 2


def test_batches_mean_the_same_as_one_at_a_time() -> None:
    together, apart = Bench(), Bench()
    wires = [encode(Interest(name(n))) for n in range(8)]
    singly = [wire for each in wires for wire in apart.give(A, each).get(UP, [])]
    assert together.give(A, *wires)[UP] == singly == wires


def test_strategies_choose_among_the_routes() -> None:
    def chosen(kind: StrategyKind, asker: int = A) -> list[list[int]]:
        bench = Bench(strategy=kind)
        bench.forwarder.add_route(PREFIX, OTHER)
        return [bench.ask(asker, suffix) for suffix in range(40)]

    assert chosen(StrategyKind.REPLICATION) == [[UP, OTHER]] * 40
    assert chosen(StrategyKind.LOCAL_REMOTE) == [[UP]] * 40
    assert chosen(StrategyKind.LOCAL_REMOTE, UP) == [[OTHER]] * 40
    assert chosen(StrategyKind.LOAD_BALANCE).count([UP]) == 20
    assert 5 < chosen(StrategyKind.RANDOM).count([UP]) < 35


def test_routes_match_the_longest_prefix_and_go_with_their_face() -> None:
    fib = Fib(3)
    for text, face in (("::/0", 1), ("abcd::/16", 2), ("abcd::1/128", 3)):
        fib.add(Prefix.parse(text), face, 1)
    found = [fib.lookup(name.prefix) for name in map(HicnName.parse, ("abcd::1", "abcd::2", "1::"))]
    assert found == [{3: 1}, {2: 1}, {1: 1}]
    with pytest.raises(Backpressure):
        fib.add(Prefix.parse("abcd::/17"), 4, 1)
    fib.drop_face(3)
    assert fib.lookup(HicnName.parse("abcd::1").prefix) == {2: 1}
    assert not fib.remove(Prefix.parse("abcd::/16"), 9)
    assert fib.remove(Prefix.parse("abcd::/16"), 2)
    assert (len(fib), fib.refused) == (1, 1)


def test_a_face_that_closes_takes_its_questions_and_routes_along() -> None:
    bench = Bench()
    bench.ask(A)
    bench.forwarder.close_face(A)
    assert not bench.forwarder.table.pending
    bench.ask(B)
    bench.forwarder.close_face(UP)
    bench.forwarder.close_face(UP)
    assert bench.ask(B, 7) == []
    assert bench.give(A, encode(Interest(name()))) == {}


def test_every_table_is_bounded() -> None:
    bench = Bench(pending_limit=4, face_limit=4)
    assert [bench.ask(A, suffix) for suffix in range(3)] == [[UP], [UP], []]
    assert bench.forwarder.dropped == {"too many pending": 1}
    assert not bench.forwarder.open_face(9, HicnFaceSpec("one too many", local=False))
    bench.after(20)
    assert bench.ask(A, 0) == [UP]


def test_nobody_fills_the_table_for_days() -> None:
    bench = Bench(pending_limit=100)
    for suffix in range(50):
        bench.ask(A, suffix, lifetime_ms=2_147_450_880)
        bench.ask(OTHER, 1000 + suffix, lifetime_ms=2_147_450_880)
    assert bench.ask(B, 2000) == [UP]  # who has the most makes room
    assert len(bench.forwarder.table.pending) <= 100
    bench.after(65_535)
    assert not bench.forwarder.table.pending


def test_a_full_table_still_lets_others_join() -> None:
    bench = Bench(pending_limit=100)
    for suffix in range(50):
        bench.ask(A, suffix)
        bench.ask(OTHER, 1000 + suffix)
    assert bench.ask(B, 0) == []
    assert bench.answer(UP, 0) == [A, B]


def test_what_comes_back_from_who_was_asked_joins_and_goes_nowhere() -> None:
    bench = Bench(strategy=StrategyKind.REPLICATION)
    bench.forwarder.add_route(PREFIX, OTHER)
    assert bench.ask(A) == [UP, OTHER]
    for _ in range(3):
        bench.after(100)
        assert bench.ask(OTHER) == []
    bench.after(700)
    assert bench.ask(OTHER) == [UP]  # so late it is a question of its own
    assert bench.answer(UP) == [A, OTHER]


def test_pauses_between_retransmissions_double() -> None:
    bench = Bench()
    assert bench.ask(A) == [UP]
    passed = 0
    for _ in range(100):
        bench.after(10)
        passed += bench.ask(A) == [UP]
    assert passed == 5  # after 20, 40, 80, 160 and 320 ms


@pytest.mark.parametrize(("lifetime_ms", "answered"), [(0, False), (5, False), (2000, True)])
def test_a_name_that_is_not_pending_any_more_does_not_go_round(lifetime_ms: int, answered: bool) -> None:
    bench = Bench()
    assert bench.ask(A, 0, lifetime_ms) == [UP]
    if answered:  # as a THCD_REP is, by which no cache answers copies
        assert bench.answer(UP, 0, lifetime_ms=0) == [A]
    bench.after(6)
    assert bench.ask(OTHER, 0, lifetime_ms) == []
    assert bench.ask(A, 0, lifetime_ms) == [UP]
    bench.after(500 if lifetime_ms < 2000 else 2000)
    assert bench.ask(OTHER, 0, lifetime_ms) == [UP]
