"""Notifications: batched, numbered, kept, answered when they are there; and the snapshot."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.conventions import segment, sequence, timestamp, version
from roost.pubsub.repos.events import BATCH, BATCH_BYTES, EVENTS, MAX_KEPT, MAX_WAITING, SNAPSHOT, Events
from roost.repo.cause import DELETE, INSERT, REPLICATION
from roost.repo.event import decode_event, decode_snapshot
from roost.repo.shelf_effects import Dropped, Kept
from roost.repo.store import Entry
from roost.sync.port import Reply
from roost.wire import Data, DigestSigner, Interest, encode_interest, make_data

NOW = 1_800_000_000 * SECOND
REPO = Name.parse("/BigCompany/Building1/Electricity/Repo/Repo1")
PLACE = REPO / EVENTS
RUN = PLACE / timestamp(NOW // SECOND)
STREAM = Name.parse("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage")


def events(carry_bytes: int = 0) -> Events:
    return Events(REPO, DigestSigner(), lambda: [numbered(STREAM, 7)], NOW, carry_bytes=carry_bytes)


def reading(number: int, size: int = 10) -> Entry:
    name = numbered(STREAM, number)
    return Entry(name, make_data(name, bytes(size), DigestSigner()).wire, 1)


def asked(name: Name, *, fresh: bool = False, token: bytes = b"t") -> Asked:
    wire = encode_interest(name, nonce=b"1234", can_be_prefix=fresh, must_be_fresh=fresh, lifetime_ms=1000)
    return Asked(PLACE, Interest.decode(wire), token)


def data(effects: list[Effect] | None) -> Data:
    assert effects is not None
    (effect,) = effects
    assert isinstance(effect, Reply)
    return Data.decode(effect.packet)


def test_what_is_kept_within_a_batch_time_is_one_notification() -> None:
    machine = events()
    assert machine.kept(Kept((reading(1),), INSERT), NOW) == []
    assert machine.kept(Kept((reading(2),), INSERT), NOW + MS) == []
    assert machine.deadline() == NOW + BATCH
    assert machine.tick(NOW + BATCH - 1) == []
    assert machine.last == 0
    machine.tick(NOW + BATCH)
    found = data(machine.asked(asked(PLACE, fresh=True), NOW + BATCH))
    assert found.name == RUN / sequence(1)
    assert found.freshness_ms == 1000
    event = decode_event(found.content)
    assert (event.cause, event.names) == (INSERT, (numbered(STREAM, 1), numbered(STREAM, 2)))
    assert machine.deadline() is None


def test_another_cause_closes_the_batch() -> None:
    machine = events()
    machine.kept(Kept((reading(1),), INSERT), NOW)
    machine.kept(Kept((reading(2),), REPLICATION), NOW)
    machine.dropped(Dropped((numbered(STREAM, 1),), REPLICATION), NOW)
    assert machine.last == 2
    machine.tick(NOW + BATCH)
    found = [data(machine.asked(asked(RUN / sequence(number)), NOW)) for number in (1, 2, 3)]
    assert [decode_event(each.content).cause for each in found] == [INSERT, REPLICATION, DELETE]


def test_a_full_batch_is_closed_at_once() -> None:
    machine = events()
    many = [reading(number) for number in range(1, 200)]
    machine.kept(Kept(tuple(many), INSERT), NOW)
    machine.tick(NOW + BATCH)
    contents = [
        data(machine.asked(asked(RUN / sequence(number)), NOW)).content for number in range(1, machine.last + 1)
    ]
    assert len(contents) > 1
    assert all(len(content) <= BATCH_BYTES + 16 for content in contents)
    assert [name for content in contents for name in decode_event(content).names] == [each.name for each in many]


def test_small_packets_go_along_where_the_setting_says_so() -> None:
    machine = events(carry_bytes=200)
    machine.kept(Kept((reading(1), reading(2, size=1000)), INSERT), NOW)
    machine.tick(NOW + BATCH)
    event = decode_event(data(machine.asked(asked(RUN / sequence(1)), NOW)).content)
    assert [packet.wire for packet in event.packets] == [reading(1).wire]
    assert event.names == (numbered(STREAM, 2),)


def test_who_asks_for_the_next_one_is_answered_when_it_is_there() -> None:
    machine = events()
    assert machine.asked(asked(RUN / sequence(1), token=b"first"), NOW) == []
    assert machine.asked(asked(PLACE, fresh=True, token=b"second"), NOW) == []
    assert machine.asked(asked(RUN / sequence(2), token=b"third"), NOW) == []
    machine.kept(Kept((reading(1),), INSERT), NOW)
    effects = machine.tick(NOW + BATCH)
    assert [effect.token for effect in effects if isinstance(effect, Reply)] == [b"first", b"second"]


def test_an_interest_that_has_ended_is_not_answered() -> None:
    machine = events()
    machine.asked(asked(RUN / sequence(1)), NOW)
    machine.kept(Kept((reading(1),), INSERT), NOW + SECOND)
    assert machine.tick(NOW + SECOND + BATCH) == []


def test_the_oldest_notifications_are_forgotten() -> None:
    machine = events()
    for number in range(1, MAX_KEPT + 3):
        machine.kept(Kept((reading(number),), INSERT), NOW)
        machine.tick(NOW + BATCH)
    assert machine.asked(asked(RUN / sequence(2)), NOW) == []
    assert data(machine.asked(asked(RUN / sequence(3)), NOW)).name == RUN / sequence(3)
    assert machine.sizes()["notifications"] == (MAX_KEPT, MAX_KEPT)


def test_those_who_wait_are_bounded_and_counted() -> None:
    machine = events()
    for number in range(MAX_WAITING + 1):
        machine.asked(asked(RUN / sequence(1), token=number.to_bytes(4, "big")), NOW)
    assert machine.turned_away == 1
    machine.asked(asked(RUN / sequence(1), token=b"late"), NOW + SECOND)
    assert machine.sizes()["subscribers waiting"][0] == 1


def test_the_snapshot_says_which_notification_it_covers() -> None:
    machine = events()
    machine.kept(Kept((reading(7),), INSERT), NOW)
    machine.tick(NOW + BATCH)
    found = data(machine.asked(asked(PLACE / SNAPSHOT, fresh=True), NOW))
    assert found.name == PLACE / SNAPSHOT / version(NOW // MS) / segment(0)
    snapshot = decode_snapshot(found.content)
    assert (snapshot.covers, snapshot.names) == (1, (numbered(STREAM, 7),))
    assert data(machine.asked(asked(found.name), NOW)).wire == found.wire


@pytest.mark.parametrize("name", ["/other", f"{REPO}/holdings"])
def test_other_names_are_no_business_of_ours(name: str) -> None:
    assert events().asked(asked(Name.parse(name)), NOW) is None


@pytest.mark.parametrize("last", ["seq=0", "x", "58=abc", "seq=5"])
def test_names_that_are_no_notification_are_not_answered(last: str) -> None:
    machine = events()
    assert machine.asked(asked(Name.parse(f"{RUN}/{last}")), NOW) == []
    assert machine.sizes()["subscribers waiting"][0] == 0


@pytest.mark.parametrize("content", [b"", bytes.fromhex("fd800000"), bytes.fromhex("fd800002f000")])
def test_malformed_notifications_and_snapshots_are_refused(content: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_event(content)
    with pytest.raises(BadPacket):
        decode_snapshot(content)
