"""Permissions against a plain matcher and every small topic there is; names that try to widen what they have."""

import re
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.broker.access import NOTHING, WHOLE
from roost.broker.patterns import Pattern, covers, intersects, matches
from roost.broker.permissions import Permissions
from roost.errors import BadConfig

# `z` stands in no filter, so it is what a wildcard alone can match; topics go one level deeper than filters.
# The empty topic is among them: nobody can send it, and so it does no harm that `+` and `/#` meet there.
TOPICS = [b"/".join(levels) for depth in range(1, 5) for levels in product((b"a", b"$s", b"", b"z"), repeat=depth)]


def joined(parts: Sequence[bytes], rest: bool) -> bytes:
    return b"/".join([*parts, b"#"] if rest else parts)


FILTERS = [
    wanted
    for depth in range(4)
    for parts in product((b"a", b"$s", b"", b"+"), repeat=depth)
    for wanted in (joined(parts, False), joined(parts, True))
    if wanted
]
short = st.sampled_from([wanted for wanted in FILTERS if len(wanted) <= 3])

hostile = st.one_of(
    st.sampled_from([b"", b"+", b"#", b"/", b"a", b"b", b"a/b", b"a/#", b"%u", b"%c", b"%%", b"$s", b"$SYS", b"\0"]),
    st.text(max_size=6).map(lambda text: text.encode(errors="replace")),
    st.text("ab/+#%uc$", max_size=5).map(str.encode),
)
pieces = st.sampled_from([b"%u", b"%c", b"x%u", b"%cx", b"+", b"", b"a", b"%%"])
templates = st.builds(joined, st.lists(pieces, min_size=1, max_size=3), st.booleans()).filter(bool)


def plainly_matches(wanted: bytes, topic: bytes) -> bool:
    """[MQTT-4.7], written as a regular expression."""
    if topic.startswith(b"$") and wanted[:1] in {b"+", b"#"}:
        return False
    form = re.escape(wanted).replace(rb"\+", rb"[^/]*")
    form = re.sub(rb"(^|/)\\#$", lambda found: rb"(/.*)?" if found[1] else rb".*", form)
    return re.fullmatch(form, topic, re.DOTALL) is not None


@pytest.fixture(scope="module")
def reached() -> dict[bytes, int]:
    """Every filter with the topics that it matches, a bit for each."""
    return {
        wanted: sum(1 << at for at, topic in enumerate(TOPICS) if plainly_matches(wanted, topic)) for wanted in FILTERS
    }


def test_matching_is_that_of_mqtt(reached: dict[bytes, int]) -> None:
    for wanted, bits in reached.items():
        for at, topic in enumerate(TOPICS):
            assert matches(wanted.split(b"/"), topic.split(b"/")) == bool(bits >> at & 1), (wanted, topic)


def test_covering_and_intersecting_are_what_an_enumeration_says(reached: dict[bytes, int]) -> None:
    for (pattern, mine), (wanted, theirs) in product(reached.items(), repeat=2):
        one, other = pattern.split(b"/"), wanted.split(b"/")
        assert covers(one, other) == (mine & theirs == theirs), (pattern, wanted)
        assert intersects(one, other) == (mine & theirs != 0), (pattern, wanted)


@settings(max_examples=500, deadline=None)
@given(templates, hostile, hostile)
def test_a_variable_is_one_level_that_says_just_the_name(template: bytes, user: bytes, client: bytes) -> None:
    filled = Pattern(template).filled(user, client)
    values = [value for name, value in ((b"%u", user), (b"%c", client)) if name in template]
    if filled is None:
        assert any(not value or value[:1] == b"$" or re.search(rb"[/+#\0]", value) for value in values)
        return
    assert all(values)
    written = template.split(b"/")
    assert len(filled) == len(written)
    for level, form in zip(filled, written, strict=True):
        expected = re.sub(rb"%(.)", lambda found: {b"u": user, b"c": client, b"%": b"%"}[found[1]], form)
        assert level == expected
        assert (level in {b"+", b"#"}) == (form in {b"+", b"#"})
        assert b"/" not in level
    assert filled[0].startswith(b"$") == written[0].startswith(b"$")


@settings(max_examples=300, deadline=None)
@given(templates, hostile, hostile, hostile, hostile)
def test_two_names_never_meet_on_one_topic(
    template: bytes, user: bytes, client: bytes, other_user: bytes, other_client: bytes
) -> None:
    pattern = Pattern(template)
    mine, theirs = pattern.filled(user, client), pattern.filled(other_user, other_client)
    differs = (b"%u" in template and user != other_user) or (b"%c" in template and client != other_client)
    if mine is not None and theirs is not None and differs:
        assert not intersects(mine, theirs)


rights = st.sampled_from(["read", "readwrite", "deny", "deny read", "write", "deny write"])
sections = st.sampled_from(["all", "user u", "group g\nmember u", "user v"])
lines = st.lists(st.tuples(sections, rights, short), max_size=5)


@settings(max_examples=300, deadline=None)
@given(lines, short)
def test_reach_keeps_what_it_says_about_every_topic(said: list[tuple[str, str, bytes]], wanted: bytes) -> None:
    text = "\n".join(f"{section}\n{right} {pattern.decode()}" for section, right, pattern in said)
    permissions = Permissions.parse(text)
    asked = [topic for topic in TOPICS if plainly_matches(wanted, topic)]
    readable = [topic for topic in asked if permissions.may_receive(b"u", b"c", topic)]
    reach = permissions.reach(b"u", b"c", wanted)
    if reach == WHOLE:
        assert readable == asked
    if reach == NOTHING:
        assert readable == []


@settings(deadline=None)
@given(lines)
def test_the_order_of_lines_means_nothing(said: list[tuple[str, str, bytes]]) -> None:
    forms = [f"{section}\n{right} {pattern.decode()}" for section, right, pattern in said]
    one, other = Permissions.parse("\n".join(forms)), Permissions.parse("\n".join(forms[::-1]))
    for topic in TOPICS[:160]:
        assert one.may_publish(b"u", b"c", topic) == other.may_publish(b"u", b"c", topic)
        assert one.may_receive(b"u", b"c", topic) == other.may_receive(b"u", b"c", topic)


@settings(deadline=None)
@given(st.text() | st.text("alreduswit %c#+/\n", max_size=60))
def test_any_text_is_permissions_or_a_mistake_on_some_line(text: str) -> None:
    wrong = ""
    try:
        Permissions.parse(text)
    except BadConfig as error:
        wrong = str(error)
    assert not wrong or re.match(r"line \d+: ", wrong)
