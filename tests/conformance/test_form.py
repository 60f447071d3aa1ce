"""The form of packets: fixed headers, lengths, identifiers, and a stream of bytes without seams [MQTT 5.0 §2]."""

from typing import Final

import pytest
from tests.broker_packets import (
    auth,
    connect,
    disconnect,
    packet,
    pingreq,
    puback,
    pubcomp,
    publish,
    pubrec,
    pubrel,
    subscribe,
    text,
    unsubscribe,
)
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only

FLAGS: Final = {"PUBREL": 2, "SUBSCRIBE": 2, "UNSUBSCRIBE": 2}


def _of(kind: str, version: int) -> bytes:
    return {
        "PUBACK": puback(1),
        "PUBREC": pubrec(1),
        "PUBREL": pubrel(1),
        "PUBCOMP": pubcomp(1),
        "SUBSCRIBE": subscribe(1, b"a", version=version),
        "UNSUBSCRIBE": unsubscribe(1, b"a", version=version),
        "PINGREQ": pingreq(),
        "DISCONNECT": disconnect(),
        "AUTH": auth(0x19, auth_method=b"m"),
    }[kind]


@clauses(
    v4="2.2.2-1 2.2.2-2 3.6.1-1 3.8.1-1 3.10.1-1 3.14.1-1",
    v5="2.1.3-1 3.6.1-1 3.8.1-1 3.10.1-1 3.14.1-1 4.13.1-1",
)
@pytest.mark.parametrize(
    "kind", ["PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "UNSUBSCRIBE", "PINGREQ", "DISCONNECT"]
)
def test_wrong_flags_end_the_link(version: int, kind: str) -> None:
    good = _of(kind, version)
    for flags in set(range(16)) - {FLAGS.get(kind, 0)}:
        client = World().client(b"c", version)
        ended(client, client.say(bytes([good[0] & 0xF0 | flags]) + good[1:]), 0x81)


@clauses(v5="2.1.3-1 3.15.1-1")
def test_wrong_flags_of_auth_end_the_link(version: int) -> None:
    good = auth(0x19, auth_method=b"m")
    for flags in range(1, 16):
        client = World().authenticating_client(b"c", b"m")
        assert client.version == version
        ended(client, client.say(bytes([0xF0 | flags]) + good[1:]), 0x81)


@clauses(v4="2.2.2-1 2.2.2-2 3.1.4-1", v5="2.1.3-1 3.1.4-1")
def test_wrong_flags_of_connect_are_refused(version: int) -> None:
    good = connect(b"c", version=version)
    for flags in range(1, 16):
        World().link(version).is_refused(bytes([0x10 | flags]) + good[1:], 0x81)


@clauses(v4="4.8.0-1", v5="4.13.1-1")
@pytest.mark.parametrize("kind", [0, 2, 9, 11, 13])
def test_packets_that_no_client_sends_end_the_link(version: int, kind: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(packet(kind << 4, b"\x00\x01\x00")), 0x81, 0x82)


@clauses(v4="2.2.2-2 4.8.0-1")
def test_auth_does_not_exist_in_3_1_1(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(auth(0x19, auth_method=b"m")))


@clauses(v5="1.5.5-1 4.13.1-1")
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(b"\xc0\x80\x00", id="remaining length of nothing"),
        pytest.param(b"\x30\x85\x00\x00\x01t\x00x", id="remaining length"),
        pytest.param(b"\x30\x05\x00\x01t\x80\x00", id="length of properties"),
        pytest.param(b"\x82\x0a\x00\x01\x03\x0b\x81\x00\x00\x01t\x00", id="subscription identifier"),
    ],
)
def test_a_number_in_more_bytes_than_it_needs_ends_the_link(version: int, wrong: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(wrong), 0x81)


@clauses(v4="4.8.0-1", v5="1.5.5-1 4.13.1-1")
def test_a_remaining_length_of_five_bytes_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(b"\x30\xff\xff\xff\xff\x01"), 0x81, 0x95)


@clauses(v4="2.3.1-1", v5="2.2.1-3")
def test_packet_identifier_zero_ends_the_link(version: int) -> None:
    for wrong in (
        publish(b"t", qos=1, packet_id=0, version=version),
        publish(b"t", qos=2, packet_id=0, version=version),
        subscribe(0, b"t", version=version),
        unsubscribe(0, b"t", version=version),
    ):
        client = World().client(b"c", version)
        ended(client, client.say(wrong), 0x81, 0x82)


