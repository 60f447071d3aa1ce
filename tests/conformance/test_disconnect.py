"""PINGREQ and DISCONNECT [MQTT 5.0 §3.12, §3.14]."""

import pytest
from tests.broker_packets import connect, disconnect, packet, pingreq, props, publish, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v4="3.12.4-1", v5="3.12.4-1")
def test_every_ping_is_answered(version: int) -> None:
    client = World().client(b"c", version)
    assert [each.raw for each in client.say(pingreq(), pingreq())] == [b"\xd0\x00"] * 2


@clauses(v4="4.8.0-1", v5="4.13.1-1")
def test_a_ping_with_a_body_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(packet(0xC0, b"x")), 0x81)


@clauses(v4="3.14.4-1 3.14.4-2", v5="3.14.4-2")
def test_after_goodbye_the_link_ends_and_nothing_more_is_looked_at(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"t")
    client = world.client(b"c", version)
    assert client.say(disconnect() + publish(b"t", b"x", version=version) + pingreq()) == []
    assert client.closed
    other = world.client(b"other", version)
    assert other.say(disconnect() + connect(b"other", version=version) + pingreq()) == []
    assert other.closed
    assert watcher.hear() == []


@clauses(v4="3.14.1-1", v5="3.14.1-1 4.13.2-1")
def test_a_goodbye_with_wrong_flags_is_none(version: int) -> None:
    """The will tells the difference: it was not withdrawn."""
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"w")
    client = world.client(b"c", version, will=b"w", will_payload=b"gone")
    ended(client, client.say(b"\xe1\x00"), 0x81)
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v5="3.14.2-1")
@pytest.mark.parametrize("reason", [0x01, 0x87, 0x8B, 0x8E, 0xFF])
def test_a_goodbye_with_a_reason_no_client_has_is_a_protocol_error(version: int, reason: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(disconnect(reason)), 0x81, 0x82)


@clauses(v5="3.14.2-1 3.14.2-2 3.14.4-1 3.14.4-2 4.13.2-1")
@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (b"\xc1\x00", 0x81),
        (connect(b"c", version=5), 0x82),
        (publish(b"t", version=5, properties=props(topic_alias=0xFFFF)), 0x94),
        (publish(b"", b"x", version=5), 0x82),
        (packet(0x30, b"\x00\x01t\x00" + b"x" * 300), 0x95),
    ],
)
def test_the_server_says_why_sends_nothing_more_and_closes(version: int, wrong: bytes, reason: int) -> None:
    world = World(max_packet_bytes=250)
    client = world.client(b"c", version, properties=props(session_expiry=100))
    client.subscribe((b"t", 1))
    heard = client.say(publish(b"u", version=version) + wrong + pingreq() + subscribe(1, b"v", version=version))
    farewell = only(heard, "DISCONNECT")
    assert farewell.reason == reason
    assert "session_expiry" not in farewell.properties
    assert client.closed
    world.client(b"p", version).publish(b"t", b"x", qos=1, packet_id=1)
    assert client.hear() == []


@clauses(v5="3.14.0-1")
def test_no_disconnect_comes_before_connack(version: int) -> None:
    world = World(connect_timeout_s=5, max_packet_bytes=100)
    for first in (
        pingreq(),
        connect(b"c", version=version, flags=1),
        packet(0x10, b"x" * 200),
        b"\x10\xff\xff\xff\xff\xff",
        packet(0x00, b""),
    ):
        link = world.link(version)
        assert [each.kind for each in link.say(first)] in ([], ["CONNACK"])
        assert link.closed
    silent = world.link(version)
    world.wait(6)
    assert silent.closed
    assert silent.hear() == []


@clauses(v5="3.1.2-23 4.13.1-1")
def test_a_session_that_was_to_end_with_its_link_cannot_be_prolonged_at_goodbye(version: int) -> None:
    client = World().client(b"c", version, properties=props(session_expiry=0))
    ended(client, client.say(disconnect(0, props(session_expiry=10))), 0x82)
