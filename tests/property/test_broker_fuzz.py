"""Fuzzed packets: whatever one client sends costs that client its connection at most, and nobody else anything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import broker_packets as packets
from tests.broker_world import World

from roost.broker.settings import DISK, BrokerSettings
from roost.machine import Rejected

SETTINGS = BrokerSettings(persistent=True, durability=DISK, max_packet_bytes=4096)

topics = st.sampled_from([b"a", b"a/b", b"$SYS/x", b"a//", b"+", b"$share/g/a", b"$since/1h/a", b"\xff", b""])
numbers = st.integers(0, 70_000).map(lambda number: number % 65_536)


@st.composite
def wholes(draw: st.DrawFn, version: int) -> bytes:
    """A packet that is right, or nearly so."""
    kind = draw(st.integers(0, 9))
    packet_id = draw(numbers)
    if kind == 0:
        return packets.connect(b"fuzz", version=version)
    if kind in {1, 2}:
        payload = draw(st.binary(max_size=40))
        qos, retain = draw(st.integers(0, 2)), draw(st.booleans())
        return packets.publish(draw(topics), payload, version=version, qos=qos, packet_id=packet_id, retain=retain)
    if kind == 3:
        return packets.subscribe(packet_id, (draw(topics), draw(st.integers(0, 3))), version=version)
    if kind == 4:
        return packets.unsubscribe(packet_id, draw(topics), version=version)
    if kind == 5:
        return draw(st.sampled_from([packets.puback, packets.pubrec, packets.pubrel, packets.pubcomp]))(packet_id)
    if kind == 6:
        return packets.pingreq()
    if kind == 7:
        return packets.disconnect()
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


@settings(max_examples=200, deadline=None)
@given(streams(), st.booleans())
def test_a_client_that_sends_anything_hurts_nobody_else(stream: tuple[int, list[bytes]], greeted: bool) -> None:
    version, pieces = stream
    world = World(SETTINGS)
    good = world.connect(b"good", version=5)
    good.subscribe((b"watched", 1))
    bad = world.connect(b"bad", version=version) if greeted else world.open(version)
    for piece in pieces:
        if not bad.closed:
            bad.send(piece)
    good.seen()
    good.publish(b"watched", b"still here", qos=1, packet_id=7)
    assert {packet.kind for packet in good.seen()} == {"PUBLISH", "PUBACK"}
    assert not good.closed
    world.wait(30)
    world.crash()
    assert world.connect(b"other", version=4).closed is False


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
