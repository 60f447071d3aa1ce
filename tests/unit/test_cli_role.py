"""`roost role`: what a user gets and why, from files and from a node, and whether documents are in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.macro_world import fake_node

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
