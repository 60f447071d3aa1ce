"""Wills over several nodes: a device that is online somewhere is never said to be gone, and one that is gone is."""

from __future__ import annotations

import pytest
from tests.broker_packets import props
from tests.broker_world import Client
from tests.nodes_world import EXPIRY, GROUP, INSTANT_S, Node, Street, await_answer, panel_of

from roost.broker import bequests, comings
from roost.broker.announcement import Announcement
from roost.broker.arrivals import TOPIC as ARRIVALS
from roost.broker.arrivals import Arrival, Arrivals, decode_arrivals
from roost.broker.beat import TOPIC as BEATS
from roost.broker.beat import Beat
from roost.broker.comings import PIECE
from roost.broker.inheriting import ABSENCE
from roost.broker.message import Message
from roost.broker.orphans import NOBODY
from roost.broker.packets.connect import Will
from roost.broker.packets.kept import Kept
from roost.broker.roaming import Roaming
from roost.broker.session import Session
from roost.broker.trees import Tree, Trees
from roost.broker.vows import PATIENCE
from roost.host.mqtt.groups import roaming_of
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import Group

STATUS = b"hall/status"


def street_of(count: int = 2, *, is_spreading: bool = True) -> tuple[Street, list[Node]]:
    street = Street(1, count, is_spreading=is_spreading)
    street.live(1)  # nodes know of each other
    return street, street.nodes


def come(
    node: Node, client: bytes = b"device", *, lasts: bool = False, delay: int = 0, payload: bytes = b"offline"
) -> Client:
    """A device that has its CONNACK, with a will; it says that it is online."""
    node.street.wait(INSTANT_S)
    device = node.connect(
        client,
        5,
        look=False,
        clean=not lasts,
        properties=EXPIRY if lasts else b"",
        will=STATUS,
        will_payload=payload,
        will_qos=1,
        will_retain=True,
        will_properties=props(will_delay=delay) if delay else b"",
    )
    await_answer(node, device)
    assert device.kinds() == ["CONNACK"]
    node.street.wait(INSTANT_S)
    device.publish(STATUS, b"online", qos=1, packet_id=1, retain=True)
    node.insert_all()
    return device


def status(*nodes: Node) -> list[bytes]:
    """What is retained of it."""
    return [
        found[0][1].payload if (found := node.broker.core.retained.matching(STATUS, node.now)) else b""
        for node in nodes
    ]


def said(node: Node) -> list[bytes]:
    """What was ever said of it, as far as a node has it."""
    found = [message for held in node.streams.values() for message in held if message.topic == STATUS]
    return [message.payload for message in sorted(found, key=lambda message: message.time)]


# -- a node that was killed and comes back


@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("delay", [0, 2])
def test_a_node_that_is_back_is_silent_of_who_came_elsewhere(lasts: bool, delay: int) -> None:
    street, (one, two) = street_of()
    come(two, lasts=lasts, delay=delay)
    street.live(1)
    two.die()
    street.live(1)
    come(one, lasts=lasts, delay=delay)
    street.live(1)
    two.rise()
    street.live(30)
    assert status(one, two) == [b"online", b"online"]
    assert said(one) == [b"online", b"online"]
    assert not two.broker.core.orphaned


@pytest.mark.parametrize("lasts", [False, True])
def test_a_node_that_is_back_speaks_for_who_did_not_come_elsewhere(lasts: bool) -> None:
    street, (one, two) = street_of()
    come(two, lasts=lasts)
    street.live(1)
    two.die()
    street.live(1)
    two.rise()
    assert said(two) == [b"online"]
    street.live(5)
    assert status(one, two) == [b"offline", b"offline"]
    street.live(2 * ABSENCE / SECOND)
    assert said(one) == [b"online", b"offline"]


def test_a_node_that_finds_nobody_speaks_in_the_end() -> None:
    street, (one, two) = street_of()
    come(two)
    street.live(1)
    two.die()
    one.die()
    two.rise()
    street.live(1)
    assert said(two) == [b"online"]
    street.live(NOBODY / SECOND)
    assert said(two) == [b"online", b"offline"]


