"""Names and topics under Hypothesis: order, URI and topic round trips, and python-ndn as the second opinion."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from ndn import encoding as peer

from roost.errors import BadName, BadPacket, BadTopic
from roost.naming import Component, Name
from roost.naming.topic import TopicFilter, name_of_topic, topic_of_name

NUMBERED = st.sampled_from([50, 52, 54, 56, 58])
COMPONENTS = st.one_of(
    st.builds(Component, st.binary(max_size=20)),
    st.builds(Component, st.binary(max_size=300), st.integers(3, 0xFFFF)),
    st.builds(Component, st.binary(min_size=32, max_size=32), st.sampled_from([1, 2])),
    st.builds(Component.numbered, st.integers(0, 2**64 - 1), NUMBERED),
    st.builds(Component.text, st.text(max_size=10)),
    st.builds(Component, st.text(".", max_size=4).map(str.encode)),
)
NAMES = st.lists(COMPONENTS, max_size=6).map(lambda parts: Name.of(*parts))


@given(NAMES)
def test_uri_round_trip(name: Name) -> None:
    assert Name.parse(str(name)) == name


@given(NAMES)
def test_wire_round_trip_and_parts(name: Name) -> None:
    decoded = Name.decode(name.value)
    assert decoded == name
    assert Name.of(*decoded) == name
    for cut in range(len(name) + 1):
        assert name.prefix(cut) + name.suffix(cut) == name
        assert name.starts_with(name.prefix(cut))


@given(NAMES)
def test_python_ndn_reads_and_writes_the_same_name(name: Name) -> None:
    assert [bytes(part) for part in peer.Name.from_bytes(name.wire)] == [part.wire for part in name]
    assert bytes(peer.Name.to_bytes([part.wire for part in name])) == name.wire


@given(NAMES)
def test_python_ndn_reads_our_uri(name: Name) -> None:
    # Components without value and of periods only are left out: python-ndn does not know the extra periods.
    if all(part.value.strip(b".") for part in name):
        assert bytes(peer.Name.to_bytes(peer.Name.from_str(str(name)))) == name.wire


@given(NAMES, NAMES)
def test_order_is_the_definition(one: Name, two: Name) -> None:
    def key(name: Name) -> list[tuple[int, int, bytes]]:
        return [(part.type, len(part.value), part.value) for part in name]

    assert (one < two) == (key(one) < key(two))
    assert (one <= two) == (key(one) <= key(two))
    assert (one == two) == (key(one) == key(two))
    assert one.starts_with(two) == (key(one)[: len(two)] == key(two))


@given(st.binary(max_size=40))
def test_any_bytes_are_a_name_or_refused(value: bytes) -> None:
    try:
        name = Name.decode(value)
    except BadPacket:
        return
    assert b"".join([part.wire for part in name]) == value


@given(st.text(max_size=30))
def test_any_text_is_a_uri_or_refused(text: str) -> None:
    try:
        name = Name.parse("/" + text)
    except BadName:
        return
    assert Name.parse(str(name)) == name


LEVELS = st.text(st.characters(exclude_characters="/+#\x00", exclude_categories=["Cs"]), max_size=5)
TOPICS = st.lists(LEVELS, min_size=1, max_size=5).map("/".join).filter(bool)


@given(TOPICS)
def test_every_topic_has_one_name(topic: str) -> None:
    name = name_of_topic(topic)
    assert len(name) == topic.count("/") + 1
    assert topic_of_name(name) == topic
    assert Name.decode(name.value) == name


@given(NAMES)
def test_every_name_has_one_topic_or_none(name: Name) -> None:
    try:
        topic = topic_of_name(name)
    except BadTopic:
        return
    assert name_of_topic(topic) == name


@given(st.text(st.sampled_from("ab/+#$\x00\ud800"), max_size=6))
def test_any_text_is_a_topic_or_refused(topic: str) -> None:
    try:
        name = name_of_topic(topic)
    except BadTopic:
        return
    assert topic_of_name(name) == topic


def by_the_book(pattern: list[str], topic: list[str]) -> bool:
    """MQTT matching, level by level, as the standard tells it."""
    if not pattern:
        return not topic
    if pattern[0] == "#":
        return True
    return bool(topic) and pattern[0] in {"+", topic[0]} and by_the_book(pattern[1:], topic[1:])


@given(
    st.lists(st.sampled_from(["a", "b", "", "+", "$x"]), min_size=1, max_size=4),
    st.booleans(),
    st.lists(st.sampled_from(["a", "b", "", "$x"]), min_size=1, max_size=5).filter(any),
)
def test_filters_match_by_the_book(levels: list[str], rest: bool, topic: list[str]) -> None:
    pattern = [*levels, "#"] if rest else levels
    if pattern == [""]:
        return
    matcher = TopicFilter("/".join(pattern))
    name = name_of_topic("/".join(topic))
    expected = by_the_book(pattern, topic) and not (topic[0].startswith("$") and pattern[0] in {"+", "#"})
    assert matcher.matches(name) is expected
    if expected:
        assert name.starts_with(matcher.prefix)
