"""Shared subscriptions whose members are at several nodes, of which some are lost."""

from __future__ import annotations

from collections import Counter

import pytest
from tests import broker_packets as packets
from tests.broker_world import Client
from tests.nodes_world import EXPIRY, Node, Street

from roost.broker import sharing, system
from roost.broker.beat import Share
from roost.broker.sharing import Sharing
from roost.broker.track import Open

FILTER = b"$share/s/a/#"


def member(node: Node, name: bytes, qos: int = 1, *, lasts: bool = False) -> Client:
    worker = node.connect(name, 5, properties=EXPIRY if lasts else b"", keep_alive=0)
    worker.subscribe((FILTER, qos))
    return worker


def publish(node: Node, count: int, qos: int) -> None:
    speaker = node.connect(b"speaker", 5, keep_alive=0)
    for number in range(count):
        speaker.publish(b"a/x", b"%d" % number, qos=qos, packet_id=number + 1 if qos else 0)
    node.insert_all()


def got(*workers: Client) -> Counter[bytes]:
    """What they got, and acknowledge if it is of QoS 1."""
    found: Counter[bytes] = Counter()
    for worker in workers:
        while not worker.closed and worker.arrived:
            for packet in worker.seen():
                if packet.kind == "PUBLISH":
                    found[packet.payload] += 1
                    if packet.qos == 1:
                        worker.send(packets.puback(packet.packet_id))
    return found


@pytest.fixture
def street() -> Street:
    return Street(1, 2)


@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("qos", [1, 2])
def test_what_a_lost_node_was_to_deliver_comes_to_the_member_that_is_left(
    street: Street, qos: int, lasts: bool
) -> None:
    here, there = street.nodes
    member(there, b"gone", qos, lasts=lasts)
    left = member(here, b"left", qos)
    street.live(3)
    there.die()
    publish(here, 10, qos)
    street.live(3)
    before = got(left)
    assert 0 < len(before) < 10  # it is not known yet
    street.live(5)
    assert before + got(left) == Counter(b"%d" % number for number in range(10))


def test_once_a_node_is_silent_its_members_are_chosen_for_nothing(street: Street) -> None:
    here, there = street.nodes
    member(there, b"gone")
    left = member(here, b"left")
    street.live(3)
    there.die()
    street.live(7)
    publish(here, 20, 0)
    street.live(1 / 4)
    assert len(got(left)) == 20


def test_members_of_a_node_that_comes_back_are_chosen_again(street: Street) -> None:
    here, there = street.nodes
    back, left = member(there, b"back"), member(here, b"left")
    street.live(3)
    there.is_cut_off = True
    street.live(10)
    there.is_cut_off = False
    street.live(3)
    publish(here, 20, 1)
    street.live(1)
    shares = len(got(back)), len(got(left))
    assert sum(shares) == 20
    assert min(shares) > 0


def test_what_a_lost_node_said_to_have_taken_at_qos_2_goes_to_nobody_else(street: Street) -> None:
    here, there = street.nodes
    taker, left = member(there, b"gone", 2), member(here, b"left", 2)
    street.live(3)
    publish(here, 10, 2)
    street.live(2)  # nobody answers, so that all are begun
    taken, mine = got(taker), got(left)
    there.die()
    street.live(20)
    assert len(taken) + len(mine) == 10
    assert got(left) == Counter()
    assert here.broker.statistics().dropped == len(taken)


def test_what_a_lasting_member_has_begun_at_qos_2_waits_for_it_when_its_node_is_lost(street: Street) -> None:
    here, there = street.nodes
    taker, left = member(there, b"gone", 2, lasts=True), member(here, b"left", 2)
    street.live(3)
    publish(here, 10, 2)
    street.live(2)
    taken, mine = got(taker), got(left)
    there.die()
    street.live(20)
    assert got(left) == Counter()
    back = here.connect(b"gone", 5, clean=False, properties=EXPIRY)
    assert got(back) == taken
    assert len(taken) + len(mine) == 10


@pytest.mark.parametrize("qos", [1, 2])
def test_what_comes_while_all_members_are_away_waits_for_them_although_their_node_is_lost(
    street: Street, qos: int
) -> None:
    here, there = street.nodes
    for name in (b"one", b"two"):
        member(there, name, qos, lasts=True).disconnect()
    street.live(3)
    there.die()
    street.live(10)
    publish(here, 10, qos)
    street.live(10)
    back = [here.connect(name, 5, clean=False, properties=EXPIRY, keep_alive=0) for name in (b"one", b"two")]
    street.live(1)
    assert got(*back) == Counter(b"%d" % number for number in range(10))


