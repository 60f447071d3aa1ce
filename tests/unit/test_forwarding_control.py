"""ControlParameters and ControlResponse: the vectors of the sheet, NFD's order, and python-ndn both ways."""

from __future__ import annotations

import pytest
from ndn.app_support import nfd_mgmt
from ndn.encoding import Name as PeerName

from roost.errors import BadPacket, Refused
from roost.forwarding.control import ControlParameters, ControlResponse, accepted, form
from roost.naming import Name

EVERYTHING = ControlParameters(
    name=Name.parse("/app/v=1"),
    face=274,
    uri="udp4://192.0.2.1:6363",
    local_uri="udp4://192.0.2.2:6363",
    origin=255,
    cost=10,
    capacity=65536,
    count=3,
    flags=1,
    mask=3,
    strategy=Name.parse("/localhost/nfd/strategy/multicast/v=5"),
    expiration_ms=60_000,
    persistency=2,
    congestion_interval_ns=100_000_000,
    congestion_threshold_bytes=65536,
    mtu=1400,
)


def test_the_register_answer_of_nfd() -> None:  # [nfd-management §3]
    wire = bytes.fromhex("651d6601c867024f4b681407050803617070690201126f01006a01006c0101")
    response = ControlResponse.decode(wire)
    assert (response.code, response.text) == (200, "OK")
    assert response.parameters == ControlParameters(name=Name.parse("/app"), face=274, origin=0, cost=0, flags=1)
    assert accepted(response.parameters).encode() == wire


def test_the_create_answer_of_nfd() -> None:  # [nfd-management §4]
    wire = (
        bytes.fromhex("65526601c867024f4b6849690201137216")
        + b"udp4://127.0.0.1:16363"
        + bytes.fromhex("8115")
        + b"udp4://127.0.0.1:6363"
        + bytes.fromhex("6c0104850100870405f5e10088040001000089022260")
    )
    effective = ControlResponse.decode(wire).expect()
    assert effective == ControlParameters(
        face=275,
        uri="udp4://127.0.0.1:16363",
        local_uri="udp4://127.0.0.1:6363",
        flags=4,
        persistency=0,
        congestion_interval_ns=100_000_000,
        congestion_threshold_bytes=65536,
        mtu=8800,
    )
    assert accepted(effective).encode() == wire


def test_the_update_of_local_fields() -> None:  # [nfd-management §4]
    assert ControlParameters(flags=1, mask=1).encode().hex() == "68066c0101700101"


def test_everything_survives_and_the_order_does_not_matter() -> None:
    wire = EVERYTHING.encode()
    assert ControlParameters.decode(wire) == EVERYTHING
    flipped = ControlParameters(mtu=1, cost=2).encode()
    assert flipped.hex() == "68066a0102890101"
    assert ControlParameters.decode(bytes.fromhex("68068901016a0102")) == ControlParameters(mtu=1, cost=2)


def test_unknown_fields_are_passed_over() -> None:
    assert ControlParameters.decode(bytes.fromhex("6807f1010169020112")) == ControlParameters(face=274)


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        ("", "one ControlParameters"),
        ("68036a0100680269", "only"),
        ("69020112", "element 104"),
        ("68066a01016a0102", "twice"),
        ("68046902", "only"),
        ("68056903000112", "1, 2, 4 or 8 bytes"),
        ("68037201ff", "UTF-8"),
        ("68026b00", "holds a Name"),
        ("68056b0369010a", "holds a Name"),
        ("680407020000", "type 0"),
    ],
)
def test_what_cannot_be_read_is_refused(wire: str, why: str) -> None:
    with pytest.raises(BadPacket, match=why):
        ControlParameters.decode(bytes.fromhex(wire))


@pytest.mark.parametrize("wire", ["", "6500", "65036601c8", "650567024f4b6601c8", "64006500"])
def test_what_is_no_response_is_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        ControlResponse.decode(bytes.fromhex(wire))


def test_expect_says_no_with_the_code() -> None:
    with pytest.raises(Refused, match="404 no such face") as caught:
        ControlResponse(404, "no such face").expect()
    assert caught.value.code == 404
    exists = ControlResponse(409, "exists", ControlParameters(face=3).encode())
    assert exists.expect(409).face == 3
    assert ControlResponse(200, "").expect() == ControlParameters()


def test_forms() -> None:
    shape = form("name", "face flags mask")
    name = Name.parse("/a")
    assert shape.violation(ControlParameters(name=name)) is None
    assert shape.violation(ControlParameters(name=name, flags=1, mask=1)) is None
    assert shape.violation(ControlParameters(face=1)) == "name is required but missing"
    assert shape.violation(ControlParameters(name=name, cost=1)) == "cost is forbidden but present"
    assert shape.violation(ControlParameters(name=name, flags=1)) == "flags must be accompanied by mask"


def test_bits() -> None:
    parameters = ControlParameters(flags=0b01, mask=0b11)
    assert [parameters.bit(bit) for bit in (1, 2, 4)] == [True, False, None]
    assert ControlParameters().bit(1) is None


def test_python_ndn_reads_ours() -> None:
    wire = ControlResponse(200, "OK", ControlParameters(name=Name.parse("/a"), face=3, cost=7).encode()).encode()
    read = nfd_mgmt.parse_response(wire)
    assert (read["status_code"], read["face_id"], read["cost"]) == (200, 3, 7)
    assert PeerName.to_str(read["name"]) == "/a"


def test_we_read_python_ndns() -> None:
    name = nfd_mgmt.make_command_v2(
        "strategy-choice",
        "set",
        name="/a/b",
        strategy="/localhost/nfd/strategy/multicast",
        face_id=9,
        mtu=1400,
        flags=2,
    )
    parameters = ControlParameters.decode(bytes(Name.decode(b"".join(bytes(part) for part in name)).at(4).value))
    assert parameters == ControlParameters(
        name=Name.parse("/a/b"), strategy=Name.parse("/localhost/nfd/strategy/multicast"), face=9, mtu=1400, flags=2
    )
