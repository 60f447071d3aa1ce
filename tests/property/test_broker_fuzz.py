"""Fuzzed packets: whatever one client sends costs that client its connection at most, and nobody else anything.

Packets with wills and properties, to a broker alone and to one with a group behind it, plain and in WebSocket frames.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import broker_packets as packets
from tests.broker_packets import PROPERTIES, props
from tests.broker_world import Client, World
from tests.nodes_world import Street
from websockets.frames import Frame, Opcode

from roost.broker.settings import DISK, BrokerSettings
from roost.host.mqtt.websocket import WebSocket
from roost.machine import Rejected

SETTINGS = BrokerSettings(persistent=True, durability=DISK, max_packet_bytes=4096)

topics = st.sampled_from(
    [
        b"a",
        b"a/b",
        b"$SYS/x",
        b"a//",
        b"+",
        b"#",
        b"$share/g/a",
        b"$since/1h/a",
        b"$since/1/#",
        b"$since/x",
        b"\xff",
        b"",
    ]
)
numbers = st.integers(0, 70_000).map(lambda number: number % 65_536)
pasts = st.tuples(st.just(b"since"), st.sampled_from([b"1", b"0", b"1h", b"-1h", b"2020-01-01", b"9" * 400, b"x", b""]))
values = {
    "1": st.sampled_from([0, 1, 2, 255]),
    "2": numbers,
    "4": st.sampled_from([0, 1, 5, 100, 1 << 31, (1 << 32) - 1]),
    "v": st.sampled_from([0, 1, 127, 128, 268_435_455, 1 << 28]),
    "s": topics,
    "b": st.binary(max_size=20),
    "p": pasts | st.tuples(topics, topics),
}


@st.composite
def properties(draw: st.DrawFn) -> bytes:
    """Some properties, that belong to the packet or do not."""
    names = draw(st.lists(st.sampled_from(sorted(PROPERTIES)) | st.just("user"), max_size=4))
    return b"".join(props(**{name: draw(values[PROPERTIES[name][1]])}) for name in names)


@st.composite
def connects(draw: st.DrawFn, version: int) -> bytes:
    """A CONNECT, with a will or without."""
    has_will = draw(st.booleans())
    return packets.connect(
        b"fuzz",
        version=version,
        clean=draw(st.booleans()),
        properties=draw(properties()),
        will=draw(topics) if has_will else None,
        will_payload=draw(st.binary(max_size=20)),
        will_qos=draw(st.integers(0, 3)) if has_will else 0,
        will_retain=draw(st.booleans()) if has_will else False,
        will_properties=draw(properties()),
    )


@st.composite
def wholes(draw: st.DrawFn, version: int) -> bytes:
    """A packet that is right, or nearly so."""
    kind = draw(st.integers(0, 9))
    packet_id = draw(numbers)
    if kind == 0:
        return draw(connects(version))
    more = draw(properties())
    if kind in {1, 2}:
        return packets.publish(
            draw(topics),
            draw(st.binary(max_size=40)),
            version=version,
            qos=draw(st.integers(0, 2)),
            packet_id=packet_id,
            retain=draw(st.booleans()),
            properties=more,
        )
    if kind == 3:
        filter_ = draw(topics), draw(st.integers(0, 3) | st.integers(0, 255))
        return packets.subscribe(packet_id, filter_, version=version, properties=more)
    if kind == 4:
        return packets.unsubscribe(packet_id, draw(topics), version=version, properties=more)
    if kind == 5:
        return draw(st.sampled_from([packets.puback, packets.pubrec, packets.pubrel, packets.pubcomp]))(packet_id)
    if kind == 6:
        return packets.pingreq()
    if kind == 7:
        reason = draw(st.sampled_from([None, 0, 4, 0x80, 0x99]))
        return packets.disconnect(reason, None if reason is None or version < 5 else more)
    if kind == 8:
        return packets.auth()
    return draw(st.binary(min_size=1, max_size=60))


@st.composite
def streams(draw: st.DrawFn) -> tuple[int, list[bytes]]:
    """What a client sends: packets with some bytes changed, cut into pieces anywhere."""
    version = draw(st.sampled_from([4, 5]))
    data = bytearray(b"".join(draw(st.lists(wholes(version), max_size=8))))
    for _ in range(draw(st.integers(0, 3)) if data else 0):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    return version, [bytes(data[low:high]) for low, high in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def meet(version: int, world: World, opening: bytes, *, greeted: bool) -> tuple[Client, Client]:
    """One who watches, and one who misbehaves: a client already, or with a CONNECT that may be none."""
    good = world.connect(b"good", version=5)
    good.subscribe((b"hall/watched", 1))
    bad = world.connect(b"bad", version=version) if greeted else world.open(version)
    if not greeted and opening:
        bad.send(opening)
    return good, bad


def misbehave(bad: Client, pieces: list[bytes]) -> None:
    for piece in pieces:
        if not bad.closed and piece:
            bad.send(piece)


openings = st.just(b"") | st.sampled_from([4, 5]).flatmap(connects)


@settings(max_examples=200, deadline=None)
@given(streams(), openings, st.booleans())
def test_a_client_that_sends_anything_hurts_nobody_else(
    stream: tuple[int, list[bytes]], opening: bytes, greeted: bool
) -> None:
    version, pieces = stream
    world = World(SETTINGS)
    good, bad = meet(version, world, opening, greeted=greeted)
    misbehave(bad, pieces)
    good.seen()
    good.publish(b"hall/watched", b"still here", qos=1, packet_id=7)
    assert {packet.kind for packet in good.seen()} == {"PUBLISH", "PUBACK"}
    assert not good.closed
    world.wait(30)
    world.crash()
    assert world.connect(b"other", version=4).closed is False


@settings(max_examples=100, deadline=None)
@given(streams(), openings, st.booleans())
def test_nor_does_it_with_a_group_behind_the_broker(
    stream: tuple[int, list[bytes]], opening: bytes, greeted: bool
) -> None:
    version, pieces = stream
    street = Street(1, count=1)
    (node,) = street.nodes
    good, bad = meet(version, node, opening, greeted=greeted)
    good.publish(b"a/b", b"a past", qos=1, packet_id=6)
    through(street)
    for piece in pieces:
        misbehave(bad, [piece])
        through(street)
    bad.vanish()
    through(street)
    good.seen()
    good.publish(b"hall/watched", b"still here", qos=1, packet_id=7)
    through(street)
    assert {packet.kind for packet in good.seen()} == {"PUBLISH", "PUBACK"}
    assert not good.closed
    street.wait(30)
    through(street)
    node.die()
    node.rise()
    through(street)
    past = node.connect(b"later", version=5)
    past.subscribe((b"$since/1/hall/#", 1))
    through(street)
    assert b"still here" in past.payloads()


def through(street: Street) -> None:
    """Have all that is to be inserted come out again."""
    while street.step():
        pass


REQUEST = (
    b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: mqtt\r\n"
)
lines = st.sampled_from(
    [
        b"Host: a",
        b"Host: [",
        b"Origin: http://[",
        b"Origin: null",
        b"X-Forwarded-For: ,",
        b"X-Forwarded-For: ::1%",
        b"Via:",
    ]
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[int, list[bytes]]:
    """A request and frames with packets in them, some bytes of them changed, cut anywhere."""
    version, pieces = draw(streams())
    heads = draw(st.lists(lines, max_size=4))
    data = bytearray(REQUEST + b"".join(head + b"\r\n" for head in heads) + b"\r\n")
    for piece in [draw(connects(version)), *pieces]:
        opcode = draw(st.sampled_from([Opcode.BINARY, Opcode.BINARY, Opcode.BINARY, *Opcode]))
        is_control = opcode not in {Opcode.CONT, Opcode.TEXT, Opcode.BINARY}
        frame = Frame(opcode, piece[:125] if is_control else piece, fin=is_control or draw(st.booleans()))
        data += frame.serialize(mask=draw(st.integers(0, 9)) > 0)
    for _ in range(draw(st.integers(0, 3))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    return version, [bytes(data[low:high]) for low, high in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@settings(max_examples=200, deadline=None)
@given(conversations())
def test_nor_does_it_in_frames_of_websocket(conversation: tuple[int, list[bytes]]) -> None:
    version, pieces = conversation
    world = World(SETTINGS)
    good, bad = meet(version, world, b"", greeted=False)
    pipe = WebSocket(8192)
    for piece in pieces:
        if pipe.ended:
            break
        assert pipe.held_bytes <= 8192 + 14, "a frame, and its head"
        plain, _ = pipe.feed(piece)
        misbehave(bad, [plain])
        pipe.wrap(bad.arrived)
        bad.arrived = b""
    pipe.farewell()
    good.seen()
    good.publish(b"hall/watched", b"still here", qos=1, packet_id=7)
    assert {packet.kind for packet in good.seen()} == {"PUBLISH", "PUBACK"}
    assert not good.closed


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=1, max_size=200))
def test_a_stranger_that_speaks_something_else_is_cut_off_and_counted(data: bytes) -> None:
    world = World(SETTINGS)
    stranger = world.open(4)
    stranger.send(data)
    world.wait(60)
    assert stranger.closed
    assert world.broker.statistics().connected == 0


def test_a_refusal_names_the_peer_and_shows_what_it_sent() -> None:
    world = World(SETTINGS)
    stranger = world.open(4)
    refusals = [
        effect
        for effect in world.broker.receive([(stranger.link, b"GET / HTTP/1.1\r\n" * 6)], world.now)
        if isinstance(effect, Rejected)
    ]
    assert [(refusal.source, refusal.sample[:3]) for refusal in refusals] == [("127.0.0.1", b"GET")]
