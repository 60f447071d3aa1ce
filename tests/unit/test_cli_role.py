"""`roost role`: what a user gets and why, from files and from a node, and whether documents are in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.macro_world import FakeNode, fake_node

from roost.cli import main

DOCUMENTS = """
- topic: home/+
  roles:
    developer: {streams: [raw, "{topic}/anonymize"], default: raw}
    customer: {streams: ["{topic}/anonymize"]}
- topic: "#"
  roles: {"*": {streams: [raw]}}
- topic: home/hall
  roles: {"*": {streams: []}}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "rbps.yaml").write_text(DOCUMENTS)
    (folder / "roles.yaml").write_text("alice: developer\nbob: [customer]\n")
    path = folder / "broker.yaml"
    path.write_text("roles: {documents: rbps.yaml, users: roles.yaml}\n")
    return path


def explained(config: Path, user: str, topic: str) -> int:
    return main(["role", "explain", user, topic, "--config", str(config)])


def test_the_files_of_a_configuration_say_what_a_user_gets(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(config, "bob", "home/kitchen") == 0
    assert capsys.readouterr().out.splitlines() == [
        "user: bob",
        "topic: home/kitchen",
        "roles: customer",
        "document: home/+, rather than the less specific #",
        "    developer: raw (default), {topic}/anonymize",
        "  > customer: {topic}/anonymize (default)",
        "gets: Noctua/home/kitchen/anonymize, for {topic}/anonymize is the default of role 'customer'",
        "refused: home/kitchen",
    ]


def test_who_is_in_no_file_has_no_roles(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(config, "carol", "home/kitchen") == 0
    said = capsys.readouterr().out
    assert "roles: none\n" in said
    assert "gets: nothing, for no role of the user's is mentioned" in said


def test_roles_that_no_file_has_are_not_known(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text("roles: {documents: rbps.yaml, users: {topic: people/%u/roles}}\n")
    assert explained(config, "bob", "home/kitchen") == 0
    said = capsys.readouterr().out
    assert "roles: not known: only the node can look them up; leave out --config to ask it" in said
    assert "gets: nothing" in said


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("listeners: []", "says nothing of roles; write `roles: {documents"),
        ("roles: {documents: rbps.yaml}", "roles.users: say who has which role"),
        ("roles: {documents: gone.yaml, users: roles.yaml}", "gone.yaml cannot be read: No such file"),
        ("roles: {documents: roles.yaml, users: roles.yaml}", "roles.yaml, document 1: "),
        ("roles: {documents: rbps.yaml, users: rbps.yaml}", "rbps.yaml: the roles file is no mapping"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_sentence(
    config: Path, capsys: pytest.CaptureFixture[str], content: str, why: str
) -> None:
    config.write_text(content)
    assert explained(config, "bob", "home/kitchen") == 1
    said = capsys.readouterr().err
    assert said.startswith("roost role: ")
    assert why in said


def test_a_topic_has_no_wildcards(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(config, "bob", "home/+") == 1
    assert "wildcard" in capsys.readouterr().err


def test_a_node_is_asked_where_there_is_no_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    text = "user: bob\ntopic: a b\nroles: customer"
    with fake_node(lambda *_: (200, {"user": "bob", "topic": "a b", "explanation": text})) as node:
        assert main(["role", "explain", "bob", "a b", "--url", node.url]) == 0
    assert node.asked == [("GET", "/explain?user=bob&topic=a+b", None)]
    assert capsys.readouterr().out == f"{text}\n"


def test_a_node_that_is_none_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_node(lambda *_: (200, [])) as node:
        assert main(["role", "explain", "bob", "a", "--url", node.url]) == 1
    assert "does not answer with an explanation" in capsys.readouterr().err


# -- checking


def test_documents_in_order_are_listed_and_which_counts_where_two_match(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["role", "check", str(config.parent / "rbps.yaml")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "home/+: developer, customer",
        "#: *",
        "home/hall: *",
        "where home/+ and # both match, home/+ counts alone",
        "where home/+ and home/hall both match, home/hall counts alone",
        "where # and home/hall both match, home/hall counts alone",
    ]


@pytest.mark.parametrize(
    ("one", "other", "counts"),
    [
        ("home/#", "home", "home"),
        ("home/#", "home/+/temp", "home/+/temp"),
        ("+/hall", "home/+", "home/+"),
        ("+/+/x", "+/#", "+/+/x"),
        ("a/b/#", "+/b/c", "a/b/#"),
    ],
)
def test_the_more_specific_of_two_filters_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one: str, other: str, counts: str
) -> None:
    file = tmp_path / "rbps.yaml"
    file.write_text("".join(f"- {{topic: '{each}', roles: {{a: {{streams: [raw]}}}}}}\n" for each in (one, other)))
    assert main(["role", "check", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [f"where {one} and {other} both match, {counts} counts alone"]


def test_filters_that_have_no_topic_in_common_are_not_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rbps.yaml"
    file.write_text("- {topic: a/+, roles: {a: {streams: []}}}\n- {topic: b/+, roles: {a: {streams: []}}}\n")
    assert main(["role", "check", str(file)]) == 0
    assert capsys.readouterr().out == "a/+: a\nb/+: a\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("- {topic: a, roles: {}}", "document 1: a: roles: write a mapping"),
        (
            "- {topic: a, roles: {x: {streams: [raw]}}}\n- {topic: a, roles: {y: {streams: []}}}",
            "document 2: there are two for a",
        ),
        ("{topic: a, roles: {x: {streams: [raw, b]}}}", "document 1: a: role 'x': there are several streams"),
        ("a: [", "this is neither YAML nor JSON"),
    ],
)
def test_documents_that_are_not_in_order_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, why: str
) -> None:
    file = tmp_path / "rbps.yaml"
    file.write_text(content)
    assert main(["role", "check", str(file)]) == 1
    assert why in capsys.readouterr().err


# -- the documents of a node


SHOWN: dict[str, Any] = {
    "topic": "home/+",
    "roles": {
        "developer": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},
        "visitor": {"streams": []},
    },
}


def node_with_one(method: str, path: str, body: object) -> tuple[int, object]:
    """A node that has a document for home/+."""
    if path == "/rbps":
        return (200, ["home/+"]) if method == "GET" else (201, body)
    if path == "/rbps/home/%2B":
        return 200, body if method == "PUT" else SHOWN
    return 404, {"error": f"{path}: there is no document for exactly this topic"}


def asked(node: FakeNode) -> list[tuple[str, str]]:
    return [(method, path) for method, path, _ in node.asked]


def test_documents_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_node(node_with_one) as node:
        assert main(["role", "list", "--url", node.url]) == 0
        assert capsys.readouterr().out == "home/+\n"
        assert main(["role", "show", "home/+", "--url", node.url]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "topic: home/+",
            "  developer: raw (default), {topic}/anonymize",
            "  visitor: nothing",
        ]
        assert main(["role", "show", "home/+", "--json", "--url", node.url]) == 0
    assert json.loads(capsys.readouterr().out) == SHOWN
    assert asked(node) == [("GET", "/rbps"), ("GET", "/rbps/home/%2B"), ("GET", "/rbps/home/%2B")]


def test_a_file_is_added_document_by_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rbps.yaml"
    file.write_text(
        "- {topic: a, roles: {x: {streams: [raw]}}}\n- {topic: 'b/#', roles: {x: {streams: []}, y: {streams: [m]}}}\n"
    )
    with fake_node(node_with_one) as node:
        assert main(["role", "add", str(file), "--url", node.url]) == 0
    named = {"x": {"streams": []}, "y": {"streams": ["m"], "default": "m"}}
    assert node.asked == [
        ("GET", "/rbps", None),
        ("POST", "/rbps", {"topic": "a", "roles": {"x": {"streams": ["raw"], "default": "raw"}}}),
        ("POST", "/rbps", {"topic": "b/#", "roles": named}),
    ]
    assert capsys.readouterr().out == "a: it holds, for x\nb/#: it holds, for x, y\n"


def test_nothing_is_added_if_one_is_there_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rbps.yaml"
    file.write_text("- {topic: a, roles: {x: {streams: [raw]}}}\n- {topic: home/+, roles: {x: {streams: []}}}\n")
    with fake_node(node_with_one) as node:
        assert main(["role", "add", str(file), "--url", node.url]) == 1
    assert asked(node) == [("GET", "/rbps")]
    said = "home/+: there is a document for it, and nothing was changed; `update` replaces it"
    assert capsys.readouterr().err == f"roost role: {said}\n"


def test_an_update_is_of_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rbps.yaml"
    file.write_text("{topic: home/+, roles: {x: {streams: [raw]}}}")
    with fake_node(node_with_one) as node:
        assert main(["role", "update", str(file), "--url", node.url]) == 0
        assert asked(node) == [("GET", "/rbps/home/%2B"), ("PUT", "/rbps/home/%2B")]
        assert capsys.readouterr().out == "home/+: it holds, for x\n"
        file.write_text(json.dumps(SHOWN))
        assert main(["role", "update", str(file), "--json", "--url", node.url]) == 0
        assert json.loads(capsys.readouterr().out) == [SHOWN]
        assert main(["role", "update", str(file), "--url", node.url]) == 0
        assert capsys.readouterr().out == "home/+: as before\n"
        file.write_text("[{topic: home/+, roles: {x: {streams: [raw]}}}, {topic: other, roles: {x: {streams: []}}}]")
        assert main(["role", "update", str(file), "--url", node.url]) == 1
    assert asked(node)[-2:] == [("GET", "/rbps/home/%2B"), ("GET", "/rbps/other")]
    assert "other: there is no document for exactly this topic" in capsys.readouterr().err


def test_a_document_is_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_node(node_with_one) as node:
        assert main(["role", "delete", "home/+", "--url", node.url]) == 0
        assert main(["role", "delete", "other", "--url", node.url]) == 1
    assert asked(node) == [("DELETE", "/rbps/home/%2B"), ("GET", "/rbps"), ("DELETE", "/rbps/other")]
    told = capsys.readouterr()
    now = "home/+: no document governs it now, so roles do not matter there, and permissions alone count"
    assert told.out == f"home/+: taken back; it was for developer, visitor\n{now}\n"
    assert "there is no document for exactly this topic" in told.err


@pytest.mark.parametrize(
    ("topic", "left", "said"),
    [
        ("home/hall", ["garden/#"], "no document governs it now, so roles do not matter there"),
        ("home/hall", ["#", "home/+", "garden"], "the document for home/+ counts now"),
        ("home/+", ["#", "home/hall", "garden"], "these documents govern some or all: #, home/hall"),
    ],
)
def test_what_governs_afterwards_is_said(
    capsys: pytest.CaptureFixture[str], topic: str, left: list[str], said: str
) -> None:
    with fake_node(lambda method, *_: (200, left if method == "GET" else {**SHOWN, "topic": topic})) as node:
        assert main(["role", "delete", topic, "--url", node.url]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("content", ["[]", "a: [", "{topic: a}"])
def test_a_file_that_cannot_be_used_is_not_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    file = tmp_path / "rbps.yaml"
    file.write_text(content)
    with fake_node(node_with_one) as node:
        for action in ("add", "update"):
            assert main(["role", action, str(file), "--url", node.url]) == 1
            assert str(file) in capsys.readouterr().err
    assert node.asked == []


def test_what_is_no_document_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    for said, why in (("hello", "give the address of a node's `http`"), ({"a": 1}, "does not answer with a document")):
        with fake_node(lambda *_, said=said: (200, said)) as node:
            for action in (["show", "t"], ["delete", "t"]):
                assert main(["role", *action, "--url", node.url]) == 1
                assert why in capsys.readouterr().err
            assert main(["role", "list", "--url", node.url]) == 1
            assert "does not answer with topics" in capsys.readouterr().err
