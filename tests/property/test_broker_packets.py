"""MQTT packets under Hypothesis: any bytes, any pieces, and every message there and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from tests.broker_packets import PROPERTIES, connect, packet, props, publish, pubrel, seen, subscribe, text, unsubscribe

from roost.broker.packets.acks import parse_ack
from roost.broker.packets.auth import parse_auth
from roost.broker.packets.connect import parse_connect
from roost.broker.packets.disconnect import parse_disconnect
from roost.broker.packets.fields import check_filter, check_topic
from roost.broker.packets.framing import MAX_VAR_INT, Framer, read_var_int, var_int
from roost.broker.packets.ping import parse_pingreq
from roost.broker.packets.publish import parse_publish, publish_v5
from roost.broker.packets.reasons import Malformed
from roost.broker.packets.subscribe import parse_subscribe
from roost.broker.packets.unsubscribe import parse_unsubscribe

Parser = Callable[[bytes, int], object]


PARSERS: dict[int, Parser] = {
    1: lambda frame, _: parse_connect(frame),
    3: parse_publish,
    4: parse_ack,
    5: parse_ack,
    6: parse_ack,
    7: parse_ack,
    8: parse_subscribe,
    10: parse_unsubscribe,
    12: lambda frame, _: parse_pingreq(frame),
    14: parse_disconnect,
    15: parse_auth,
}
VALUES = {
    "1": st.integers(0, 3),
    "2": st.integers(0, 65_535),
    "4": st.integers(0, 2**32 - 1),
    "v": st.integers(0, MAX_VAR_INT),
    "s": st.binary(max_size=4),
    "b": st.binary(max_size=4),
    "p": st.tuples(st.binary(max_size=3), st.binary(max_size=3)),
}
PROPERTY = st.sampled_from(sorted(PROPERTIES)).flatmap(
    lambda name: VALUES[PROPERTIES[name][1]].map(lambda value: props(**{name: value}))
)
SOME_PROPERTIES = st.lists(PROPERTY, max_size=4).map(b"".join)
WORDS = st.binary(max_size=5)
VERSIONS = st.sampled_from([4, 5])


@st.composite
def almost_right(draw: st.DrawFn) -> bytes:
    """A packet of a client which may be right, with a byte changed, put in or taken out now and then."""
    version = draw(VERSIONS)
    properties = draw(SOME_PROPERTIES)
    made = draw(
        st.sampled_from([
            connect(draw(WORDS), version=version, user=draw(st.none() | WORDS), will=draw(st.none() | WORDS),
                    will_properties=properties, properties=draw(SOME_PROPERTIES)),
            publish(draw(WORDS), draw(WORDS), qos=draw(st.integers(0, 3)), packet_id=1, version=version,
                    properties=properties),
            pubrel(draw(st.integers(0, 2)), draw(st.none() | st.integers(0, 255)), draw(st.none() | SOME_PROPERTIES)),
            subscribe(1, (draw(WORDS), draw(st.integers(0, 255))), version=version, properties=properties),
            unsubscribe(1, draw(WORDS), version=version, properties=properties),
            packet(0xE0, b"\x00" + bytes([len(properties) & 127]) + properties),
            packet(0xF0, b"\x18" + bytes([len(properties) & 127]) + properties),
        ])
    )  # fmt: skip
    at = draw(st.integers(0, len(made) - 1))
    return made[:at] + draw(st.binary(max_size=2)) + made[at + draw(st.integers(0, 1)) :]


def _parsed_or_malformed(frame: bytes, version: int) -> None:
    parser = PARSERS.get(frame[0] >> 4)
    if parser is None:
        return
    reason = 0x80
    try:
        parser(frame, version)
    except Malformed as error:
        reason = error.reason
    assert 0x80 <= reason <= 0xA2


@given(kind=st.sampled_from(sorted(PARSERS)), flags=st.integers(0, 15), body=st.binary(max_size=40), version=VERSIONS)
def test_any_body_is_read_or_malformed(kind: int, flags: int, body: bytes, version: int) -> None:
    _parsed_or_malformed(packet(kind << 4 | flags, body), version)


@given(data=almost_right(), version=VERSIONS)
@example(data=b"\x30\x03\x00\x01a", version=5)
@example(data=b"\x10\x04\x00\x02\xff\xfe", version=5)
def test_what_is_almost_right_is_read_or_malformed(data: bytes, version: int) -> None:
    for frame in Framer(1000).feed(data):
        _parsed_or_malformed(frame, version)


@given(
    data=st.one_of(st.binary(max_size=60), st.lists(st.binary(max_size=200), max_size=5).map(
        lambda bodies: b"".join(packet(0x30, body) for body in bodies) + b"\x30\x05ab")),
    cuts=st.lists(st.integers(0, 1000), max_size=8),
    max_bytes=st.sampled_from([8, 64, 1000]),
)  # fmt: skip
def test_how_a_stream_is_cut_does_not_matter(data: bytes, cuts: list[int], max_bytes: int) -> None:
    whole, pieces = Framer(max_bytes), Framer(max_bytes)
    expected = whole.feed(data)
    borders = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    found: list[bytes] = []
    for low, high in pairwise(borders):
        found += pieces.feed(data[low:high])
        assert pieces.held <= max_bytes
    assert found == expected
    assert (pieces.error, pieces.held) == (whole.error, whole.held)
    if not whole.error:
        assert sum(map(len, found)) + whole.held == len(data)
        assert data.startswith(b"".join(found))


@given(number=st.integers(0, MAX_VAR_INT))
def test_every_number_comes_back(number: int) -> None:
    wire = var_int(number)
    assert read_var_int(wire, 0, len(wire)) == (number, len(wire))


@given(
    topic=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00+#"), min_size=1, max_size=80),
    payload=st.binary(max_size=200),
    qos=st.integers(0, 2),
    retain=st.booleans(),
    user=st.lists(st.tuples(st.text("ab", max_size=60), st.text("ab", max_size=60)), max_size=3),
    expiry=st.none() | st.integers(0, 2**32 - 1),
)
def test_a_message_that_is_passed_on_is_the_message_that_came(
    topic: str, payload: bytes, qos: int, retain: bool, user: list[tuple[str, str]], expiry: int | None
) -> None:
    pairs = [(key.encode(), value.encode()) for key, value in user]
    properties = props(user=pairs) + (b"" if expiry is None else props(expiry=expiry)) + props(correlation=payload)
    frame = publish(topic.encode(), payload, qos=qos, packet_id=9, retain=retain, version=5, properties=properties)
    came = parse_publish(frame, 5)
    check_topic(came.topic)
    assert came.expiry_s == (-1 if expiry is None else expiry)
    [went] = seen(
        publish_v5(came.topic, frame[came.payload_at :], qos, came.retain, False, came.packet_id, came.kept), 5
    )
    assert (went.topic, went.payload, went.qos, went.retain) == (topic.encode(), payload, qos, retain)
    assert (went.properties.get("user", []), went.properties["correlation"]) == (pairs, payload)


@given(string=st.binary(max_size=6) | st.text("a+#/$", max_size=8).map(str.encode))
def test_a_topic_is_a_filter_without_wildcards(string: bytes) -> None:
    """What may be published on may be subscribed to, unless it begins as a shared subscription does."""
    try:
        check_topic(string)
    except Malformed:
        return
    check_filter(string)
    assert parse_subscribe(packet(0x82, b"\x00\x01" + text(string) + b"\x00"), 4).subscriptions[0].filter == string
