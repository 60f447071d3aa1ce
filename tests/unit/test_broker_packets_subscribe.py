"""SUBSCRIBE, UNSUBSCRIBE and their answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.broker_packets import packet, props, seen, subscribe, text, unsubscribe

from roost.broker.packets.reasons import MALFORMED_PACKET, NOT_AUTHORIZED, PROTOCOL_ERROR, Malformed
from roost.broker.packets.subscribe import parse_subscribe, suback
from roost.broker.packets.unsubscribe import parse_unsubscribe, unsuback


def reason_of(frame: bytes, version: int) -> int:
    parse: Callable[[bytes, int], object] = parse_subscribe if frame[0] >> 4 == 8 else parse_unsubscribe
    with pytest.raises(Malformed) as caught:
        parse(frame, version)
    return caught.value.reason


@pytest.mark.parametrize("version", [4, 5])
def test_filters_come_in_their_order_with_their_qos(version: int) -> None:
    found = parse_subscribe(subscribe(0x1234, (b"a/#", 0), (b"+", 2), (b"$share/g/x", 1), version=version), version)
    assert found.packet_id == 0x1234
    assert [(each.filter, each.qos) for each in found.subscriptions] == [(b"a/#", 0), (b"+", 2), (b"$share/g/x", 1)]
    assert (found.identifier, found.user) == (0, [])


def test_options_of_5_0() -> None:
    [first, second] = parse_subscribe(subscribe(1, (b"a", 0x2C | 1), (b"b", 0x10), version=5), 5).subscriptions
    assert (first.qos, first.no_local, first.retain_as_published, first.retain_handling) == (1, True, True, 2)
    assert (second.qos, second.no_local, second.retain_as_published, second.retain_handling) == (0, False, False, 1)


def test_an_identifier_and_user_properties_of_5_0() -> None:
    properties = props(user=[(b"k", b"v")], subscription_id=268_435_455)
    found = parse_subscribe(subscribe(1, b"a", version=5, properties=properties), 5)
    assert (found.identifier, found.user) == (268_435_455, [(b"k", b"v")])


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (props(subscription_id=0), PROTOCOL_ERROR),
        (props(subscription_id=[1, 2]), PROTOCOL_ERROR),
        (props(reason_string=b"x"), MALFORMED_PACKET),
        (b"\x0b\x81\x00", MALFORMED_PACKET),
    ],
)
def test_properties_that_a_subscribe_must_not_have(properties: bytes, reason: int) -> None:
    assert reason_of(subscribe(1, b"a", version=5, properties=properties), 5) == reason


def test_options_that_are_not_allowed() -> None:
    for options in range(256):
        reserved = options & 0xC0
        wrong = options & 3 == 3 or options & 0x30 == 0x30
        frame = subscribe(1, (b"a", options), version=5)
        if reserved:  # [MQTT-3.8.3-5]
            assert reason_of(frame, 5) == MALFORMED_PACKET
        elif wrong:
            assert reason_of(frame, 5) == PROTOCOL_ERROR
        else:
            assert parse_subscribe(frame, 5).subscriptions[0].qos == options & 3
        old = subscribe(1, (b"a", options))
        if options > 2:  # [3.1.1 MQTT-3.8.3-4]
            assert reason_of(old, 4) in {MALFORMED_PACKET, PROTOCOL_ERROR}
        else:
            assert parse_subscribe(old, 4).subscriptions[0].qos == options


def test_a_shared_subscription_has_no_no_local() -> None:
    """[MQTT-3.8.3-4]."""
    assert reason_of(subscribe(1, (b"$share/g/a", 4), version=5), 5) == PROTOCOL_ERROR
    assert parse_subscribe(subscribe(1, (b"$shared/g", 4), version=5), 5).subscriptions[0].no_local


@pytest.mark.parametrize("version", [4, 5])
def test_what_neither_packet_must_be(version: int) -> None:
    assert reason_of(subscribe(0, b"a", version=version), version) == PROTOCOL_ERROR  # [MQTT-2.2.1-3]
    assert reason_of(unsubscribe(0, b"a", version=version), version) == PROTOCOL_ERROR
    assert reason_of(subscribe(1, version=version), version) == PROTOCOL_ERROR  # [MQTT-3.8.3-2]
    assert reason_of(unsubscribe(1, version=version), version) == PROTOCOL_ERROR  # [MQTT-3.10.3-2]
    for wrong in (b"", b"a#", b"\xff", b"a\x00", b"$share/g"):  # [MQTT-3.8.3-1, MQTT-3.10.3-1, MQTT-4.7.3-1]
        assert reason_of(subscribe(1, b"good", wrong, version=version), version) == MALFORMED_PACKET
        assert reason_of(unsubscribe(1, b"good", wrong, version=version), version) == MALFORMED_PACKET
    for first in (0x80, 0x81, 0x83, 0xA0, 0xAF):  # [MQTT-3.8.1-1, MQTT-3.10.1-1]
        body = b"\x00\x01" + (b"\x00" if version == 5 else b"") + text(b"a") + b"\x00"
        assert reason_of(packet(first, body), version) == MALFORMED_PACKET
    whole = subscribe(1, (b"abc", 1), version=version)
    for size in range(len(whole) - 2):
        assert reason_of(packet(0x82, whole[2 : 2 + size]), version) in {MALFORMED_PACKET, PROTOCOL_ERROR}


@pytest.mark.parametrize("version", [4, 5])
def test_filters_to_unsubscribe_come_in_their_order(version: int) -> None:
    assert parse_unsubscribe(unsubscribe(7, b"a/#", b"b", version=version), version) == (7, [b"a/#", b"b"])


def test_user_properties_of_an_unsubscribe_are_passed_over() -> None:
    good = unsubscribe(7, b"a", version=5, properties=props(user=[(b"k", b"v")]))
    assert parse_unsubscribe(good, 5) == (7, [b"a"])
    assert reason_of(unsubscribe(7, b"a", version=5, properties=props(subscription_id=1)), 5) == MALFORMED_PACKET


def test_a_suback_has_a_code_for_each_filter() -> None:
    """[MQTT-3.8.4-6, MQTT-3.9.3-1]; 3.1.1 has one code for failure [3.1.1 MQTT-3.9.3-2]."""
    codes = [0, 1, 2, NOT_AUTHORIZED]
    [new] = seen(suback(5, 0x1234, codes, b"why"), 5)
    assert (new.kind, new.packet_id, new.codes) == ("SUBACK", 0x1234, codes)
    assert new.properties == {"reason_string": b"why"}
    assert suback(5, 1, [2]) == b"\x90\x04\x00\x01\x00\x02"
    assert suback(4, 1, codes) == b"\x90\x06\x00\x01\x00\x01\x02\x80"


def test_an_unsuback_has_codes_in_5_0_only() -> None:
    """[MQTT-3.11.3-1]."""
    assert unsuback(5, 1, [0, 0x11]) == b"\xb0\x05\x00\x01\x00\x00\x11"
    assert unsuback(4, 1, [0, 0x11]) == b"\xb0\x02\x00\x01"
    assert len(suback(4, 1, [0] * 200)) == 3 + 2 + 200
