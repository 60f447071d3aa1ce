"""Role-based publishing specifications: read, written back, and refused with what to write instead."""

import pytest

from roost.errors import BadConfig
from roost.process.roles.specification import MAX_LEVELS, MAX_ROLES, MAX_STREAMS, Row, Specification, stream_topic

DOCUMENT: dict[str, object] = {
    "topic": "t",
    "roles": {
        "developer": {"streams": ["raw", "t/anonymize"], "default": "raw"},
        "customer": {"streams": ["t/anonymize"], "default": "t/anonymize"},
        "visitor": {"streams": []},
    },
}


def test_a_document_is_read_row_by_row() -> None:
    assert Specification.read(DOCUMENT) == Specification(
        "t",
        (
            Row("developer", ("raw", "t/anonymize"), "raw"),
            Row("customer", ("t/anonymize",), "t/anonymize"),
            Row("visitor", (), ""),
        ),
    )


def test_a_document_is_written_as_it_was_read() -> None:
    assert Specification.read(DOCUMENT).mapping() == DOCUMENT


def test_the_default_of_one_stream_need_not_be_said_and_is_written() -> None:
    read = Specification.read({"topic": "t", "roles": {"a": {"streams": ["x"]}}})
    assert read.rows == (Row("a", ("x",), "x"),)
    assert read.mapping() == {"topic": "t", "roles": {"a": {"streams": ["x"], "default": "x"}}}


def test_a_stream_that_is_listed_twice_counts_once() -> None:
    read = Specification.read({"topic": "t", "roles": {"a": {"streams": ["x", "x"]}}})
    assert read.rows[0].streams == ("x",)


def test_the_streams_of_a_document_are_those_of_all_roles_in_its_order() -> None:
    roles = {"a": {"streams": ["y", "x"], "default": "x"}, "b": {"streams": ["raw", "y"], "default": "y"}}
    assert Specification.read({"topic": "t", "roles": roles}).streams == ("y", "x", "raw")


def test_anybody_is_who_has_none_of_the_other_roles_wherever_it_stands() -> None:
    roles = {"*": {"streams": ["x"]}, "a": {"streams": ["raw"]}, "banned": {"streams": []}}
    read = Specification.read({"topic": "t", "roles": roles})
    assert [row.role for row in read.rows_of(frozenset())] == ["*"]
    assert [row.role for row in read.rows_of({"stranger"})] == ["*"]
    assert [row.role for row in read.rows_of({"banned"})] == ["banned"]
    assert [row.role for row in read.rows_of({"banned", "a"})] == ["a", "banned"]


def test_a_user_cannot_have_the_role_of_anybody() -> None:
    roles = {"*": {"streams": ["raw"]}, "banned": {"streams": []}}
    read = Specification.read({"topic": "t", "roles": roles})
    assert [row.role for row in read.rows_of({"*", "banned"})] == ["banned"]


