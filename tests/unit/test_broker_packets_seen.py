"""The reader of what a server sends finds what a server must not send."""

from __future__ import annotations

import pytest
from tests.broker_packets import connect, packet, props, publish, seen, text


def test_several_packets_are_read_one_by_one() -> None:
    found = seen(b"\x20\x02\x01\x00" + publish(b"a", b"x", qos=1, packet_id=2) + b"\xd0\x00")
    assert [each.kind for each in found] == ["CONNACK", "PUBLISH", "PINGRESP"]
    assert found[0].session_present
    assert (found[1].topic, found[1].payload, found[1].packet_id) == (b"a", b"x", 2)


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x20\x03\x01\x87\x00",  # a refusal with a session
        b"\x20\x03\x02\x00\x00",
        b"\x20\x03\x00\x8b\x00",  # no reason of a CONNACK
        b"\x20\x04\x00\x00\x00\x00",
        b"\x20\x03\x00\x00",
        b"\xd0\x80\x00",
        b"\xd1\x00",
        b"\x40\x02\x00\x00",
        b"\x40\x03\x00\x01\x92",
        b"\x60\x02\x00\x01",
        b"\x90\x04\x00\x01\x00\x03",
        b"\xe0\x01\x04",
        connect(version=5),
        publish(b"a/#", version=5),
        publish(b"", version=5),
        publish(b"\xff", version=5),
        publish(b"a", dup=True, version=5),
        publish(b"a", qos=3, packet_id=1, version=5),
        publish(b"a", qos=1, packet_id=0, version=5),
        publish(b"a", version=5, properties=props(will_delay=1)),
        publish(b"a", version=5, properties=props(expiry=[1, 1])),
        publish(b"a", version=5, properties=props(subscription_id=0)),
        packet(0x30, text(b"a") + b"\x05"),
    ],
)
def test_what_a_server_must_not_send(wrong: bytes) -> None:
    with pytest.raises((AssertionError, UnicodeDecodeError)):
        seen(wrong, 5)


def test_what_only_a_server_of_5_0_sends() -> None:
    for wrong in (b"\xe0\x00", b"\xf0\x00", b"\x40\x03\x00\x01\x00", b"\x90\x03\x00\x01\x87", b"\x20\x02\x00\x87"):
        with pytest.raises(AssertionError):
            seen(wrong, 4)