def test_a_restart_ends_what_ended_with_the_links_of_a_node(street: Street) -> None:
    here, there = street.nodes
    member(there, b"gone")
    left = member(here, b"left")
    street.live(3)
    there.die()
    there.rise()
    member(there, b"new")
    street.live(3)
    assert b"gone" not in here.broker.core.sessions
    there.connect(b"new", 5).disconnect()
    street.live(1)
    publish(here, 10, 1)
    street.live(1)
    assert len(got(left)) == 10


def test_a_session_that_ends_leaves_what_it_has_to_a_member_at_another_node(street: Street) -> None:
    here, there = street.nodes
    gone, left = member(there, b"gone"), member(here, b"left")
    street.live(3)
    publish(here, 10, 1)
    street.live(1)
    before = got(left)
    assert len(before) < 10
    gone.vanish()
    street.live(3)
    assert before + got(left) == Counter(b"%d" % number for number in range(10))


def test_a_node_alone_tells_nobody_what_became_of_messages(street: Street) -> None:
    here, there = street.nodes
    there.die()
    worker = member(here, b"worker")
    street.live(1)
    publish(here, 10, 1)
    street.live(5)
    assert len(got(worker)) == 10
    assert not [held for held in here.streams.values() if held[0].topic.endswith(b"/node")]


def test_a_member_here_with_room_gets_what_another_has_no_place_for() -> None:
    street = Street(1, 1)
    (node,) = street.nodes
    node.broker.core.max_queued = 5
    slow, quick = member(node, b"slow"), member(node, b"quick")
    street.live(1)
    for _ in range(8):
        publish(node, 10, 1)
        street.live(1 / 4)
        got(quick)
    assert node.broker.statistics().dropped == 0
    assert not slow.closed


def test_only_so_many_messages_are_watched_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MAX_OPEN", 5)
    table = Sharing()
    for number in range(1, 9):
        table.note(FILTER, b"stream%d" % (number % 2), number // 2 + 1, Open(1, b"c", b"panel"))
    assert sum(len(track.open) for track in table.tracks.values()) <= 5
    assert table.turned_away > 0


def test_a_stream_with_too_many_open_messages_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MAX_OPEN", 5)
    table = Sharing()
    table.heard(b"panel", 1)
    for number in range(1, 8):
        table.note(FILTER, b"stream", number, Open(1, b"c", b"panel"))
    assert table.turned_away == 5
    assert table.tell({}, True, 10**10) == [Share(FILTER, b"stream", 6, 7, (), (6, 7))]
    table.note(FILTER, b"stream", 6, None)
    table.note(FILTER, b"stream", 7, None)
    assert table.tell({}, True, 2 * 10**10) == [Share(FILTER, b"stream", 6, 7)]
    assert table._count == 0


def test_what_nodes_count_is_told_under_sys(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MAX_OPEN", 5)
    here, there = street.nodes
    member(there, b"far"), member(here, b"near")
    street.live(3)
    publish(here, 20, 1)
    street.live(1)
    core = here.broker.core
    assert core.roaming is not None
    system.tell(core, here.now)

    def told(name: bytes) -> int:
        ((_, message),) = core.system.matching(b"$SYS/broker/" + name, here.now)
        return int(message.payload)

    assert told(b"shared_subscriptions/unwatched") == core.roaming.sharing.turned_away > 0
    assert told(b"roaming/nodes") == 1
    assert told(b"roaming/told") == core.roaming.told > 0


def test_only_so_many_streams_are_watched_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MAX_TRACKS", 3)
    table = Sharing()
    for number in range(5):
        table.note(FILTER, b"stream%d" % number, 1, Open(1, b"c", b"panel"))
    assert [stream for _, stream in table.tracks] == [b"stream2", b"stream3", b"stream4"]


def test_nothing_is_claimed_of_messages_that_were_not_seen() -> None:
    table = Sharing()
    table.heard(b"other", 1)
    for number in (1, 5, 6):
        table.note(FILTER, b"stream", number, Open(1, b"c", b"other"))
    assert table.tell({}, True, 10**10) == [Share(FILTER, b"stream", 5, 6, (), (1, 5, 6))]