@pytest.mark.parametrize(
    ("stream", "topic", "found"),
    [
        ("raw", "home/hall", "home/hall"),
        ("t/anonymize", "t", "Noctua/t/anonymize"),
        ("{topic}/anonymize", "home/hall", "Noctua/home/hall/anonymize"),
        ("blur/{topic}", "home/hall", "Noctua/blur/home/hall"),
        ("blur/{topic}/v2", "home/+", "Noctua/blur/home/+/v2"),
        ("blur/{topic}/v2", "home/#", "Noctua/blur/home/#"),
        ("{topic}/v2", "#", "Noctua/#"),
    ],
)
def test_a_stream_is_found_on_its_topic(stream: str, topic: str, found: str) -> None:
    assert stream_topic(stream, topic) == found


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "the document: write a mapping with topic and roles"),
        ({"topic": "t", "role": {}}, "there is no key 'role'; write topic or roles"),
        ({"topic": "t", "roles": {}, True: 1}, "there is no key True"),
        ({"roles": {"a": {"streams": []}}}, "topic: write the topic or the filter"),
        ({"topic": 7}, "topic: write the topic or the filter"),
        ({"topic": ""}, "topic: a topic filter has at least one character"),
        ({"topic": "a/#/b"}, "'#' stands alone in the last level"),
        ({"topic": "$share/g/t"}, "without $share/"),
        ({"topic": "$since/1h/t"}, "without $since/"),
        ({"topic": "/".join(["a"] * (MAX_LEVELS + 1))}, f"may have {MAX_LEVELS}"),
        ({"topic": "t"}, "t: roles: write a mapping of one role at least"),
        ({"topic": "t", "roles": {}}, "roles: write a mapping of one role at least"),
        ({"topic": "t", "roles": ["a"]}, "roles: write a mapping of one role at least"),
        ({"topic": "t", "roles": {f"r{n}": {"streams": []} for n in range(MAX_ROLES + 1)}}, f"at most {MAX_ROLES}"),
        ({"topic": "t", "roles": {1: {"streams": []}}}, "1 is no name for a role: it is not text; put it in quotes"),
        ({"topic": "t", "roles": {" a": {"streams": []}}}, "' a' is no name for a role"),
        ({"topic": "t", "roles": {"": {"streams": []}}}, "'' is no name for a role"),
        ({"topic": "t", "roles": {"a\n": {"streams": []}}}, "is no name for a role"),
        ({"topic": "t", "roles": {"\ud800": {"streams": []}}}, "is no name for a role"),
        ({"topic": "t", "roles": {"é" * 129: {"streams": []}}}, "at most 256 bytes"),
        ({"topic": "t", "roles": {"a": ["raw"]}}, "t: role 'a': write a mapping with streams and default"),
        (
            {"topic": "t", "roles": {"a": {"stream": []}}},
            "role 'a': there is no key 'stream'; write streams or default",
        ),
        ({"topic": "t", "roles": {"a": {"default": "raw"}}}, "role 'a': streams is a list"),
        ({"topic": "t", "roles": {"a": {"streams": "raw"}}}, "role 'a': streams is a list"),
        ({"topic": "t", "roles": {"a": {"streams": ["x"] * (MAX_STREAMS + 1)}}}, f"may have {MAX_STREAMS}"),
        ({"topic": "t", "roles": {"a": {"streams": ["raw", "x"]}}}, "write default, one of raw, x"),
        (
            {"topic": "t", "roles": {"a": {"streams": ["x"], "default": "raw"}}},
            "'raw' is none of its streams; write one",
        ),
        ({"topic": "t", "roles": {"a": {"streams": [], "default": "raw"}}}, "write no default, or streams"),
        ({"topic": "t", "roles": {"a": {"streams": [7]}}}, "stream 7 is not text"),
        ({"topic": "t", "roles": {"a": {"streams": [""]}}}, "stream '' is no name of a macro"),
        ({"topic": "t", "roles": {"a": {"streams": ["Noctua/x"]}}}, "write it without Noctua/"),
        ({"topic": "t", "roles": {"a": {"streams": ["$x"]}}}, "is no name of a macro"),
        ({"topic": "t", "roles": {"a": {"streams": ["x/+"]}}}, "holds the wildcard '+'"),
        ({"topic": "t", "roles": {"a": {"streams": ["x\0"]}}}, "holds a NUL"),
        ({"topic": "t", "roles": {"a": {"streams": ["{tpoic}/x"]}}}, "the only placeholder is {topic}"),
        ({"topic": "t", "roles": {"a": {"streams": ["a{topic}/x"]}}}, "alone in its level"),
        ({"topic": "t", "roles": {"a": {"streams": ["{topic}/{topic}"]}}}, "write {topic} once"),
    ],
)
def test_what_cannot_be_is_refused_by_name_with_a_remedy(document: object, told: str) -> None:
    with pytest.raises(BadConfig) as caught:
        Specification.read(document)
    assert told in str(caught.value)
