"""PSync full sync: the packets of the sheet, each rule of the algorithm by its number, and the bounds."""

from __future__ import annotations

from random import Random
from zlib import DEFLATED, compressobj

import pytest
from tests.psync_world import (
    EMPTY_SIX,
    GROUP,
    NOW,
    SIX,
    SIX_ZLIB,
    asked,
    content_of,
    full,
    learnt,
    name_of,
    one,
    only,
    publish,
    question,
    reply_to,
    settle,
    sketch,
    tick_on,
)

from roost.errors import Backpressure, BadConfig, InvalidInput
from roost.machine import MS, SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Component, Name
from roost.naming.component import GENERIC
from roost.naming.conventions import segment, version
from roost.sync.compression import BZIP2, NONE, ZLIB, compress, decompress
from roost.sync.iblt import decode_iblt
from roost.sync.ledger import Ledger
from roost.sync.port import (
    Announced,
    Answered,
    Asked,
    Collect,
    Collected,
    Express,
    Forget,
    Listener,
    Ready,
    Reply,
    Stream,
    Unanswered,
)
from roost.sync.presets import FullPreset
from roost.sync.psync_full import REACH, PSyncFull
from roost.sync.psync_names import full_question, parse_full
from roost.sync.request import COLLECT_MS
from roost.sync.sync_interests import MAX_LIFETIME_MS
from roost.sync.sync_state import encode_state
from roost.wire import Data, DigestSigner, Interest, make_data
from roost.wire.data import NACK

# -- the packets of the sheet [PSync §5]


def test_the_reply_of_the_live_run_is_ours_byte_for_byte() -> None:
    member = full()
    member.start(NOW)
    member.receive(asked(question([])), NOW)
    reply = one(publish(member, "/A", 1), Reply)
    expected = (
        "06c10781080153086c" + EMPTY_SIX.hex() + "0801003608000001a1e0996bf53201001409190203e81a03320100150a"
        "8008070608014108010116031b010017209fc13c6d0a3e48e0b2a0c88f103472f4ec763124a9ff95f266b6b11d78d3ef43"
    )
    assert reply.packet.hex() == expected
    assert reply.token == b"token"


def test_the_reply_of_the_live_run_is_understood() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    data = reply_to(name_of(express), [("/A", 1)])
    assert learnt(member.receive(Answered(express.ticket, data), NOW)) == [("/A", 1, 1)]
    assert member.latest() == {Stream(Name.parse("/A")): 1}


def test_the_interest_carries_iblt_and_count_and_asks_for_a_fresh_prefix() -> None:
    interest = Interest.decode(one(full().start(NOW), Express).interest)
    assert interest.name.value.hex() == "080153" + "086c" + EMPTY_SIX.hex() + "080100"
    assert interest.can_be_prefix
    assert interest.must_be_fresh
    assert interest.lifetime_ms == 1000
    assert not interest.nonce, "that is the driver's"


def test_with_zlib_the_interest_and_the_reply_are_those_of_the_sheet() -> None:
    member = full(SIX_ZLIB)
    name = name_of(one(member.start(NOW), Express))
    assert name.value.hex() == "080153" + "080c78da6360a01f0000006c0001" + "080100"
    member.receive(asked(name), NOW)
    reply = one(publish(member, "/A", 1), Reply)
    assert Data.decode(reply.packet).content.hex() == "78da6be06067e36074e460640400070800ea"


def test_the_count_is_the_sum_of_all_numbers() -> None:
    member = full()
    publish(member, "/A", 1)
    publish(member, "/B", 300)
    parsed = parse_full(GROUP, name_of(one(member.start(NOW), Express)))
    assert parsed is not None
    assert parsed.total == 301
    assert parsed.iblt == sketch([("/A", 1), ("/B", 300)])


# -- rule 1: what is kept is sent again


def test_rule_1_a_fresh_reply_to_the_same_question_is_sent_again() -> None:
    member = full()
    publish(member, "/A", 1)
    first = one(member.receive(asked(question([])), NOW), Reply)
    again = one(member.receive(asked(question([]), b"other"), NOW + 999 * MS), Reply)
    assert again == Reply(first.packet, b"other")
    later = one(member.receive(asked(question([])), NOW + 1000 * MS), Reply)
    assert later.packet != first.packet


