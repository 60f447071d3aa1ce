"""Shared subscriptions: one member gets it, in turn, and those who are here before those who are away (4.8.2)."""

from __future__ import annotations

import pytest
from tests.broker_packets import props, puback
from tests.broker_world import World

from roost.broker.filters import Options
from roost.broker.settings import BrokerSettings
from roost.broker.shared import NOBODY, Group, Shares


def everybody(_: int) -> bool:
    return True


def nobody(_: int) -> bool:
    return False


def grouped(*members: int) -> Group:
    group = Group(1, b"pumps", b"plant/#")
    for who in members:
        assert group.join(who, Options(1))
    return group


def chosen(group: Group, count: int) -> list[int]:
    return [group.choose(everybody) for _ in range(count)]


def test_members_take_turns() -> None:
    assert chosen(grouped(7, 8, 9), 7) == [7, 8, 9, 7, 8, 9, 7]


def test_member_who_is_away_is_passed_over_while_somebody_is_here() -> None:
    group = grouped(7, 8, 9)
    assert [group.choose(lambda who: who != 8) for _ in range(4)] == [7, 9, 7, 9]


def test_members_who_are_all_away_take_turns_too() -> None:
    group = grouped(7, 8, 9)
    assert [group.choose(nobody) for _ in range(4)] == [7, 8, 9, 7]


def test_empty_group_chooses_nobody() -> None:
    assert grouped().choose(everybody) == NOBODY


def test_new_member_waits_for_its_turn() -> None:
    group = grouped(7, 8)
    assert chosen(group, 1) == [7]
    group.join(9, Options(0))
    assert chosen(group, 4) == [8, 9, 7, 8]


def test_leaving_does_not_change_whose_turn_it_is_among_the_others() -> None:
    for gone, then in ((7, [8, 9, 8]), (8, [9, 7, 9]), (9, [8, 7, 8])):
        group = grouped(7, 8, 9)
        assert chosen(group, 1) == [7]
        assert group.leave(gone)
        assert not group.leave(gone)
        assert group.options_of(gone) is None
        assert chosen(group, 3) == then


def test_member_who_joins_again_has_its_new_options_and_its_old_place() -> None:
    group = grouped(7, 8)
    again = Options(2)
    assert not group.join(7, again)
    assert group.options_of(7) is again
    assert chosen(group, 3) == [7, 8, 7]


def test_name_with_another_filter_is_another_group() -> None:
    shares = Shares()
    assert shares.add(b"g", b"a/+", 1, Options(0))
    assert shares.add(b"g", b"a/b", 1, Options(1))
    assert shares.add(b"h", b"a/b", 2, Options(2))
    assert not shares.add(b"h", b"a/b", 2, Options(0))
    assert [(group.name, group.filter) for group in shares.matches(b"a/b")] == [
        (b"g", b"a/b"),
        (b"h", b"a/b"),
        (b"g", b"a/+"),
    ]
    assert [group.choose(everybody) for group in shares.matches(b"a/b")] == [1, 2, 1]
    assert shares.matches(b"b") == []
    assert len(shares) == 3


def test_last_member_takes_the_group_along() -> None:
    shares = Shares()
    shares.add(b"g", b"a", 1, Options(0))
    shares.add(b"g", b"a", 2, Options(0))
    assert not shares.remove(b"g", b"b", 1)
    assert not shares.remove(b"h", b"a", 1)
    assert shares.remove(b"g", b"a", 1)
    assert not shares.remove(b"g", b"a", 1)
    assert shares.group(b"g", b"a") is not None
    assert shares.remove(b"g", b"a", 2)
    assert shares.group(b"g", b"a") is None
    assert shares.matches(b"a") == []
    assert len(shares) == 0


def test_group_that_comes_back_has_forgotten_whose_turn_it_was() -> None:
    shares = Shares()
    for who in (1, 2):
        shares.add(b"g", b"a", who, Options(0))
    assert shares.matches(b"a")[0].choose(everybody) == 1
    for who in (1, 2):
        shares.remove(b"g", b"a", who)
    for who in (1, 2):
        shares.add(b"g", b"a", who, Options(0))
    assert shares.matches(b"a")[0].choose(everybody) == 1


@pytest.mark.parametrize("away", [False, True])
def test_member_whose_queue_is_full_is_passed_over_while_another_has_room(away: bool) -> None:
    world = World(BrokerSettings(sys_interval_s=0, max_queued=3, max_inflight=5))
    slow, other = (world.connect(name, 5, properties=props(session_expiry=100)) for name in (b"slow", b"other"))
    for member in (slow, other):
        member.subscribe((b"$share/s/t", 1))
    if away:
        other.vanish()
    publisher = world.connect(b"publisher")
    total = 11 if away else 30  # 5 and 3 for the one, 3 for the other, or as many as it takes
    got = 0
    for number in range(1, total + 1):
        publisher.publish(b"t", b"x", qos=1, packet_id=number)
        for packet in [] if away else other.seen():
            got += 1
            other.send(puback(packet.packet_id))
    assert world.broker.statistics().dropped == 0
    assert got == (0 if away else 30 - 5 - 3)
    publisher.publish(b"t", b"x", qos=1, packet_id=99)
    assert world.broker.statistics().dropped == (1 if away else 0)
