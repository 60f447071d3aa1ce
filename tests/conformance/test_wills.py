"""Wills: kept, published and withdrawn [MQTT 5.0 §3.1.2.5 to §3.1.2.7, §3.1.3.2, §3.14.4]."""

from typing import Any

import pytest
from tests.broker_packets import connect, disconnect, packet, pingreq, props, puback
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World, only

from roost.broker.effects import Verdict


def _watched(version: int) -> tuple[World, Client]:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"w", 2))
    return world, watcher


def _mortal(world: World, version: int, **options: Any) -> Client:  # noqa: ANN401  as `connect` takes them
    return world.client(b"c", version, will=b"w", will_payload=b"gone", **options)


@clauses(v4="3.1.2-8 3.1.2-9", v5="3.1.2-7 3.1.2-8")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_will_goes_out_when_the_link_fails(version: int, qos: int) -> None:
    world, watcher = _watched(version)
    client = _mortal(world, version, will_qos=qos)
    assert watcher.hear() == []
    client.vanish()
    will = only(watcher.hear(), "PUBLISH")
    assert (will.topic, will.payload, will.qos) == (b"w", b"gone", qos)


@clauses(v4="3.1.2-8", v5="3.1.2-8")
def test_a_will_goes_out_when_the_client_breaks_the_protocol(version: int) -> None:
    world, watcher = _watched(version)
    client = _mortal(world, version)
    client.say(packet(0x00, b""))
    assert client.closed
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v4="3.1.2-8", v5="3.1.2-8")
def test_a_will_goes_out_when_another_link_takes_over(version: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version)
    world.client(b"c", version)
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v4="3.1.2-10 3.14.4-3", v5="3.1.2-8 3.1.2-10 3.14.4-3")
def test_goodbye_withdraws_the_will(version: int) -> None:
    world, watcher = _watched(version)
    client = _mortal(world, version)
    client.say(disconnect())
    client.vanish()
    world.wait(1000)
    assert watcher.hear() == []


@clauses(v5="3.1.2-8")
@pytest.mark.parametrize("reason", [0x04, 0x80, 0x97])
def test_a_goodbye_with_another_reason_leaves_the_will(version: int, reason: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version).say(disconnect(reason))
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v4="3.1.2-10", v5="3.1.2-10")
def test_a_will_goes_out_once(version: int) -> None:
    world, watcher = _watched(version)
    lasting = props(session_expiry=60) if version == 5 else b""
    _mortal(world, version, clean=False, properties=lasting).vanish()
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"
    world.wait(50)
    again = world.client(b"c", version, clean=False, properties=lasting)
    assert again.connack.session_present
    again.vanish()
    world.wait(1000)
    assert watcher.hear() == []


@clauses(v4="3.1.2-10", v5="3.1.2-10")
def test_a_will_that_went_out_does_not_go_out_again_when_the_session_ends(version: int) -> None:
    world, watcher = _watched(version)
    lasting = props(session_expiry=60) if version == 5 else b""
    _mortal(world, version, clean=False, properties=lasting).vanish()
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"
    world.client(b"c", version, clean=True)
    world.wait(100)
    assert watcher.hear() == []


@clauses(v4="3.1.2-12", v5="3.1.2-8")
def test_without_a_will_nothing_goes_out(version: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version).say(disconnect())
    client = world.client(b"c", version)  # an earlier will of this client is not its will
    client.say(pingreq())
    client.vanish()
    world.wait(1000)
    assert watcher.hear() == []


@clauses(v4="3.1.2-16", v5="3.1.2-14")
def test_a_will_without_retain_is_not_retained(version: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version).vanish()
    assert not only(watcher.hear(), "PUBLISH").retain
    late = world.client(b"late", version)
    late.subscribe(b"w")
    assert late.hear() == []


@clauses(v4="3.1.2-17", v5="3.1.2-15")
def test_a_will_with_retain_is_retained(version: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version, will_retain=True, will_qos=1).vanish()
    assert not only(watcher.hear(), "PUBLISH").retain
    late = world.client(b"late", version)
    late.subscribe((b"w", 2))
    kept = only(late.hear(), "PUBLISH")
    assert (kept.payload, kept.retain, kept.qos) == (b"gone", True, 1)