def test_rule_1_segments_are_found_by_their_names_and_what_is_gone_is_ignored() -> None:
    member = full()
    publish(member, "/A", 1)
    reply = Data.decode(one(member.receive(asked(question([])), NOW), Reply).packet)
    assert one(member.receive(asked(reply.name), NOW), Reply).packet == reply.wire
    assert member.receive(asked(reply.name), NOW + 10 * SECOND) == []
    assert member.segments_gone == 1


@pytest.mark.parametrize(
    "name",
    [
        GROUP,
        GROUP / Component(EMPTY_SIX),
        GROUP / Component(EMPTY_SIX) / "digest" / "x",
        GROUP / "hello",
        GROUP / Component(EMPTY_SIX) / Component(b"abc"),
        GROUP / Component(EMPTY_SIX, 32) / Component(b"\0"),
        GROUP / Component(bytes(96)) / Component(b"\0"),
        GROUP / Component(bytes(144)) / Component(b"\0"),
        GROUP / Component(b"") / Component(b"\0"),
        GROUP / Component(bytes(8600)) / Component(b"\0"),
    ],
)
def test_what_is_no_question_of_this_group_is_rejected(name: Name) -> None:
    member = full()
    rejected = one(member.receive(asked(name), NOW), Rejected)
    assert rejected.source == str(GROUP)
    assert rejected.reason


def test_compressed_tables_that_cannot_be_read_are_rejected() -> None:
    member = full(SIX_ZLIB)
    for raw in (EMPTY_SIX, compress(bytes(144), ZLIB), compress(bytes(1 << 20), ZLIB), b""):
        one(member.receive(asked(full_question(GROUP, raw, 0)), NOW), Rejected)


@pytest.mark.parametrize("blocks", [40, 1650])
def test_a_table_that_was_blown_up_beyond_what_compression_makes_of_it_is_rejected(blocks: int) -> None:
    nothing = bytes.fromhex("000000ffff")  # a stored block without any bytes
    plain = compress(EMPTY_SIX, ZLIB)
    deflate = compressobj(9, DEFLATED, -15)
    raw = plain[:2] + nothing * blocks + deflate.compress(EMPTY_SIX) + deflate.flush() + plain[-4:]
    assert decompress(raw, ZLIB, 108) == EMPTY_SIX
    member = full(SIX_ZLIB)
    rejected = one(member.receive(asked(full_question(GROUP, raw, 0)), NOW), Rejected)
    assert "140 bytes" in rejected.reason


# -- rule 2: the difference cannot be decoded

MANY = [(f"/many/{number}", 1) for number in range(40)]


def ahead() -> PSyncFull:
    member = full()
    for stream, number in MANY:
        publish(member, stream, number)
    return member


def test_rule_2_who_is_ahead_sends_the_entire_state_with_a_short_freshness() -> None:
    member = ahead()
    member.produce(Name.parse("/nothing/yet"), NOW)
    reply = one(member.receive(asked(question([])), NOW), Reply)
    assert sorted(content_of(reply)) == sorted(MANY)
    assert Data.decode(reply.packet).freshness_ms == 10


def test_rule_2_who_is_behind_looks_again_twice_and_then_asks() -> None:
    member = full()
    member.start(NOW)
    name = question(MANY)
    assert member.receive(asked(name), NOW) == []
    assert len(member.waiting) == 1
    looks = []
    effects: list[Effect] = []
    while not effects:
        effects, due = tick_on(member)
        looks.append(due)
    assert len(looks) == 2
    assert 100 * MS <= looks[0] - NOW <= 500 * MS
    assert 100 * MS <= looks[1] - looks[0] <= 500 * MS
    assert only(effects, Express), "its own Interest, because waiting did not help"
    assert len(member.waiting) == 0


