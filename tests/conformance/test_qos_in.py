"""QoS 0, 1 and 2 into the server [MQTT 5.0 §4.3]."""

import pytest
from tests.broker_packets import connect, props, pubcomp, publish, pubrec, pubrel
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World, only

from roost.broker.message import Message


def _lasting(version: int) -> bytes:
    return props(session_expiry=1000) if version == 5 else b""


def _watcher(world: World, version: int, qos: int = 2) -> Client:
    watcher = world.client(b"watcher", version, clean=False, properties=_lasting(version))
    if not watcher.connack.session_present:
        watcher.subscribe((b"t", qos))
    return watcher


@clauses(v4="3.3.4-1 2.3.1-6 4.3.2-2 4.3.3-2", v5="3.3.4-1 2.2.1-5 4.3.2-4 4.3.3-8")
def test_a_publish_is_answered_as_its_qos_asks(version: int) -> None:
    client = World().client(b"c", version)
    assert client.say(publish(b"t", version=version)) == []
    first = only(client.say(publish(b"t", qos=1, packet_id=0xABCD, version=version)), "PUBACK")
    assert first.packet_id == 0xABCD
    second = only(client.say(publish(b"t", qos=2, packet_id=0xABCD, version=version)), "PUBREC")
    assert second.packet_id == 0xABCD
    third = only(client.say(pubrel(0xABCD)), "PUBCOMP")
    assert third.packet_id == 0xABCD


@clauses(v4="4.3.2-2", v5="4.3.2-5")
@pytest.mark.parametrize("dup", [False, True])
def test_after_puback_the_same_identifier_is_a_new_message(version: int, dup: bool) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    client.publish(b"t", b"1", qos=1, packet_id=5)
    client.publish(b"t", b"2", qos=1, packet_id=5, dup=dup)
    assert [each.payload for each in watcher.hear()] == [b"1", b"2"]


@clauses(v4="4.3.3-2", v5="4.3.3-10")
@pytest.mark.parametrize("across_links", [False, True])
def test_before_pubrel_the_same_identifier_is_the_same_message(version: int, across_links: bool) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version, clean=False, properties=_lasting(version))
    client.say(publish(b"t", b"1", qos=2, packet_id=5, version=version))
    if across_links:
        client.vanish()
        client = world.client(b"c", version, clean=False, properties=_lasting(version))
    for _ in range(3):
        again = client.say(publish(b"t", b"1", qos=2, packet_id=5, dup=True, version=version))
        assert only(again, "PUBREC").packet_id == 5
    assert [each.payload for each in watcher.hear()] == [b"1"]
    assert only(client.say(pubrel(5)), "PUBCOMP").packet_id == 5
    assert [each.kind for each in watcher.hear()] == []


@clauses(v4="4.3.3-2", v5="4.3.3-11 4.3.3-12")
def test_after_pubcomp_the_same_identifier_is_a_new_message(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    for payload in (b"1", b"2"):
        assert only(client.say(publish(b"t", payload, qos=2, packet_id=5, version=version)), "PUBREC").packet_id == 5
        assert only(client.say(pubrel(5)), "PUBCOMP").packet_id == 5
    assert [each.payload for each in watcher.hear()] == [b"1", b"2"]


@clauses(v4="4.3.3-2", v5="4.3.3-11 3.7.2-1")
def test_a_pubrel_of_an_unknown_identifier_is_answered_too(version: int) -> None:
    client = World().client(b"c", version)
    answer = only(client.say(pubrel(77)), "PUBCOMP")
    assert (answer.packet_id, answer.reason) == (77, 0x92 if version == 5 else 0)
    assert not client.closed


@clauses(v5="4.3.3-9 3.5.2-1")
def test_after_a_refusing_pubrec_the_same_identifier_is_a_new_message(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    world.forbid(b"secret")
    client = world.client(b"c", version)
    refusal = only(client.say(publish(b"secret", b"1", qos=2, packet_id=5, version=version)), "PUBREC")
    assert (refusal.packet_id, refusal.reason) == (5, 0x87)
    accepted = only(client.say(publish(b"t", b"2", qos=2, packet_id=5, version=version)), "PUBREC")
    assert accepted.reason < 0x80
    assert [each.payload for each in watcher.hear()] == [b"2"]


@clauses(v5="4.3.3-13 4.3.3-7")
def test_the_exchange_of_qos_2_outlives_the_message(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    client.say(publish(b"t", b"1", qos=2, packet_id=5, version=version, properties=props(expiry=10)))
    message = only(watcher.hear(), "PUBLISH")
    world.wait(60)
    again = client.say(publish(b"t", b"1", qos=2, packet_id=5, dup=True, version=version, properties=props(expiry=10)))
    assert only(again, "PUBREC").reason < 0x80
    assert only(client.say(pubrel(5)), "PUBCOMP").reason == 0
    assert only(watcher.say(pubrec(message.packet_id)), "PUBREL").reason == 0
    assert watcher.say(pubcomp(message.packet_id)) == []


class _Hall:
    """One tree of topics that belongs to a group."""

    def of(self, topic: bytes) -> int | None:
        return 1 if topic.startswith(b"hall/") else None

    def refusal_of(self, tree: int, message: Message) -> str:  # noqa: ARG002  a stand-in
        return ""


@clauses(v4="4.8.0-2")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_passing_fault_ends_the_link_it_happened_on(version: int, qos: int) -> None:
    world = World(gateway=_Hall())
    client, other = world.client(b"c", version), world.client(b"other", version)
    assert client.say(publish(b"hall/t", b"x", qos=qos, packet_id=1, version=version)) == []
    world.run(world.broker.inserted(world.inserts[0].ticket, "the repo is full", world.now))
    assert client.closed
    assert client.hear() == []  # it was not acknowledged
    assert not other.closed


@clauses(v4="4.3.2-2 4.3.3-2", v5="4.3.2-4 4.3.3-8")
@pytest.mark.parametrize("trouble", ["late", "full for a while"])
def test_a_message_is_acknowledged_only_when_it_is_owned(version: int, trouble: str) -> None:
    world = World(persistent=True, durability=1)
    away = world.client(b"away", version, clean=False, properties=_lasting(version))
    away.subscribe((b"t", 2))
    away.vanish()
    client = world.client(b"c", version)
    world.disk.late = True
    assert client.say(publish(b"t", b"1", qos=1, packet_id=1, version=version)) == []
    assert client.say(publish(b"t", b"2", qos=2, packet_id=2, version=version)) == []
    if trouble == "full for a while":
        world.fail()
        assert client.hear() == []
    world.disk.late = False
    world.write()
    world.wait(600)
    assert [(each.kind, each.packet_id) for each in client.hear()] == [("PUBACK", 1), ("PUBREC", 2)]
    world.crash()
    link = world.link(version)
    heard = link.say(connect(b"away", version=version, clean=False, properties=_lasting(version)))
    assert [each.payload for each in heard[1:]] == [b"1", b"2"]
