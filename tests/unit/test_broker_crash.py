"""A crash at any point: no acknowledged message is lost, and QoS 2 arrives exactly once.

Two clients that keep to the protocol, one publishing and one subscribed, talk through a broker whose disk answers late.
The broker is killed before each of its effects in turn, with and without what the disk had not answered yet; the
clients come back and go on until everything is through.
"""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_world import Client, World

from roost.broker.settings import DISK, BrokerSettings
from roost.machine import Effect

SETTINGS = BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0)
MIXED = [(b"m%d" % number, 1 + number % 2) for number in range(6)]
ONCE = [(b"m%d" % number, 2) for number in range(4)]
MAX_STEPS = 200


class Killed(Exception):
    pass


class Actor:
    """A client that keeps to the protocol: what it has to remember across connections, and nothing else."""

    def __init__(self, world: World, name: bytes, version: int, *, clean: bool = False) -> None:
        self.world = world
        self.name = name
        self.version = version
        self.clean = clean
        self.client: Client | None = None
        self.publishing: dict[int, tuple[bytes, int]] = {}  # not acknowledged
        self.releasing: set[int] = set()  # PUBREC came, PUBCOMP did not
        self.receiving: set[int] = set()  # PUBREC went, PUBREL did not come
        self.got: list[bytes] = []
        self.subscribed = False
        self.connected = False

    def come(self) -> None:
        """Connect, and say again what was not answered, in its order."""
        self.connected = False
        self.client = self.world.open(self.version)
        expires = self.version == 5 and not self.clean
        properties = packets.props(session_expiry=1000) if expires else b""
        self.client.send(packets.connect(self.name, version=self.version, clean=self.clean, properties=properties))

    def listen(self) -> None:
        """Be there, and subscribed."""
        if self.client is None:
            self.come()
        self.step()
        if not self.subscribed:
            assert self.client is not None
            self.client.send(packets.subscribe(1, (b"hall/#", 2), version=self.version))
            self.world.write()
            self.step()

    def publish(self, payload: bytes, qos: int) -> None:
        packet_id = 1
        while packet_id in self.publishing or packet_id in self.releasing:  # used again as soon as it may be
            packet_id += 1
        self.publishing[packet_id] = (payload, qos)
        self._say(packet_id, dup=False)

    def _say(self, packet_id: int, *, dup: bool) -> None:
        assert self.client is not None
        payload, qos = self.publishing[packet_id]
        self.client.publish(b"hall/temp", payload, qos=qos, packet_id=packet_id, dup=dup)

    def step(self) -> None:
        assert self.client is not None
        for packet in self.client.seen():
            self._take(self.client, packet)

    def _take(self, client: Client, packet: packets.Seen) -> None:
        if packet.kind == "CONNACK":
            self._connected(client, present=packet.session_present)
        elif packet.kind == "SUBACK":
            self.subscribed = True
        elif packet.kind == "PUBLISH":
            if packet.qos == 1:
                self.got.append(packet.payload)
                client.send(packets.puback(packet.packet_id))
            else:
                if packet.packet_id not in self.receiving:
                    self.receiving.add(packet.packet_id)
                    self.got.append(packet.payload)
                client.send(packets.pubrec(packet.packet_id))
        elif packet.kind == "PUBREL":
            self.receiving.discard(packet.packet_id)
            client.send(packets.pubcomp(packet.packet_id))
        elif packet.kind == "PUBREC":
            del self.publishing[packet.packet_id]
            self.releasing.add(packet.packet_id)
            client.send(packets.pubrel(packet.packet_id))
        elif packet.kind == "PUBCOMP":
            self.releasing.discard(packet.packet_id)
        elif packet.kind == "PUBACK":
            del self.publishing[packet.packet_id]

    def _connected(self, client: Client, *, present: bool) -> None:
        self.connected = True
        if not present:
            self.receiving.clear()
            self.subscribed = False
        for packet_id in sorted(self.releasing):
            client.send(packets.pubrel(packet_id))
        for packet_id in list(self.publishing):
            self._say(packet_id, dup=True)


def play(messages: list[tuple[bytes, int]], version: int, kill_at: list[int], ahead: int) -> tuple[World, Actor, int]:
    """Bring all messages through, with a crash before each of the numbered effects; returns how many there were.

    Bob's session survives. Eve has none that could, but she is always there first, and sees no message of QoS 2 twice.
    """
    world = World(SETTINGS, late_disk=True)
    count = 0

    def watch(_: Effect) -> None:
        nonlocal count
        count += 1
        if count in kill_at:
            raise Killed

    ann, bob, eve = Actor(world, b"ann", version), Actor(world, b"bob", version), Actor(world, b"eve", 9 - version)
    eve.clean = True
    todo = list(messages)
    world.on_effect = watch
    for _ in range(MAX_STEPS):
        try:
            eve.listen()
            bob.listen()
            if ann.client is None:
                ann.come()
            ann.step()
            if todo and bob.subscribed and ann.connected:
                payload, qos = todo.pop(0)
                ann.publish(payload, qos)
            world.write(1)
            if not todo and not ann.publishing and not ann.releasing and not bob.receiving and not world.disk.pending:
                break
        except Killed:
            ann.client = bob.client = eve.client = None
            eve.subscribed = False
            crash(world, ahead)
    else:
        raise AssertionError(f"not through: {ann.publishing} {ann.releasing} {bob.receiving} {bob.got}")
    for payload, qos in messages:
        times = bob.got.count(payload)
        assert times >= 1, f"{payload!r} is lost: {bob.got}"
        assert qos == 1 or times == 1, f"{payload!r} came {times} times: {bob.got}"
        assert qos == 1 or eve.got.count(payload) <= 1, f"{payload!r} came too often: {eve.got}"
    return world, bob, count


def crash(world: World, ahead: int) -> None:
    """Kill the broker, and once more if it dies while it starts."""
    while True:
        try:
            world.crash(ahead)
        except Killed:
            continue
        return


@pytest.mark.parametrize("messages", [MIXED, ONCE], ids=["mixed", "once"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("ahead", [0, 1000])
def test_a_crash_before_any_effect_loses_nothing_and_repeats_no_qos_2(
    messages: list[tuple[bytes, int]], version: int, ahead: int
) -> None:
    _, bob, count = play(messages, version, [], 0)
    assert bob.got == [payload for payload, _ in messages]
    assert count > 30
    for kill_at in range(1, count + 1):
        play(messages, version, [kill_at], ahead)


@pytest.mark.parametrize("distance", [1, 3, 8])
def test_two_crashes_lose_nothing_and_repeat_no_qos_2(distance: int) -> None:
    for kill_at in range(1, 60):
        play(MIXED, 5, [kill_at, kill_at + distance], kill_at % 3)


def test_nothing_is_left_on_the_disk_when_everything_is_through() -> None:
    world, _, _ = play(MIXED, 5, [], 0)
    world.write()
    assert sorted(key[:1] for key in world.disk.rows) == [b"f", b"s", b"s"]
    assert world.broker.core.total_bytes == 0