def test_rule_2_who_has_caught_up_by_then_answers() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(asked(question(MANY, total=41)), NOW)
    data = reply_to(name_of(express), [*MANY, ("/more", 100)])
    effects = member.receive(Answered(express.ticket, data), NOW + MS)
    reply = one(effects, Reply)
    assert content_of(reply) == [("/more", 100)]
    assert len(member.waiting) == 0


def test_rule_2_equal_counts_and_nothing_to_offer_is_no_reason_to_answer() -> None:
    member = full()
    publish(member, "/A", 40)
    theirs = [("/A", 40), *MANY[:8]]
    difference = member.dataset.iblt(6).difference(decode_iblt(sketch(theirs)))
    assert difference.negative
    assert not difference.complete, "some of theirs show, but not all"
    assert member.receive(asked(question(theirs, total=40)), NOW) == []
    assert len(member.waiting) == 0


def test_rule_2_equal_counts_and_something_to_offer_is() -> None:
    member = ahead()
    reply = one(member.receive(asked(question([], total=40)), NOW), Reply)
    assert len(content_of(reply)) == 40


def test_rule_2_who_got_the_entire_state_is_not_kept_any_longer() -> None:
    member = full()
    member.receive(asked(question([])), NOW)
    for stream, number in MANY:
        member.dataset.set(Name.parse(stream), number)
    one(member.receive(asked(question([])), NOW), Reply)
    assert len(member.pending) == 0


def test_rule_2_an_empty_member_has_no_entire_state() -> None:
    member = full()
    assert member.receive(asked(question(MANY, total=0)), NOW) == []


def test_rule_2_the_same_question_heard_again_while_it_waits_changes_nothing() -> None:
    member = full()
    member.receive(asked(question(MANY)), NOW)
    due = member.deadline()
    assert member.receive(asked(question(MANY)), NOW + MS) == []
    assert member.deadline() == due
    assert len(member.waiting) == 1


# -- rule 3: no difference


def test_rule_3_who_has_the_same_waits_until_the_next_publication() -> None:
    member = full()
    publish(member, "/A", 1)
    assert member.receive(asked(question([("/A", 1)])), NOW) == []
    assert len(member.pending) == 1
    assert content_of(one(publish(member, "/A", 2), Reply)) == [("/A", 2)]
    assert len(member.pending) == 0
    assert only(publish(member, "/A", 3), Reply) == []


def test_rule_3_but_not_longer_than_its_lifetime() -> None:
    member = full()
    member.receive(asked(question([]), lifetime_ms=500), NOW)
    assert only(publish(member, "/A", 1, NOW + 500 * MS), Reply) == []
    assert len(member.pending) == 0


def test_rule_3_a_boundless_lifetime_is_cut() -> None:
    member = full()
    member.receive(asked(question([]), lifetime_ms=1 << 60), NOW)
    assert only(publish(member, "/A", 1, NOW + MAX_LIFETIME_MS * MS), Reply) == []


def test_rule_3_the_same_question_with_another_token_takes_its_place() -> None:
    member = full()
    member.receive(asked(question([]), b"old"), NOW)
    member.receive(asked(question([]), b"new"), NOW + 900 * MS)
    assert one(publish(member, "/A", 1, NOW + 1100 * MS), Reply).token == b"new"


def test_rule_3_nobody_can_shorten_how_long_a_question_is_kept() -> None:
    member = full()
    member.receive(asked(question([])), NOW)
    member.receive(asked(question([]), lifetime_ms=1), NOW)
    one(publish(member, "/A", 1, NOW + 900 * MS), Reply)


# -- rule 4: only they have something


def test_rule_4_who_is_behind_looks_again_twice_and_gives_up() -> None:
    member = full()
    assert member.receive(asked(question([("/A", 1)])), NOW) == []
    assert len(member.waiting) == 1
    assert tick_on(member)[0] == []
    assert len(member.waiting) == 1
    assert tick_on(member)[0] == []
    assert len(member.waiting) == 0
    assert member.deadline() is None


def test_rule_4_who_has_caught_up_keeps_the_interest_for_its_next_news() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(asked(question([("/A", 1)])), NOW)
    member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 1)])), NOW + MS)
    assert len(member.waiting) == 0
    assert len(member.pending) == 1
    assert content_of(one(publish(member, "/B", 1, NOW + 2 * MS), Reply)) == [("/B", 1)]


