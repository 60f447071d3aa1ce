"""Flow control: quotas of unacknowledged messages, both ways [MQTT 5.0 §4.9, §3.3.4]."""

import pytest
from tests.broker_packets import pingreq, props, puback, pubcomp, publish, pubrec, subscribe, unsubscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World, ended, only


def _full(quota: int, qos: int = 1) -> tuple[World, Client, Client]:
    """A client that has not acknowledged as much as it takes, and more waits for it."""
    world = World()
    watcher = world.client(b"watcher", 5, properties=props(receive_maximum=quota))
    watcher.subscribe((b"t", 2))
    publisher = world.client(b"p", 5)
    for number in range(1, quota + 4):
        publisher.publish(b"t", b"%d" % number, qos=qos, packet_id=number)
    publisher.hear()
    return world, watcher, publisher


@clauses(v5="3.3.4-9 4.9.0-1 4.9.0-2")
@pytest.mark.parametrize("quota", [1, 2, 5])
@pytest.mark.parametrize("qos", [1, 2])
def test_no_more_than_the_clients_receive_maximum_is_under_way(version: int, quota: int, qos: int) -> None:
    _, watcher, _ = _full(quota, qos)
    assert watcher.version == version
    under_way = [each.packet_id for each in watcher.hear()]
    assert len(under_way) == quota
    delivered = quota
    for _ in range(quota + 3):
        number = under_way.pop(0)
        if qos == 2:
            assert [each.kind for each in watcher.say(pubrec(number))] == ["PUBREL"]  # the quota is not free yet
            heard = watcher.say(pubcomp(number))
        else:
            heard = watcher.say(puback(number))
        assert len(heard) <= 1
        delivered += len(heard)
        under_way.extend(each.packet_id for each in heard)
        assert len(under_way) <= quota
    assert delivered == quota + 3
    assert under_way == []


@clauses(v5="3.3.4-9 4.9.0-2")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_refusal_frees_the_quota_too(version: int, qos: int) -> None:
    _, watcher, _ = _full(1, qos)
    assert watcher.version == version
    first = only(watcher.hear(), "PUBLISH")
    heard = watcher.say((puback, pubrec)[qos - 1](first.packet_id, 0x80))
    assert only(heard, "PUBLISH").payload == b"2"


@clauses(v5="3.3.4-10 4.9.0-3")
def test_at_quota_zero_everything_else_is_served(version: int) -> None:
    _, watcher, publisher = _full(1)
    watcher.hear()
    assert [each.kind for each in watcher.say(pingreq())] == ["PINGRESP"]
    assert only(watcher.say(subscribe(7, b"u", version=version)), "SUBACK").packet_id == 7
    assert only(watcher.say(unsubscribe(8, b"u", version=version)), "UNSUBACK").packet_id == 8
    assert only(watcher.say(publish(b"v", qos=1, packet_id=9, version=version)), "PUBACK").packet_id == 9
    assert only(watcher.say(publish(b"v", qos=2, packet_id=10, version=version)), "PUBREC").packet_id == 10
    assert not publisher.closed


@clauses(v5="4.9.0-1")
def test_the_quota_is_full_again_on_a_new_link(version: int) -> None:
    world = World()
    options = {"clean": False, "properties": props(session_expiry=100, receive_maximum=2)}
    watcher = world.client(b"watcher", version, **options)
    watcher.subscribe((b"t", 1))
    publisher = world.client(b"p", version)
    for number in range(1, 6):
        publisher.publish(b"t", b"%d" % number, qos=1, packet_id=number)
    assert [each.payload for each in watcher.hear()] == [b"1", b"2"]
    watcher.vanish()
    again = world.client(b"watcher", version, **options)
    assert [(each.payload, each.dup) for each in again.hear()] == [(b"1", True), (b"2", True)]


@clauses(v5="3.3.4-7")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_client_that_overruns_the_servers_receive_maximum_is_cut_off(version: int, qos: int) -> None:
    """QoS 2 waits for PUBREL; QoS 1 waits for the disk."""
    world = World(receive_maximum=3, persistent=True, durability=1)
    away = world.client(b"away", version, clean=False, properties=props(session_expiry=100))
    away.subscribe((b"t", 2))
    away.vanish()
    client = world.client(b"c", version)
    assert client.connack.properties["receive_maximum"] == 3
    world.disk.late = qos == 1
    for number in (1, 2, 3):
        client.publish(b"t", b"x", qos=qos, packet_id=number)
    assert not client.closed
    client.hear()
    ended(client, client.say(publish(b"t", b"x", qos=qos, packet_id=4, version=version)), 0x93)


@clauses(v5="3.3.4-7")
def test_a_client_within_the_servers_receive_maximum_is_not_cut_off(version: int) -> None:
    client = World(receive_maximum=3).client(b"c", version)
    for number in range(1, 20):
        only(client.say(publish(b"t", qos=1, packet_id=number, version=version)), "PUBACK")
        client.publish(b"t")
    assert not client.closed
