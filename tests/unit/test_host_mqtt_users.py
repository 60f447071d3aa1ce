"""The users file: what it says, who is refused at what cost, and how it is changed."""

import threading
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host.mqtt.passwords import LIGHT, STRONG, Cost, PasswordHash
from roost.host.mqtt.users import MAX_NAME_BYTES, Users, change_users, encoded_name, read_users, with_user, without_user

ALICE = PasswordHash.make(b"wonderland", LIGHT)
BOB = PasswordHash.make(b"builder", LIGHT)


def test_a_file_is_read_with_comments_and_blank_lines() -> None:
    users = Users.parse(f"# devices\n\n  alice:{ALICE}\r\nJosé García:{BOB}\n")
    assert list(users.names) == [b"alice", "José García".encode()]
    assert users.check(b"alice", b"wonderland")
    assert users.check("José García".encode(), b"builder")
    assert not users.check(b"alice", b"builder")
    assert not users.check(b"carol", b"wonderland")
    assert b"alice" in users
    assert len(users) == 2


@pytest.mark.parametrize("known", [0, 1, 5])
def test_an_unknown_user_costs_one_hash_too_and_is_refused_even_if_it_matches(
    known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = Users({b"user%d" % number: ALICE for number in range(known)})
    asked: list[PasswordHash] = []

    def matches(kept: PasswordHash, password: bytes) -> bool:
        del password
        asked.append(kept)
        return True

    monkeypatch.setattr(PasswordHash, "matches", matches)
    assert not users.check(b"nobody", b"wonderland")
    assert not users.check(b"", b"wonderland")
    assert len(asked) == 2
    assert all(kept.cost == (LIGHT if known else STRONG) for kept in asked)


def test_an_unknown_name_looks_like_one_and_the_same_line_every_time() -> None:
    users = Users({b"a": ALICE, b"b": BOB, b"c": PasswordHash.make(b"c", Cost(11, 8, 1))})
    stand_ins = {name: users._stand_in(name).cost for name in (b"n%d" % number for number in range(50))}
    assert set(stand_ins.values()) == {LIGHT, Cost(11, 8, 1)}
    again = Users({b"a": ALICE, b"b": BOB, b"c": users.hash_of(b"c") or BOB})
    assert {name: again._stand_in(name).cost for name in stand_ins} == stand_ins


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("# x\nalice", 2, "no ':' between"),
        (f":{ALICE}", 1, "is no name"),
        (f"a\x01b:{ALICE}", 1, "control character"),
        (f"{'x' * (MAX_NAME_BYTES + 1)}:{ALICE}", 1, "at most 256 bytes"),
        (f"alice:{ALICE}\n\nalice:{BOB}", 3, "'alice' is there already"),
        ("alice:hunter2", 1, "not of the form"),
        (f"alice :{ALICE}", 1, "space around it"),
    ],
    ids=[
        "no colon",
        "no name",
        "control",
        "long",
        "twice",
        "no hash",
        "space",
    ],  # for the salt is another in each process
)
def test_a_mistake_is_told_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(BadConfig) as caught:
        Users.parse(text)
    assert str(caught.value).startswith(f"line {line}: ")
    assert says in str(caught.value)
    assert "roost users add" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_who_is_gone_and_who_has_another_password() -> None:
    before = Users({b"alice": ALICE, b"bob": BOB, b"carol": BOB})
    after = Users({b"alice": BOB, b"carol": BOB, b"dave": BOB})
    assert after.gone(before) == [b"alice", b"bob"]
    assert before.gone(before) == []


def test_lines_change_in_place_and_all_else_stays() -> None:
    text = f"# ours\nalice:{ALICE}\n\n# theirs\nbob:{BOB}"
    changed = with_user(text, "alice", BOB)
    assert changed == f"# ours\nalice:{BOB}\n\n# theirs\nbob:{BOB}\n"
    assert with_user("", "alice", ALICE) == f"alice:{ALICE}\n"
    assert without_user(changed, "alice") == f"# ours\n\n# theirs\nbob:{BOB}\n"
    with pytest.raises(BadConfig, match="':'"):
        with_user(text, "a:b", BOB)


def test_a_name_may_be_anything_that_fits_on_a_line() -> None:
    assert encoded_name("a+b@example.org") == b"a+b@example.org"
    for name in ("", " a", "a ", "#a", "a\nb", "a\0", "\x7f", "\x85", "\ud800"):
        with pytest.raises(BadConfig):
            encoded_name(name)


def test_it_is_written_whole_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "users"
    change_users(path, lambda _, text: with_user(text, "alice", ALICE))
    change_users(path, lambda _, text: with_user(text, "bob", BOB))
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(read_users(path)[0].names) == [b"alice", b"bob"]
    assert [each.name for each in tmp_path.iterdir()] == ["users"]


def test_a_change_that_would_break_it_leaves_it_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "users"
    change_users(path, lambda _, text: with_user(text, "alice", ALICE))
    with pytest.raises(BadConfig, match="line 2"):
        change_users(path, lambda _, text: text + "bob")
    assert read_users(path)[1] == f"alice:{ALICE}\n"


def test_changes_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "users"
    names = [f"user{number}" for number in range(8)]
    threads = [
        threading.Thread(target=change_users, args=(path, lambda _, text, name=name: with_user(text, name, ALICE)))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_users(path)[0].names) == [name.encode() for name in names]


@pytest.mark.parametrize(("mode", "fine"), [(0o600, True), (0o640, True), (0o644, False), (0o620, False)])
def test_one_that_others_can_read_is_refused(tmp_path: Path, mode: int, fine: bool) -> None:
    path = tmp_path / "users"
    path.write_text(f"alice:{ALICE}\n")
    path.chmod(mode)
    if fine:
        assert len(read_users(path)[0]) == 1
    else:
        with pytest.raises(BadConfig, match=f"{mode:04o}.*chmod 600 {path}"):
            read_users(path)


def test_mistakes_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "users"
    with pytest.raises(BadConfig, match=f"{path} cannot be read: No such file.*roost users add"):
        read_users(path)
    path.write_bytes(b"# ok\n\xff\n")
    path.chmod(0o600)
    with pytest.raises(BadConfig, match=f"{path}, line 2: this is not UTF-8"):
        read_users(path)
    path.write_text("alice")
    with pytest.raises(BadConfig, match=f"{path}, line 1: "):
        read_users(path)
