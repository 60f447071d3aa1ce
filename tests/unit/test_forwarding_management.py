"""Management commands: what each answers, in the codes and the order of NFD, and what it changes."""

from __future__ import annotations

import pytest
from ndn.app_support import nfd_mgmt
from tests.managed import APP, MULTICAST, NOW, OTHER_APP, REMOTE, Managed, content

from roost.errors import Refused
from roost.forwarding.control import ControlParameters, ControlResponse
from roost.forwarding.face import LOCAL_FIELDS, CloseFace, FaceSpec, OpenFace
from roost.forwarding.face_commands import MAX_WAITING, OPENING_NS
from roost.forwarding.face_uri import parse_canonical
from roost.forwarding.rib_commands import FOR_EVER_MS
from roost.forwarding.table_commands import ERASE_LIMIT
from roost.machine import MS, SECOND, Rejected
from roost.naming import Component, Name
from roost.wire import Data, DigestSigner, Interest, LpPacket, NullSigner, decode_lp, encode_interest, make_data, tlv
from roost.wire.interest import sign_interest
from roost.wire.link import Link
from roost.wire.signature import validity_element

REGISTER = bytes.fromhex(  # [nfd-management §3], accepted by NFD
    "0591074c08096c6f63616c686f737408036e666408037269620808726567697374657208096807070508036170700220baf20dba743e98960a44"
    "71ff8e94ac6002a465b06b260540c142273125929e520a040102030424002c171b0100260800010203040506072808000001a1e0a0d8802e209a"
    "20ca9043bfa8c541ac398b080f75ecd9b50fce31ce8e102ecc7b6431dee7f3"
)
A = Name.parse("/a")


given = ControlParameters


# ── rib ──


def test_the_register_of_the_sheet() -> None:
    managed = Managed()
    answer = managed.give(REGISTER)
    assert answer.effects == []
    (packet,) = answer.packets
    data = content(packet)
    assert (data.name, data.freshness_ms, data.content_type) == (Interest.decode(REGISTER).name, 1000, 0)
    assert data.content.hex() == "651d6601c867024f4b681407050803617070690201006f01006a01006c0101"
    assert managed.hops("/app") == {APP: 0}


def test_the_pit_token_comes_back() -> None:
    (packet,) = (
        Managed().machine.receive([LpPacket(REGISTER, incoming_face=APP, pit_token=b"t1").encode()], NOW).packets
    )
    assert decode_lp(packet).pit_token == b"t1"


def test_registering_with_everything_and_taking_it_back() -> None:
    managed = Managed()
    parameters = given(name=A, face=REMOTE, origin=255, cost=10, flags=3, expiration_ms=5000)
    assert managed.ask("rib", "register", parameters).expect() == parameters
    assert managed.hops("/a") == {REMOTE: 10}
    assert managed.ask("rib", "unregister", given(name=A, face=REMOTE)).code == 200  # another origin
    assert managed.hops("/a") == {REMOTE: 10}
    gone = managed.ask("rib", "unregister", given(name=A, face=REMOTE, origin=255))
    assert gone.expect() == given(name=A, face=REMOTE, origin=255)
    assert managed.hops("/a") == {}


def test_face_0_is_ones_own() -> None:
    managed = Managed()
    assert managed.ask("rib", "register", given(name=A, face=0), OTHER_APP).expect().face == OTHER_APP
    assert managed.ask("rib", "unregister", given(name=A), OTHER_APP).expect().face == OTHER_APP


def test_unknown_routes_and_unknown_faces_are_200() -> None:  # [wire]
    managed = Managed()
    assert managed.ask("rib", "unregister", given(name=A)).code == 200
    assert managed.ask("rib", "register", given(name=A, face=999)).expect().face == 999
    assert managed.hops("/a") == {}
    assert len(managed.machine.rib) == 1


def test_routes_end() -> None:
    managed = Managed()
    managed.ask("rib", "register", given(name=A, expiration_ms=5000))
    assert managed.machine.deadline() == NOW + 5 * SECOND
    managed.machine.tick(NOW + 5 * SECOND - 1)
    assert managed.hops("/a") == {APP: 0}
    managed.machine.tick(NOW + 5 * SECOND)
    assert managed.hops("/a") == {}
    managed.ask("rib", "register", given(name=A, expiration_ms=FOR_EVER_MS))
    assert managed.machine.deadline() is None
    managed.ask("rib", "register", given(name=A, expiration_ms=0))
    assert managed.hops("/a") == {}