@clauses(v4="2.3.1-5 4.3.1-1 3.3.1-2", v5="2.2.1-2 2.2.2-1 4.3.1-1 3.3.1-2")
@pytest.mark.parametrize("granted", [0, 1])
def test_a_message_of_qos_0_goes_out_byte_for_byte_without_identifier(version: int, granted: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", granted))
    world.client(b"c", version).publish(b"t", b"xy")
    no_properties = b"\x00" if version == 5 else b""
    body = text(b"t") + no_properties + b"xy"
    assert only(watcher.hear(), "PUBLISH").raw == bytes([0x30, len(body)]) + body


@clauses(v5="2.2.2-1")
def test_packets_without_properties_have_a_length_of_zero(version: int) -> None:
    world = World()
    client = world.client(b"c", version)
    assert only(client.say(subscribe(7, (b"t", 1), version=version)), "SUBACK").raw == b"\x90\x04\x00\x07\x00\x01"
    messages = client.say(publish(b"t", b"x", qos=1, packet_id=3, version=version))
    assert [each.raw[5:] for each in messages if each.kind == "PUBLISH"] == [b"\x00\x01\x00x"]
    assert only(client.say(unsubscribe(8, b"t", version=version)), "UNSUBACK").raw == b"\xb0\x04\x00\x08\x00\x00"


@clauses(v4="7.1.1-1", v5="4.2.0-1")
def test_the_bytes_may_come_in_any_pieces(version: int) -> None:
    stream = b"".join(
        (
            connect(b"c", version=version),
            subscribe(1, (b"t", 2), version=version),
            publish(b"t", b"0", version=version),
            publish(b"t", b"1", qos=1, packet_id=2, version=version),
            publish(b"t", b"2", qos=2, packet_id=3, version=version),
            pubrel(3),
            pingreq(),
            unsubscribe(4, b"t", version=version),
            disconnect(),
        )
    )
    whole = World().link(version)
    answer = whole.say(stream)
    assert [each.kind for each in answer if each.kind != "PUBLISH"] == [
        "CONNACK", "SUBACK", "PUBACK", "PUBREC", "PUBCOMP", "PINGRESP", "UNSUBACK",
    ]  # fmt: skip
    assert [each.payload for each in answer if each.kind == "PUBLISH"] == [b"0", b"1", b"2"]
    for size in (1, 2, 7):
        pieces = World().link(version)
        pieces.say_each(stream[at : at + size] for at in range(0, len(stream), size))
        assert pieces.heard == answer
        assert pieces.closed
        assert whole.closed


@clauses(v4="7.0.0-2")
def test_plain_packets_of_the_specification_are_enough(version: int) -> None:
    """Literal bytes, nothing built by anybody's library."""
    link = World().link(version)
    assert link.say_raw(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01c") == b"\x20\x02\x00\x00"
    assert link.say_raw(b"\x82\x06\x00\x01\x00\x01t\x01") == b"\x90\x03\x00\x01\x01"
    assert link.say_raw(b"\x32\x06\x00\x01t\x00\x05x") in {
        b"\x40\x02\x00\x05\x32\x06\x00\x01t\x00\x01x",
        b"\x32\x06\x00\x01t\x00\x01x\x40\x02\x00\x05",
    }
    assert link.say_raw(b"\x40\x02\x00\x01") == b""
    assert link.say_raw(b"\xa2\x05\x00\x02\x00\x01t") == b"\xb0\x02\x00\x02"
    assert link.say_raw(b"\xc0\x00") == b"\xd0\x00"
    assert link.say_raw(b"\xe0\x00") == b""
    assert link.closed


@clauses(v4="2.3.1-4 4.3.2-1", v5="2.2.1-4 4.3.2-1 4.3.3-1")
def test_an_identifier_that_is_in_use_is_not_given_to_another_message(version: int) -> None:
    """The 65,535 identifiers end and begin again while the first message is still unacknowledged."""
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", 2))
    client = world.client(b"c", version)
    client.publish(b"t", b"first", qos=2, packet_id=1)
    first = only(watcher.hear(), "PUBLISH").packet_id
    world.broker.core.sessions[b"watcher"].next_number = 65_530  # as if so many messages had been delivered since
    for number in range(2, 22):
        client.publish(b"t", b"%d" % number, qos=1, packet_id=number)
    before = watcher.hear()
    assert before
    assert not {0, first} & {each.packet_id for each in before}
    assert watcher.say(*(puback(each.packet_id) for each in before)) == []
    after = watcher.say(pubrec(first), pubcomp(first))
    assert after.pop(0).kind == "PUBREL"
    assert [each.payload for each in before + after] == [b"%d" % number for number in range(2, 22)]
    assert 0 not in {each.packet_id for each in after}
