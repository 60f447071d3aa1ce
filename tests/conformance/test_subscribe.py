"""SUBSCRIBE and SUBACK [MQTT 5.0 §3.8, §3.9]."""

import pytest
from tests.broker_packets import packet, props, publish, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only

NO_LOCAL = 0x04


@clauses(v4="3.8.3-3", v5="3.8.3-2 4.13.1-1")
def test_a_subscribe_without_filters_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, version=version)), 0x81, 0x82)


@clauses(v4="3.8.3-4", v5="3.8.3-5 4.13.1-1")
@pytest.mark.parametrize("bit", [0x80, 0x40])
def test_reserved_bits_of_the_options_end_the_link(version: int, bit: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, (b"t", bit | 1), version=version)), 0x81)


@clauses(v4="3.8.3-4")
@pytest.mark.parametrize("options", [3, 4, 8, 0x10, 0x20])
def test_the_byte_beside_a_filter_is_a_qos_and_nothing_else(version: int, options: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, (b"t", options), version=version)))


@clauses(v5="3.8.3-5 4.13.1-1")
@pytest.mark.parametrize("options", [3, 0x30])
def test_qos_3_and_retain_handling_3_end_the_link(version: int, options: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, (b"t", options), version=version)), 0x81, 0x82)


@clauses(v4="3.8.4-1 3.8.4-2 2.3.1-7 3.8.4-5", v5="3.8.4-1 3.8.4-2 2.2.1-6 3.8.4-7")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_subscribe_is_answered_with_its_identifier_and_the_qos_granted(version: int, qos: int) -> None:
    client = World().client(b"c", version)
    answer = only(client.say(subscribe(0xABCD, (b"t", qos), version=version)), "SUBACK")
    assert (answer.packet_id, answer.codes) == (0xABCD, [qos])


@clauses(v4="3.8.4-4 3.8.4-5 3.9.3-1 3.9.3-2", v5="3.8.4-5 3.8.4-6 3.8.4-7 3.9.3-1 3.9.3-2")
def test_several_filters_are_answered_together_in_their_order(version: int) -> None:
    world = World()
    world.forbid(b"secret")
    client = world.client(b"c", version)
    filters = [(b"a", 2), (b"secret", 1), (b"b", 0), (b"c", 1)]
    answer = only(client.say(subscribe(5, *filters, version=version)), "SUBACK")
    assert answer.codes == [2, 0x87 if version == 5 else 0x80, 0, 1]
    publisher = world.client(b"p", version)
    world.permit(b"secret")
    for number, topic in enumerate([b"a", b"secret", b"b", b"c"], 1):
        publisher.publish(topic, b"x", qos=2, packet_id=number)
    assert [(each.topic, each.qos) for each in client.hear()] == [(b"a", 2), (b"b", 0), (b"c", 1)]


@clauses(v4="3.8.4-4", v5="3.8.4-5")
def test_several_filters_act_like_one_subscribe_each(version: int) -> None:
    """But a filter that is named twice has its retained messages once: the second entry comes before they are sent."""
    world = World()
    world.client(b"p", version).publish(b"t/1", b"kept", retain=True)
    together, apart = world.client(b"together", version), world.client(b"apart", version)
    filters = [(b"t/1", 1), (b"t/+", 2), (b"t/1", 0)]  # the third replaces the first
    heard = together.say(subscribe(1, *filters, version=version))
    heard_apart = [each for one in filters for each in apart.say(subscribe(1, one, version=version))]
    assert [each.qos for each in heard if each.kind == "PUBLISH"] == [0, 0]
    assert [each.qos for each in heard_apart if each.kind == "PUBLISH"] == [0, 0, 0]
    assert only([each for each in heard if each.kind == "SUBACK"], "SUBACK").codes == [1, 2, 0]
    publisher = world.client(b"p", version)
    publisher.publish(b"t/1", b"x", qos=2, packet_id=1)
    publisher.publish(b"t/2", b"y", qos=2, packet_id=2)
    shape = [(each.topic, each.qos) for each in apart.hear()]
    assert [(each.topic, each.qos) for each in together.hear()] == shape
    assert (b"t/2", 2) in shape


@clauses(v4="3.8.4-6", v5="3.8.4-8")
@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_a_message_goes_out_with_the_lower_qos(version: int, published: int, granted: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", granted))
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"x", qos=published, packet_id=1)
    assert only(watcher.hear(), "PUBLISH").qos == min(published, granted)
    publisher.publish(b"t", b"kept", qos=published, packet_id=2, retain=True)
    watcher.hear()
    late = world.client(b"late", version)
    late.subscribe((b"t", granted))
    assert only(late.hear(), "PUBLISH").qos == min(published, granted)


@clauses(v4="3.8.4-3", v5="3.8.4-3")
def test_the_same_filter_again_replaces_the_subscription(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", 2))
    watcher.subscribe((b"t", 1))
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"x", qos=2, packet_id=1)
    assert only(watcher.hear(), "PUBLISH").qos == 1  # one copy, at the new QoS
    watcher.unsubscribe(b"t")
    publisher.publish(b"t", b"y", qos=2, packet_id=2)
    assert watcher.hear() == []