def test_prefixes_deeper_than_32_are_414() -> None:
    managed = Managed()
    deep = Name.parse("/x" * 33)
    assert managed.ask("rib", "register", given(name=deep)).code == 414
    assert managed.ask("fib", "add-nexthop", given(name=deep)).code == 414
    strategy = Name.parse("/localhost/nfd/strategy/multicast")
    assert managed.ask("strategy-choice", "set", given(name=deep, strategy=strategy)).code == 414
    assert managed.ask("rib", "register", given(name=deep.prefix(32))).code == 200


def test_management_cannot_be_cut_off() -> None:
    managed = Managed()
    own = Name.parse("/localhost/nfd")
    assert managed.ask("rib", "unregister", given(name=own, face=1)).code == 403
    assert managed.ask("fib", "remove-nexthop", given(name=own, face=1)).code == 403
    assert managed.ask("faces", "destroy", given(face=1)).code == 403
    assert managed.ask("rib", "register", given(name=own)).code == 200
    assert managed.hops("/localhost/nfd") == {1: 0, APP: 0}


# ── reading, validating and authorising, in this order ──


@pytest.mark.parametrize(
    ("module", "verb", "parameters"),
    [
        ("rib", "register", given(face=1)),
        ("rib", "register", given(name=A, mtu=1)),
        ("rib", "unregister", given(name=A, cost=1)),
        ("faces", "create", given(mtu=1400)),
        ("faces", "create", given(uri="udp4://192.0.2.9:6363", flags=1)),
        ("faces", "update", given(mask=1)),
        ("faces", "destroy", given()),
        ("faces", "destroy", given(face=0)),
        ("strategy-choice", "set", given(name=A)),
        ("strategy-choice", "unset", given(name=Name())),
        ("cs", "config", given(count=1)),
        ("cs", "erase", given(name=A, count=0)),
        ("fib", "add-nexthop", given(face=APP)),
    ],
)
def test_missing_and_forbidden_fields_are_400(module: str, verb: str, parameters: ControlParameters) -> None:
    response = Managed().ask(module, verb, parameters)
    assert response.code == 400
    assert response.text.startswith("failed in validating parameters")