def test_rule_4_an_interest_that_has_expired_meanwhile_is_not_kept() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(asked(question([("/A", 1)]), lifetime_ms=10), NOW)
    member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 1)])), NOW + 10 * MS)
    assert len(member.pending) == 0


def test_rule_4_nor_is_it_answered() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(asked(question([("/A", 1)]), lifetime_ms=10), NOW)
    data = reply_to(name_of(express), [("/A", 1), ("/B", 1)])
    assert not only(member.receive(Answered(express.ticket, data), NOW + 10 * MS), Reply)


# -- rule 5: we have something


def test_rule_5_what_the_other_lacks_is_sent() -> None:
    member = full()
    publish(member, "/A", 2)
    publish(member, "/B", 1)
    reply = one(member.receive(asked(question([("/A", 1), ("/C", 7)])), NOW), Reply)
    assert content_of(reply) == [("/A", 2), ("/B", 1)]
    assert Data.decode(reply.packet).freshness_ms == 1000


def test_rule_5_a_stream_of_which_they_have_the_next_number_is_left_out() -> None:
    member = full()
    publish(member, "/A", 1)
    publish(member, "/B", 1)
    reply = one(member.receive(asked(question([("/A", 2)])), NOW), Reply)
    assert content_of(reply) == [("/B", 1)]
    assert Data.decode(reply.packet).freshness_ms == 1000, "all that the other has is accounted for, so this is news"
    assert member.receive(asked(question([("/A", 2), ("/B", 2)])), NOW) == [], "nothing is left then"


def test_rule_5_a_stream_of_which_they_have_a_later_number_is_left_out() -> None:
    member = full()
    publish(member, "/A", 1)
    assert member.receive(asked(question([("/A", 1 + REACH)])), NOW) == []
    reply = one(member.receive(asked(question([("/A", 2 + REACH)])), NOW), Reply)
    assert Data.decode(reply.packet).freshness_ms == 10, "it cannot be told, so it must not live on in caches"


def test_rule_5_among_many_streams_it_is_not_looked_as_far_ahead() -> None:
    member = full(FullPreset(content_compression=NONE))
    streams = [f"/many/{number}" for number in range(80)]
    for stream in streams:
        publish(member, stream, 1)
    asking = asked(question([(streams[0], 1 + REACH)], member.preset))
    reply = one(member.receive(asking, NOW), Reply)
    assert len(content_of(reply)) == 80, "hashing 32 numbers of each, both ways, is too dear for one Interest"
    assert Data.decode(reply.packet).freshness_ms == 10
    asking = asked(question([(streams[0], 2)], member.preset))
    assert len(content_of(one(member.receive(asking, NOW), Reply))) == 79, "the next number is always seen"


def test_rule_5_a_reply_with_news_is_fresh_for_its_time_even_if_the_other_has_more() -> None:
    member = full()
    publish(member, "/A", 2)
    reply = one(member.receive(asked(question([("/A", 1), ("/B", 1)])), NOW), Reply)
    assert Data.decode(reply.packet).freshness_ms == 1000
    publish(member, "/C", 1)
    reply = one(member.receive(asked(question([("/A", 2), ("/B", 1)])), NOW), Reply)
    assert (content_of(reply), Data.decode(reply.packet).freshness_ms) == ([("/C", 1)], 10)


# -- publishing


def test_a_publication_goes_with_all_that_the_kept_interest_lacks() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(asked(question([])), NOW)
    member.receive(Answered(express.ticket, reply_to(GROUP / "elsewhere", [])), NOW)
    member.receive(asked(question([]), b"kept"), NOW)
    member.dataset.set(Name.parse("/learnt"), 3)
    assert content_of(one(publish(member, "/A", 1), Reply)) == [("/A", 1), ("/learnt", 3)]


def test_a_publication_is_sent_even_if_the_difference_cannot_be_decoded() -> None:
    member = full()
    member.receive(asked(question([])), NOW)
    for stream, number in MANY:
        member.dataset.set(Name.parse(stream), number)
    assert ("/A", 1) in content_of(one(publish(member, "/A", 1), Reply))


