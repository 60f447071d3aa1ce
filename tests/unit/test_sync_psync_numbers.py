"""Our own numbers in a PSync group: never given twice, whatever the disk has forgotten."""

from __future__ import annotations

import pytest
from tests.psync_world import (
    NOW,
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
    tick_on,
)

from roost.errors import Backpressure
from roost.machine import MS, SECOND, Effect, Note
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sync.ledger import Ledger
from roost.sync.port import (
    Announced,
    Answered,
    Express,
    Ready,
    Reply,
    Stream,
)
from roost.sync.psync_full import PSyncFull
from roost.sync.psync_own import RECOVERY_LIFETIMES, SETTLING_LIFETIMES


def saved_by(member_effects: list[Effect]) -> bytes:
    return b"".join([save.data for save in only(member_effects, Save)])


def test_a_restarted_member_goes_on_behind_its_disk() -> None:
    saved = saved_by(publish(full(), "/A", 5))
    member = full(saved=saved)
    assert name_of(one(member.start(NOW), Express)) == question([("/A", 5)]), "before anything is produced"
    assert member.produce(Name.parse("/A"), NOW) == [Ready(Stream(Name.parse("/A")), 6)]


def test_what_the_disk_knows_is_ours_before_it_is_produced() -> None:
    member = full(saved=saved_by(publish(full(), "/A", 5)))
    express = one(member.start(NOW), Express)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 7)])), NOW)
    assert learnt(effects) == []
    assert not only(effects, Ready)
    settle(member, effects, NOW)
    assert member.produce(Name.parse("/A"), NOW) == [Ready(Stream(Name.parse("/A")), 8)]


def test_a_higher_number_of_ours_is_adopted_saved_and_told() -> None:
    member = full()
    publish(member, "/A", 2)
    express = one(member.start(NOW), Express)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 9)])), NOW)
    assert one(effects, Ready) == Ready(Stream(Name.parse("/A")), 10)
    assert one(effects, Note).event == "own number adopted"
    assert learnt(effects) == []
    assert Ledger("numbers", one(effects, Save).data).get(Name.parse("/A")) == (0, 9)
    assert not only(settle(member, effects, NOW), Announced), "nobody asked for that"


def test_an_announcement_that_the_group_has_overtaken_is_not_made() -> None:
    member = full()
    name = Name.parse("/A")
    member.produce(name, NOW)
    express = one(member.start(NOW), Express)
    (save,) = member.announce(name, 5, NOW)
    assert isinstance(save, Save)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 9)])), NOW)
    assert one(effects, Ready).number == 10
    effects = member.receive(Saved(save.file, save.ticket), NOW)
    assert not only(effects, Announced)
    assert Ledger("numbers", save.data + one(effects, Save).data).get(name) == (0, 9)


def test_what_is_adopted_never_lowers_what_is_on_its_way_to_the_disk() -> None:
    member = full()
    name = Name.parse("/A")
    member.produce(name, NOW)
    express = one(member.start(NOW), Express)
    (save,) = member.announce(name, 12, NOW)
    assert isinstance(save, Save)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 9)])), NOW)
    effects = [save, *settle(member, [save, *effects], NOW)[1:]]
    assert Ledger("numbers", saved_by(effects)).get(name) == (0, 12)


def damaged(*streams: tuple[str, int]) -> bytes:
    """A ledger with these streams, and behind them something unreadable."""
    member = full()
    return b"".join([saved_by(publish(member, stream, number)) for stream, number in streams]) + bytes(40)


def test_a_damaged_ledger_makes_us_wait_for_what_others_know() -> None:
    member = full(saved=damaged(("/A", 5)))
    name = Name.parse("/A")
    assert member.produce(name, NOW) == []
    with pytest.raises(Backpressure) as caught:
        member.announce(name, 6, NOW)
    assert caught.value.retry_after_ms == RECOVERY_LIFETIMES * 1000
    effects = member.start(NOW)
    assert one(effects, Note).event == "own numbers uncertain"
    express = one(effects, Express)
    assert name_of(express) == question([]), "who knows /A is to tell"
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 8)])), NOW + MS)
    settle(member, effects, NOW + MS)
    with pytest.raises(Backpressure) as caught:
        member.announce(name, 9, NOW + MS)
    assert caught.value.retry_after_ms == SETTLING_LIFETIMES * 1000, "another may know even more"
    assert one(run_until(member, Ready), Ready) == Ready(Stream(name), 9)
    assert only(member.announce(name, 9, NOW + 3 * SECOND), Save)