def test_a_node_that_never_had_others_speaks_at_once() -> None:
    street, (node,) = street_of(1, is_spreading=False)
    come(node)
    street.live(1)
    node.die()
    node.rise()
    street.live(1 / 4)
    assert said(node) == [b"online", b"offline"]


def test_a_will_that_waits_is_spoken_after_another_crash_too() -> None:
    street, (one, two) = street_of()
    come(two, lasts=True)
    street.live(1)
    one.die()
    for _ in range(2):
        two.die()
        two.rise()
        street.live(1)
    assert said(two) == [b"online"]
    street.live(NOBODY / SECOND)
    assert said(two) == [b"online", b"offline"]


def test_a_will_that_waits_for_the_others_is_not_spoken_because_the_clock_was_set() -> None:
    street, (one, two) = street_of()
    come(two)
    street.live(1)
    two.die()
    street.live(1)
    come(one)
    street.live(1)
    two.is_cut_off = True  # it has not heard of that yet
    two.rise()
    two.now += SECOND
    two.run(two.broker.stepped(SECOND, two.now))
    two.run(two.broker.tick(two.now))
    assert two.broker.core.orphaned
    two.is_cut_off = False
    street.live(30)
    assert said(one) == [b"online", b"online"]
    assert not two.broker.core.orphaned


@pytest.mark.parametrize("lasts", [False, True])
def test_who_is_back_where_it_was_has_its_will_spoken_before_it_speaks(lasts: bool) -> None:
    street, (one, two) = street_of()
    come(two, lasts=lasts)
    street.live(1)
    two.die()
    two.rise()
    come(two, lasts=lasts)
    street.live(5)
    assert said(one) == [b"online", b"offline", b"online"]
    assert status(one, two) == [b"online", b"online"]


# -- a client that goes to another node while its old connection is half open


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("delay", [0, 5])
def test_the_will_of_a_connection_that_is_taken_over_comes_before_what_is_said_there(
    before: bool, after: bool, delay: int
) -> None:
    street, (one, two) = street_of()
    old = come(two, lasts=before, delay=delay)
    street.live(1)
    come(one, lasts=after, delay=delay)
    street.live(10)
    assert old.closed
    assert status(one, two) == [b"online", b"online"]
    is_dropped = before and after and delay  # the session goes on [MQTT-3.1.3-9]
    assert said(one) == [b"online", *([] if is_dropped else [b"offline"]), b"online"]


def test_a_node_whose_clock_is_ahead_does_not_say_last_that_a_client_is_gone() -> None:
    street, (one, two) = street_of()
    come(two)
    street.live(1)
    two.now += 3 * SECOND
    old = next(client for client in two.clients.values() if not client.closed)
    one.now += SECOND // 100
    here = one.connect(b"device", 5, look=False, will=STATUS, will_payload=b"offline", will_retain=True)
    here.publish(STATUS, b"online", qos=1, packet_id=1, retain=True)  # it waits for no CONNACK
    while street.step():
        pass
    assert old.closed
    assert status(one, two) == [b"online", b"online"]


def test_who_said_goodbye_is_waited_for_nowhere() -> None:
    street, (one, two) = street_of()
    come(two).disconnect()
    street.live(1)
    assert len(one.broker.core.roaming.bequests) == 0  # type: ignore[union-attr]
    here = one.connect(b"device", 5)
    assert not here.closed


# -- a node that is lost for good


@pytest.mark.parametrize("lasts", [False, True])
def test_one_of_those_that_are_left_speaks_for_the_clients_of_a_lost_node(lasts: bool) -> None:
    street, (one, two, three) = street_of(3)
    come(two, lasts=lasts)
    street.live(5)
    two.die()
    street.live(ABSENCE / SECOND - 3)
    assert said(one) == [b"online"]
    street.live(10)
    assert status(one, three) == [b"offline", b"offline"]
    assert said(one) == [b"online", b"offline"]
    two.rise()
    street.live(40)
    assert said(one) == [b"online", b"offline"]
    assert said(two) == [b"online", b"offline"]


