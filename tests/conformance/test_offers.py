"""What CONNACK says of the server, and what follows from it [MQTT 5.0 §3.2.2.3]."""

import pytest
from tests.broker_packets import connect, props, publish, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v5="3.2.2-9 3.2.2-10 3.2.2-11")
@pytest.mark.parametrize("maximum", [0, 1])
def test_a_server_of_few_qos_says_so_and_means_it(version: int, maximum: int) -> None:
    world = World(maximum_qos=maximum)
    watcher = world.client(b"watcher", version)
    assert watcher.connack.properties["maximum_qos"] == maximum
    for qos in (0, 1, 2):
        granted = only(watcher.say(subscribe(1 + qos, (b"t", qos), version=version)), "SUBACK").codes
        assert granted == [min(qos, maximum)]
    client = world.client(b"c", version)
    client.publish(b"t", b"x", qos=maximum, packet_id=1)
    assert not client.closed
    assert only(watcher.hear(), "PUBLISH").qos <= maximum
    client.hear()
    ended(client, client.say(publish(b"t", b"y", qos=maximum + 1, packet_id=2, version=version)), 0x9B)
    assert watcher.hear() == []


@clauses(v5="3.2.2-9")
def test_a_server_of_every_qos_names_no_maximum(version: int) -> None:
    client = World().client(b"c", version)
    assert "maximum_qos" not in client.connack.properties
    assert only(client.say(publish(b"t", qos=2, packet_id=1, version=version)), "PUBREC").packet_id == 1


@clauses(v5="3.2.2-12 3.2.2-7")
def test_a_will_of_a_qos_that_is_not_served_is_refused(version: int) -> None:
    world = World(maximum_qos=1)
    link = world.link(version)
    assert only(link.say(connect(b"c", version=version, will=b"w", will_qos=2)), "CONNACK").reason == 0x9B
    assert link.closed
    world.client(b"c", version, will=b"w", will_qos=1)


@clauses(v5="3.2.2-13 3.2.2-7")
def test_a_retained_will_is_refused_where_nothing_is_retained(version: int) -> None:
    world = World(retain_available=False)
    link = world.link(version)
    assert only(link.say(connect(b"c", version=version, will=b"w", will_retain=True)), "CONNACK").reason == 0x9A
    assert link.closed
    assert world.client(b"c", version, will=b"w").connack.properties["retain_available"] == 0


@clauses(v5="3.2.2-14")
def test_a_retained_message_ends_the_link_where_nothing_is_retained(version: int) -> None:
    client = World(retain_available=False).client(b"c", version)
    ended(client, client.say(publish(b"t", b"x", retain=True, version=version)), 0x9A)


@clauses(v5="3.2.2-15 4.13.1-1")
def test_a_packet_beyond_the_servers_maximum_ends_the_link(version: int) -> None:
    world = World(max_packet_bytes=200)
    client = world.client(b"c", version)
    assert client.connack.properties["maximum_packet_size"] == 200
    overhead = len(publish(b"t", b"", version=version)) + 1  # a length above 127 takes two bytes
    largest = publish(b"t", b"x" * (200 - overhead), version=version)
    assert len(largest) == 200
    assert client.say(largest) == []
    assert not client.closed
    ended(client, client.say(publish(b"t", b"x" * (201 - overhead), version=version)), 0x95)


@clauses(v5="3.1.2-28")
def test_response_information_goes_to_those_who_asked(version: int) -> None:
    world = World(response_prefix=b"replies/")
    assert "response_information" not in world.client(b"c", version).connack.properties
    shy = world.client(b"c", version, properties=props(request_response=0))
    assert "response_information" not in shy.connack.properties
    curious = world.client(b"c", version, properties=props(request_response=1))
    assert curious.connack.properties["response_information"].startswith(b"replies/")
