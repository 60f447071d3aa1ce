"""A clock that is set forward: nobody was silent for so long, no session is over, no will is due."""

from __future__ import annotations

import pytest
from tests.broker_packets import pingreq, props
from tests.broker_world import Client, World

from roost.broker.settings import DISK, BrokerSettings
from roost.machine import SECOND

STEP = 50 * 365 * 24 * 3600 * SECOND


def stepped(world: World, by: int = STEP) -> None:
    """Set the clock forward, and let time pass as its driver does."""
    world.now += by
    world.run(world.broker.stepped(by, world.now))
    world.run(world.broker.tick(world.now))


def mortal(world: World, delay: int) -> Client:
    """A client whose session outlives its link for a while, as its will does."""
    expiry = props(session_expiry=100)
    return world.connect(
        b"c", 5, properties=expiry, will=b"gone", will_payload=b"1", will_properties=props(will_delay=delay)
    )


@pytest.mark.parametrize("by", [10 * SECOND, STEP])
def test_a_step_is_no_silence(by: int) -> None:
    world = World()
    client = world.connect(b"c", keep_alive=2)
    world.wait(2)
    stepped(world, by)
    world.wait(0.9)
    assert not client.closed
    world.wait(0.2)
    assert client.closed


def test_who_speaks_after_the_step_and_before_it_is_told_is_heard_then() -> None:
    world = World()
    client = world.connect(b"c", keep_alive=2)
    world.now += STEP
    client.send(pingreq())
    world.run(world.broker.stepped(STEP, world.now))
    world.wait(2.9)
    assert not client.closed
    world.wait(0.2)
    assert client.closed


def test_who_is_not_let_in_yet_has_its_time() -> None:
    world = World(BrokerSettings(sys_interval_s=0, connect_timeout_s=5))
    client = world.open()
    world.wait(3)
    world.now += STEP
    late = world.open()
    world.run(world.broker.stepped(STEP, world.now))
    world.wait(1.9)
    assert not client.closed
    world.wait(0.2)
    assert (client.closed, late.closed) == (True, False)
    world.wait(3)
    assert late.closed


def test_nobody_is_silent_for_a_step_in_which_the_driver_reads_from_nobody() -> None:
    world = World()
    client = world.connect(b"c", keep_alive=2)
    world.broker.listening(False, world.now)
    world.wait(5)
    world.broker.listening(True, world.now)
    stepped(world)
    world.wait(2.9)
    assert not client.closed


def test_a_session_and_a_will_wait_as_long_as_they_were_to() -> None:
    world = World()
    watcher = world.connect(b"w", 5, keep_alive=0)
    watcher.subscribe(b"gone")
    mortal(world, 10).vanish()
    world.wait(6)
    stepped(world)
    world.wait(3.9)
    assert watcher.payloads() == []
    world.wait(0.2)
    assert watcher.payloads() == [b"1"]
    world.wait(89.8)
    assert b"c" in world.broker.core.sessions
    world.wait(0.2)
    assert b"c" not in world.broker.core.sessions


def test_a_step_outlives_a_crash() -> None:
    world = World(BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0))
    world.connect(b"c", 5, properties=props(session_expiry=100)).vanish()
    stepped(world)
    world.crash()
    world.wait(90)
    assert b"c" in world.broker.core.sessions
    world.wait(11)
    assert b"c" not in world.broker.core.sessions


def test_what_an_earlier_run_counted_by_the_right_time_stays() -> None:
    world = World(BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0))
    world.now += STEP
    mortal(world, 50).vanish()
    world.now -= STEP  # it boots in 1970
    world.crash()
    ended = world.broker.core.sessions[b"c"].ended
    stepped(world)
    assert world.broker.core.sessions[b"c"].ended == ended
    world.wait(99)
    assert b"c" in world.broker.core.sessions
    world.wait(2)
    assert b"c" not in world.broker.core.sessions