def test_a_will_of_a_lost_node_waits_for_its_delay_too() -> None:
    street, (one, two) = street_of()
    come(two, lasts=True, delay=20)
    street.live(5)
    two.die()
    street.live(ABSENCE / SECOND + 15)
    assert said(one) == [b"online"]
    street.live(10)
    assert said(one) == [b"online", b"offline"]


def test_a_client_of_a_lost_node_that_comes_elsewhere_is_online() -> None:
    street, (one, two, three) = street_of(3)
    come(two)
    street.live(5)
    two.die()
    street.live(5)
    come(three)
    street.live(60)
    assert said(one) == [b"online", b"online"]
    assert status(one, three) == [b"online", b"online"]


def test_who_starts_is_told_of_all_wills_in_time() -> None:
    street, (one, two) = street_of()
    for number in range(PIECE + 10):
        two.connect(b"d%d" % number, 5, will=STATUS, will_payload=b"%d" % number)
    street.live(2)
    one.die()
    one.rise()
    street.live(8)
    assert one.broker.core.roaming is not None
    assert len(one.broker.core.roaming.bequests) == PIECE + 10
    two.die()
    street.live(ABSENCE / SECOND + 3)
    assert len(said(one)) == PIECE + 10
    assert one.broker.core.roaming.inherited == PIECE + 10
    assert len(one.broker.core.roaming.bequests) == 0


def test_who_was_only_cut_off_hangs_up_on_those_whose_wills_were_spoken() -> None:
    street, (one, two) = street_of()
    device = come(two)
    street.live(5)
    two.is_cut_off = True
    street.live(ABSENCE / SECOND + 3)
    assert (status(one), device.closed) == ([b"offline"], False)
    two.is_cut_off = False
    street.live(3)
    assert device.closed
    come(two)
    street.live(3)
    assert status(one, two) == [b"online", b"online"]
    assert said(one) == [b"online", b"offline", b"online"]


def test_who_stood_still_says_of_nobody_that_it_is_gone() -> None:
    street, (one, two) = street_of()
    come(two)
    street.live(5)
    one.now = two.now = street.now = street.now + 60 * SECOND
    one.run(one.broker.tick(one.now))
    street.live(15)
    assert said(one) == [b"online"]


def test_a_will_that_is_too_large_to_be_told_is_counted_and_spoken_by_its_node() -> None:
    street, (one, two) = street_of()
    come(two, payload=b"x" * 5000)
    street.live(2)
    assert two.broker.core.roaming is not None
    assert two.broker.core.roaming.comings.untold == 1
    come(one)
    street.live(2)
    assert status(one, two) == [b"online", b"online"]


def test_a_will_of_a_plain_topic_is_spoken_at_its_node_only() -> None:
    street, (one, two) = street_of()
    two.connect(b"device", 5, will=b"$plain", will_payload=b"offline")
    street.live(5)
    two.die()
    street.live(ABSENCE / SECOND + 5)
    assert one.broker.core.roaming is not None
    assert one.broker.core.roaming.inherited == 0


# -- what a node hears late, of its own time away: streams of others have no order between them


LEFT = Will(STATUS, b"offline", 1, True, Kept())
Y, Z = panel_of(8), panel_of(9)


def heard(node: Node, panel: bytes, topic: bytes, payload: bytes, time: int) -> None:
    """Have a reading of another node come, made at a time."""
    stream = panel + b"\x08" + topic
    number = len(node.streams.setdefault(stream, [])) + 1
    message = Message(topic, payload, 1, topic == STATUS, time=time, origin=(0, stream, number))
    node.streams[stream].append(message)
    node.handed[stream] = number
    node.run(node.broker.stored([message], {stream: number}, node.now))


def arrive(node: Node, said: Arrivals, time: int) -> None:
    heard(node, said.panel, ARRIVALS, said.encode(), time)


