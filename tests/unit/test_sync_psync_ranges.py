"""Partial sync with ranges, our own form: hellos with ranges, IBLTs known again, batches, carried readings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from tests.psync_bus import Bus
from tests.psync_world import asked, learnt, name_of, one, only

from roost.machine import MS, SECOND, Effect, Rejected
from roost.naming import Component, Name
from roost.naming.building import numbered
from roost.naming.conventions import segment, version
from roost.sync import psync_producer
from roost.sync.handed import MAX_BEHIND, MAX_HANDED, Handed
from roost.sync.ledger import Ledger
from roost.sync.name_index import NameIndex
from roost.sync.port import Answered, Express, Reply, Unanswered
from roost.sync.presets import PartialPreset
from roost.sync.psync_consumer import PLAIN_EVERY, Carried, PSyncConsumer
from roost.sync.psync_names import hello_question, sync_question
from roost.sync.psync_producer import PSyncProducer
from roost.sync.subscriptions import NameList, NameRange, RangeList, Ranges
from roost.sync.sync_state import decode_state, split_carried
from roost.wire import Data, DigestSigner, encode_data, make_data
from roost.wire.data import NACK

GROUP = Name.parse("/P")
NOW = 1_790_000_000_000 * MS
SIX = PartialPreset(expected=6, threshold=3)


def streams(count: int, where: str = "/F1") -> list[tuple[Name, int]]:
    return [(Name.parse(f"{where}/S{number:05}"), number + 1) for number in range(count)]


def producer(preset: PartialPreset = SIX, carried: Callable[[Name, int], bytes | None] | None = None) -> PSyncProducer:
    return PSyncProducer(GROUP, preset, DigestSigner(), Random(1), Ledger("numbers", b""), carried)


def consumer(*wanted: str, file: str = "") -> PSyncConsumer:
    return PSyncConsumer(GROUP, SIX, RangeList([Name.parse(uri) for uri in wanted]), Random(1), b"", file)


def ranges(*wanted: str) -> tuple[Component, ...]:
    return RangeList([Name.parse(uri) for uri in wanted]).components(SIX)


def greeting(member: PSyncProducer, *wanted: str) -> Data:
    reply = one(member.receive(asked(hello_question(GROUP, ranges(*wanted)[1])), NOW), Reply)
    return Data.decode(reply.packet)


def iblt_of(reply: Data) -> Component:
    return reply.name.at(-3)


def state_in(data: Data) -> list[tuple[Name, int]]:
    return decode_state(split_carried(data.content)[0], 1000)


# -- the producer


def test_a_hello_with_ranges_is_answered_with_the_streams_in_them() -> None:
    member = producer()
    member.publish([*streams(3), *streams(2, "/F2"), (Name.parse("/F10/S"), 7)], NOW)
    assert state_in(greeting(member, "/F1")) == streams(3)
    assert state_in(greeting(member, "/F2/S00001", "/F10")) == [*streams(2, "/F2")[1:], (Name.parse("/F10/S"), 7)]
    assert state_in(greeting(member, "/F3")) == []


def test_a_hello_with_ranges_sees_streams_that_came_later() -> None:
    member = producer()
    member.publish(streams(1), NOW)
    assert len(state_in(greeting(member, "/F1"))) == 1
    member.publish(streams(2), NOW)
    later = one(member.receive(asked(hello_question(GROUP, ranges("/F1")[1])), NOW + 2 * SECOND), Reply)
    assert state_in(Data.decode(later.packet)) == streams(2)


def test_a_hello_that_cannot_hold_all_streams_is_not_answered() -> None:
    member = producer(PartialPreset(expected=6, threshold=3, max_reply_bytes=1000))
    member.publish(streams(100), NOW)
    assert member.receive(asked(hello_question(GROUP)), NOW) == []
    assert member.hellos_too_large == 1
    assert state_in(greeting(member, "/F1/S00005")) == [streams(6)[5]]


def test_ranges_that_cannot_be_read_are_refused() -> None:
    (effect,) = producer().receive(asked(hello_question(GROUP, Component(b"nonsense"))), NOW)
    assert isinstance(effect, Rejected)


def test_a_batch_that_no_iblt_could_hold_is_told_to_whoever_has_our_last_iblt() -> None:
    member = producer()
    member.publish(streams(200), NOW)
    question = sync_question(GROUP, ranges("/F1"), iblt_of(greeting(member, "/F1")))
    assert member.receive(asked(question), NOW) == []
    news = [(stream, number + 1) for stream, number in streams(150)]
    assert state_in(Data.decode(one(member.publish(news, NOW), Reply).packet)) == news
    assert member.nacks == 0


def test_who_comes_back_after_such_a_batch_is_told_too() -> None:
    member = producer()
    member.publish([*streams(200), *streams(9, "/F2")], NOW)
    question = sync_question(GROUP, ranges("/F2"), iblt_of(greeting(member, "/F2")))
    member.publish([(stream, number + 1) for stream, number in streams(150)], NOW)
    member.publish([(Name.parse("/F2/S00003"), 9)], NOW)
    reply = Data.decode(one(member.receive(asked(question), NOW), Reply).packet)
    assert state_in(reply) == [(Name.parse("/F2/S00003"), 9)]


def test_a_quiet_subscriber_of_a_busy_group_is_left_in_peace() -> None:
    member = producer()
    member.publish([*streams(200), *streams(9, "/F2")], NOW)
    question = sync_question(GROUP, ranges("/F2"), iblt_of(greeting(member, "/F2")))
    assert member.receive(asked(question), NOW) == []
    for turn in range(2, 10):
        assert member.publish([(stream, number + turn) for stream, number in streams(20)], NOW) == []
    assert len(member.pending) == 1


def test_a_subscriber_is_told_before_its_iblt_is_forgotten() -> None:
    member = producer()
    member.publish([*streams(200), *streams(9, "/F2")], NOW)
    question = sync_question(GROUP, ranges("/F2"), iblt_of(greeting(member, "/F2")))
    member.receive(asked(question), NOW)
    effects: list[Effect] = []
    turns = 0
    while not effects:
        turns += 1
        effects = member.publish([(stream, number + turns) for stream, number in streams(20)], NOW)
    assert state_in(Data.decode(one(effects, Reply).packet)) == []
    assert 20 * turns <= MAX_BEHIND


def test_strangers_cannot_have_everything_listed_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psync_producer, "LISTED_PER_SECOND", 5)
    member = producer()
    member.publish(streams(9), NOW)
    assert len(state_in(greeting(member, "/F1"))) == 9, "one hello a second is answered, however much it lists"
    question = hello_question(GROUP, ranges("/F1/S00002")[1])
    assert member.receive(asked(question), NOW) == []
    assert member.hellos_put_off == 1
    assert only(member.receive(asked(question), NOW + SECOND), Reply)


def test_of_a_stream_that_is_twice_in_a_batch_the_last_number_is_told() -> None:
    member = producer()
    stream = Name.parse("/F1/S")
    member.publish([(stream, 1)], NOW)
    member.receive(asked(sync_question(GROUP, ranges("/F1"), iblt_of(greeting(member, "/F1")))), NOW)
    effects = member.publish([(stream, 2), (stream, 3), (stream, 1)], NOW)
    assert state_in(Data.decode(one(effects, Reply).packet)) == [(stream, 3)]
    assert member.publish([(stream, 3)], NOW) == []


def test_our_own_past_is_bounded() -> None:
    past = Handed(max_changed=50)
    for number in range(MAX_HANDED + 1):
        past.hand(b"%d" % number)
    assert past.since(b"0") is None
    assert past.since(b"1") == []
    names = [stream for stream, _ in streams(102)]
    for _ in range(1000):
        past.change(names[:100])
    assert past.since(b"1") == names[99::-1], "however often they have changed"
    past.hand(b"x")
    past.change(names[100:])
    assert past.since(b"1") is None, "too many have changed since"
    assert past.since(b"x") == names[:99:-1]
    past.change(names[:3] + names[:2])
    assert past.since(b"x") == [names[1], names[0], names[2], names[101], names[100]]
    past.forget()
    assert past.since(b"x") is None


def test_more_changes_than_a_reply_holds_are_refused_rather_than_told_in_part() -> None:
    member = producer(replace(SIX, max_reply_bytes=1000))
    member.publish(streams(3), NOW)
    question = sync_question(GROUP, ranges("/F1"), iblt_of(greeting(member, "/F1")))
    member.publish([(stream, 2) for stream, _ in streams(200)], NOW)
    nack = Data.decode(one(member.receive(asked(question), NOW), Reply).packet)
    assert (nack.content_type, member.nacks) == (NACK, 1)


def test_an_index_finds_what_ranges_contain() -> None:
    uris = ["/A", "/A/B", "/A/B/C", "/A/C", "/AB", "/B/seq=1", "/B/65535=x"]
    everything = [Name.parse(uri) for uri in uris]
    index = NameIndex(everything)
    for low in everything:
        for high in everything:
            if low <= high:
                wanted = Ranges([NameRange(low, high)])
                assert index.within(wanted) == sorted(name for name in everything if name in wanted)


def test_a_consumer_knows_of_what_a_producer_that_took_over_has_not_heard_yet() -> None:
    first, second, member = producer(PartialPreset()), producer(PartialPreset()), consumer("/F1")
    same, less, more = (stream for stream, _ in streams(3))
    first.publish([(same, 5), (less, 5), (more, 5)], NOW)
    second.publish([(same, 5), (less, 3), (more, 9)], NOW)

    def exchange(other: PSyncProducer, effects: list[Effect]) -> list[Effect]:
        """Have a producer answer what the consumer asks."""
        express = one(effects, Express)
        reply = one(other.receive(asked(name_of(express)), NOW), Reply)
        return member.receive(Answered(express.ticket, Data.decode(reply.packet)), NOW)

    effects = exchange(first, member.start(NOW))
    assert member.behind == {}
    effects = exchange(second, effects)
    assert learnt(effects) == [(str(more), 6, 9)]
    assert member.behind == {less: 3}
    second.publish([(less, 4), (same, 6)], NOW)
    effects = exchange(second, effects)
    assert member.behind == {less: 4}
    second.publish([(less, 5), (same, 7)], NOW)
    exchange(second, effects)
    assert member.behind == {}


def test_a_hello_tells_which_streams_a_producer_that_took_over_does_not_know() -> None:
    known, new = (stream for stream, _ in streams(2))
    first, second, member = producer(), producer(), consumer("/F1")
    first.publish([(known, 5), (new, 5)], NOW)
    second.publish([(known, 5)], NOW)
    hello = one(member.start(NOW), Express)
    member.receive(Answered(hello.ticket, greeting(first, "/F1")), NOW)
    member.subscribe(Name.parse("/F2"), NOW)
    hello = one(member.tick(NOW + SECOND), Express)
    member.receive(Answered(hello.ticket, greeting(second, "/F1", "/F2")), NOW + SECOND)
    assert member.behind == {new: 0}


# -- carried readings


def packet_of(stream: Name, number: int) -> bytes:
    return encode_data(numbered(stream, number), b"x" * 100, DigestSigner())


def carrying(stream: Name, number: int) -> bytes | None:
    return packet_of(stream, number)


def told(member: PSyncProducer, wanted: tuple[Component, ...], news: list[tuple[Name, int]]) -> Data:
    hello = Data.decode(one(member.receive(asked(hello_question(GROUP)), NOW), Reply).packet)
    member.receive(asked(sync_question(GROUP, wanted, iblt_of(hello))), NOW)
    return Data.decode(one(member.publish(news, NOW), Reply).packet)


def test_replies_to_ranges_carry_small_readings() -> None:
    member = producer(carried=carrying)
    member.publish(streams(2), NOW)
    state, packets = split_carried(told(member, ranges("/F1"), [(streams(1)[0][0], 2)]).content)
    assert decode_state(state, 10) == [(streams(1)[0][0], 2)]
    assert packets == [packet_of(streams(1)[0][0], 2)]


def test_what_is_carried_stays_within_one_packet() -> None:
    member = producer(PartialPreset(expected=6, threshold=3, segment_bytes=1000), carrying)
    member.publish(streams(30), NOW)
    reply = told(member, ranges("/F1"), [(stream, number + 1) for stream, number in streams(10)])
    assert 1 <= len(split_carried(reply.content)[1]) <= 8
    assert reply.final_block == segment(0)
    assert len(state_in(reply)) == 10


def test_replies_to_lists_of_names_carry_nothing() -> None:
    member = producer(carried=carrying)
    member.publish(streams(2), NOW)
    reply = told(member, NameList([streams(1)[0][0]]).components(SIX), [(streams(1)[0][0], 2)])
    assert decode_state(reply.content, 10) == [(streams(1)[0][0], 2)]


# -- the consumer


def reply_to(express: Express, iblt: Component, content: bytes) -> Answered:
    name = name_of(express) / iblt / version(1) / segment(0)
    return Answered(express.ticket, make_data(name, content, DigestSigner(), freshness_ms=1000, final_block=segment(0)))


def test_a_consumer_without_a_file_saves_nothing() -> None:
    bus = Bus()
    member = producer()
    bus.add(member)
    seat = bus.add(consumer("/F1"))
    bus.do(bus.seats[0], member.publish(streams(2), bus.now))
    bus.run(2 * SECOND)
    assert len(seat.learned()) == 2
    assert not seat.files


def test_a_hello_with_ranges_in_vain_is_followed_by_a_plain_one() -> None:
    member = consumer("/F1")
    express = one(member.start(NOW), Express)
    now = NOW
    forms = []
    for _ in range(2 * PLAIN_EVERY):
        forms.append(name_of(express) == hello_question(GROUP))
        now += SECOND
        member.receive(Unanswered(express.ticket, "nobody"), now)
        now = member.deadline() or 0
        express = one(member.tick(now), Express)
    assert forms == 2 * [False, False, True]


def test_what_a_reply_carries_is_told_after_what_is_learnt() -> None:
    member = consumer("/F1")
    source = producer(carried=carrying)
    source.publish(streams(1), NOW)
    hello = one(member.start(NOW), Express)
    greeted = greeting(source, "/F1")
    effects = member.receive(reply_to(hello, iblt_of(greeted), greeted.content), NOW)
    express = one(effects, Express)
    source.receive(asked(name_of(express)), NOW)
    reply = Data.decode(one(source.publish([(streams(1)[0][0], 2)], NOW), Reply).packet)
    effects = member.receive(Answered(express.ticket, reply), NOW)
    assert learnt(effects) == [("/F1/S00000", 2, 2)]
    assert one(effects, Carried).data.name == numbered(streams(1)[0][0], 2)


def test_what_cannot_be_read_of_it_is_refused_and_the_rest_is_learnt() -> None:
    member = consumer("/F1")
    source = producer()
    source.publish(streams(1), NOW)
    hello = one(member.start(NOW), Express)
    greeted = greeting(source, "/F1")
    effects = member.receive(reply_to(hello, iblt_of(greeted), greeted.content + b"\x06\x01\x00"), NOW)
    assert learnt(effects) == [("/F1/S00000", 1, 1)]
    assert only(effects, Rejected)
    assert not only(effects, Carried)


def test_other_things_behind_a_state_make_the_reply_a_bad_one() -> None:
    member = consumer("/F1")
    source = producer()
    greeted = greeting(source, "/F1")
    hello = one(member.start(NOW), Express)
    effects = member.receive(reply_to(hello, iblt_of(greeted), greeted.content + b"\x07\x00"), NOW)
    assert [type(effect) for effect in effects] == [Rejected]
