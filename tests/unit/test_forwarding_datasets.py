"""Status datasets: what the tables say, as python-ndn reads it, in segments that never change under one name."""

from __future__ import annotations

import pytest
from ndn.app_support import nfd_mgmt
from ndn.encoding import Name as PeerName
from tests.managed import APP, MULTICAST, NOW, OTHER_APP, REMOTE, Managed, content

from roost.errors import BadPacket, Refused
from roost.forwarding import requests
from roost.forwarding.control import ControlParameters
from roost.forwarding.rib import Route
from roost.forwarding.shelf import KEPT_NS, SEGMENT_BYTES, Shelf
from roost.forwarding.status import CsInfo, FaceQuery, FaceStatus, FibEntry, GeneralStatus, NextHop, RibEntry
from roost.machine import MS, SECOND
from roost.naming import Component, Name
from roost.naming.conventions import segment
from roost.wire import Data, DigestSigner, Interest, encode_interest, sign_interest


def test_general_status() -> None:
    managed = Managed()
    managed.forwarder.counters.in_interests = 300
    wire = managed.fetch("status/general")
    (ours,) = requests.read_dataset("status/general", wire)
    assert isinstance(ours, GeneralStatus)
    assert (ours.version, ours.started_ms, ours.now_ms) == ("roost test", NOW // MS, NOW // MS)
    theirs = nfd_mgmt.GeneralStatus.parse(wire)
    assert (str(theirs.nfd_version), theirs.n_in_interests, theirs.n_fib_entries) == ("roost test", 300, 1)
    assert wire[0] == 128


def test_faces() -> None:
    managed = Managed()
    managed.forwarder.faces[REMOTE].in_bytes = 70_000
    managed.forwarder.faces[APP].expires = NOW + 5 * SECOND
    wire = managed.fetch("faces/list")
    theirs = {face.face_id: face for face in nfd_mgmt.FaceStatusMsg.parse(wire).face_status}
    assert sorted(theirs) == [1, APP, OTHER_APP, REMOTE, MULTICAST]
    remote = theirs[REMOTE]
    assert (str(remote.uri), remote.face_scope.value, remote.n_in_bytes) == ("udp4://192.0.2.7:6363", 0, 70_000)
    assert (remote.mtu, remote.flags.value, remote.link_type.value) == (8800, 4, 0)
    assert (theirs[APP].face_scope.value, theirs[APP].expiration_period, theirs[APP].mtu) == (1, 5000, 8800)
    assert (theirs[MULTICAST].link_type.value, theirs[MULTICAST].face_persistency.value) == (1, 2)
    ours = requests.read_dataset("faces/list", wire)
    assert [face.face for face in ours if isinstance(face, FaceStatus)] == sorted(theirs)
    assert b"".join(face.encode() for face in ours) == wire


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (FaceQuery(), [1, APP, OTHER_APP, REMOTE, MULTICAST]),
        (FaceQuery(face=APP), [APP]),
        (FaceQuery(scheme="udp4"), [REMOTE, MULTICAST]),
        (FaceQuery(scheme="unix"), [APP]),
        (FaceQuery(uri="udp4://192.0.2.7:6363"), [REMOTE]),
        (FaceQuery(local_uri="tcp4://127.0.0.1:6363"), [OTHER_APP]),
        (FaceQuery(scope=1), [1, APP, OTHER_APP]),
        (FaceQuery(persistency=2), [MULTICAST]),
        (FaceQuery(link_type=1), [MULTICAST]),
        (FaceQuery(link_type=1, scope=1), []),
    ],
)
def test_queries(query: FaceQuery, found: list[int]) -> None:
    wire = Managed().fetch("faces/query", query.encode())
    assert [face.face for face in requests.read_dataset("faces/query", wire) if isinstance(face, FaceStatus)] == found


def test_python_ndns_query_and_a_malformed_one() -> None:
    managed = Managed()
    peer = nfd_mgmt.FaceQueryFilter()
    peer.face_query_filter = nfd_mgmt.FaceQueryFilterValue()
    peer.face_query_filter.uri_scheme = "udp4"
    assert len(nfd_mgmt.FaceStatusMsg.parse(managed.fetch("faces/query", bytes(peer.encode()))).face_status) == 2
    name = requests.dataset_name("faces/query") / "rubbish"
    refused = content(managed.give(encode_interest(name, can_be_prefix=True)).packets[0])
    assert (refused.content_type, refused.name) == (3, name)
    with pytest.raises(Refused, match="400 Malformed filter"):
        requests.check_segment(refused)