@clauses(v5="3.8.4-3")
def test_replacing_takes_over_all_options_and_the_identifier(version: int) -> None:
    world = World()
    client = world.client(b"c", version)
    client.subscribe((b"t", NO_LOCAL), properties=props(subscription_id=1))
    client.publish(b"t", b"own")
    assert client.hear() == []
    client.subscribe((b"t", 0), properties=props(subscription_id=2))
    client.publish(b"t", b"own")
    assert only(client.hear(), "PUBLISH").properties == {"subscription_id": [2]}


@clauses(v4="3.8.4-3", v5="3.8.4-4")
def test_replacing_sends_retained_messages_again_and_loses_nothing(version: int) -> None:
    world = World()
    lasting = props(session_expiry=100, receive_maximum=1) if version == 5 else b""
    watcher = world.client(b"watcher", version, clean=False, properties=lasting)
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"kept", retain=True)
    watcher.subscribe((b"t", 1))
    assert [(each.payload, each.retain) for each in watcher.hear()] == [(b"kept", True)]
    publisher.publish(b"t", b"1", qos=1, packet_id=1)
    publisher.publish(b"t", b"2", qos=1, packet_id=2)  # this one waits at the client's quota of 5.0
    heard = watcher.hear()
    watcher.subscribe((b"t", 1))
    heard += watcher.hear()
    publisher.publish(b"t", b"3", qos=1, packet_id=3)
    heard += watcher.hear()
    watcher.vanish()
    again = world.client(
        b"watcher", version, clean=False, properties=props(session_expiry=100) if version == 5 else b""
    )
    heard += again.hear()
    assert {each.payload for each in heard} == {b"1", b"2", b"3", b"kept"}
    assert sum(each.payload == b"kept" for each in heard) == 1


@clauses(v5="3.8.3-3")
def test_no_local_keeps_a_clients_messages_from_itself(version: int) -> None:
    world = World()
    client, other = world.client(b"c", version), world.client(b"other", version)
    client.subscribe((b"t", 1 | NO_LOCAL))
    other.subscribe((b"t", 1))
    client.publish(b"t", b"mine", qos=1, packet_id=1)
    client.hear()
    other.publish(b"t", b"theirs", qos=1, packet_id=1)
    assert [each.payload for each in client.hear() if each.kind == "PUBLISH"] == [b"theirs"]
    assert [each.payload for each in other.hear() if each.kind == "PUBLISH"] == [b"mine", b"theirs"]


@clauses(v5="3.8.3-3")
def test_no_local_is_about_one_subscription(version: int) -> None:
    client = World().client(b"c", version)
    client.subscribe((b"t", NO_LOCAL), (b"#", 0))
    for _ in range(2):
        client.publish(b"t", b"mine")
        assert [each.payload for each in client.hear()] == [b"mine"]  # for the sake of the other filter


@clauses(v5="3.8.3-3")
def test_no_local_is_about_the_client_not_its_link(version: int) -> None:
    world = World()
    lasting = props(session_expiry=100)
    client = world.client(b"c", version, clean=False, properties=lasting)
    client.subscribe((b"t", 1 | NO_LOCAL))
    client.vanish()
    again = world.client(b"c", version, clean=False, properties=lasting)
    again.publish(b"t", b"mine", qos=1, packet_id=1)
    assert [each.kind for each in again.hear()] == ["PUBACK"]


@clauses(v5="3.8.3-4 4.13.1-1")
def test_no_local_on_a_shared_subscription_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, (b"$share/s/t", NO_LOCAL), version=version)), 0x82)


@clauses(v4="3.8.3-2", v5="3.9.3-2")
def test_filters_with_wildcards_are_refused_where_they_are_not_served(version: int) -> None:
    world = World(wildcards_available=False)
    client = world.client(b"c", version)
    heard = client.say(subscribe(1, (b"a/+", 1), (b"b", 1), version=version))
    if heard[-1].kind == "SUBACK":
        assert only(heard, "SUBACK").codes == [0xA2 if version == 5 else 0x80, 1]
    else:
        ended(client, heard, 0xA2)
    world.client(b"p", version).publish(b"a/x", b"x")
    assert client.hear() == []
    if version == 5:
        assert world.client(b"d", version).connack.properties["wildcards_available"] == 0


@clauses(v5="4.13.1-1")
@pytest.mark.parametrize("identifier", [0, None])
def test_subscription_identifier_0_or_two_of_them_end_the_link(version: int, identifier: int | None) -> None:
    wrong = props(subscription_id=[1, 2] if identifier is None else identifier)
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, b"t", version=version, properties=wrong)), 0x82)


@clauses(v4="4.8.0-1", v5="4.13.1-1")
def test_a_subscribe_that_is_cut_ends_the_link(version: int) -> None:
    whole = subscribe(1, (b"t", 1), version=version)
    for size in range(len(whole) - 2):
        client = World().client(b"c", version)
        ended(client, client.say(packet(0x82, whole[2 : 2 + size])), 0x81, 0x82)
    untouched = World().client(b"c", version)
    assert only(untouched.say(whole), "SUBACK").codes == [1]
    assert untouched.say(publish(b"u", version=version)) == []
