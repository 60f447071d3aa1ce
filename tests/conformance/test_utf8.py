"""Strings: what is not text ends the link, what is text passes unchanged [MQTT 5.0 §1.5.4, 3.1.1 §1.5.3]."""

from typing import Final

import pytest
from tests.broker_packets import connect, props, publish, subscribe, unsubscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only

ILL_FORMED: Final = [
    pytest.param(b"a\xed\xa0\x80", id="high surrogate"),
    pytest.param(b"\xed\xbf\xbfa", id="low surrogate"),
    pytest.param(b"\xc0\xaf", id="overlong"),
    pytest.param(b"a\xff", id="no such byte"),
    pytest.param(b"\xe2\x82", id="cut"),
    pytest.param(b"\xf4\x90\x80\x80", id="beyond U+10FFFF"),
]
WITH_NUL: Final = [pytest.param(b"\x00", id="NUL"), pytest.param(b"a\x00b", id="NUL inside")]
NOT_TEXT: Final = ILL_FORMED + WITH_NUL
BOM: Final = b"\xef\xbb\xbf"


@clauses(v4="1.5.3-1 1.5.3-2 3.1.3-4 3.1.4-1", v5="1.5.4-1 1.5.4-2 3.1.3-4 3.1.4-1")
@pytest.mark.parametrize("text", NOT_TEXT)
def test_a_client_identifier_that_is_no_text_is_refused(version: int, text: bytes) -> None:
    World().link(version).is_refused(connect(text, version=version), 0x81, 0x82, 0x85)


@clauses(v4="1.5.3-1 1.5.3-2 3.1.3-10", v5="1.5.4-1 1.5.4-2 3.1.3-11")
@pytest.mark.parametrize("text", NOT_TEXT)
def test_the_topic_of_a_will_that_is_no_text_is_refused(version: int, text: bytes) -> None:
    World().link(version).is_refused(connect(b"c", version=version, will=text), 0x81, 0x82, 0x90)


@clauses(v4="1.5.3-1 1.5.3-2 3.1.3-11", v5="1.5.4-1 1.5.4-2 3.1.3-12")
@pytest.mark.parametrize("text", NOT_TEXT)
def test_a_user_name_that_is_no_text_is_refused(version: int, text: bytes) -> None:
    world = World()
    world.link(version).is_refused(connect(b"c", version=version, user=text, password=b"p"), 0x81, 0x82)
    assert world.asked == []


@clauses(v4="1.5.3-1 3.3.2-1", v5="1.5.4-1 3.3.2-1")
@pytest.mark.parametrize("text", ILL_FORMED)
def test_a_topic_that_is_no_text_ends_the_link(version: int, text: bytes) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"#")
    client = world.client(b"c", version)
    ended(client, client.say(publish(text, b"x", version=version)), 0x81)
    assert watcher.hear() == []


@clauses(v4="1.5.3-2 4.7.3-2", v5="1.5.4-2 4.7.3-2")
@pytest.mark.parametrize("text", WITH_NUL)
def test_a_nul_in_a_topic_or_filter_ends_the_link(version: int, text: bytes) -> None:
    for packet in (
        publish(text, version=version),
        subscribe(1, text, version=version),
        unsubscribe(1, text, version=version),
    ):
        client = World().client(b"c", version)
        ended(client, client.say(packet), 0x81)


@clauses(v4="1.5.3-1 3.8.3-1", v5="1.5.4-1 3.8.3-1")
@pytest.mark.parametrize("text", ILL_FORMED)
def test_a_filter_to_subscribe_that_is_no_text_ends_the_link(version: int, text: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, text, version=version)), 0x81)


@clauses(v4="1.5.3-1 3.10.3-1", v5="1.5.4-1 3.10.3-1")
@pytest.mark.parametrize("text", ILL_FORMED)
def test_a_filter_to_unsubscribe_that_is_no_text_ends_the_link(version: int, text: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(unsubscribe(1, text, version=version)), 0x81)


@clauses(v5="1.5.4-1 1.5.4-2 1.5.7-1 3.3.2-13 3.3.2-19")
@pytest.mark.parametrize("text", NOT_TEXT)
@pytest.mark.parametrize("where", ["response_topic", "content_type", "key", "value"])
def test_a_property_that_is_no_text_ends_the_link(version: int, text: bytes, where: str) -> None:
    properties = {"key": props(user=[(text, b"v")]), "value": props(user=[(b"k", text)])}.get(where)
    if properties is None:
        properties = props(**{where: text})
    client = World().client(b"c", version)
    ended(client, client.say(publish(b"t", version=version, properties=properties)), 0x81, 0x82)


@clauses(v4="1.5.3-3", v5="1.5.4-3")
def test_a_byte_order_mark_is_a_character(version: int) -> None:
    world = World()
    bare, marked = world.client(b"bare", version), world.client(BOM + b"bare", version)
    bare.subscribe(b"t/x")
    marked.subscribe(b"t/" + BOM + b"x")
    world.client(b"c", version).publish(b"t/" + BOM + b"x", b"1")
    assert only(marked.hear(), "PUBLISH").topic == b"t/" + BOM + b"x"
    assert bare.hear() == []
    assert not bare.closed  # a client whose identifier has the mark is another client


@clauses(v4="3.3.2-1 3.8.3-1 4.7.3-4", v5="3.3.2-1 3.8.3-1 4.7.3-4")
def test_text_of_every_width_passes_as_it_is(version: int) -> None:
    topic = "a/Å/é/ẔḀ/😀/\ufffe/\u0001".encode()
    world = World()
    watcher = world.client("ẞ😀".encode(), version)
    watcher.subscribe(topic)
    world.client(b"c", version).publish(topic, b"1")
    assert only(watcher.hear(), "PUBLISH").topic == topic


@clauses(v4="4.7.3-4", v5="4.7.3-4")
def test_topics_that_only_look_alike_are_different(version: int) -> None:
    world = World()
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    watcher = world.client(b"watcher", version)
    for number, near in enumerate([decomposed, "CAF\u00c9", "caf\u00e9/", "/caf\u00e9", " caf\u00e9", "cafe"], 1):
        watcher.subscribe(near.encode(), packet_id=number)
    client = world.client(b"c", version)
    client.publish(composed.encode(), b"1")
    assert watcher.hear() == []
    watcher.subscribe(composed.encode(), packet_id=9)
    client.publish(composed.encode(), b"2")
    assert only(watcher.hear(), "PUBLISH").payload == b"2"
