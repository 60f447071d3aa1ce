"""Log-ins: who has one, until when, and how many there are at most."""

from __future__ import annotations

import pytest

from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.web.sessions import IDLE, LIFETIME, MAX_PER_USER, MAX_SESSIONS, Sessions

NOW = 1_000_000
KEPT = {name: PasswordHash.make(name, LIGHT) for name in (b"alice", b"bob")}


def table(**kept: PasswordHash) -> Sessions:
    hashes = KEPT | {name.encode(): each for name, each in kept.items()}
    return Sessions(hashes.get)


def test_an_id_is_its_users_and_another_is_nobodys() -> None:
    sessions = table()
    text, expires = sessions.open(b"alice", NOW)
    found = sessions.find(text, NOW + 1)
    assert found is not None
    assert (found.user, found.expires, expires) == (b"alice", NOW + LIFETIME, NOW + LIFETIME)
    assert len(text) >= 43  # 256 bits
    assert sessions.open(b"alice", NOW)[0] != text
    for other in ("", text[:-1], text + "x", "\ud800", "x" * 10_000):
        assert sessions.find(other, NOW) is None


def test_it_ends_when_it_is_not_used_and_when_its_time_is_over() -> None:
    sessions = table()
    text, _ = sessions.open(b"alice", NOW)
    assert sessions.find(text, NOW + IDLE) is None
    assert sessions.find(text, NOW + 1) is None  # it does not come back
    text, expires = sessions.open(b"alice", NOW)
    at = NOW
    while at + IDLE - 1 < expires:
        at += IDLE - 1
        assert sessions.find(text, at) is not None
    assert sessions.find(text, expires) is None
    assert not len(sessions)


def test_it_ends_by_logging_out_with_another_password_and_without_its_user() -> None:
    hashes = dict(KEPT)
    sessions = Sessions(hashes.get)
    first, _ = sessions.open(b"alice", NOW)
    second, _ = sessions.open(b"alice", NOW)
    assert sessions.close(first)
    assert not sessions.close(first)
    assert sessions.find(first, NOW) is None
    hashes[b"alice"] = PasswordHash.make(b"another", LIGHT)
    assert sessions.find(second, NOW) is None
    third, _ = sessions.open(b"bob", NOW)
    del hashes[b"bob"]
    assert sessions.find(third, NOW) is None
    with pytest.raises(KeyError):
        sessions.open(b"bob", NOW)


def test_those_unused_for_longest_make_room() -> None:
    sessions = table()
    texts = [sessions.open(b"alice", NOW + at)[0] for at in range(MAX_PER_USER)]
    assert sessions.find(texts[0], NOW + 100) is not None  # used since
    sessions.open(b"alice", NOW + 200)
    assert sessions.find(texts[0], NOW + 300) is not None
    assert sessions.find(texts[1], NOW + 300) is None
    assert (len(sessions), sessions.crowded_out) == (MAX_PER_USER, 1)


def test_the_table_has_a_bound() -> None:
    kept = KEPT[b"alice"]
    sessions = Sessions(lambda _: kept)
    first, _ = sessions.open(b"0", NOW)
    for each in range(1, MAX_SESSIONS + 1):
        sessions.open(b"%d" % each, NOW)
    assert (len(sessions), sessions.crowded_out) == (MAX_SESSIONS, 1)
    assert sessions.find(first, NOW) is None