def test_our_own_interest_of_the_same_name_is_withdrawn_and_sent_anew() -> None:
    member = full()
    first = one(member.start(NOW), Express)
    member.receive(asked(name_of(first)), NOW)
    effects = publish(member, "/A", 1, NOW + MS)
    kinds = [type(effect) for effect in effects if isinstance(effect, (Forget, Reply, Express))]
    assert kinds == [Forget, Reply, Express]
    assert one(effects, Forget).ticket == first.ticket
    assert name_of(one(effects, Express)) == question([("/A", 1)])


def test_our_own_interest_of_another_name_stays() -> None:
    member = full()
    publish(member, "/A", 1)
    member.start(NOW)
    member.receive(asked(question([("/A", 1)], total=7)), NOW)
    effects = publish(member, "/A", 2, NOW + MS)
    assert only(effects, Reply)
    assert not only(effects, Forget)
    assert not only(effects, Express)


def test_our_own_interest_that_comes_back_does_no_harm() -> None:
    member = full()
    publish(member, "/A", 1)
    express = one(member.start(NOW), Express)
    assert member.receive(Asked(Interest.decode(express.interest)), NOW + MS) == []
    stale = question([])
    assert content_of(one(member.receive(asked(stale), NOW + MS), Reply)) == [("/A", 1)]
    effects = publish(member, "/A", 2, NOW + 2 * MS)
    reply, again = one(effects, Reply), one(effects, Express)
    assert member.receive(Answered(express.ticket, Data.decode(reply.packet)), NOW + 3 * MS) == [], "it was withdrawn"
    assert name_of(again) == question([("/A", 2)])


def test_a_publication_is_told_only_when_it_is_on_the_disk() -> None:
    member = full()
    member.receive(asked(question([])), NOW)
    name = Name.parse("/A")
    assert member.produce(name, NOW) == [Ready(Stream(name), 1)]
    (save,) = member.announce(name, 1, NOW)
    assert isinstance(save, Save)
    assert member.latest() == {Stream(name): 0}
    announced, reply = member.receive(Saved(save.file, save.ticket), NOW)
    assert announced == Announced(Stream(name), 1)
    assert isinstance(reply, Reply)


def test_what_was_saved_together_is_told_together() -> None:
    member = full()
    names = [Name.parse(f"/s/{number}") for number in range(3)]
    for name in names:
        member.produce(name, NOW)
    member.receive(asked(question([])), NOW)
    effects = [effect for name in names for effect in member.announce(name, 1, NOW)]
    effects = settle(member, effects, NOW)
    assert [str(e.stream) for e in only(effects, Announced)] == ["/s/0", "/s/1", "/s/2"]
    assert content_of(only(effects, Reply)[0]) == [("/s/0", 1)], "the first save was under way alone"
    member.receive(asked(question([("/s/0", 1)])), NOW)


def test_a_number_that_is_no_news_or_on_its_way_costs_nothing() -> None:
    member = full()
    name = Name.parse("/A")
    publish(member, "/A", 5)
    assert member.announce(name, 5, NOW) == []
    assert member.announce(name, 4, NOW) == []
    effects = member.announce(name, 6, NOW)
    assert member.announce(name, 6, NOW) == []
    assert len(only(settle(member, effects, NOW), Save)) == 1


def test_only_what_is_ours_and_can_be_numbered_is_announced() -> None:
    member = full()
    with pytest.raises(InvalidInput, match="produce it first"):
        member.announce(Name.parse("/A"), 1, NOW)
    member.produce(Name.parse("/A"), NOW)
    with pytest.raises(InvalidInput, match="number component"):
        member.announce(Name.parse("/A"), 1 << 64, NOW)


# -- asking


def test_an_interest_is_sent_again_after_half_its_lifetime_and_a_jitter() -> None:
    member = full()
    first = one(member.start(NOW), Express)
    effects, due = tick_on(member)
    assert 600 * MS <= due - NOW <= 1000 * MS
    assert one(effects, Forget).ticket == first.ticket
    assert name_of(one(effects, Express)) == name_of(first)


