"""PSync partial sync: the packets of the sheet, the producer's rules, the consumer's, and the two together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from zlib import crc32

import pytest
from tests.psync_bus import Bus, Seat
from tests.psync_world import asked, learnt, name_of, one, only, settle

from roost.errors import Backpressure, BadConfig, BadName
from roost.machine import MS, SECOND, Effect, Note, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Component, Name
from roost.naming.component import GENERIC, SEGMENT, VERSION
from roost.naming.conventions import keyword, segment, version
from roost.sync.compression import ZLIB
from roost.sync.consumer_state import ConsumerState, decode_consumer, encode_consumer
from roost.sync.dataset import Dataset
from roost.sync.iblt import cells_for
from roost.sync.ledger import Ledger
from roost.sync.port import (
    Announced,
    Answered,
    Collect,
    Collected,
    Express,
    Forget,
    Ready,
    Reply,
    Stream,
    Unanswered,
)
from roost.sync.presets import CPP_PARTIAL, PartialPreset
from roost.sync.psync_consumer import SILENT_LIFETIMES, UNHEARD, WORRY_HELLOS, PSyncConsumer
from roost.sync.psync_names import hello_question, sync_question
from roost.sync.psync_producer import PSyncProducer
from roost.sync.subscriptions import NameList, NameRange, RangeList, Subscriptions
from roost.sync.sync_state import decode_state, encode_state
from roost.wire import Data, DigestSigner, Interest, make_data
from roost.wire.data import NACK

GROUP = Name.parse("/P")
NOW = 1_790_000_000_000 * MS
SIX = PartialPreset(expected=6, threshold=3)
State = Sequence[tuple[str, int]]
MANY = [(f"/many/{number}", 1) for number in range(40)]


def names(*uris: str) -> list[Name]:
    return [Name.parse(uri) for uri in uris]


def sketch(state: State, expected: int = 6) -> Component:
    data = Dataset(1000)
    for stream, number in state:
        data.set(Name.parse(stream), number)
    return Component(data.iblt(expected).encode())


def content(state: State) -> bytes:
    return encode_state([(Name.parse(stream), number) for stream, number in state])


def state_in(data: Data) -> list[tuple[str, int]]:
    return [(str(stream), number) for stream, number in decode_state(data.content, 1000)]


def question(wanted: Subscriptions, state: State, preset: PartialPreset = SIX) -> Name:
    return sync_question(GROUP, wanted.components(preset), sketch(state, preset.expected))


# -- the producer


def producer(preset: PartialPreset = SIX, saved: bytes = b"") -> PSyncProducer:
    return PSyncProducer(GROUP, preset, DigestSigner(), Random(1), Ledger("numbers", saved))


def publish(member: PSyncProducer, stream: str, high: int, now: int = NOW) -> list[Effect]:
    name = Name.parse(stream)
    return settle(member, member.produce(name, now) + member.announce(name, high, now), now)


def abc() -> PSyncProducer:
    member = producer()
    for name in names("/A", "/B", "/C"):
        member.produce(name, NOW)
    publish(member, "/A", 1)
    return member


def ask(member: PSyncProducer, wanted: Subscriptions, state: State, now: int = NOW) -> list[Effect]:
    return member.receive(asked(question(wanted, state, member.preset)), now)


def test_hello_is_answered_with_all_streams_those_without_a_number_too() -> None:
    reply = one(abc().receive(asked(hello_question(GROUP)), NOW), Reply)
    data = Data.decode(reply.packet)
    assert data.name == GROUP / "hello" / sketch([("/A", 1)]) / version(NOW // MS) / segment(0)
    assert data.content.hex() == "8018070608014108010107060801420801000706080143080100", "of the sheet"
    assert data.final_block == segment(0)
    assert data.freshness_ms == 1000


def test_no_more_streams_are_produced_than_a_hello_can_hold() -> None:
    preset = PartialPreset(expected=6, segment_bytes=500, max_reply_packets=2)
    member = producer(preset)
    made = 32  # of 14 and 16 bytes each, beside 16 once
    for number in range(made):
        member.produce(Name.parse(f"/stream/{number:04}"), NOW)
    with pytest.raises(Backpressure, match="a hello has to hold all streams, and 1000 bytes hold no more than 32"):
        member.produce(Name.parse("/stream/more"), NOW)
    first = Data.decode(one(member.receive(asked(hello_question(GROUP)), NOW), Reply).packet)
    second = member.receive(asked(first.name.prefix(-1) / segment(1)), NOW)
    told = decode_state(first.content + Data.decode(one(second, Reply).packet).content, 1000)
    assert len(told) == made
    again = member.produce(Name.parse("/stream/0000"), NOW)
    assert again == [Ready(Stream(Name.parse("/stream/0000")), 1)], "what is there already goes on"


def test_hello_is_answered_from_memory_while_that_is_fresh() -> None:
    member = abc()
    first = one(member.receive(asked(hello_question(GROUP)), NOW), Reply)
    publish(member, "/B", 1)
    assert one(member.receive(asked(hello_question(GROUP)), NOW + 999 * MS), Reply).packet == first.packet
    later = Data.decode(one(member.receive(asked(hello_question(GROUP)), NOW + SECOND), Reply).packet)
    assert ("/B", 1) in state_in(later)
    assert one(member.receive(asked(later.name), NOW + SECOND), Reply).packet == later.wire
    assert member.receive(asked(later.name), NOW + 10 * SECOND) == []
    assert member.segments_gone == 1


def test_wanted_streams_that_have_changed_are_sent_with_our_iblt() -> None:
    member = abc()
    publish(member, "/B", 7)
    name = question(NameList(names("/A", "/B")), [("/A", 1)])
    data = Data.decode(one(member.receive(asked(name), NOW), Reply).packet)
    assert data.name.prefix(-2) == name / sketch([("/A", 1), ("/B", 7)])
    assert [part.type for part in data.name.suffix(-2)] == [VERSION, SEGMENT]
    assert state_in(data) == [("/B", 7)]


def test_what_is_not_wanted_is_not_sent() -> None:
    member = abc()
    assert ask(member, NameList(names("/B")), []) == []
    assert len(member.pending) == 1


def test_a_difference_from_the_threshold_on_is_answered_even_with_nothing() -> None:
    member = producer()
    publish(member, "/A", 1)
    publish(member, "/B", 1)
    assert ask(member, NameList(names("/Z")), []) == []
    publish(member, "/C", 1)
    data = Data.decode(one(ask(member, NameList(names("/Y")), []), Reply).packet)
    assert state_in(data) == []
    assert data.name.at(-3) == sketch([("/A", 1), ("/B", 1), ("/C", 1)])


def test_what_the_consumer_has_too_much_counts_for_the_threshold() -> None:
    assert only(ask(producer(), NameList(), [("/A", 1), ("/B", 1), ("/C", 1)]), Reply)


def test_a_difference_that_cannot_be_decoded_is_answered_with_an_application_nack() -> None:
    member = abc()
    name = question(NameList(names("/A")), MANY)
    data = Data.decode(one(member.receive(asked(name), NOW), Reply).packet)
    assert data.name == name / sketch([("/A", 1)]) / segment(0), "no version"
    assert data.content_type == NACK
    assert data.content == b""
    assert data.freshness_ms == 1000
    assert data.final_block == segment(0)
    assert member.nacks == 1


def test_a_publication_that_is_wanted_answers_a_kept_interest() -> None:
    member = abc()
    ask(member, NameList(names("/B")), [("/A", 1)])
    reply = one(publish(member, "/B", 3), Reply)
    assert state_in(Data.decode(reply.packet)) == [("/B", 3)]
    assert reply.token == b"token"
    assert len(member.pending) == 0


def test_a_publication_that_is_not_wanted_leaves_it_until_the_threshold() -> None:
    member = producer()
    ask(member, NameList(names("/Z")), [])
    assert not only(publish(member, "/A", 1), Reply)
    assert not only(publish(member, "/B", 1), Reply)
    assert state_in(Data.decode(one(publish(member, "/C", 1), Reply).packet)) == []
    assert len(member.pending) == 0


def test_an_interest_whose_difference_cannot_be_decoded_any_more_is_dropped() -> None:
    member = producer(PartialPreset(expected=6, threshold=1000))
    ask(member, NameList(names("/Z")), [], NOW)
    for stream, number in MANY:
        assert not only(publish(member, stream, number), Reply)
    assert len(member.pending) == 0


def test_a_kept_interest_ends_with_its_lifetime() -> None:
    member = abc()
    ask(member, NameList(names("/B")), [("/A", 1)])
    assert not only(publish(member, "/B", 1, NOW + SECOND), Reply)


def test_kept_interests_are_bounded() -> None:
    member = producer(PartialPreset(expected=6, threshold=3, max_pending=1))
    ask(member, NameList(names("/A")), [])
    ask(member, NameList(names("/B")), [])
    assert len(member.pending) == 1
    assert member.pending.turned_away == 1


def test_ranges_are_understood() -> None:
    member = producer()
    for stream in ("/Floor1/Heater", "/Floor2/Heater", "/Floor2/Vent", "/Floor3/Heater"):
        member.dataset.set(Name.parse(stream), 1)
    name = question(RangeList([NameRange(*names("/Floor2", "/Floor2"))]), [])
    assert [str(part) for part in name.suffix(1)][:2] == ["sync", "32=ranges"]
    reply = Data.decode(one(member.receive(asked(name), NOW), Reply).packet)
    assert state_in(reply) == [("/Floor2/Vent", 1), ("/Floor2/Heater", 1)]
    assert reply.name.prefix(-3) == name


@pytest.mark.parametrize(
    "tail",
    [
        [],
        ["other"],
        ["hello", "x"],
        ["sync"],
        ["sync", "1"],
        ["sync", "a", "b", "c", "d"],
        ["sync", Component(b"\x06"), Component(b"\x01"), Component(bytes(10)), sketch([])],
        ["sync", Component(b"\x06"), Component(b"\x01"), Component(bytes(11)), Component(bytes(100))],
        ["sync", Component(b"\x06"), Component(b"\x01"), Component(bytes(11)), sketch([], 40)],
        ["sync", keyword("ranges"), Component(b"\x01"), sketch([])],
        ["sync", keyword("other"), Component(b""), sketch([])],
        ["sync", keyword("ranges"), Component(b""), keyword("x")],
        ["sync", Component.numbered(4400, GENERIC), Component(b"\x01"), Component(bytes(7908)), sketch([])],
    ],
)
def test_questions_that_cannot_be_are_rejected(tail: list[str | Component]) -> None:
    rejected = one(abc().receive(asked(Name.of(*GROUP, *tail)), NOW), Rejected)
    assert rejected.source == str(GROUP)


def test_a_prefix_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(BadConfig, match="shorter prefix"):
        PSyncProducer(Name.of(Component(bytes(8000))), SIX, DigestSigner(), Random(1), Ledger("numbers", b""))


def test_a_restarted_producer_has_its_streams_before_they_are_produced() -> None:
    saved = b"".join([save.data for save in only(publish(producer(), "/A", 5), Save)])
    member = producer(saved=saved)
    assert member.start(NOW) == []
    assert member.deadline() is None
    assert member.produce(Name.parse("/A"), NOW) == [Ready(Stream(Name.parse("/A")), 6)]
    assert member.latest() == {Stream(Name.parse("/A")): 5}


def test_an_announcement_is_saved_first() -> None:
    member = producer()
    member.produce(Name.parse("/A"), NOW)
    (save,) = member.announce(Name.parse("/A"), 1, NOW)
    assert isinstance(save, Save)
    assert member.receive(Saved(save.file, save.ticket), NOW) == [Announced(Stream(Name.parse("/A")), 1)]


def damaged() -> PSyncProducer:
    saved = b"".join([save.data for save in only(publish(producer(), "/A", 5), Save)])
    member = producer(saved=saved + bytes(40))
    member.produce(Name.parse("/A"), NOW)
    return member


def test_a_producer_with_a_damaged_ledger_asks_others_who_have_its_streams() -> None:
    member = damaged()
    effects = member.start(NOW)
    express = one(effects, Express)
    assert name_of(express) == hello_question(GROUP)
    first = reply_data(name_of(express) / sketch([]), [("/A", 9), ("/X", 3)])
    effects = member.receive(Answered(express.ticket, first), NOW)
    assert "own number adopted" in [note.event for note in only(effects, Note)]
    assert member.latest() == {Stream(Name.parse("/A")): 9}, "/X is not ours"
    ready: list[Ready] = []
    forgotten: list[Forget] = []
    while not ready:
        due = member.deadline()
        assert due is not None
        effects = member.tick(due)
        ready, forgotten = only(effects, Ready), only(effects, Forget)
    assert ready == [Ready(Stream(Name.parse("/A")), 10)]
    assert forgotten, "of the hello that was said again meanwhile"
    assert member.deadline() is None


def test_what_a_producer_was_told_of_its_streams_is_not_passed_over_by_its_next_news() -> None:
    member = damaged()
    express = one(member.start(NOW), Express)
    wanted = NameList(names("/A", "/B"))
    assert member.receive(asked(question(wanted, []), lifetime_ms=60_000), NOW) == []
    answer = reply_data(name_of(express) / sketch([]), [("/A", 9)])
    settle(member, member.receive(Answered(express.ticket, answer), NOW), NOW)
    while (due := member.deadline()) is not None:
        settle(member, member.tick(due), due)
    effects = publish(member, "/B", 1, NOW + 10 * SECOND)
    assert state_in(Data.decode(one(effects, Reply).packet)) == [("/A", 9), ("/B", 1)]


def test_a_producer_alone_with_a_damaged_ledger_goes_on_after_a_while() -> None:
    member = damaged()
    express = one(member.start(NOW), Express)
    effects: list[Effect] = []
    now = NOW
    while not only(effects, Ready):
        assert now < NOW + 10 * SECOND
        member.receive(Unanswered(express.ticket, "no route"), now)
        due = member.deadline()
        assert due is not None
        now = due
        effects = member.tick(now)
        express = one(effects, Express) if only(effects, Express) else express
    assert one(effects, Ready).number == 6
    late = reply_data(hello_question(GROUP) / sketch([]), [("/A", 9)])
    assert member.receive(Answered(express.ticket, late), now) == []


def test_others_who_do_not_know_its_streams_shorten_the_wait_of_a_producer() -> None:
    member = damaged()
    express = one(member.start(NOW), Express)
    member.receive(Answered(express.ticket, reply_data(name_of(express) / sketch([]), [])), NOW)
    effects: list[Effect] = []
    due: int | None = NOW
    while not only(effects, Ready):
        due = member.deadline()
        assert due is not None
        effects = member.tick(due)
    assert due == NOW + 2 * SECOND


@pytest.mark.parametrize("tail", [b"\x80", b""])
def test_a_producer_that_gets_nonsense_back_asks_again(tail: bytes) -> None:
    member = damaged()
    express = one(member.start(NOW), Express)
    name = name_of(express) / sketch([]) / version(1) / segment(0)
    data = make_data(name, tail, DigestSigner(), final_block=segment(0))
    one(member.receive(Answered(express.ticket, data), NOW), Rejected)
    assert (member.deadline() or 0) <= NOW + 500 * MS


def test_a_large_hello_is_collected_by_a_producer_too() -> None:
    member = damaged()
    express = one(member.start(NOW), Express)
    name = name_of(express) / sketch([]) / version(1)
    first = make_data(name / segment(0), b"\x80", DigestSigner(), final_block=segment(1))
    assert member.receive(Answered(express.ticket, first), NOW) == [Collect(express.ticket, name)]
    member.receive(Collected(express.ticket, content([("/A", 9)])), NOW)
    assert member.latest() == {Stream(Name.parse("/A")): 9}


def test_an_adaptive_producer_grows_and_takes_tables_of_any_rung() -> None:
    member = producer(PartialPreset(expected=20, threshold=10, max_expected=80, adaptive=True))
    wanted = NameList(names("/Z"))
    for stream, number in MANY:
        member.dataset.set(Name.parse(stream), number)
    nack = Data.decode(one(ask(member, wanted, []), Reply).packet)
    assert nack.content_type == NACK
    assert len(nack.name.at(-2).value) == 12 * cells_for(40)
    larger = sync_question(GROUP, wanted.components(member.preset), sketch([], 80))
    reply = Data.decode(one(member.receive(asked(larger), NOW), Reply).packet)
    assert state_in(reply) == [], "40 differ, and that is the threshold at this size"
    nearer = sync_question(GROUP, wanted.components(member.preset), sketch(MANY[:20], 80))
    assert member.receive(asked(nearer), NOW) == [], "20 are not"
    other = sync_question(GROUP, wanted.components(member.preset), sketch([], 30))
    one(member.receive(asked(other), NOW), Rejected)


# -- the consumer


def consumer(
    wanted: Subscriptions | None = None, saved: bytes = b"", preset: PartialPreset = SIX, seed: int = 1
) -> PSyncConsumer:
    wanted = wanted or NameList(names("/A", "/B"))
    return PSyncConsumer(GROUP, preset, wanted, Random(seed), saved, "place")


def reply_data(name: Name, state: State) -> Data:
    signer = DigestSigner()
    return make_data(name / version(1) / segment(0), content(state), signer, freshness_ms=1000, final_block=segment(0))


def answer(
    member: PSyncConsumer, effects: list[Effect], state: State, iblt: State = (), now: int = NOW
) -> list[Effect]:
    """Answer the question in these effects, and be the disk."""
    express = one(effects, Express)
    effects = member.receive(Answered(express.ticket, reply_data(name_of(express) / sketch(iblt), state)), now)
    return settle(member, effects, now)


def greeted(member: PSyncConsumer, state: State, now: int = NOW) -> list[Effect]:
    """Start, and have the hello answered."""
    return answer(member, member.start(now), state, [entry for entry in state if entry[1]], now)


def go_on(member: PSyncConsumer) -> tuple[list[Effect], int]:
    due = member.deadline()
    assert due is not None
    return member.tick(due), due


def nack_for(express: Express) -> Data:
    name = name_of(express) / sketch([]) / segment(0)
    return make_data(name, b"", DigestSigner(), content_type=NACK, freshness_ms=1000, final_block=segment(0))


def test_a_consumer_says_hello_and_then_asks_with_the_iblt_it_got() -> None:
    member = consumer()
    hello = one(member.start(NOW), Express)
    interest = Interest.decode(hello.interest)
    assert interest.name == GROUP / "hello"
    assert interest.can_be_prefix
    assert interest.must_be_fresh
    data = reply_data(interest.name / sketch([("/A", 1)]), [("/A", 1), ("/B", 0), ("/C", 0)])
    effects = member.receive(Answered(hello.ticket, data), NOW)
    assert learnt(effects) == [("/A", 1, 1)]
    assert (
        name_of(one(effects, Express)).value.hex()
        == ("080150080473796e63080106080101080b0202049221020144841850086c") + sketch([("/A", 1)]).value.hex()
    ), "of the sheet"
    assert member.available() == dict(zip(names("/A", "/B", "/C"), [1, 0, 0], strict=True))
    assert member.latest() == {Stream(Name.parse("/A")): 1}


def test_news_are_learnt_and_the_next_question_follows_at_once() -> None:
    member = consumer()
    effects = answer(member, greeted(member, [("/A", 1)]), [("/A", 3), ("/B", 2)], [("/A", 3), ("/B", 2)])
    assert learnt(effects) == [("/A", 2, 3), ("/B", 1, 2)]
    assert name_of(one(effects, Express)) == question(NameList(names("/A", "/B")), [("/A", 3), ("/B", 2)])


def test_streams_that_are_not_wanted_are_left_out_and_counted() -> None:
    member = consumer()
    effects = answer(member, greeted(member, [("/A", 1), ("/C", 1)]), [("/C", 2), ("/A", 2), ("/D", 1)])
    assert learnt(effects) == [("/A", 2, 2)]
    assert member.false_positives == 2
    assert member.latest() == {Stream(Name.parse("/A")): 2}


def test_an_empty_reply_advances_the_iblt_after_a_pause() -> None:
    member = consumer()
    effects = answer(member, greeted(member, [("/A", 1)]), [], [("/A", 1), ("/C", 9)])
    assert not only(effects, Express)
    effects, due = go_on(member)
    assert 100 * MS <= due - NOW <= 500 * MS
    assert name_of(one(effects, Express)) == question(NameList(names("/A", "/B")), [("/A", 1), ("/C", 9)])


def test_silence_means_no_news_and_the_question_is_asked_again_at_once() -> None:
    member = consumer()
    express = one(greeted(member, [("/A", 1)]), Express)
    effects = member.receive(Unanswered(express.ticket, "expired"), NOW + SECOND)
    assert name_of(one(effects, Express)) == name_of(express)


def test_after_a_long_silence_it_says_hello() -> None:
    member = consumer()
    express = one(greeted(member, [("/A", 1)]), Express)
    now = NOW
    for _ in range(SILENT_LIFETIMES - 1):
        now += SECOND
        express = one(member.receive(Unanswered(express.ticket, "expired"), now), Express)
        assert name_of(express) != hello_question(GROUP)
    express = one(member.receive(Unanswered(express.ticket, "expired"), now + SECOND), Express)
    assert name_of(express) == hello_question(GROUP)


def test_a_reply_ends_the_silence() -> None:
    member = consumer()
    effects = greeted(member, [("/A", 1)])
    now = NOW
    for _ in range(2):
        for _ in range(SILENT_LIFETIMES - 1):
            now += SECOND
            effects = member.receive(Unanswered(one(effects, Express).ticket, "expired"), now)
            assert name_of(one(effects, Express)) != hello_question(GROUP)
        effects = answer(member, effects, [("/A", now)], now=now)


def test_errors_are_followed_by_a_pause() -> None:
    member = consumer()
    hello = one(member.start(NOW), Express)
    assert member.receive(Unanswered(hello.ticket, "no route"), NOW) == []
    effects, due = go_on(member)
    assert 100 * MS <= due - NOW <= 500 * MS
    assert member.receive(Unanswered(one(effects, Express).ticket, "expired"), due + SECOND) == []
    effects, again = go_on(member)
    assert 100 * MS <= again - due - SECOND <= 500 * MS
    effects = answer(member, effects, [("/A", 1)], now=again)
    assert member.receive(Unanswered(one(effects, Express).ticket, "no route"), again) == []
    assert only(go_on(member)[0], Express)


def test_hellos_that_nobody_answers_are_noted_once() -> None:
    member = consumer()
    effects = member.start(NOW)
    told: list[Effect] = []
    for _ in range(2 * WORRY_HELLOS):
        told += member.receive(Unanswered(one(effects, Express).ticket, "no route"), NOW)
        effects, _ = go_on(member)
    (note,) = told
    assert isinstance(note, Note)
    assert note.event == UNHEARD
    assert dict(note.facts)["reason"] == "no route"


def test_a_nack_is_followed_by_a_hello() -> None:
    member = consumer()
    sync = one(greeted(member, [("/A", 1)]), Express)
    effects = member.receive(Answered(sync.ticket, nack_for(sync)), NOW + 2 * SECOND)
    assert name_of(one(effects, Express)) == hello_question(GROUP)
    effects = answer(member, effects, [("/A", 50)], now=NOW + 2 * SECOND)
    assert learnt(effects) == [("/A", 2, 50)]


def test_a_nack_soon_after_a_hello_waits_until_caches_have_forgotten_that_hello() -> None:
    member = consumer()
    sync = one(greeted(member, [("/A", 1)]), Express)
    assert member.receive(Answered(sync.ticket, nack_for(sync)), NOW + MS) == []
    effects, due = go_on(member)
    assert due == NOW + SECOND
    assert name_of(one(effects, Express)) == hello_question(GROUP)


def test_a_nack_to_a_hello_is_an_error() -> None:
    member = consumer()
    hello = one(member.start(NOW), Express)
    assert member.receive(Answered(hello.ticket, nack_for(hello)), NOW) == []
    assert only(go_on(member)[0], Express)


@pytest.mark.parametrize(
    ("tail", "raw"),
    [
        ("/v=1/seg=0", b"\x80\x00"),
        ("/x/y/v=1/seg=0", b"\x80\x00"),
        ("/x/v=1/seg=0", b"\x80\x05"),
        ("/x/v=1/seg=0", b""),
        ("/x/v=1", b"\x80\x00"),
    ],
)
def test_a_reply_that_cannot_be_is_rejected_and_asked_for_again(tail: str, raw: bytes) -> None:
    member = consumer()
    hello = one(member.start(NOW), Express)
    data = make_data(name_of(hello) + Name.parse(tail), raw, DigestSigner(), final_block=segment(0))
    effects = member.receive(Answered(hello.ticket, data), NOW)
    assert [type(effect) for effect in effects] == [Rejected]
    assert only(go_on(member)[0], Express)


def test_an_iblt_too_long_to_be_handed_back_is_rejected() -> None:
    member = consumer(NameList(Name.parse(f"/s/{number}") for number in range(1000)))
    hello = one(member.start(NOW), Express)
    data = reply_data(name_of(hello) / Component(bytes(7000)), [])
    assert "too long" in one(member.receive(Answered(hello.ticket, data), NOW), Rejected).reason


def test_a_large_reply_is_collected() -> None:
    member = consumer()
    hello = one(member.start(NOW), Express)
    name = name_of(hello) / sketch([("/A", 1)]) / version(1)
    first = make_data(name / segment(0), b"\x80", DigestSigner(), final_block=segment(1))
    assert member.receive(Answered(hello.ticket, first), NOW) == [Collect(hello.ticket, name)]
    effects = member.receive(Collected(hello.ticket, content([("/A", 1)])), NOW)
    assert learnt(effects) == [("/A", 1, 1)]


def test_streams_are_bounded() -> None:
    preset = PartialPreset(expected=6, max_streams=2)
    member = consumer(RangeList(names("/")), preset=preset)
    effects = greeted(member, [("/A", 1), ("/B", 1)])
    effects = answer(member, effects, [("/C", 1), ("/A", 2)])
    assert learnt(effects) == [("/A", 2, 2)]
    assert member.turned_away == 1
    hello = consumer(RangeList(names("/")), preset=preset)
    express = one(hello.start(NOW), Express)
    data = reply_data(name_of(express) / sketch([]), [("/A", 1), ("/B", 1), ("/C", 1)])
    assert only(hello.receive(Answered(express.ticket, data), NOW), Rejected)


def test_nobody_asks_a_consumer_anything() -> None:
    member = consumer()
    assert member.receive(asked(hello_question(GROUP)), NOW) == []
    assert member.evidence(asked(hello_question(GROUP)).interest) is None
    assert (member.group, member.prefix, member.route) == (GROUP, GROUP, None)


# -- wanting more, wanting less


def test_what_a_hello_has_shown_is_learnt_as_soon_as_it_is_wanted() -> None:
    member = consumer()
    sync = one(greeted(member, [("/A", 1), ("/C", 4)]), Express)
    effects = member.subscribe(Name.parse("/C"), NOW + MS)
    assert learnt(effects) == [("/C", 1, 4)]
    assert one(effects, Forget).ticket == sync.ticket
    effects, due = go_on(member)
    assert due == NOW + MS + 100 * MS
    wanted = NameList(names("/A", "/B", "/C"))
    assert name_of(one(effects, Express)) == question(wanted, [("/A", 1), ("/C", 4)])


def test_what_has_moved_on_since_the_hello_needs_another_hello() -> None:
    member = consumer()
    answer(member, greeted(member, [("/A", 1), ("/C", 4)]), [("/A", 2)], [("/A", 2), ("/C", 5)])
    effects = member.subscribe(Name.parse("/C"), NOW + 2 * SECOND)
    assert learnt(effects) == []
    effects, _ = go_on(member)
    assert name_of(one(effects, Express)) == hello_question(GROUP)
    effects = answer(member, effects, [("/A", 2), ("/C", 5)], now=NOW + 3 * SECOND)
    assert learnt(effects) == [("/C", 1, 5)]


def test_a_reply_to_the_old_list_cannot_pass_over_what_is_wanted_now() -> None:
    member = consumer()
    sync = one(greeted(member, [("/A", 1), ("/C", 4)]), Express)
    member.subscribe(Name.parse("/C"), NOW)
    late = reply_data(name_of(sync) / sketch([("/A", 2), ("/C", 5)]), [("/A", 2)])
    assert member.receive(Answered(sync.ticket, late), NOW) == []
    effects, _ = go_on(member)
    assert name_of(one(effects, Express)).at(-1) == sketch([("/A", 1), ("/C", 4)])


def test_many_wishes_at_once_cost_one_interest() -> None:
    member = consumer()
    greeted(member, [(f"/s/{number}", 1) for number in range(20)])
    effects = [effect for n in range(20) for effect in member.subscribe(Name.parse(f"/s/{n}"), NOW + n)]
    assert len(learnt(effects)) == 20
    assert not only(effects, Express)
    effects, _ = go_on(member)
    assert len(only(effects, Express)) == 1
    assert member.deadline() is None


def test_a_wish_while_the_hello_is_on_its_way_is_served_by_it() -> None:
    member = consumer()
    effects = member.start(NOW)
    assert member.subscribe(Name.parse("/C"), NOW) == []
    assert member.deadline() is None
    assert learnt(answer(member, effects, [("/C", 4)])) == [("/C", 1, 4)]


def test_a_wish_before_the_start_is_part_of_it() -> None:
    member = consumer()
    assert member.subscribe(Name.parse("/C"), NOW) == []
    assert member.deadline() is None
    assert learnt(greeted(member, [("/C", 4)])) == [("/C", 1, 4)]


def test_what_is_wanted_no_longer_is_forgotten_and_learnt_from_1_again() -> None:
    member = consumer()
    greeted(member, [("/A", 3)])
    effects = member.unsubscribe(Name.parse("/A"), NOW)
    assert only(effects, Save)
    assert member.latest() == {}
    assert member.unsubscribe(Name.parse("/A"), NOW) == []
    assert learnt(member.subscribe(Name.parse("/A"), NOW)) == [("/A", 1, 3)]
    assert member.subscribe(Name.parse("/A"), NOW) == []


def test_a_range_is_wanted_and_not_wanted_like_a_name() -> None:
    member = consumer(RangeList(names("/F3")))
    assert learnt(greeted(member, [("/F3/A", 3)])) == [("/F3/A", 1, 3)]
    wanted = NameRange(*names("/F1", "/F2"))
    assert not learnt(member.subscribe(wanted, NOW)), "the last hello did not ask for these"
    effects, due = go_on(member)
    assert name_of(one(effects, Express)) == hello_question(
        GROUP, RangeList([wanted, Name.parse("/F3")]).components(SIX)[1]
    )
    state = [("/F1/A", 1), ("/F2/A", 2), ("/F3/A", 3)]
    assert learnt(answer(member, effects, state, state, due)) == [("/F1/A", 1, 1), ("/F2/A", 1, 2)]
    member.unsubscribe(Name.parse("/F3"), NOW)
    member.unsubscribe(wanted, NOW)
    assert member.latest() == {}
    with pytest.raises(BadName):
        consumer().subscribe(wanted, NOW)


# -- the consumer's own state


def disk(effects: Iterable[Effect]) -> bytes:
    """The file as the last save left it."""
    saves = only(list(effects), Save)
    assert all(save.replace and save.file == "place" for save in saves)
    return saves[-1].data


def test_a_step_is_learnt_before_it_is_saved() -> None:
    member = consumer()
    hello = one(member.start(NOW), Express)
    data = reply_data(name_of(hello) / sketch([("/A", 1)]), [("/A", 1)])
    effects = member.receive(Answered(hello.ticket, data), NOW)
    assert [type(effect).__name__ for effect in effects] == ["Learned", "Save", "Express"]


def test_a_restarted_consumer_goes_on_where_it_was() -> None:
    first = consumer()
    place = disk(answer(first, greeted(first, [("/A", 1)]), [("/A", 3)], [("/A", 3), ("/B", 1)]))
    member = consumer(saved=place)
    assert member.latest() == {Stream(Name.parse("/A")): 3}
    effects = member.start(NOW)
    assert name_of(one(effects, Express)) == question(NameList(names("/A", "/B")), [("/A", 3), ("/B", 1)])
    assert learnt(answer(member, effects, [("/A", 4), ("/B", 1)])) == [("/A", 4, 4), ("/B", 1, 1)]


def test_a_wish_after_a_restart_needs_a_hello() -> None:
    first = consumer()
    member = consumer(saved=disk(greeted(first, [("/A", 1), ("/C", 5)])))
    member.start(NOW)
    member.subscribe(Name.parse("/C"), NOW)
    effects, due = go_on(member)
    assert name_of(one(effects, Express)) == hello_question(GROUP)
    assert learnt(answer(member, effects, [("/A", 1), ("/C", 5)], now=due)) == [("/C", 1, 5)]


def test_what_was_learnt_but_not_saved_is_learnt_again() -> None:
    first = consumer()
    effects = greeted(first, [("/A", 1)])
    place = disk(effects)
    assert learnt(answer(first, effects, [("/A", 3)])) == [("/A", 2, 3)]
    member = consumer(saved=place)
    assert learnt(answer(member, member.start(NOW), [("/A", 3)])) == [("/A", 2, 3)]


def test_saves_follow_each_other_and_the_last_one_has_everything() -> None:
    member = consumer()
    hello = one(member.start(NOW), Express)
    effects = member.receive(Answered(hello.ticket, reply_data(name_of(hello) / sketch([]), [("/A", 1)])), NOW)
    first = one(effects, Save)
    for number in (2, 3):
        express = one(effects, Express)
        data = reply_data(name_of(express) / sketch([("/A", number)]), [("/A", number)])
        effects = member.receive(Answered(express.ticket, data), NOW)
        assert not only(effects, Save), "one at a time"
    assert member.receive(Saved("place", first.ticket + 1), NOW) == []
    assert member.receive(Saved("other", first.ticket), NOW) == []
    (save,) = member.receive(Saved("place", first.ticket), NOW)
    assert isinstance(save, Save)
    state = decode_consumer(save.data, 10)
    assert state is not None
    assert state.numbers == {Name.parse("/A"): 3}
    assert state.iblt == sketch([("/A", 3)])
    assert member.receive(Saved("place", save.ticket), NOW) == []


def test_a_new_iblt_alone_is_saved() -> None:
    member = consumer()
    effects = answer(member, greeted(member, [("/A", 1)]), [], [("/A", 1), ("/C", 1)])
    state = decode_consumer(one(effects, Save).data, 10)
    assert state is not None
    assert state.iblt == sketch([("/A", 1), ("/C", 1)])


def test_a_reply_that_changes_nothing_is_not_saved() -> None:
    member = consumer()
    effects = answer(member, greeted(member, [("/A", 1)]), [], [("/A", 1)])
    assert only(effects, Save) == []


@pytest.mark.parametrize("damage", ["flip", "cut", "short"])
def test_a_damaged_place_counts_as_none(damage: str) -> None:
    place = bytearray(disk(greeted(consumer(), [("/A", 3)])))
    if damage == "flip":
        place[7] ^= 1
    saved = bytes(place) if damage == "flip" else bytes(place[: -1 if damage == "cut" else 3])
    member = consumer(saved=saved)
    effects = member.start(NOW)
    assert one(effects, Note).event == "place lost"
    assert name_of(one(effects, Express)) == hello_question(GROUP)
    assert learnt(answer(member, effects, [("/A", 3)])) == [("/A", 1, 3)], "everything again"


def test_a_place_for_another_list_needs_a_hello_but_keeps_its_numbers() -> None:
    place = disk(greeted(consumer(), [("/A", 3), ("/B", 2), ("/C", 5)]))
    member = consumer(NameList(names("/A", "/C")), saved=place)
    assert member.latest() == {Stream(Name.parse("/A")): 3}
    effects = member.start(NOW)
    assert not only(effects, Note)
    assert name_of(one(effects, Express)) == hello_question(GROUP)
    assert learnt(answer(member, effects, [("/A", 4), ("/B", 2), ("/C", 5)])) == [("/A", 4, 4), ("/C", 1, 5)]


def test_a_place_saved_while_a_hello_is_needed_is_none_for_any_list() -> None:
    first = consumer()
    effects = answer(first, greeted(first, [("/A", 1), ("/C", 4)]), [("/A", 2)], [("/A", 2), ("/C", 5)])
    place = disk(first.subscribe(Name.parse("/C"), NOW))
    member = consumer(NameList(names("/A", "/B", "/C")), saved=place)
    assert name_of(one(member.start(NOW), Express)) == hello_question(GROUP)
    assert only(effects, Save)


def test_a_place_is_read_as_it_was_written() -> None:
    state = ConsumerState(b"print", Component(b"iblt"), {Name.parse("/A"): 3, Name.parse("/B/C"): 1 << 40})
    assert decode_consumer(encode_consumer(state), 2) == state
    assert decode_consumer(encode_consumer(state), 1) is None, "more than we keep"


def test_a_place_that_has_a_right_checksum_but_no_sense_counts_as_damaged() -> None:
    for body in (b"", b"\x07\x00\x80\x00", b"\x08\x05\x08\x01A\x08\x00\x80\x00", b"\x07\x03\x08\x01A\x80\x00", b"\xff"):
        assert decode_consumer(crc32(body).to_bytes(4, "big") + body, 10) is None


def test_starting_again_goes_on() -> None:
    member = consumer()
    sync = one(greeted(member, [("/A", 1)]), Express)
    effects = member.start(NOW + SECOND)
    assert one(effects, Forget).ticket == sync.ticket
    assert name_of(one(effects, Express)) == name_of(sync)


# -- the two together


def pair(
    bus: Bus, wanted: Subscriptions, preset: PartialPreset = CPP_PARTIAL, streams: int = 10
) -> tuple[Seat, Seat, PSyncConsumer]:
    source = bus.add(producer(preset))
    for number in range(streams):
        bus.produce(source, f"/s/{number}")
    member = consumer(wanted, preset=preset)
    return source, bus.add(member), member


def known(member: PSyncConsumer, stream: str) -> int:
    return member.latest().get(Stream(Name.parse(stream)), 0)


@pytest.mark.parametrize("preset", [CPP_PARTIAL, PartialPreset(iblt_compression=ZLIB)], ids=["plain", "zlib"])
@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_a_consumer_hears_of_all_it_wants_and_of_nothing_else(loss: float, preset: PartialPreset) -> None:
    bus = Bus(seed=4, loss=loss)
    source, sink, member = pair(bus, NameList(names("/s/3", "/s/7")), preset)
    for high in range(1, 40):
        for number in range(10):
            bus.announce(source, f"/s/{number}", high)
        bus.run(200 * MS)
    assert bus.run(30 * SECOND, lambda: known(member, "/s/3") == known(member, "/s/7") == 39)
    heard = sink.learned()
    assert {stream for stream, _, _ in heard} == {"/s/3", "/s/7"}
    for stream in ("/s/3", "/s/7"):
        numbers = [n for each, low, high in heard if each == stream for n in range(low, high + 1)]
        assert numbers == list(range(1, 40)), "each once, in order"


def test_without_news_it_asks_about_once_a_second_and_gets_no_reply() -> None:
    bus = Bus(seed=4)
    source, sink, member = pair(bus, NameList(names("/s/3")))
    bus.announce(source, "/s/3", 1)
    assert bus.run(5 * SECOND, lambda: known(member, "/s/3") == 1)
    bus.run(SECOND)
    before = sink.interests, source.replies
    bus.run(20 * SECOND)
    assert 18 <= sink.interests - before[0] <= 22
    assert source.replies == before[1]


def test_news_of_other_streams_do_not_make_it_ask_faster_than_it_must() -> None:
    bus = Bus(seed=4)
    source, sink, _ = pair(bus, NameList(names("/s/3")), PartialPreset(expected=6, threshold=1))
    bus.run(SECOND)
    before = sink.interests
    for high in range(1, 101):
        bus.announce(source, "/s/5", high)
        bus.run(100 * MS)
    assert sink.interests - before <= 60, "ten seconds"


def test_a_consumer_far_behind_is_nacked_and_says_hello() -> None:
    bus = Bus(seed=4)
    source, sink, member = pair(bus, NameList(names("/s/3")), PartialPreset(expected=6, threshold=1000), streams=100)
    bus.announce(source, "/s/3", 1)
    assert bus.run(5 * SECOND, lambda: known(member, "/s/3") == 1)
    bus.loss = 1.0
    for number in range(100):
        bus.announce(source, f"/s/{number}", 2)
    bus.run(3 * SECOND)
    bus.loss = 0.0
    assert bus.run(5 * SECOND, lambda: known(member, "/s/3") == 2)
    assert isinstance(source.member, PSyncProducer)
    assert source.member.nacks
    assert sink.learned() == [("/s/3", 1, 1), ("/s/3", 2, 2)]


def test_a_consumer_that_was_away_goes_on_with_another_producer() -> None:
    bus = Bus(seed=4)
    wanted = names("/s/3", "/s/4")
    source, sink, member = pair(bus, NameList(wanted))
    bus.announce(source, "/s/3", 1)
    assert bus.run(5 * SECOND, lambda: known(member, "/s/3") == 1)
    bus.run(SECOND)
    bus.crash(sink)
    bus.announce(source, "/s/3", 5)
    bus.announce(source, "/s/4", 1)
    bus.announce(source, "/s/5", 1)
    bus.run(SECOND)
    replica = producer(CPP_PARTIAL, saved=source.files["numbers"])
    bus.crash(source)
    bus.add(replica)
    again = consumer(NameList(wanted), saved=sink.files["place"], preset=CPP_PARTIAL, seed=9)
    seat = bus.add(again)
    assert bus.run(5 * SECOND, lambda: known(again, "/s/4") == 1)
    assert sorted(seat.learned()) == [("/s/3", 2, 5), ("/s/4", 1, 1)]


def test_ranges_bring_streams_that_came_to_be_later() -> None:
    bus = Bus(seed=4, loss=0.1)
    source, sink, _ = pair(bus, RangeList(names("/later")))
    bus.run(2 * SECOND)
    bus.produce(source, "/later/one")
    bus.announce(source, "/later/one", 1)
    bus.announce(source, "/s/1", 1)
    assert bus.run(10 * SECOND, lambda: bool(sink.learned()))
    bus.run(5 * SECOND)
    assert sink.learned() == [("/later/one", 1, 1)]


def test_a_large_hello_arrives_in_segments() -> None:
    bus = Bus(seed=4, loss=0.1)
    source, _, member = pair(bus, NameList(names("/s/3")), streams=500)
    assert bus.run(20 * SECOND, lambda: len(member.available()) == 500)
    bus.announce(source, "/s/3", 1)
    assert bus.run(10 * SECOND, lambda: known(member, "/s/3") == 1)


def test_wishes_that_change_while_everything_moves_miss_nothing() -> None:
    bus = Bus(seed=4, loss=0.2)
    source, sink, member = pair(bus, NameList())
    for high in range(1, 61):
        for number in range(10):
            bus.announce(source, f"/s/{number}", high)
        if high % 6 == 0:
            bus.do(sink, member.subscribe(Name.parse(f"/s/{high // 6 - 1}"), bus.now))
        bus.run(150 * MS)
    bus.run(500 * MS)
    assert bus.run(30 * SECOND, lambda: all(known(member, f"/s/{number}") == 60 for number in range(10)))
    for number in range(10):
        heard = [n for each, low, high in sink.learned() if each == f"/s/{number}" for n in range(low, high + 1)]
        assert heard == list(range(1, 61))


def test_consumers_do_not_need_to_know_how_large_the_tables_are() -> None:
    bus = Bus(seed=4)
    preset = PartialPreset(expected=20, max_expected=80, adaptive=True)
    source, _, member = pair(bus, NameList(names("/s/3")), preset, streams=100)
    bus.run(2 * SECOND)
    bus.loss = 1.0
    for number in range(100):
        bus.announce(source, f"/s/{number}", 1)
    bus.run(2 * SECOND)
    bus.loss = 0.0
    assert bus.run(10 * SECOND, lambda: known(member, "/s/3") == 1)
    assert isinstance(source.member, PSyncProducer)
    assert source.member.sizing.expected > 20