@pytest.mark.parametrize("over", ["spoken by Y", "client at Y", "client here", "node began anew"])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_will_that_is_over_is_not_spoken_again_whichever_is_heard_first(over: str, is_first: bool) -> None:
    _, (node,) = street_of(1)
    came = node.now - 10 * SECOND
    left = Arrivals(Z, {b"device": Arrival(came, has_will=True, will=LEFT)})
    heard(node, Z, BEATS, Beat(Z, came - SECOND, ()).encode(), node.now)
    if not is_first:
        arrive(node, left, came)
    if over == "spoken by Y":
        arrive(node, Arrivals(Y, over=[(b"device", came, Z)]), came + SECOND)
    elif over == "client at Y":
        arrive(node, Arrivals(Y, {b"device": Arrival(came + SECOND)}), came + SECOND)
    elif over == "client here":
        here = node.connect(b"device", 5, look=False)
        await_answer(node, here)
        here.disconnect()
    else:
        heard(node, Z, BEATS, Beat(Z, came + SECOND, ()).encode(), node.now)
    heard(node, Y, STATUS, b"online", node.now)
    if is_first:
        arrive(node, left, came)
    node.street.live(3 * ABSENCE / SECOND)
    assert node.broker.core.roaming is not None
    assert (len(node.broker.core.roaming.bequests), node.broker.core.roaming.inherited) == (0, 0)
    assert status(node) == [b"online"]


def test_a_will_that_is_told_anew_after_one_was_over_counts() -> None:
    _, (node,) = street_of(1)
    came = node.now
    heard(node, Z, BEATS, Beat(Z, came - SECOND, ()).encode(), came)
    arrive(node, Arrivals(Y, over=[(b"device", came - SECOND, Z)]), came)
    for _ in range(2):
        arrive(node, Arrivals(Z, {b"device": Arrival(came, has_will=True, will=LEFT)}, [(b"device", came, Z)]), came)
    node.street.live(3 * ABSENCE / SECOND)
    assert status(node) == [b"offline"]


def test_what_was_said_before_this_run_is_no_sign_that_a_node_lives() -> None:
    _, (node,) = street_of(1)
    roaming = node.broker.core.roaming
    assert roaming is not None
    old = node.now - 10 * SECOND
    arrive(node, Arrivals(Z, {b"device": Arrival(old, has_will=True, will=LEFT)}), old)
    said = Announcement(b"other", b"", old, old, 100, online=True, panel=Z)
    heard(node, Z, said.topic, said.encode(), old)
    assert roaming.sharing.nodes.is_silent(Z)
    arrive(node, Arrivals(Z, {b"device": Arrival(node.now)}), node.now)
    assert not roaming.sharing.nodes.is_silent(Z)


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("is_announced", [False, True])
def test_a_client_is_not_hung_up_on_for_another_user_who_is_not_there_any_more(
    is_over: bool, is_announced: bool
) -> None:
    _, (node,) = street_of(1)
    came = node.now - 10 * SECOND
    began = node.now if is_over else came
    heard(node, Z, BEATS, Beat(Z, began, ()).encode(), node.now)
    client = node.connect(b"meter", 5, user=b"bob", password=b"x")
    if is_announced:
        said = Announcement(b"meter", b"ann", came, came, 0, online=not is_over, panel=Z)
        heard(node, Z, said.topic, said.encode(), came)
    else:
        arrive(node, Arrivals(Z, {b"meter": Arrival(came, user=b"ann")}), came)
    assert client.closed == (not is_over)
    assert node.broker.core.stats.sessions_refused == (not is_over)


@pytest.mark.parametrize(("bound", "value"), [("MAX_ENDED", 2), ("MAX_ENDED_BYTES", 2 * len(b"1gate"))])
def test_ends_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    known = bequests.Bequests()
    with monkeypatch.context() as patch:
        patch.setattr(bequests, bound, value)
        for client, came in [(b"1", 5), (b"2", 5), (b"1", 4), (b"3", 5)]:
            known.spoken(client, b"gate", came)
    for client in (b"1", b"2", b"3"):
        known.take(bequests.Bequest(client, b"gate", 5))
    assert [each.client for each in known.of(b"gate")] == [b"2"]


