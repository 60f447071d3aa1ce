"""Properties, written and read by one table."""

from __future__ import annotations

import pytest
from tests.broker_packets import props, var_int

from roost.broker.packets.framing import CONNECT, DISCONNECT, SUBSCRIBE
from roost.broker.packets.properties import Properties, encode_properties, parse_properties
from roost.broker.packets.reasons import MALFORMED_PACKET, Malformed


def test_no_properties_are_a_length_of_zero() -> None:
    """[MQTT-2.2.2-1]."""
    assert encode_properties(Properties()) == b"\x00"
    properties, after = parse_properties(b"x\x00y", 1, 3, CONNECT)
    assert after == 2
    assert vars_of(properties) == vars_of(Properties())


def vars_of(properties: Properties) -> dict[str, object]:
    return {name: getattr(properties, name) for name in dir(properties) if not name.startswith("_")}


def test_what_is_written_is_read() -> None:
    properties = Properties()
    properties.session_expiry_s = 0
    properties.receive_maximum = 65_535
    properties.request_problem = 0
    properties.auth_method = b""
    properties.auth_data = bytes(200)
    properties.user = [(b"k", b"v"), (b"k", b"")]
    wire = encode_properties(properties)
    found, after = parse_properties(wire, 0, len(wire), CONNECT)
    assert after == len(wire)
    assert vars_of(found) == vars_of(properties)


def test_a_subscription_identifier_is_a_variable_byte_integer() -> None:
    properties = Properties()
    properties.subscription_ids = [300]
    assert encode_properties(properties) == b"\x03" + props(subscription_id=300)
    assert parse_properties(b"\x03" + props(subscription_id=300), 0, 4, SUBSCRIBE)[0].subscription_ids == [300]


def test_properties_end_where_their_length_says() -> None:
    wire = props(reason_string=b"abc")
    for length in range(1, len(wire)):
        with pytest.raises(Malformed) as caught:
            parse_properties(var_int(length) + wire, 0, 1 + len(wire), DISCONNECT)
        assert caught.value.reason == MALFORMED_PACKET
    with pytest.raises(Malformed, match="only 6 are there"):
        parse_properties(b"\x07" + wire, 0, 1 + len(wire), DISCONNECT)
