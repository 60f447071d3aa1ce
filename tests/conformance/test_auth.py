"""Enhanced authentication [MQTT 5.0 §4.12, §3.15]."""

import pytest
from tests.broker_packets import auth, connect, disconnect, pingreq, props, publish, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World, ended, only

from roost.broker.effects import Verdict

ASK = Verdict(0x18, challenge=b"what is it?")
YES = Verdict(0x00)


def _challenged(world: World, version: int) -> Client:
    """A link that has been asked for more."""
    world.verdict = ASK
    link = world.link(version)
    question = only(
        link.say(connect(b"c", version=version, properties=props(auth_method=b"m", auth_data=b"1"))), "AUTH"
    )
    assert (question.reason, question.properties) == (0x18, {"auth_method": b"m", "auth_data": b"what is it?"})
    return link


@clauses(v5="4.12.0-2 4.12.0-5 3.15.2-1 3.2.0-1")
def test_a_challenge_is_asked_with_the_method_of_connect_until_it_is_answered(version: int) -> None:
    world = World()
    link = _challenged(world, version)
    again = only(link.say(auth(0x18, auth_method=b"m", auth_data=b"2")), "AUTH")
    assert (again.reason, again.properties["auth_method"]) == (0x18, b"m")
    world.verdict = YES
    answer = only(link.say(auth(0x18, auth_method=b"m", auth_data=b"3")), "CONNACK")
    assert answer.reason == 0
    assert answer.properties["auth_method"] == b"m"
    assert [(each.method, each.data) for each in world.asked] == [(b"m", b"1"), (b"m", b"2"), (b"m", b"3")]


@clauses(v5="4.12.0-5")
def test_a_method_that_needs_no_challenge_is_named_in_connack(version: int) -> None:
    client = World().authenticating_client(b"c", b"m")
    assert client.version == version
    assert client.connack.properties["auth_method"] == b"m"


@clauses(v5="4.12.0-1 4.12.0-4 3.2.2-7")
@pytest.mark.parametrize("reason", [0x8C, 0x87])
def test_a_method_that_nobody_knows_ends_the_link(version: int, reason: int) -> None:
    world = World()
    world.verdict = Verdict(reason, why="no such method")
    link = world.link(version)
    refusal = only(link.say(connect(b"c", version=version, properties=props(auth_method=b"?"))), "CONNACK")
    assert refusal.reason == reason
    assert link.closed


@clauses(v5="4.12.0-4 4.13.2-1")
def test_an_answer_that_is_wrong_ends_the_link(version: int) -> None:
    world = World()
    link = _challenged(world, version)
    world.verdict = Verdict(0x87, why="wrong")
    refusal = only(link.say(auth(0x18, auth_method=b"m", auth_data=b"wrong")), "CONNACK")
    assert refusal.reason == 0x87
    assert link.closed


@clauses(v5="4.12.0-3 3.14.0-1")
@pytest.mark.parametrize("reason", [0x00, 0x19, 0x42])
def test_an_answer_with_another_reason_than_0x18_ends_the_link(version: int, reason: int) -> None:
    world = World()
    link = _challenged(world, version)
    world.verdict = YES
    heard = link.say(auth(reason, auth_method=b"m", auth_data=b"2"))
    assert link.closed
    assert [each.kind for each in heard] in ([], ["CONNACK"])
    assert all(each.reason >= 0x80 for each in heard)


@clauses(v5="4.12.0-5")
def test_an_answer_by_another_method_ends_the_link(version: int) -> None:
    world = World()
    link = _challenged(world, version)
    world.verdict = YES
    heard = link.say(auth(0x18, auth_method=b"other", auth_data=b"2"))
    assert link.closed
    assert all(each.kind == "CONNACK" and each.reason >= 0x80 for each in heard)


@clauses(v5="3.1.2-30 3.1.0-2")
def test_other_packets_in_the_midst_of_authentication_end_the_link(version: int) -> None:
    for other in (
        publish(b"t", b"x", version=version),
        subscribe(1, b"t", version=version),
        pingreq(),
        connect(b"c", version=version),
    ):
        world = World()
        watcher = world.client(b"watcher", version)
        watcher.subscribe(b"#")
        link = _challenged(world, version)
        heard = link.say(other)
        assert link.closed
        assert all(each.kind == "CONNACK" and each.reason >= 0x80 for each in heard)
        assert watcher.hear() == []


@clauses(v5="3.1.2-30 4.12.0-4")
def test_a_client_may_give_up(version: int) -> None:
    world = World()
    link = _challenged(world, version)
    assert link.say(disconnect()) == []
    assert link.closed


@clauses(v5="4.12.0-6")
def test_without_a_method_the_server_sends_neither_auth_nor_a_method(version: int) -> None:
    world = World()
    assert "auth_method" not in world.client(b"c", version, user=b"u", password=b"p").connack.properties
    world.verdict = ASK  # a driver that asks all the same is not passed on
    link = world.link(version)
    heard = link.say(connect(b"d", version=version, user=b"u", password=b"p"))
    assert [each.kind for each in heard] in ([], ["CONNACK"])
    assert all("auth_method" not in each.properties and each.reason >= 0x80 for each in heard)


@clauses(v5="4.12.0-7")
@pytest.mark.parametrize("reason", [0x18, 0x19])
def test_auth_of_a_client_that_named_no_method_ends_the_link(version: int, reason: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(auth(reason, auth_method=b"m")), 0x82)


@clauses(v5="4.12.1-1 3.15.2-1 4.12.0-5")
def test_a_client_may_authenticate_again_by_its_method(version: int) -> None:
    world = World()
    client = world.authenticating_client(b"c", b"m")
    assert client.version == version
    world.verdict = ASK
    question = only(client.say(auth(0x19, auth_method=b"m", auth_data=b"1")), "AUTH")
    assert (question.reason, question.properties["auth_method"]) == (0x18, b"m")
    assert [each.kind for each in client.say(pingreq())] == ["PINGRESP"]  # other packets go on meanwhile
    world.verdict = YES
    answer = only(client.say(auth(0x18, auth_method=b"m", auth_data=b"2")), "AUTH")
    assert (answer.reason, answer.properties["auth_method"]) == (0x00, b"m")
    assert not client.closed


@clauses(v5="4.12.1-1")
def test_authenticating_again_by_another_method_ends_the_link(version: int) -> None:
    client = World().authenticating_client(b"c", b"m")
    assert client.version == version
    ended(client, client.say(auth(0x19, auth_method=b"other")), 0x82)


@clauses(v5="4.12.1-2 4.13.2-1")
@pytest.mark.parametrize("challenged", [False, True])
def test_authenticating_again_in_vain_ends_the_link(version: int, challenged: bool) -> None:
    world = World()
    client = world.authenticating_client(b"c", b"m")
    assert client.version == version
    if challenged:
        world.verdict = ASK
        assert only(client.say(auth(0x19, auth_method=b"m")), "AUTH").reason == 0x18
    world.verdict = Verdict(0x87, why="no longer")
    ended(client, client.say(auth(0x18 if challenged else 0x19, auth_method=b"m")), 0x87)


@clauses(v5="3.15.2-1")
@pytest.mark.parametrize("reason", [0x00, 0x01, 0x80])
def test_auth_with_a_reason_no_client_has_ends_the_link(version: int, reason: int) -> None:
    client = World().authenticating_client(b"c", b"m")
    assert client.version == version
    ended(client, client.say(auth(reason, auth_method=b"m")), 0x81, 0x82)
