"""The client's Maximum Packet Size, reason codes, and explanations that are left out [MQTT 5.0 §3.1.2.11]."""

from typing import Final

import pytest
from tests.broker_packets import (
    Seen,
    auth,
    connect,
    disconnect,
    pingreq,
    props,
    puback,
    publish,
    pubrec,
    pubrel,
    subscribe,
    unsubscribe,
)
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, only

from roost.broker.effects import Verdict

KINDS: Final = ["CONNACK", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBACK", "UNSUBACK", "DISCONNECT", "AUTH"]
FAILURES: Final = {
    "CONNACK": 0x86,
    "PUBACK": 0x87,
    "PUBREC": 0x87,
    "PUBREL": 0x92,
    "PUBCOMP": 0x92,
    "SUBACK": 0x87,
    "UNSUBACK": 0x11,
    "DISCONNECT": 0x82,
    "AUTH": 0x18,
}


def _failure(kind: str, **wishes: int) -> Seen:
    """Bring the server to send this packet about something that went wrong; AUTH has no such thing."""
    world = World()
    world.forbid(b"secret")
    if kind == "CONNACK":
        world.verdict = Verdict(0x86, why="the password is wrong")
        return only(world.link(5).say(connect(b"c", version=5, user=b"u", properties=props(**wishes))), kind)
    client = world.authenticating_client(b"c", b"m", **wishes)
    if kind == "AUTH":
        world.verdict = Verdict(0x18, challenge=b"?", why="more is needed")
    wrong = {
        "PUBACK": publish(b"secret", qos=1, packet_id=9, version=5),
        "PUBREC": publish(b"secret", qos=2, packet_id=9, version=5),
        "PUBREL": pubrec(9),
        "PUBCOMP": pubrel(9),
        "SUBACK": subscribe(9, b"secret", version=5),
        "UNSUBACK": unsubscribe(9, b"nothing", version=5),
        "DISCONNECT": connect(b"c", version=5),
        "AUTH": auth(0x19, auth_method=b"m"),
    }
    return only(client.say(wrong[kind]), kind)


@clauses(v5="3.2.2-8 3.4.2-1 3.5.2-1 3.6.2-1 3.7.2-1 3.9.3-2 3.11.3-2 3.14.2-1 3.15.2-1")
@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_is_told_with_a_reason_of_the_packets_table(version: int, kind: str) -> None:
    del version
    answer = _failure(kind)
    assert (answer.codes or [answer.reason]) == [FAILURES[kind]]


@clauses(v5="3.4.2-1 3.5.2-1")
@pytest.mark.parametrize("qos", [1, 2])
def test_an_acknowledgement_says_whether_anybody_was_there(version: int, qos: int) -> None:
    world = World()
    client = world.client(b"c", version)
    lonely = only(client.say(publish(b"t", qos=qos, packet_id=1, version=version)), ("PUBACK", "PUBREC")[qos - 1])
    assert lonely.reason in {0x00, 0x10}
    world.client(b"watcher", version).subscribe((b"t", 2))
    heard = only(client.say(publish(b"t", qos=qos, packet_id=2, version=version)), ("PUBACK", "PUBREC")[qos - 1])
    assert heard.reason == 0x00


@clauses(
    v5="3.2.2-19 3.2.2-20 3.4.2-2 3.4.2-3 3.5.2-2 3.5.2-3 3.6.2-2 3.6.2-3 3.7.2-2 3.7.2-3 3.9.2-1 3.9.2-2 3.11.2-1"
    " 3.11.2-2 3.14.2-3 3.14.2-4 3.15.2-2 3.15.2-3 3.1.2-24"
)
@pytest.mark.parametrize("kind", KINDS)
def test_explanations_give_way_to_the_clients_maximum_and_the_packet_comes(version: int, kind: str) -> None:
    """The smallest maximum that lets the client in, and every one from there to what the explained packet takes."""
    del version
    explained = _failure(kind)
    least = 1 if kind == "CONNACK" else _least_to_be_let_in()
    bare = len(_bare(explained))
    assert max(bare, least) < len(explained.raw)  # else there is nothing to give way
    for maximum in range(max(bare, least), max(len(explained.raw), least) + 2):
        answer = _failure(kind, maximum_packet_size=maximum)
        assert len(answer.raw) <= maximum
        assert (answer.reason, answer.codes) == (explained.reason, explained.codes)
        if len(explained.raw) <= maximum:
            assert answer == explained
        else:
            assert "reason_string" not in answer.properties


def _bare(packet: Seen) -> bytes:
    """The packet without what only explains it; the method and data of AUTH and CONNACK stay."""
    rest = {key: value for key, value in packet.properties.items() if key not in {"reason_string", "user"}}
    spared = len(props(**packet.properties)) - len(props(**rest))
    return packet.raw[: len(packet.raw) - spared]


def _least_to_be_let_in() -> int:
    return len(World().authenticating_client(b"c", b"m").connack.raw)


@clauses(v5="3.1.2-29")
@pytest.mark.parametrize("kind", KINDS)
def test_who_wants_no_explanations_gets_none_but_from_connack_and_disconnect(version: int, kind: str) -> None:
    del version
    assert _failure(kind).properties["reason_string"]
    assert _failure(kind, request_problem=1).properties["reason_string"]
    answer = _failure(kind, request_problem=0)
    if kind not in {"CONNACK", "DISCONNECT"}:
        assert not {"reason_string", "user"} & set(answer.properties)
    assert (answer.codes or [answer.reason]) == [FAILURES[kind]]


@clauses(v5="3.1.2-29 3.3.2-17")
def test_who_wants_no_explanations_still_gets_user_properties_of_messages(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version, properties=props(request_problem=0))
    watcher.subscribe(b"t")
    world.client(b"p", version).publish(b"t", b"x", properties=props(user=[(b"k", b"v")]))
    assert only(watcher.hear(), "PUBLISH").properties == {"user": [(b"k", b"v")]}


@clauses(v5="3.1.2-24 3.1.2-25")
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("identifier", [b"", props(subscription_id=7)])
def test_a_message_too_large_for_a_client_counts_as_delivered(version: int, qos: int, identifier: bytes) -> None:
    world = World()
    wishes = {"clean": False, "properties": props(session_expiry=100, maximum_packet_size=100, receive_maximum=1)}
    watcher, other = world.client(b"watcher", version, **wishes), world.client(b"other", version)
    watcher.subscribe((b"t", 2), properties=identifier)
    other.subscribe((b"t", 2))
    publisher = world.client(b"p", version)
    size = 100 - len(publish(b"t", qos=qos, packet_id=1, version=version)) - len(identifier)
    for number, payload in enumerate([b"x" * (size + 1), b"x" * size], 1):
        answer = publisher.say(publish(b"t", payload, qos=qos, packet_id=number, version=version))
        assert all(each.reason == 0 for each in answer)
    assert [len(each.payload) for each in watcher.hear()] == [size]  # the first did not even use up the quota of 1
    assert [len(each.payload) for each in other.hear()] == [size + 1, size]
    watcher.vanish()
    again = world.client(b"watcher", version, clean=False, properties=props(session_expiry=100))
    assert [len(each.payload) for each in again.hear()] == ([size] if qos else [])


@clauses(v5="3.1.2-25")
def test_a_message_that_waited_for_a_client_is_measured_by_the_link_it_goes_out_on(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version, clean=False, properties=props(session_expiry=100))
    watcher.subscribe((b"t", 1))
    watcher.vanish()
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"x" * 200, qos=1, packet_id=1)
    publisher.publish(b"t", b"y", qos=1, packet_id=2)
    small = world.client(
        b"watcher", version, clean=False, properties=props(session_expiry=100, maximum_packet_size=100)
    )
    message = only(small.hear(), "PUBLISH")
    assert message.payload == b"y"
    small.say(puback(message.packet_id))
    small.vanish()
    assert world.client(b"watcher", version, clean=False, properties=props(session_expiry=100)).hear() == []


@clauses(v5="3.1.2-24")
def test_no_packet_to_a_client_is_larger_than_it_allows(version: int) -> None:
    for maximum in range(1, 100):
        world = World(response_prefix=b"replies/")
        world.forbid(b"secret")
        link = world.link(version)
        wishes = props(maximum_packet_size=maximum, request_response=1, topic_alias_maximum=5)
        link.say(connect(b"", version=version, clean=False, properties=wishes))
        if not link.closed:
            link.say(subscribe(1, *([b"t"] * 20), b"secret", version=version))
            link.say(publish(b"t", b"x" * 40, version=version, properties=props(user=[(b"k", b"v" * 20)])))
            link.say(publish(b"secret", qos=1, packet_id=1, version=version))
            link.say(unsubscribe(2, *([b"t"] * 30), version=version))
            link.say(pingreq(), pubrec(8), pubrel(9), disconnect(0x42))
        assert all(len(each.raw) <= maximum for each in link.heard)
        assert link.closed
