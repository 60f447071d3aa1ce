"""What a message carries beside its payload, and how long it lasts [MQTT 5.0 §3.3.2.3, §4.10]."""

import pytest
from tests.broker_packets import props, puback, publish
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v5="3.3.2-4 3.3.2-15 3.3.2-16 3.3.2-17 3.3.2-18 3.3.2-20")
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("late", [False, True])
def test_what_describes_a_message_passes_unaltered(version: int, qos: int, late: bool) -> None:
    pairs = [(b"z", b"1"), (b"a", b"2"), (b"z", b"1"), (b"z", b"0"), (b"", "ä😀".encode())]
    world = World()
    watcher = world.client(b"watcher", version)
    publisher = world.client(b"p", version)
    if not late:
        watcher.subscribe((b"t", 2))
    about = props(user=pairs[:2], payload_format=1, response_topic=b"re/ply", correlation=bytes(range(256)))
    about += props(content_type="text/plain; ü".encode(), user=pairs[2:])
    publisher.publish(b"t", b"x", qos=qos, packet_id=1, retain=late, properties=about)
    if late:
        watcher.subscribe((b"t", 2))
    assert only(watcher.hear(), "PUBLISH").properties == {
        "payload_format": 1,
        "response_topic": b"re/ply",
        "correlation": bytes(range(256)),
        "content_type": "text/plain; ü".encode(),
        "user": pairs,
    }


@clauses(v5="3.3.2-4")
@pytest.mark.parametrize("indicator", [0, 1])
def test_the_payload_format_indicator_passes_whatever_it_is(version: int, indicator: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"t")
    world.client(b"p", version).publish(b"t", b"x", properties=props(payload_format=indicator))
    assert only(watcher.hear(), "PUBLISH").properties == {"payload_format": indicator}


@clauses(v5="3.3.2-5")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_that_waited_too_long_is_deleted(version: int, qos: int) -> None:
    world = World()
    lasting = props(session_expiry=1000)
    watcher = world.client(b"watcher", version, clean=False, properties=lasting)
    watcher.subscribe((b"t", 2))
    watcher.vanish()
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"short", qos=qos, packet_id=1, properties=props(expiry=10))
    publisher.publish(b"t", b"long", qos=qos, packet_id=2, properties=props(expiry=100))
    world.wait(11)
    again = world.client(b"watcher", version, clean=False, properties=lasting)
    assert [each.payload for each in again.hear()] == [b"long"]


@clauses(v5="3.3.2-5")
def test_a_retained_message_that_expired_is_not_sent(version: int) -> None:
    world = World()
    world.client(b"p", version).publish(b"t", b"x", retain=True, properties=props(expiry=10))
    early, late = world.client(b"early", version), world.client(b"late", version)
    world.wait(9)
    early.subscribe(b"t")
    assert only(early.hear(), "PUBLISH").properties == {"expiry": 1}
    world.wait(2)
    late.subscribe(b"t")
    assert late.hear() == []


@clauses(v5="3.3.2-6")
def test_the_expiry_goes_down_while_a_message_waits(version: int) -> None:
    world = World()
    lasting = props(session_expiry=1000)
    watcher = world.client(b"watcher", version, clean=False, properties=lasting)
    watcher.subscribe((b"t", 1))
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"at once", qos=1, packet_id=1, properties=props(expiry=100))
    at_once = only(watcher.hear(), "PUBLISH")
    assert at_once.properties == {"expiry": 100}
    watcher.say(puback(at_once.packet_id))
    watcher.vanish()
    publisher.publish(b"t", b"later", qos=1, packet_id=1, properties=props(expiry=100))
    world.wait(30)
    again = world.client(b"watcher", version, clean=False, properties=lasting)
    assert only(again.hear(), "PUBLISH").properties == {"expiry": 70}


@clauses(v5="3.3.2-14")
@pytest.mark.parametrize("topic", [b"#", b"a/+", b"a#"])
def test_a_response_topic_with_a_wildcard_ends_the_link(version: int, topic: bytes) -> None:
    client = World().client(b"c", version)
    wrong = publish(b"t", version=version, properties=props(response_topic=topic))
    ended(client, client.say(wrong), 0x81, 0x82, 0x90)


@clauses(v5="4.13.1-1")
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(props(payload_format=[0, 0]), id="payload format twice"),
        pytest.param(props(expiry=[1, 1]), id="expiry twice"),
        pytest.param(props(content_type=[b"a", b"a"]), id="content type twice"),
        pytest.param(props(response_topic=[b"a", b"a"]), id="response topic twice"),
        pytest.param(props(correlation=[b"", b""]), id="correlation data twice"),
        pytest.param(props(topic_alias=[1, 1]), id="alias twice"),
        pytest.param(props(payload_format=2), id="payload format 2"),
        pytest.param(props(session_expiry=1), id="of another packet"),
    ],
)
def test_wrong_properties_of_a_message_end_the_link(version: int, wrong: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(publish(b"t", b"x", version=version, properties=wrong)), 0x81, 0x82)
