"""Silence is a client's fault only while somebody listens: not in a pause, not with a full buffer, not for the disk."""

from __future__ import annotations

from tests.broker_packets import pingreq, publish
from tests.broker_world import World

from roost.broker.limits import Limits
from roost.broker.link import Peer

AWAY = Peer("192.0.2.7", "tcp", None, loopback=False)


def test_a_pause_for_a_rate_is_no_silence() -> None:
    world = World(limits=Limits(bytes_per_s=100))
    client = world.connect(b"c", keep_alive=2, peer=AWAY)
    client.send(publish(b"t", b"x" * 2000))
    until = world.paused[client.link]
    assert until - world.now > 10 * 10**9
    world.wait((until - world.now) / 1e9 + 2.9)
    assert not client.closed
    world.wait(0.2)
    assert client.closed


def test_who_takes_what_waits_for_it_is_alive_and_who_takes_nothing_is_not() -> None:
    world = World()
    client = world.connect(b"c", keep_alive=2)
    for _ in range(5):
        world.wait(2.5)
        world.broker.took([client.link], world.now)
    world.wait(2.9)
    assert not client.closed
    world.wait(0.2)
    world.broker.took([client.link], world.now)
    assert client.closed


def test_nobody_is_silent_while_the_driver_reads_from_nobody() -> None:
    world = World()
    client = world.connect(b"c", keep_alive=2)
    world.broker.listening(False, world.now)
    world.wait(60)
    assert not client.closed
    world.broker.listening(True, world.now)
    world.wait(2.9)
    client.send(pingreq())
    world.wait(2.9)
    assert not client.closed
    world.wait(0.2)
    assert client.closed
