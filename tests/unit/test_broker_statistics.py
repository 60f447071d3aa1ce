"""`$SYS` topics, counters, timers, and a broker that is fed nonsense."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from tests import broker_packets as packets
from tests.broker_world import World

from roost.broker.link import Link, Peer
from roost.broker.session import Session
from roost.broker.settings import DISK, BrokerSettings
from roost.broker.timers import Timers


def test_sys_topics_are_told_at_once_and_then_when_they_change() -> None:
    world = World(BrokerSettings(sys_interval_s=10, release="roost 1"))
    bob = world.connect(b"bob", keep_alive=0)
    bob.subscribe(b"$SYS/#")
    told = {each.topic: each for each in bob.seen()}
    assert told[b"$SYS/broker/version"].payload == b"roost 1"
    assert told[b"$SYS/broker/version"].retain
    assert told[b"$SYS/broker/clients/connected"].payload == b"0"
    ann = world.connect(b"ann", keep_alive=0)
    ann.publish(b"a", b"x")
    world.wait(10)
    changed = {each.topic: each.payload for each in bob.seen()}
    assert changed[b"$SYS/broker/clients/connected"] == b"2"
    assert changed[b"$SYS/broker/publish/messages/received"] == b"1"
    assert changed[b"$SYS/broker/uptime"] == b"10 seconds"
    assert b"$SYS/broker/version" not in changed


def test_sys_topics_are_for_who_asks() -> None:
    world = World(BrokerSettings(sys_interval_s=1))
    bob = world.connect(b"bob", keep_alive=0)
    bob.subscribe(b"#", b"+/broker/uptime")
    world.wait(5)
    assert bob.kinds() == []


def test_everything_that_is_counted_is_told() -> None:
    world = World(BrokerSettings(sys_interval_s=10, max_filters=1, max_queued=1, max_retained=0))
    world.broker.counted({"connections/cut": 3})
    ann = world.connect(b"ann", 5, keep_alive=0)
    for name, count in ((b"bob", 2), (b"cat", 4)):
        away = world.connect(name, clean=False)
        away.subscribe((name, 1), b"one too many")
        away.vanish()
        for number in range(count):
            ann.publish(name, b"%d" % number, qos=1, packet_id=1)
    ann.publish(b"kept", b"x", retain=True)
    ann.send(packets.puback(9))
    world.connect(b"eve", clean=False)
    world.connect(b"eve", clean=False).send(b"\xf0\x00")
    world.wait(10)
    ann.arrived = b""
    ann.subscribe(b"$SYS/#")
    told = {each.topic.removeprefix(b"$SYS/broker/").decode(): each.payload.decode() for each in ann.seen()}
    assert json.loads(told["clients/dropped"]) == [{"client": "cat", "dropped": 3}, {"client": "bob", "dropped": 1}]
    expected = {
        "clients/taken_over": "1",
        "clients/refused": "0",
        "retained messages/refused": "1",
        "subscriptions/refused": "2",
        "acknowledgements/unknown": "1",
        "connections/ended/errors": "1",
        "connections/refused/failures": "0",
        "connections/cut": "3",
        "routes/forgotten": "0",
        "roaming/large": "0",
        "shared_subscriptions/unwatched": "0",
        "connections/addresses/forgotten": "0",
    }
    assert {name: told.get(name) for name in expected} == expected
    assert int(told["subscriptions/bytes"]) > 1000
    listed = set(
        re.findall(r"`([a-z_/ ]+)`", _section((Path(__file__).parents[2] / "docs/mqtt.md").read_text(encoding="utf-8")))
    )
    assert set(told) <= listed


def _section(text: str) -> str:
    return text.partition("## What `$SYS` tells")[2].partition("\n## ")[0]


def test_what_clients_lost_is_told_of_ten_at_most() -> None:
    world = World(BrokerSettings(sys_interval_s=10, max_queued=1))
    for number in range(12):
        away = world.connect(b"%02d" % number, clean=False)
        away.subscribe((b"#", 1))
        away.vanish()
    ann = world.connect(b"ann", keep_alive=0)
    for _ in range(2):
        ann.publish(b"a", b"x", qos=1, packet_id=1)
    world.wait(10)
    ann.arrived = b""
    ann.subscribe(b"$SYS/broker/clients/dropped")
    names = [each["client"] for each in json.loads(ann.payloads()[0])]
    assert names == [f"{number:02}" for number in range(10)]


def test_what_goes_in_and_out_is_counted() -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe(b"a")
    world.connect(b"ann").publish(b"a", b"x")
    stats = world.broker.statistics()
    assert (stats.publish_received, stats.publish_sent, stats.received) == (1, 1, 4)
    assert stats.received_bytes == len(packets.connect(b"bob")) * 2 + len(packets.subscribe(1, b"a")) + 6
    assert stats.sent_bytes == 4 + 5 + 6 + 4


def test_a_timer_that_is_moved_fires_once_and_leaves_nothing_behind() -> None:
    timers = Timers()
    link = Link(1, Peer(), 100, 100, 0)
    timers.arm_link(link, 50)
    timers.arm_link(link, 70)
    timers.arm_link(link, 20)
    assert timers.deadline() == 20
    assert timers.due_link(30) is link
    assert timers.due_link(100) is None
    assert timers.deadline() is None
    for number in range(10_000):
        session = Session(b"x", number, b"")
        timers.arm_session(session, 10_000 - number)
        timers.disarm_session(session)
    assert len(timers._sessions) < 2_000


@pytest.mark.parametrize("version", [4, 5])
def test_nonsense_costs_the_sender_its_link_and_nothing_else(version: int) -> None:
    dice = random.Random(version)
    world = World(BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0))
    bob = world.connect(b"bob", version, keep_alive=0)
    bob.subscribe((b"t", 1))
    frames = [
        packets.publish(b"t", b"x" * 20, qos=1, packet_id=9, version=version),
        packets.subscribe(3, (b"a/#", 1), version=version),
        packets.unsubscribe(4, b"a/#", version=version),
        packets.pubrel(5),
        packets.puback(1),
        packets.disconnect(),
        packets.connect(b"x", version=version),
        packets.auth(0x19, auth_method=b"M"),
    ]
    for _ in range(300):
        eve = world.connect(b"eve", version, clean=False, look=False)
        data = bytearray(b"".join(dice.choice(frames) for _ in range(4)))
        for _ in range(3):
            data[dice.randrange(len(data))] = dice.randrange(256)
        eve.send(bytes(data))
        eve.arrived = b""
        if not eve.closed:
            eve.vanish()
        for each in [each for each in bob.seen() if each.qos]:
            bob.send(packets.puback(each.packet_id))
    assert world.rejected
    assert not bob.closed
    world.connect(b"ann", version).publish(b"t", b"still here")
    assert bob.payloads() == [b"still here"]
    assert world.broker.core.stats.connected == 2