@pytest.mark.parametrize(("topic", "home"), [(b"a/1", 0), (b"b/1", 1), (b"c/1", 1), (b"d/1", 0), (b"e/1", None)])
def test_a_will_goes_whole_into_the_group_of_its_topic_whichever_tree_that_is(topic: bytes, home: int | None) -> None:
    panels = [Group.at(Name.of("Co", each)).panel("gate") for each in ("one", "two")]
    trees = Trees([Tree(at, b"%c/#" % (97 + at), panels[group]) for at, group in enumerate([0, 1, 1, 0])])
    roaming = roaming_of(trees, None, alone=False)  # type: ignore[arg-type]  # asked if alone
    roaming.comings.tree_of = trees.of
    session = Session(b"device", 1, b"")
    session.will = Will(topic, b"offline", 1, True, Kept())
    roaming.come(session)
    roaming.schedule(SECOND)
    told = [(tree, message) for tree, message, _ in roaming.tick({}, SECOND) if message.topic == ARRIVALS]
    arrivals = {tree: decode_arrivals(message.payload).came[b"device"] for tree, message in told}
    assert [(tree, each.has_will) for tree, each in arrivals.items()] == [(0, True), (1, True)]
    assert [tree for tree, each in arrivals.items() if each.will is not None] == ([] if home is None else [home])


# -- what is told of a client comes behind its will


def departed(lasts: bool) -> tuple[Roaming, Session]:
    """A client that was here with a will, of which others were told, and that is gone."""
    roaming = Roaming({GROUP: (0, panel_of(1))}, lambda: True)
    roaming.schedule(SECOND)
    session = Session(b"device", 1, b"")
    session.expiry_s = 100 if lasts else 0
    session.will = Will(STATUS, b"offline", 1, True, Kept())
    roaming.come(session)
    roaming.changed(session)
    roaming.schedule(SECOND)
    assert roaming.tick({b"device": session}, SECOND)
    session.gone = not lasts
    roaming.changed(session)
    roaming.comings.over(b"device")
    return roaming, session


def told(roaming: Roaming, session: Session, now: int) -> set[bytes]:
    roaming.schedule(now)
    said = roaming.tick({} if session.gone else {b"device": session}, now)
    return {message.topic for _, message, _ in said} - {BEATS}


@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("is_answered", [False, True])
def test_that_a_client_left_is_told_when_all_have_its_will(lasts: bool, is_answered: bool) -> None:
    roaming, session = departed(lasts)
    roaming.wait_for(b"device", 7, SECOND)
    assert told(roaming, session, 2 * SECOND) == set()
    roaming.inserted(6)
    assert told(roaming, session, 2 * SECOND + SECOND // 2) == set()
    if is_answered:
        roaming.inserted(7)
        now = 2 * SECOND + SECOND // 2
    else:
        now = SECOND + PATIENCE
        deadline = roaming.deadline()
        assert deadline is not None
        assert deadline <= now
    assert len(told(roaming, session, now)) == 1 + lasts


def test_that_wills_are_over_is_told_of_so_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comings, "MAX_CAME", 1)
    roaming, _ = departed(lasts=False)
    roaming.comings.spoke(b"other", b"gate", 1)
    assert roaming.comings.untold == 1
    monkeypatch.setattr(bequests, "MAX_BEQUESTS", 1)
    for number in range(2):
        roaming.bequests.take(bequests.Bequest(b"%d" % number, b"gate", 1))
    assert (len(roaming.bequests), roaming.bequests.turned_away) == (1, 1)
    roaming.bequests.end(b"0", b"gate", 1)
    assert (len(roaming.bequests), roaming.bequests.held_bytes) == (0, 0)