def test_fib_rib_strategies_store_and_channels() -> None:
    managed = Managed()
    managed.ask("rib", "register", ControlParameters(name=Name.parse("/app"), cost=5, expiration_ms=60_000))
    assert requests.read_dataset("fib/list", managed.fetch("fib/list")) == [
        FibEntry(Name.parse("/app"), (NextHop(APP, 5),)),
        FibEntry(Name.parse("/localhost/nfd"), (NextHop(1, 0),)),
    ]
    (peer_entry, _) = nfd_mgmt.FibStatus.parse(managed.fetch("fib/list")).entries
    assert (PeerName.to_str(peer_entry.name), peer_entry.next_hop_records[0].cost) == ("/app", 5)
    managed.now += SECOND
    rib = managed.fetch("rib/list")
    peer_route = nfd_mgmt.RibStatus.parse(rib).entries[0].routes[0]
    assert (peer_route.face_id, peer_route.cost, peer_route.flags.value) == (APP, 5, 1)
    assert peer_route.expiration_period == 59_000
    entries = [entry for entry in requests.read_dataset("rib/list", rib) if isinstance(entry, RibEntry)]
    assert [str(entry.name) for entry in entries] == ["/app", "/localhost/nfd"]
    strategies = nfd_mgmt.StrategyChoiceMsg.parse(managed.fetch("strategy-choice/list")).strategy_choices
    assert "/localhost/nfd/strategy/best-route/v=5" in [PeerName.to_str(choice.strategy.name) for choice in strategies]
    assert len(requests.read_dataset("strategy-choice/list", managed.fetch("strategy-choice/list"))) == 4
    assert requests.read_dataset("cs/info", managed.fetch("cs/info")) == [CsInfo(65536, 3, 0, 0, 0)]
    assert managed.fetch("faces/channels") == b""


def test_long_datasets_come_in_segments() -> None:
    managed = Managed()
    for number in range(1000):
        managed.machine.rib.add(Name.parse(f"/some/longer/prefix/{number}"), Route(APP))
    wire = managed.fetch("rib/list")
    assert len(wire) > 3 * SEGMENT_BYTES
    assert len(requests.read_dataset("rib/list", wire)) == 1001
    first = content(managed.give(encode_interest(requests.dataset_name("rib/list"), can_be_prefix=True)).packets[0])
    assert (len(first.content), first.freshness_ms, str(first.name.at(-1))) == (SEGMENT_BYTES, 1000, "seg=0")
    versioned = first.name.prefix(-1)
    by_version = managed.give(encode_interest(versioned, can_be_prefix=True)).packets[0]
    assert content(by_version) == first
    final = first.final_block
    assert final is not None
    last = content(managed.give(encode_interest(versioned / final)).packets[0])
    assert last.final_block == last.name.at(-1) == final
    for absent in (segment(final.number() + 1), Component(b"\0\0", 50), Component(b"", 50), Component(b"\0")):
        assert managed.give(encode_interest(versioned / absent)).packets == []
    managed.now += KEPT_NS
    assert managed.machine.deadline() == managed.now
    managed.machine.tick(managed.now)
    assert managed.give(encode_interest(versioned / segment(0))).packets == []


def test_one_name_is_one_data_for_ever() -> None:
    shelf = Shelf(DigestSigner())
    name = Name.parse("/d")
    names = [Data.decode(shelf.publish(name, bytes([number]), NOW)).name for number in range(3)]
    assert len(set(names)) == 3
    assert [str(made.at(-2)) for made in names] == [f"v={NOW // MS + number}" for number in range(3)]


def test_the_shelf_is_bounded_by_bytes_and_keeps_the_newest() -> None:
    shelf = Shelf(DigestSigner(), max_bytes=30_000)
    made = [Data.decode(shelf.publish(Name.parse("/d"), bytes(9000), NOW)).name for _ in range(5)]
    kept = [shelf.find(Interest.decode(encode_interest(name))) is not None for name in made]
    assert (kept, shelf.evicted) == ([False, False, True, True, True], 2)
    shelf.expire(NOW + KEPT_NS)
    assert (shelf.size_bytes, shelf.deadline()) == (0, None)


def test_a_signed_dataset_interest_is_answered_under_its_own_name() -> None:  # as python-ndn's nfdc sends it
    managed = Managed()
    asked = sign_interest(requests.dataset_name("faces/list"), DigestSigner(), time_ms=1, can_be_prefix=True)
    data = content(managed.give(asked).packets[0])
    assert data.name.prefix(-2) == Interest.decode(asked).name
    assert len(requests.read_dataset("faces/list", data.content)) == 5


def test_without_can_be_prefix_a_dataset_cannot_be_answered() -> None:
    assert Managed().give(encode_interest(requests.dataset_name("faces/list"))).packets == []


def test_what_is_no_dataset() -> None:
    with pytest.raises(BadPacket, match="no dataset"):
        requests.read_dataset("faces/none", b"")
    with pytest.raises(BadPacket, match="expected"):
        requests.read_dataset("fib/list", b"\x05\x00")
    with pytest.raises(BadPacket, match="has a field"):
        requests.read_dataset("cs/info", b"\x80\x00")