@pytest.mark.parametrize(
    "name",
    [
        "/localhost/nfd/rib/register/rubbish",
        "/localhost/nfd/rib/register",
        "/localhost/nfd/rib/rebuild/h%00",
        "/localhost/nfd/rib",
        "/localhost/nfd/32=rib/32=register/h%00",
        "/localhop/nfd/rib/register/h%00",
        "/localhost/nfd/rib/announce",
        "/elsewhere/a/b/c",
    ],
)
def test_what_cannot_be_read_meets_silence_and_a_rejection(name: str) -> None:  # [wire]
    answer = Managed().give(sign_interest(Name.parse(name), DigestSigner(), time_ms=NOW // MS))
    assert answer.packets == []
    assert [type(effect) for effect in answer.effects] == [Rejected]


def test_an_unsigned_command_is_403_before_its_form_is_looked_at() -> None:  # [wire]
    managed = Managed()
    wrong = Component(given(mtu=1).encode())
    for parameters in (wrong, Component(given(name=A).encode())):
        answer = managed.give(encode_interest(Name.parse("/localhost/nfd/rib/register") / parameters))
        assert ControlResponse.decode(content(answer.packets[0]).content).code == 403
        assert isinstance(answer.effects[0], Rejected)
    assert managed.hops("/a") == {}


def test_bad_packets_cost_themselves_only() -> None:
    managed = Managed()
    good = LpPacket(REGISTER, incoming_face=APP).encode()
    rubbish = [b"", b"\x00", b"\x64\x00", b"\x05\x00", b"\x06\x02ab", good[:-1], LpPacket(b"\x06\x00").encode()]
    nack = LpPacket(REGISTER, nack=150, incoming_face=APP).encode()
    answer = managed.machine.receive([*rubbish, nack, good], NOW)
    assert len(answer.packets) == 1
    assert len(answer.effects) == len(rubbish) - 1  # an idle link packet is no mistake
    assert managed.hops("/app") == {APP: 0}


def test_an_interest_of_unknown_origin_is_not_local() -> None:
    (packet,) = Managed().machine.receive([REGISTER], NOW).packets
    assert ControlResponse.decode(content(packet).content).code == 403


def test_a_name_too_long_to_be_answered_is_silence() -> None:
    managed = Managed()
    long = given(name=Name.of("x" * 4000))
    assert managed.give(managed.writer.write("rib", "register", long, NOW)).packets == []


def test_python_ndns_old_commands_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:  # format v0.2
    monkeypatch.setattr(nfd_mgmt, "timestamp", lambda: NOW // MS)
    managed = Managed()
    parts = [bytes(part) for part in nfd_mgmt.make_command("rib", "register", None, name="/old")]
    answer = managed.give(encode_interest(Name.decode(b"".join(parts))))
    assert nfd_mgmt.parse_response(content(answer.packets[0]).content)["status_code"] == 200
    assert managed.hops("/old") == {APP: 0}
    parts[-1] = parts[-1][:-1] + bytes([parts[-1][-1] ^ 1])
    answer = managed.give(encode_interest(Name.decode(b"".join(parts))))
    assert ControlResponse.decode(content(answer.packets[0]).content).code == 403


# ── /localhop ──


def test_localhop_takes_rib_commands_for_the_face_they_come_from() -> None:
    managed = Managed(localhop=True)
    assert [str(prefix) for prefix in managed.machine.prefixes()] == ["/localhost/nfd", "/localhop/nfd"]
    assert managed.hops("/localhop/nfd") == {1: 0}
    managed.writer._prefix = Name.parse("/localhop/nfd")
    assert managed.ask("rib", "register", given(name=A)).code == 200
    assert managed.ask("rib", "register", given(name=A, face=REMOTE)).code == 403
    assert managed.ask("rib", "register", given(name=A), REMOTE).code == 403
    assert managed.give(managed.writer.write("faces", "destroy", given(face=REMOTE), NOW)).packets == []
    listing = encode_interest(Name.parse("/localhop/nfd/rib/list"), can_be_prefix=True)
    assert managed.give(listing).packets == []


# ── faces ──


def opening(managed: Managed, wanted: ControlParameters) -> OpenFace:
    answer = managed.give(managed.writer.write("faces", "create", wanted, managed.now))
    assert answer.packets == []
    (effect,) = answer.effects
    assert isinstance(effect, OpenFace)
    return effect


def test_creating_a_face() -> None:
    managed = Managed()
    wanted = given(uri="udp4://192.0.2.9:6363", persistency=2, mtu=1400, congestion_interval_ns=5)
    effect = opening(managed, wanted)
    assert effect == OpenFace(1, "udp4://192.0.2.9:6363", "", 2, 1400, 4)
    spec = FaceSpec(effect.uri, "udp4://192.0.2.1:6363", local=False, persistency=2, mtu=1400, flags=effect.flags)
    managed.forwarder.open_face(300, spec, NOW)
    first, event = managed.machine.face_opened(1, 300, NOW).packets
    assert ControlResponse.decode(content(first).content).expect() == given(
        face=300,
        uri="udp4://192.0.2.9:6363",
        local_uri="udp4://192.0.2.1:6363",
        flags=4,
        persistency=2,
        congestion_interval_ns=5,
        congestion_threshold_bytes=65536,
        mtu=1400,
    )
    assert str(content(event).name.at(-1)) == "seq=0"
    assert managed.machine.face_opened(1, 300, NOW).packets == []
    assert managed.machine.deadline() is None


def test_an_existing_face_is_409_with_its_description() -> None:
    response = Managed().ask("faces", "create", given(uri="udp4://192.0.2.7:6363"))
    assert (response.code, response.parameters.face) == (409, REMOTE)


def test_commands_for_one_uri_wait_together() -> None:
    managed = Managed()
    opening(managed, given(uri="tcp4://192.0.2.9:6363"))
    again = managed.writer.write("faces", "create", given(uri="tcp4://192.0.2.9:6363"), NOW)
    for _ in range(2):  # the second time it is a retransmission
        assert managed.give(again).packets == []
    managed.forwarder.open_face(300, FaceSpec("tcp4://192.0.2.9:6363", "tcp4://192.0.2.1:4000", local=False), NOW)
    packets = managed.machine.face_opened(1, 300, NOW).packets[:-1]
    codes = [ControlResponse.decode(content(packet).content).code for packet in packets]
    assert codes == [200, 409]


def test_faces_that_do_not_open() -> None:
    managed = Managed()
    opening(managed, given(uri="tcp4://192.0.2.9:6363"))
    opening(managed, given(uri="tcp4://192.0.2.10:6363"))
    (packet,) = managed.machine.face_failed(1, 504, "connection refused", NOW).packets
    assert ControlResponse.decode(content(packet).content) == ControlResponse(504, "connection refused")
    assert managed.machine.deadline() == NOW + OPENING_NS
    assert managed.machine.tick(NOW + OPENING_NS - 1).packets == []
    (packet,) = managed.machine.tick(NOW + OPENING_NS).packets
    assert ControlResponse.decode(content(packet).content).code == 504
    assert managed.machine.face_opened(2, 300, NOW).packets == []
    assert managed.machine.face_failed(7, 500, "", NOW).packets == []


def test_waiting_is_bounded() -> None:
    managed = Managed()
    for number in range(MAX_WAITING):
        opening(managed, given(uri=f"tcp4://192.0.2.9:{6363 + number}"))
    assert managed.ask("faces", "create", given(uri="tcp4://192.0.2.9:1")).code == 503


@pytest.mark.parametrize(
    ("parameters", "code", "text"),
    [
        (given(uri="rubbish"), 400, "Malformed command"),
        (given(uri="udp4://example.net:6363"), 400, "Non-canonical remote URI"),
        (given(uri="udp://192.0.2.9:6363"), 400, "Non-canonical remote URI"),
        (given(uri="udp4://192.0.2.9"), 400, "Non-canonical remote URI"),
        (given(uri="udp4://192.0.2.9:70000"), 400, "Non-canonical remote URI"),
        (given(uri="udp4://192.0.2.9:6363/x"), 400, "Non-canonical remote URI"),
        (given(uri="udp6://[2001:DB8::1]:6363"), 400, "Non-canonical remote URI"),
        (given(uri="udp4://192.0.2.9:6363", local_uri="eth0"), 400, "Malformed command"),
        (given(uri="udp4://192.0.2.9:6363", local_uri="udp4://a:1"), 400, "Non-canonical local URI"),
        (given(uri="unix:///run/nfd.sock"), 406, "Unsupported protocol"),
        (given(uri="ether://[01:00:5e:00:17:aa]"), 406, "Unsupported protocol"),
        (given(uri="udp4://224.0.23.170:56363"), 406, "multicast"),
        (given(uri="udp4://192.0.2.9:6363", persistency=1), 406, "persistency"),
        (given(uri="udp4://192.0.2.9:6363", mtu=127), 406, "at least 128"),
        (given(uri="tcp4://192.0.2.9:6363", mtu=1400), 406, "MTU"),
        (given(uri="tcp4://192.0.2.9:6363", local_uri="tcp4://192.0.2.1:1"), 406, "LocalUri"),
        (given(uri="tcp4://192.0.2.9:6363", flags=1, mask=1), 406, "Local fields"),
    ],
)
def test_faces_that_cannot_be_created(parameters: ControlParameters, code: int, text: str) -> None:
    response = Managed().ask("faces", "create", parameters)
    assert response.code == code
    assert text in response.text


def test_canonical_uris() -> None:
    assert parse_canonical("tcp6://[::1]:6363", "remote").loopback
    assert parse_canonical("udp6://[2001:db8::1]:6363", "remote").scheme == "udp6"
    with pytest.raises(Refused):
        parse_canonical("udp6://2001:6363", "remote")


def test_updating_ones_own_face() -> None:
    managed = Managed()
    response = managed.ask("faces", "update", given(flags=1, mask=1))
    assert response.expect() == given(
        face=APP, flags=1, persistency=1, congestion_interval_ns=100_000_000, congestion_threshold_bytes=65536, mtu=8800
    )
    assert managed.forwarder.faces[APP].flags == LOCAL_FIELDS
    assert managed.ask("faces", "update", given(face=0, flags=4, mask=5)).expect().flags == 4
    assert managed.ask("faces", "update", given()).expect().flags == 4


def test_updating_another() -> None:
    managed = Managed()
    wanted = given(face=REMOTE, mtu=1400, persistency=2, flags=2, mask=6, congestion_threshold_bytes=9)
    effective = managed.ask("faces", "update", wanted).expect()
    assert (effective.mtu, effective.persistency, effective.flags) == (1400, 2, 2)
    assert (effective.congestion_threshold_bytes, managed.forwarder.faces[REMOTE].mtu) == (9, 1400)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        (given(face=REMOTE, flags=1, mask=1), given(flags=1, mask=1)),
        (given(face=REMOTE, mtu=64), given(mtu=64)),
        (given(face=REMOTE, mtu=127), given(mtu=127)),
        (given(face=APP, mtu=1400), given(mtu=1400)),
        (given(face=APP, persistency=2), given(persistency=2)),
        (given(face=MULTICAST, persistency=0, mtu=1000), given(persistency=0)),
        (given(face=REMOTE, persistency=9), given(persistency=9)),
    ],
)
def test_what_a_face_cannot_have_is_409_and_nothing_changes(
    parameters: ControlParameters, wrong: ControlParameters
) -> None:
    managed = Managed()
    response = managed.ask("faces", "update", parameters)
    assert (response.code, response.parameters) == (409, wrong)
    assert managed.forwarder.faces[MULTICAST].mtu == 1400
    assert ("an MTU is at least 128" in response.text) == (wrong.mtu is not None)


def test_the_smallest_mtu_is_one_that_fragments_fit() -> None:
    managed = Managed()
    assert managed.ask("faces", "update", given(face=REMOTE, mtu=128)).expect().mtu == 128
    (wire, *_) = Link(managed.forwarder.faces[REMOTE].mtu).wrap([bytes(1000)], 0)
    assert len(wire) <= 128


def test_updating_a_face_that_is_not_there_is_404() -> None:
    assert Managed().ask("faces", "update", given(face=999)).code == 404


def test_destroying_a_face_takes_its_routes_and_tells() -> None:
    managed = Managed()
    managed.machine.face_added(REMOTE, NOW)
    managed.ask("rib", "register", given(name=A, face=REMOTE))
    managed.ask("rib", "register", given(name=A))
    answer = managed.give(managed.writer.write("faces", "destroy", given(face=REMOTE), NOW))
    assert ControlResponse.decode(content(answer.packets[0]).content).expect() == given(face=REMOTE)
    assert [str(content(packet).name.at(-1)) for packet in answer.packets[1:]] == ["seq=1"]
    assert CloseFace(REMOTE) in answer.effects
    assert managed.hops("/a") == {APP: 0}
    assert managed.ask("faces", "destroy", given(face=REMOTE)).code == 200
    assert managed.machine.face_removed(REMOTE, NOW).packets == []


# ── fib, strategies, content store ──


def test_next_hops_beside_the_rib() -> None:
    managed = Managed()
    managed.ask("rib", "register", given(name=A, cost=5))
    assert managed.ask("fib", "add-nexthop", given(name=A, face=REMOTE, cost=9)).expect() == given(
        name=A, face=REMOTE, cost=9
    )
    assert managed.hops("/a") == {APP: 5, REMOTE: 9}
    managed.ask("rib", "register", given(name=A, face=OTHER_APP))
    managed.ask("rib", "unregister", given(name=A))
    assert managed.hops("/a") == {OTHER_APP: 0, REMOTE: 9}
    assert managed.ask("fib", "remove-nexthop", given(name=A, face=REMOTE)).expect() == given(name=A, face=REMOTE)
    assert managed.ask("fib", "remove-nexthop", given(name=A)).expect() == given(name=A, face=APP)
    assert managed.hops("/a") == {OTHER_APP: 0}
    assert managed.ask("fib", "add-nexthop", given(name=A)).expect() == given(name=A, face=APP, cost=0)
    assert managed.ask("fib", "add-nexthop", given(name=A, face=999)).code == 410


def test_strategies() -> None:
    managed = Managed()
    multicast = Name.parse("/localhost/nfd/strategy/multicast")
    full = multicast / Component.parse("v=5")
    assert managed.ask("strategy-choice", "set", given(name=A, strategy=multicast)).expect() == given(
        name=A, strategy=full
    )
    assert (A, full) in managed.forwarder.strategies.entries()
    unknown = Name.parse("/localhost/nfd/strategy/none")
    assert managed.ask("strategy-choice", "set", given(name=A, strategy=unknown)).code == 404
    assert managed.ask("strategy-choice", "set", given(name=A, strategy=full / "speed~9")).code == 409
    assert managed.ask("strategy-choice", "set", given(name=A, strategy=multicast / Component(b"", 54))).code == 404
    assert managed.ask("strategy-choice", "unset", given(name=A)).expect() == given(name=A)
    assert (A, full) not in managed.forwarder.strategies.entries()


def test_the_content_store() -> None:
    managed = Managed()
    for number in range(ERASE_LIMIT + 10):
        managed.forwarder.store.insert(make_data(A / str(number), b"", DigestSigner()), NOW)
    erased = managed.ask("cs", "erase", given(name=A, count=3)).expect()
    assert erased == given(name=A, count=3)
    erased = managed.ask("cs", "erase", given(name=A)).expect()
    assert erased == given(name=A, count=ERASE_LIMIT, capacity=ERASE_LIMIT)
    assert managed.ask("cs", "erase", given(name=A)).expect() == given(name=A, count=7)
    assert managed.ask("cs", "config", given(capacity=9, flags=0, mask=2)).expect() == given(capacity=9, flags=1)
    assert (managed.forwarder.store.capacity_packets, managed.forwarder.store.serve) == (9, False)
    assert managed.ask("cs", "config", given()).expect() == given(capacity=9, flags=1)


# ── rib/announce ──


def announcement(content_value: bytes, name: str = "/a/32=PA/v=1/seg=0", content_type: int = 5) -> bytes:
    data = make_data(Name.parse(name), content_value, NullSigner(), content_type=content_type)
    asked = Name.parse("/localhost/nfd/rib/announce")
    return sign_interest(asked, DigestSigner(), time_ms=NOW // MS, signature_nonce=b"n", parameters=data.wire)


def test_announcing_a_prefix() -> None:  # [nfd-management §6]
    managed = Managed()
    answer = managed.give(announcement(tlv.number(109, 30_000)))
    assert ControlResponse.decode(content(answer.packets[0]).content).expect() == given(
        name=A, face=APP, origin=129, cost=2048, flags=1, expiration_ms=30_000
    )
    assert managed.hops("/a") == {APP: 2048}
    assert managed.machine.deadline() == NOW + 30 * SECOND


@pytest.mark.parametrize(
    ("low", "high", "lives_ms"),
    [("20260101T000000", "20300101T000000", 30_000), ("20260101T000000", "20260102T000000", 0)],
)
def test_the_validity_period_bounds_the_route(low: str, high: str, lives_ms: int) -> None:
    managed = Managed()
    answer = managed.give(announcement(tlv.number(109, 30_000) + validity_element(low, high)))
    effective = ControlResponse.decode(content(answer.packets[0]).content).expect()
    assert effective.expiration_ms == lives_ms
    assert bool(managed.hops("/a")) == (lives_ms > 0)


@pytest.mark.parametrize(
    "wire",
    [
        announcement(b""),
        announcement(tlv.number(109, 1) + tlv.number(129, 1)),
        announcement(tlv.number(109, 1), content_type=0),
        announcement(tlv.number(109, 1), name="/a/v=1/seg=0"),
        announcement(tlv.number(109, 1) + validity_element("20261301T000000", "20300101T000000")),
        sign_interest(Name.parse("/localhost/nfd/rib/announce"), DigestSigner(), time_ms=NOW // MS, parameters=b"x"),
    ],
)
def test_what_is_no_announcement_meets_silence(wire: bytes) -> None:
    answer = Managed().give(wire)
    assert answer.packets == []
    assert isinstance(answer.effects[0], Rejected)


def test_an_announcement_that_is_not_believed_is_403() -> None:
    def verify(data: Data, now: int) -> str:
        return f"{data.name.at(0)} at {now}"

    answer = Managed(verify_announcement=verify).give(announcement(tlv.number(109, 1)))
    response = ControlResponse.decode(content(answer.packets[0]).content)
    assert (response.code, response.text) == (403, f"Prefix announcement rejected: a at {NOW}")
