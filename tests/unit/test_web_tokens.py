"""Tokens of the API: made, found, taken back, and what their file may be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.errors import BadConfig, InvalidInput
from roost.machine import SECOND
from roost.web.tokens import MAX_PER_USER, MAX_TTL_S, Tokens

NOW = 1_000_000_000
DAY_S = 86_400


@pytest.fixture(params=["file", "memory"])
def tokens(request: pytest.FixtureRequest, tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens" if request.param == "file" else None)


def test_a_token_is_found_by_its_text_alone_until_its_time_is_over(tokens: Tokens) -> None:
    token, text = tokens.make("alice", "dashboard", ("read", "metrics"), 60, NOW)
    assert text.startswith("roost_")
    assert tokens.used(token) is None
    assert tokens.find(text, NOW + 1) == token
    assert tokens.used(token) == NOW + 1
    assert (token.user, token.scopes, token.expires) == ("alice", ("read", "metrics"), NOW + 60 * SECOND)
    for other in ("", text[:-1], text + "x", token.digest, token.id, "\ud800"):
        assert tokens.find(other, NOW) is None
    assert tokens.find(text, token.expires) is None


def test_it_is_taken_back_by_its_user_only(tokens: Tokens) -> None:
    token, text = tokens.make("alice", "a", ("read",), 60, NOW)
    assert tokens.end(token.id, "bob") is None
    assert tokens.find(text, NOW) == token
    assert tokens.end(token.id, "alice") == token
    assert tokens.find(text, NOW) is None
    assert tokens.end(token.id) is None


def test_a_list_has_only_the_users_own(tokens: Tokens) -> None:
    first, _ = tokens.make("alice", "a", ("read",), 60, NOW)
    second, _ = tokens.make("bob", "b", ("read",), 60, NOW + 1)
    assert tokens.of("alice") == [first]
    assert tokens.all() == [first, second]


@pytest.mark.parametrize(
    ("name", "scopes", "ttl_s"),
    [
        ("", ("read",), 1),
        (" a", ("read",), 1),
        ("a\n", ("read",), 1),
        ("x" * 101, ("read",), 1),
        ("a", (), 1),
        ("a", ("read", "read"), 1),
        ("a", ("everything",), 1),
        ("a", ("read",), 0),
        ("a", ("read",), MAX_TTL_S + 1),
    ],
)
def test_what_cannot_be_is_not_made(tokens: Tokens, name: str, scopes: tuple[str, ...], ttl_s: int) -> None:
    with pytest.raises(InvalidInput):
        tokens.make("alice", name, scopes, ttl_s, NOW)
    assert not len(tokens)


def test_a_user_has_a_bound_and_tokens_that_are_over_make_room(tokens: Tokens) -> None:
    for each in range(MAX_PER_USER):
        tokens.make("alice", str(each), ("read",), 60, NOW)
    with pytest.raises(InvalidInput, match="limit"):
        tokens.make("alice", "more", ("read",), 60, NOW)
    tokens.make("bob", "his", ("read",), 60, NOW)
    tokens.make("alice", "later", ("read",), 60, NOW + 61 * SECOND)
    assert [each.name for each in tokens.all()] == ["later"]


def test_the_file_has_no_text_and_is_nobody_elses_to_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    _, text = Tokens(path).make("alice", "a", ("read",), DAY_S, NOW)
    assert text not in path.read_text()
    assert text.removeprefix("roost_") not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_another_process_writes_counts_at_once(tmp_path: Path) -> None:
    node, verb = Tokens(tmp_path / "tokens"), Tokens(tmp_path / "tokens")
    token, text = verb.make("alice", "a", ("read",), DAY_S, NOW)
    assert node.find(text, NOW) == token
    mine, _ = node.make("alice", "b", ("read",), DAY_S, NOW + 1)
    assert verb.all() == [token, mine]
    verb.end(token.id)
    assert node.find(text, NOW) is None
    (tmp_path / "tokens").unlink()
    assert not node.all()


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"tokens": [{}]}', '{"tokens": 3}', '{"tokens": [3]}', "[" * 100_000, '{"tokens": [{"id": 3}]}'],
)
def test_a_file_that_is_none_is_refused_and_stays_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(BadConfig, match="tokens"):
        Tokens(path)
    assert path.read_text() == content


def test_a_file_with_wrong_kinds_of_values_or_open_to_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    Tokens(path).make("alice", "a", ("read",), DAY_S, NOW)
    said = json.loads(path.read_text())
    said["tokens"][0]["expires"] = "never"
    path.write_text(json.dumps(said))
    with pytest.raises(BadConfig, match="numbers"):
        Tokens(path)
    path.chmod(0o640)
    with pytest.raises(BadConfig, match="chmod 600"):
        Tokens(path)