def test_news_are_followed_by_another_interest_soon() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    data = reply_to(name_of(express), [("/A", 3), ("/B", 1)])
    effects = member.receive(Answered(express.ticket, data), NOW)
    assert learnt(effects) == [("/A", 1, 3), ("/B", 1, 1)]
    assert not only(effects, Express)
    effects, due = tick_on(member)
    assert 100 * MS <= due - NOW <= 500 * MS
    assert name_of(one(effects, Express)) == question([("/A", 3), ("/B", 1)])


def test_only_what_is_newer_is_learnt() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 3), ("/Z", 0)])), NOW)
    assert learnt(effects) == [("/A", 1, 3)]
    express = one(tick_on(member)[0], Express)
    later = NOW + SECOND
    effects = member.receive(
        Answered(express.ticket, reply_to(name_of(express), [("/A", 2), ("/B", 1), ("/A", 5)])), later
    )
    assert learnt(effects) == [("/B", 1, 1), ("/A", 4, 5)]


def test_a_reply_without_news_is_waited_out() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    assert member.receive(Answered(express.ticket, reply_to(name_of(express), [])), NOW) == []
    effects, due = tick_on(member)
    assert 1100 * MS <= due - NOW <= 1500 * MS
    assert only(effects, Express)


def test_a_publication_ends_that_wait() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(Answered(express.ticket, reply_to(name_of(express), [])), NOW)
    effects = publish(member, "/A", 1, NOW + MS)
    assert name_of(one(effects, Express)) == question([("/A", 1)])


def test_while_it_is_waited_out_nothing_else_makes_us_ask() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(Answered(express.ticket, reply_to(name_of(express), [])), NOW)
    member.receive(asked(question(MANY)), NOW)
    for _ in range(2):
        effects, due = tick_on(member)
        assert effects == []
        assert due < NOW + 1100 * MS


def test_the_same_interest_is_not_sent_twice_within_100_ms() -> None:
    member = full()
    one(member.start(NOW), Express)
    assert member.start(NOW + 99 * MS) == []
    assert only(member.start(NOW + 100 * MS), Express)


def test_a_nack_of_the_network_is_followed_by_another_try_soon() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    assert member.receive(Unanswered(express.ticket, "no route"), NOW) == []
    effects, due = tick_on(member)
    assert 100 * MS <= due - NOW <= 500 * MS
    assert only(effects, Express)


def test_silence_is_no_reason_to_hurry() -> None:
    member = full(FullPreset(expected=6, sync_lifetime_ms=100, resend_low_ms=400))
    express = one(member.start(NOW), Express)
    due = member.deadline()
    assert member.receive(Unanswered(express.ticket, "expired"), NOW + 100 * MS) == []
    assert member.deadline() == due


def test_what_was_forgotten_is_ignored() -> None:
    member = full()
    old = one(member.start(NOW), Express)
    tick_on(member)
    late = reply_to(name_of(old), [("/A", 1)])
    for event in (Answered(old.ticket, late), Collected(old.ticket, b""), Unanswered(old.ticket, "")):
        assert member.receive(event, NOW + SECOND) == []
    assert member.latest() == {}


@pytest.mark.parametrize("segments", [0, 1, 2], ids=["failed", "bad", "not collected"])
def test_what_comes_after_the_end_of_a_question_is_ignored(segments: int) -> None:
    member = full()
    express = one(member.start(NOW), Express)
    name = name_of(express)
    if segments == 1:
        bad = make_data(name / segment(0), b"", DigestSigner())
        one(member.receive(Answered(express.ticket, bad), NOW), Rejected)
    else:
        if segments == 2:
            first = make_data(name / version(1) / segment(0), b"", DigestSigner(), final_block=segment(1))
            one(member.receive(Answered(express.ticket, first), NOW), Collect)
        member.receive(Unanswered(express.ticket, "nack"), NOW)
    assert member.receive(Answered(express.ticket, reply_to(name, [("/A", 1)])), NOW) == []
    assert member.receive(Collected(express.ticket, encode_state([(Name.parse("/A"), 1)])), NOW) == []


