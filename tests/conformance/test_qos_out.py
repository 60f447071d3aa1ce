"""QoS 1 and 2 out of the server, and what is sent again [MQTT 5.0 §4.3, §4.4]."""

from collections.abc import Callable

import pytest
from tests.broker_packets import props, puback, pubcomp, pubrec, pubrel
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World, ended, only


def _lasting(version: int) -> bytes:
    return props(session_expiry=100) if version == 5 else b""


def _watcher(world: World, version: int, qos: int = 2) -> Client:
    watcher = world.client(b"watcher", version, clean=False, properties=_lasting(version))
    if not watcher.connack.session_present:
        watcher.subscribe((b"t", qos))
    return watcher


@clauses(v5="4.3.3-7 4.3.2-3 4.4.0-1")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_that_went_out_is_sent_again_even_if_it_expired(version: int, qos: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    world.client(b"c", version).publish(b"t", b"1", qos=qos, packet_id=5, properties=props(expiry=10))
    first = only(watcher.hear(), "PUBLISH")
    watcher.vanish()
    world.wait(60)
    again = only(_watcher(world, version).hear(), "PUBLISH")
    assert (again.packet_id, again.payload, again.dup) == (first.packet_id, b"1", True)


@clauses(v4="4.3.2-1 4.3.3-1 2.3.1-4", v5="4.3.2-1 4.3.2-2 4.3.3-1 4.3.3-2 2.2.1-4")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_goes_out_with_an_identifier_of_its_own_and_without_dup(version: int, qos: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    for number in range(1, 21):
        client.publish(b"t", b"x", qos=qos, packet_id=number)
    messages = watcher.hear()
    assert [(each.qos, each.dup) for each in messages] == [(qos, False)] * 20
    assert len({each.packet_id for each in messages}) == 20


@clauses(v4="3.3.1-1 4.3.2-1 4.4.0-1 2.3.1-4", v5="3.3.1-1 4.3.2-3 4.4.0-1")
def test_a_message_of_qos_1_is_unacknowledged_until_puback(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    client.publish(b"t", b"1", qos=1, packet_id=1)
    client.publish(b"t", b"2", qos=1, packet_id=2)
    first, second = watcher.hear()
    watcher.say(puback(first.packet_id))
    for _ in range(2):
        watcher.vanish()
        watcher = _watcher(world, version)
        again = only(watcher.hear(), "PUBLISH")
        assert (again.packet_id, again.payload, again.dup) == (second.packet_id, b"2", True)
    watcher.say(puback(second.packet_id))
    watcher.vanish()
    assert _watcher(world, version).hear() == []


@clauses(
    v4="3.3.1-1 4.3.3-1 4.4.0-1 2.3.1-6",
    v5="3.3.1-1 4.3.3-3 4.3.3-4 4.3.3-5 4.3.3-6 4.4.0-1 2.2.1-5 3.6.2-1",
)
def test_a_message_of_qos_2_passes_its_steps_across_links(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    world.client(b"c", version).publish(b"t", b"x", qos=2, packet_id=1)
    number = only(watcher.hear(), "PUBLISH").packet_id
    for _ in range(2):  # unacknowledged until PUBREC: sent again
        watcher.vanish()
        watcher = _watcher(world, version)
        again = only(watcher.hear(), "PUBLISH")
        assert (again.packet_id, again.dup, again.qos) == (number, True, 2)
    assert only(watcher.say(pubrec(number)), "PUBREL").packet_id == number
    for _ in range(2):  # now PUBREL is unacknowledged, and the PUBLISH never comes back
        watcher.vanish()
        watcher = _watcher(world, version)
        assert only(watcher.hear(), "PUBREL").packet_id == number
    assert watcher.say(pubcomp(number)) == []
    watcher.vanish()
    assert _watcher(world, version).hear() == []


@clauses(v4="4.3.3-1", v5="4.3.3-4 4.3.3-6")
def test_a_second_pubrec_brings_a_second_pubrel_and_no_publish(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    world.client(b"c", version).publish(b"t", b"x", qos=2, packet_id=1)
    number = only(watcher.hear(), "PUBLISH").packet_id
    for _ in range(2):
        assert only(watcher.say(pubrec(number)), "PUBREL").packet_id == number


@clauses(v5="4.4.0-1")
def test_nothing_is_sent_again_on_the_same_link(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    client.publish(b"t", b"1", qos=1, packet_id=1)
    client.publish(b"t", b"2", qos=2, packet_id=2)
    released = [each.packet_id for each in watcher.hear()][1]
    watcher.say(pubrec(released))
    world.wait(100_000)
    assert watcher.hear() == []


@clauses(v5="4.4.0-2")
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("reason", [0x80, 0x83, 0x87, 0x91, 0x97, 0x99])
def test_a_message_that_is_refused_is_not_sent_again(version: int, qos: int, reason: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    world.client(b"c", version).publish(b"t", b"x", qos=qos, packet_id=1)
    number = only(watcher.hear(), "PUBLISH").packet_id
    assert watcher.say((puback, pubrec)[qos - 1](number, reason)) == []  # a refusing PUBREC asks for no PUBREL
    watcher.vanish()
    assert _watcher(world, version).hear() == []


@clauses(v5="3.6.2-1 4.3.3-4")
def test_a_pubrec_of_an_unknown_identifier_is_answered_with_0x92(version: int) -> None:
    client = World().client(b"c", version)
    answer = only(client.say(pubrec(77)), "PUBREL")
    assert (answer.packet_id, answer.reason) == (77, 0x92)


@clauses(v4="4.1.0-1", v5="4.4.0-1")
def test_acknowledgements_of_nothing_do_no_harm(version: int) -> None:
    client = World().client(b"c", version)
    assert client.say(puback(9), pubcomp(9)) == []
    assert not client.closed


@clauses(v5="3.4.2-1 3.5.2-1 3.6.2-1 3.7.2-1 4.13.1-1")
@pytest.mark.parametrize("acknowledge", [puback, pubrec, pubrel, pubcomp])
def test_an_acknowledgement_with_a_reason_of_another_packet_ends_the_link(
    version: int, acknowledge: Callable[[int, int], bytes]
) -> None:
    for reason in (0x01, 0x18, 0x81, 0x8E):
        client = World().client(b"c", version)
        ended(client, client.say(acknowledge(1, reason)), 0x81, 0x82)
