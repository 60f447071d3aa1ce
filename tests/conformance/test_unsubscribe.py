"""UNSUBSCRIBE and UNSUBACK [MQTT 5.0 §3.10, §3.11]."""

import pytest
from tests.broker_packets import props, puback, pubcomp, pubrec, subscribe, unsubscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v4="3.10.3-2", v5="3.10.3-2 4.13.1-1")
def test_an_unsubscribe_without_filters_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(unsubscribe(1, version=version)), 0x81, 0x82)


@clauses(v4="3.10.4-1 3.10.4-2", v5="3.10.4-1 3.10.4-2")
def test_a_subscription_goes_if_its_filter_is_the_same_to_the_letter(version: int) -> None:
    world = World()
    client, publisher = world.client(b"c", version), world.client(b"p", version)
    client.subscribe(b"a/+")
    for near in (b"a/b", b"a/#", b"a/+/", b"A/+", b"#", b"+/+", b"a/ +"[:3]):
        client.unsubscribe(near)
    publisher.publish(b"a/b", b"1")
    assert only(client.hear(), "PUBLISH").payload == b"1"
    client.unsubscribe(b"a/+")
    publisher.publish(b"a/b", b"2")
    assert client.hear() == []


@clauses(v4="3.10.4-2", v5="3.10.4-2")
def test_other_subscriptions_of_the_client_stay(version: int) -> None:
    world = World()
    client = world.client(b"c", version)
    client.say(subscribe(1, b"a/+", b"a/b", version=version))
    client.unsubscribe(b"a/+")
    publisher = world.client(b"p", version)
    publisher.publish(b"a/c", b"1")
    publisher.publish(b"a/b", b"2")
    assert [each.payload for each in client.hear()] == [b"2"]


@clauses(v4="3.10.4-3", v5="3.10.4-3")
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("link", ["same", "new"])
def test_what_is_under_way_is_finished(version: int, qos: int, link: str) -> None:
    world = World()
    lasting = props(session_expiry=100) if version == 5 else b""
    client = world.client(b"c", version, clean=False, properties=lasting)
    client.subscribe((b"t", 2))
    world.client(b"p", version).publish(b"t", b"x", qos=qos, packet_id=1)
    message = only(client.hear(), "PUBLISH")
    client.unsubscribe(b"t")
    if link == "new":
        client.vanish()
        client = world.client(b"c", version, clean=False, properties=lasting)
        again = only(client.hear(), "PUBLISH")
        assert (again.packet_id, again.dup) == (message.packet_id, True)
    if qos == 2:
        assert only(client.say(pubrec(message.packet_id)), "PUBREL").packet_id == message.packet_id
        assert client.say(pubcomp(message.packet_id)) == []
    else:
        assert client.say(puback(message.packet_id)) == []
    assert not client.closed


@clauses(v4="3.10.4-4 3.10.4-5 2.3.1-7", v5="3.10.4-4 3.10.4-5 2.2.1-6 3.11.3-2")
def test_an_unsubscribe_is_answered_whether_or_not_anything_was_deleted(version: int) -> None:
    client = World().client(b"c", version)
    client.subscribe(b"t")
    for number, codes in ((0xABCD, [0x00]), (0xABCE, [0x11])):
        answer = only(client.say(unsubscribe(number, b"t", version=version)), "UNSUBACK")
        assert answer.packet_id == number
        assert answer.codes == (codes if version == 5 else [])


@clauses(v4="3.10.4-6", v5="3.10.4-6 3.11.3-1 3.11.3-2")
def test_several_filters_act_like_one_unsubscribe_each_with_one_answer(version: int) -> None:
    world = World()
    client = world.client(b"c", version)
    client.say(subscribe(1, b"a", b"b", b"c", version=version))
    answer = only(client.say(unsubscribe(2, b"c", b"x", b"a", b"a", version=version)), "UNSUBACK")
    assert answer.codes == ([0x00, 0x11, 0x00, 0x11] if version == 5 else [])
    publisher = world.client(b"p", version)
    for topic in (b"a", b"b", b"c"):
        publisher.publish(topic, b"x")
    assert [each.topic for each in client.hear()] == [b"b"]