def test_a_reply_takes_away_the_interest_kept_under_that_name() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(asked(name_of(express)), NOW)
    member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 1)])), NOW)
    assert len(member.pending) == 0


# -- replies that are no good, or large


@pytest.mark.parametrize(
    ("behind", "content"),
    [
        ("/v=1/seg=0", b"\x80\x05"),
        ("/v=1/seg=0", b""),
        ("/v=1/seg=0", encode_state([(Name.parse("/A"), 1)]) + b"\0"),
        ("/v=1/seg=0", bytes.fromhex("8003070108")),
    ],
)
def test_a_state_that_cannot_be_read_is_rejected_and_waited_out(behind: str, content: bytes) -> None:
    member = full()
    express = one(member.start(NOW), Express)
    name = name_of(express) + Name.parse(behind)
    data = make_data(name, content, DigestSigner(), final_block=segment(0))
    one(member.receive(Answered(express.ticket, data), NOW), Rejected)
    assert tick_on(member)[1] >= NOW + 1100 * MS


@pytest.mark.parametrize("behind", ["/seg=0", "/v=1", "/v=1/x", "/x/seg=0", "/v=1/seg=0/x"])
def test_a_reply_with_a_name_of_another_form_is_rejected_and_asked_again(behind: str) -> None:
    member = full()
    express = one(member.start(NOW), Express)
    name = name_of(express) + Name.parse(behind)
    data = make_data(name, b"\x80\x00", DigestSigner(), final_block=segment(0))
    one(member.receive(Answered(express.ticket, data), NOW), Rejected)
    assert tick_on(member)[1] <= NOW + 500 * MS


def test_an_application_nack_is_no_reply() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    nack = make_data(name_of(express) / segment(0), b"", DigestSigner(), content_type=NACK, final_block=segment(0))
    assert member.receive(Answered(express.ticket, nack), NOW) == []
    assert only(tick_on(member)[0], Express)


def test_a_state_that_swells_beyond_the_bound_is_rejected() -> None:
    member = full(FullPreset(expected=6, max_reply_bytes=1000))
    express = one(member.start(NOW), Express)
    data = reply_to(name_of(express), [(f"/stream/{number}", 1) for number in range(100)], SIX_ZLIB)
    assert "limit" in one(member.receive(Answered(express.ticket, data), NOW), Rejected).reason