@clauses(v5="3.1.2-8")
def test_a_will_waits_for_its_delay(version: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version, properties=props(session_expiry=100), will_properties=props(will_delay=30)).vanish()
    world.wait(29)
    assert watcher.hear() == []
    world.wait(2)
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v5="3.1.2-8")
def test_a_will_does_not_wait_longer_than_its_session(version: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version, properties=props(session_expiry=10), will_properties=props(will_delay=30)).vanish()
    world.wait(9)
    assert watcher.hear() == []
    world.wait(2)
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v5="3.1.2-8")
def test_a_clean_start_ends_the_session_and_so_brings_the_will(version: int) -> None:
    world, watcher = _watched(version)
    _mortal(world, version, properties=props(session_expiry=100), will_properties=props(will_delay=30)).vanish()
    world.client(b"c", version, clean=True)
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v5="3.1.3-9 3.1.2-8")
@pytest.mark.parametrize("way", ["after the link failed", "taking over"])
def test_who_is_back_in_time_is_not_mourned(version: int, way: str) -> None:
    world, watcher = _watched(version)
    lasting = props(session_expiry=100)
    first = _mortal(world, version, clean=False, properties=lasting, will_properties=props(will_delay=30))
    if way == "after the link failed":
        first.vanish()
        world.wait(29)
    second = world.client(b"c", version, clean=False, properties=lasting)
    assert second.connack.session_present
    world.wait(60)
    assert watcher.hear() == []
    second.vanish()  # it had no will of its own
    world.wait(60)
    assert watcher.hear() == []


@clauses(v5="3.1.3-10")
def test_the_properties_of_a_will_pass_in_their_order(version: int) -> None:
    world, watcher = _watched(version)
    pairs = [(b"b", b"1"), (b"a", b"2"), (b"b", b"1"), (b"", b"")]
    about = props(payload_format=1, content_type=b"text/plain", response_topic=b"r", correlation=b"\x00", user=pairs)
    _mortal(world, version, will_properties=about).vanish()
    assert only(watcher.hear(), "PUBLISH").properties == {
        "payload_format": 1,
        "content_type": b"text/plain",
        "response_topic": b"r",
        "correlation": b"\x00",
        "user": pairs,
    }


@clauses(v4="3.1.4-5", v5="3.1.4-6")
def test_the_will_of_a_connect_that_was_refused_does_not_exist(version: int) -> None:
    world, watcher = _watched(version)
    world.verdict = Verdict(0x87, why="no")
    link = world.link(version)
    link.say(connect(b"c", version=version, user=b"u", password=b"p", will=b"w", will_payload=b"gone"))
    assert link.closed
    link.vanish()
    world.wait(1000)
    assert watcher.hear() == []


@clauses(v4="3.1.2-8", v5="3.1.2-7 3.1.2-8")
def test_the_will_of_a_session_that_lasts_survives_a_crash_of_the_server(version: int) -> None:
    world = World(persistent=True)
    lasting = props(session_expiry=100) if version == 5 else b""
    watcher = world.client(b"watcher", version, clean=False, properties=lasting)
    watcher.subscribe((b"w", 1))
    _mortal(world, version, clean=False, properties=lasting, will_qos=1)
    world.crash()
    again = world.client(b"watcher", version, clean=False, properties=lasting)
    assert only(again.hear(), "PUBLISH").payload == b"gone"


@clauses(v4="3.1.2-8", v5="3.1.2-7 3.1.2-8")
def test_the_will_of_a_session_that_ends_with_its_link_survives_a_crash_of_the_server(version: int) -> None:
    world = World(persistent=True)
    lasting = props(session_expiry=100) if version == 5 else b""
    watcher = world.client(b"watcher", version, clean=False, properties=lasting)
    watcher.subscribe((b"w", 1))
    before = len(world.disk.rows)
    said_goodbye = _mortal(world, version, will_qos=1)
    said_goodbye.send(disconnect())
    assert len(world.disk.rows) == before
    _mortal(world, version, will_qos=1)
    world.crash()
    again = world.client(b"watcher", version, clean=False, properties=lasting)
    will = only(again.hear(), "PUBLISH")
    assert will.payload == b"gone"
    again.send(puback(will.packet_id))
    world.crash()
    assert world.client(b"watcher", version, clean=False, properties=lasting).hear() == []