def run_until(member: PSyncFull, kind: type[Effect]) -> list[Effect]:
    effects: list[Effect] = []
    while not only(effects, kind):
        effects += tick_on(member)[0]
    return effects


def test_what_a_second_reply_knows_better_counts() -> None:
    member = full(saved=damaged(("/A", 5)))
    name = Name.parse("/A")
    member.produce(name, NOW)
    express = one(member.start(NOW), Express)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 8)])), NOW)
    settle(member, effects, NOW)
    express = one(tick_on(member)[0], Express)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 9)])), NOW + SECOND)
    assert not only(effects, Ready)
    settle(member, effects, NOW + SECOND)
    assert one(run_until(member, Ready), Ready) == Ready(Stream(name), 10)
    assert (member.deadline() or 0) > NOW + 3 * SECOND


def test_others_who_know_less_than_the_damaged_disk_lower_nothing() -> None:
    member = full(saved=damaged(("/A", 5)))
    name = Name.parse("/A")
    member.produce(name, NOW)
    express = one(member.start(NOW), Express)
    effects = member.receive(Answered(express.ticket, reply_to(name_of(express), [("/A", 3)])), NOW)
    (save,) = only(effects, Save)
    assert Ledger("numbers", save.data).get(name) == (0, 5)
    assert one(run_until(member, Ready), Ready) == Ready(Stream(name), 6)


def test_without_any_reply_the_damaged_disk_is_taken_at_its_word() -> None:
    member = full(saved=damaged(("/A", 5)))
    member.produce(Name.parse("/A"), NOW)
    member.produce(Name.parse("/B"), NOW)
    member.start(NOW)
    effects: list[Effect] = []
    now = NOW
    while not only(effects, Ready):
        effects, now = tick_on(member)
    assert now == NOW + RECOVERY_LIFETIMES * SECOND
    assert [(str(e.stream), e.number) for e in only(effects, Ready)] == [("/A", 6), ("/B", 1)]
    assert name_of(one(member.start(now + SECOND), Express)) == question([("/A", 5)])


def test_a_reply_that_says_nothing_of_ours_shortens_the_wait() -> None:
    member = full(saved=damaged(("/A", 5)))
    member.produce(Name.parse("/A"), NOW)
    express = one(member.start(NOW), Express)
    member.receive(Answered(express.ticket, reply_to(name_of(express), [])), NOW)
    effects: list[Effect] = []
    now = NOW
    while not only(effects, Ready):
        effects, now = tick_on(member)
    assert now == NOW + SETTLING_LIFETIMES * SECOND


def test_a_stream_saved_since_the_damage_is_ready_at_once() -> None:
    first = full(saved=damaged(("/A", 5)))
    first.produce(Name.parse("/A"), NOW)
    first.start(NOW)
    run_until(first, Ready)
    effects = publish(first, "/A", 6, NOW + 6 * SECOND)
    assert only(effects, Save)[0].replace
    member = full(saved=saved_by(effects))
    assert member.produce(Name.parse("/A"), NOW) == [Ready(Stream(Name.parse("/A")), 7)]
    assert member.produce(Name.parse("/B"), NOW) == [], "it may have been lost"


def test_what_our_disk_has_of_others_is_told_to_those_who_lost_it() -> None:
    member = full()
    publish(member, "/B", 2)
    member.recall(Name.parse("/A"), 9)
    member.recall(Name.parse("/A"), 7)
    member.recall(Name.parse("/B"), 5)  # what is ours is in the ledger
    reply = one(member.receive(asked(question([])), NOW), Reply)
    assert sorted(content_of(reply)) == [("/A", 9), ("/B", 2)]