def segmented(express: Express, content: bytes, size: int) -> list[Data]:
    name = name_of(express) / version(5)
    last = segment((len(content) - 1) // size)
    parts = [content[low : low + size] for low in range(0, len(content), size)]
    return [make_data(name / segment(i), part, DigestSigner(), final_block=last) for i, part in enumerate(parts)]


def test_a_reply_of_several_segments_is_collected() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    content = encode_state([(Name.parse(f"/s/{number}"), 1) for number in range(20)])
    first = segmented(express, content, 50)[0]
    assert member.receive(Answered(express.ticket, first), NOW) == [Collect(express.ticket, first.name.prefix(-1))]
    assert member.receive(Answered(express.ticket, first), NOW) == [], "it is on its way"
    assert len(learnt(member.receive(Collected(express.ticket, content), NOW + SECOND))) == 20


def test_a_reply_that_is_being_collected_is_not_given_up_for_the_timer() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(Answered(express.ticket, segmented(express, bytes(100), 50)[0]), NOW)
    member.receive(asked(question(MANY)), NOW)
    for _ in range(2):
        effects, due = tick_on(member)
        assert effects == [], "not even when an Interest was given up"
        assert due < NOW + COLLECT_MS * MS
    effects, due = tick_on(member)
    assert due == NOW + COLLECT_MS * MS
    assert [type(effect) for effect in effects] == [Forget, Express]


def test_a_reply_that_cannot_be_collected_is_asked_for_again() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(Answered(express.ticket, segmented(express, bytes(100), 50)[1]), NOW)
    assert member.receive(Unanswered(express.ticket, "segment 1"), NOW + 5 * SECOND) == []
    effects, due = tick_on(member)
    assert due <= NOW + 5 * SECOND + 500 * MS
    assert only(effects, Express)


def test_while_collecting_our_own_publication_withdraws_nothing() -> None:
    member = full()
    express = one(member.start(NOW), Express)
    member.receive(asked(name_of(express)), NOW)
    member.receive(Answered(express.ticket, segmented(express, bytes(100), 50)[0]), NOW)
    effects = publish(member, "/A", 1, NOW + MS)
    assert only(effects, Reply)
    assert not only(effects, Forget)
    assert not only(effects, Express)


# -- bounds


def test_an_adaptive_member_grows_with_a_difference_that_a_larger_table_has_told() -> None:
    member = full(FullPreset(expected=20, adaptive=True, iblt_compression=NONE))
    for stream, number in MANY:
        publish(member, stream, number)
    larger = FullPreset(expected=160, iblt_compression=NONE)
    one(member.receive(asked(question([], larger)), NOW), Reply)
    assert member.sizing.expected == 40


def test_kept_interests_are_bounded() -> None:
    member = full(FullPreset(expected=6, iblt_compression=NONE, max_pending=2))
    for total in range(3):
        member.receive(asked(question([], total=total)), NOW)
    assert len(member.pending) == 2
    assert member.pending.turned_away == 1
    member.receive(asked(question([], total=9)), NOW + SECOND)
    assert len(member.pending) == 1, "those that have expired make room"
    assert member.pending.turned_away == 1


def test_waiting_interests_are_bounded() -> None:
    member = full(FullPreset(expected=6, iblt_compression=NONE, max_waiting=2))
    for number in range(3):
        member.receive(asked(question([(f"/A/{number}", 1)])), NOW)
    assert len(member.waiting) == 2
    assert member.waiting.turned_away == 1


def test_streams_are_bounded_ours_and_theirs() -> None:
    member = full(FullPreset(expected=6, iblt_compression=NONE, content_compression=NONE, max_streams=2))
    express = one(member.start(NOW), Express)
    data = reply_to(name_of(express), [("/A", 1), ("/B", 1)])
    assert len(learnt(member.receive(Answered(express.ticket, data), NOW))) == 2
    with pytest.raises(Backpressure, match="2 streams"):
        member.produce(Name.parse("/C"), NOW)
    express = one(tick_on(member)[0], Express)
    data = reply_to(name_of(express), [("/C", 1), ("/A", 2)])
    assert learnt(member.receive(Answered(express.ticket, data), NOW)) == [("/A", 2, 2)]
    assert member.dataset.turned_away == 2


def test_a_state_of_more_streams_than_we_take_is_rejected() -> None:
    member = full(FullPreset(expected=6, iblt_compression=NONE, content_compression=NONE, max_streams=2))
    express = one(member.start(NOW), Express)
    data = reply_to(name_of(express), [("/A", 1), ("/B", 1), ("/C", 1)])
    one(member.receive(Answered(express.ticket, data), NOW), Rejected)


def test_an_entire_state_beyond_the_bound_has_what_was_updated_last() -> None:
    preset = FullPreset(
        expected=6, iblt_compression=NONE, content_compression=BZIP2, segment_bytes=900, max_reply_packets=1
    )
    member = full(preset)
    for number in range(100):
        publish(member, f"/many/{number}", 1)
    found = content_of(one(member.receive(asked(question([])), NOW), Reply), preset)
    assert 2 < len(found) < 100
    assert ("/many/99", 1) in found
    assert member.entire.truncated == 1


def test_a_prefix_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(BadConfig, match="shorter prefix"):
        PSyncFull(Name.of(Component(bytes(8000))), SIX, DigestSigner(), Random(1), Ledger("numbers", b""))


def test_a_member_is_a_listener() -> None:
    listener: Listener = full()
    assert listener.evidence(asked(question([])).interest) is None
    assert (listener.group, listener.prefix) == (GROUP, GROUP)


def test_numbers_are_generic_components() -> None:
    assert question([("/A", 300)]).at(-1) == Component.numbered(300, GENERIC)
