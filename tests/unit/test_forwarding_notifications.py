"""Face events: a dense stream from 0, the latest for those who just came, silence until the next for those who wait."""

from __future__ import annotations

from ndn.app_support.nfd_mgmt import FaceEventKind, FaceEventNotification
from tests.managed import APP, NOW, REMOTE, Managed, content

from roost.forwarding.datasets import face_event
from roost.forwarding.notifications import FaceEvents
from roost.forwarding.requests import FACE_EVENTS, read_event
from roost.forwarding.status import CREATED, DESTROYED, FaceEvent
from roost.machine import MS
from roost.naming.conventions import sequence
from roost.wire import Data, DigestSigner, Interest, encode_interest


def interest(number: int | None = None, *, fresh: bool = False) -> Interest:
    name = FACE_EVENTS if number is None else FACE_EVENTS / sequence(number)
    return Interest.decode(encode_interest(name, can_be_prefix=number is None, must_be_fresh=fresh))


def event(face: int) -> FaceEvent:
    return FaceEvent(
        kind=CREATED, face=face, uri="fd://1", local_uri="unix:///x", scope=1, persistency=1, link_type=0, flags=0
    )


def test_sequence_numbers_are_dense_from_0() -> None:
    events = FaceEvents(FACE_EVENTS, DigestSigner())
    for number in range(3):
        data = Data.decode(events.publish(event(256 + number), NOW))
        assert str(data.name) == f"/localhost/nfd/faces/events/seq={number}"
        assert data.freshness_ms == 1000
        assert read_event(data) == event(256 + number)


def test_late_subscribers_find_the_latest_events_only() -> None:
    events = FaceEvents(FACE_EVENTS, DigestSigner(), keep=3)
    wires = [events.publish(event(number), NOW) for number in range(5)]
    assert [events.find(interest(number), NOW) for number in range(6)] == [None, None, *wires[2:], None]


def test_one_who_asks_by_prefix_gets_the_latest_while_it_is_fresh() -> None:
    events = FaceEvents(FACE_EVENTS, DigestSigner())
    assert events.find(interest(fresh=True), NOW) is None
    assert events.find(interest(), NOW) is None
    events.publish(event(1), NOW)
    latest = events.publish(event(2), NOW)
    assert events.find(interest(fresh=True), NOW + 999 * MS) == latest
    assert events.find(interest(fresh=True), NOW + 1000 * MS) is None
    assert events.find(interest(), NOW + 5000 * MS) == latest


def test_python_ndn_reads_our_event() -> None:
    managed = Managed()
    wire = face_event(managed.forwarder.faces[REMOTE], DESTROYED).encode()
    read = FaceEventNotification.parse(wire).event
    assert (read.face_event_kind, read.face_id) == (FaceEventKind.DESTROYED, REMOTE)
    assert (str(read.uri), read.flags.value) == ("udp4://192.0.2.7:6363", 4)


def test_management_tells_of_faces_once() -> None:
    managed = Managed()
    assert managed.give(encode_interest(FACE_EVENTS, can_be_prefix=True, must_be_fresh=True)).packets == []
    published = managed.machine.face_added(APP, NOW).packets
    assert [read_event(content(packet)).kind for packet in published] == [CREATED]
    assert managed.machine.face_added(APP, NOW).packets == []
    answer = managed.give(encode_interest(FACE_EVENTS, can_be_prefix=True, must_be_fresh=True))
    assert content(answer.packets[0]) == content(published[0])
    gone = managed.machine.face_removed(APP, NOW).packets
    assert [str(content(packet).name.at(-1)) for packet in gone] == ["seq=1"]
    assert [read_event(content(packet)).kind for packet in gone] == [DESTROYED]
    assert managed.machine.face_removed(APP, NOW).packets == []
    assert managed.machine.face_added(9999, NOW).packets == []
