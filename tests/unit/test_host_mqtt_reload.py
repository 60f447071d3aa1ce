"""All files are read before anything changes, and every mistake is told."""

import ssl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from roost.broker.access import LOOPBACK_ONLY
from roost.broker.effects import Authenticate, Verdict
from roost.errors import BadConfig
from roost.host.mqtt.hook import Hook
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.reload import Reloader, Security, Sources, load
from roost.host.mqtt.users import change_users, with_user, without_user

ALICE = PasswordHash.make(b"wonderland", LIGHT)
BOB = PasswordHash.make(b"builder", LIGHT)


class Place:
    """A folder with a good configuration."""

    def __init__(self, folder: Path) -> None:
        self.users = folder / "users"
        self.permissions = folder / "permissions"
        self.contexts: Mapping[str, ssl.SSLContext] = {"tls": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)}
        self.wrong: Exception | None = None
        self.sources = Sources(self.users, self.permissions, self._contexts)
        self.add("alice", ALICE)
        self.permit("user alice\nreadwrite a/#\n")

    def add(self, user: str, kept: PasswordHash) -> None:
        change_users(self.users, lambda _, text: with_user(text, user, kept))

    def permit(self, text: str) -> None:
        self.permissions.write_text(text, encoding="utf-8")
        self.permissions.chmod(0o644)

    def _contexts(self) -> Mapping[str, ssl.SSLContext]:
        if self.wrong is not None:
            raise self.wrong
        return self.contexts


def again(reloader: Reloader, place: Place) -> Security:
    fresh = reloader.read(place.sources)
    reloader.adopt(fresh)
    return fresh


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_files_only_this_machine_is_let_in() -> None:
    security = load(Sources())
    assert security.access is LOOPBACK_ONLY
    assert len(security.users) == 0
    assert not security.contexts


def test_what_the_files_say_counts(place: Place) -> None:
    security = load(place.sources)
    assert security.users.check(b"alice", b"wonderland")
    assert security.access.may_publish(b"alice", b"c", b"a/b")
    assert not security.access.may_publish(b"alice", b"c", b"b")
    assert security.contexts is place.contexts
    assert security.warnings == ()


def test_a_reload_brings_everything_at_once(place: Place) -> None:
    reloader = Reloader(place.sources)
    before = reloader.current
    place.add("bob", BOB)
    place.permit("all\nread b\n")
    place.contexts = {"tls": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)}
    after = again(reloader, place)
    assert reloader.current is after
    assert after.users.check(b"bob", b"builder")
    assert after.access.may_receive(b"bob", b"c", b"b")
    assert not after.access.may_publish(b"alice", b"c", b"a/b")
    assert after.contexts is not before.contexts
    assert before.access.may_publish(b"alice", b"c", b"a/b")  # what was handed out does not change under anyone
    assert (reloader.reloads, reloader.failures, reloader.gone) == (1, 0, [])


def test_who_is_gone_is_told(place: Place) -> None:
    place.add("bob", BOB)
    reloader = Reloader(place.sources)
    change_users(place.users, lambda _, text: without_user(text, "alice"))
    place.add("bob", ALICE)
    again(reloader, place)
    assert reloader.gone == [b"alice", b"bob"]
    again(reloader, place)
    assert reloader.gone == []


def test_one_bad_file_keeps_all_of_the_old_state(place: Place) -> None:
    reloader = Reloader(place.sources)
    before = reloader.current
    place.add("bob", BOB)
    place.permit("all\n  raed b\n")
    with pytest.raises(BadConfig) as caught:
        again(reloader, place)
    assert str(caught.value).startswith(f"{place.permissions}, line 2: 'raed' begins no line; write ")
    assert reloader.current is before
    assert b"bob" not in reloader.current.users
    assert (reloader.reloads, reloader.failures) == (0, 1)
    place.permit("all\n  read b\n")
    assert b"bob" in again(reloader, place).users


@pytest.mark.parametrize(
    "wrong", [BadConfig("/etc/x.pem has no certificate"), OSError(2, "No such file or directory", "/etc/x.pem")]
)
def test_all_that_is_wrong_is_told_together(place: Place, wrong: Exception) -> None:
    place.users.write_text("alice:hunter2\n")
    place.permit("read b")
    place.wrong = wrong
    with pytest.raises(BadConfig) as caught:
        load(place.sources)
    users, permissions, contexts = str(caught.value).split("\n")
    assert users.startswith(f"{place.users}, line 1: the hash is not")
    assert permissions.startswith(f"{place.permissions}, line 1: it is not said whose line this is")
    assert "/etc/x.pem" in contexts
    assert "hunter2" not in str(caught.value)


def test_a_hook_is_part_of_it_and_a_bad_one_keeps_all_of_the_old_state(place: Place) -> None:
    async def answer(asked: Authenticate) -> Verdict:
        raise NotImplementedError(asked)

    def fail() -> Hook:
        raise BadConfig("authentication.hook: it is gone")

    reloader = Reloader(replace(place.sources, hook=lambda: answer))
    before = reloader.current
    assert before.hook is answer
    place.add("bob", BOB)
    with pytest.raises(BadConfig, match=r"authentication\.hook: it is gone"):
        reloader.read(replace(place.sources, hook=fail))
    assert reloader.current is before
    assert (reloader.reloads, reloader.failures) == (0, 1)
    assert again(reloader, place).hook is None
    assert b"bob" in reloader.current.users


def test_users_without_permissions_are_a_mistake_that_says_what_to_write(place: Place) -> None:
    with pytest.raises(BadConfig, match="no permissions, so nobody could do anything; name a permissions file"):
        load(Sources(users=place.users))


def test_permissions_without_users_are_for_certificates(place: Place) -> None:
    security = load(Sources(permissions=place.permissions))
    assert security.access.may_publish(b"alice", b"c", b"a")
    assert security.warnings == ()


def test_a_file_that_is_missing_or_not_text_is_named(place: Place) -> None:
    place.permissions.write_bytes(b"all\nread a\nread \xe4\n")
    with pytest.raises(BadConfig, match=f"{place.permissions}, line 3: this is not UTF-8"):
        load(place.sources)
    place.permissions.unlink()
    with pytest.raises(BadConfig, match=f"{place.permissions} cannot be read: No such file"):
        load(place.sources)


def test_permissions_that_others_can_write_are_refused(place: Place) -> None:
    place.permissions.chmod(0o666)
    with pytest.raises(BadConfig, match=f"mode 0666.*chmod 644 {place.permissions}"):
        load(place.sources)


def test_a_byte_order_mark_is_no_mistake(place: Place) -> None:
    place.permissions.write_bytes(b"\xef\xbb\xbfall\nread b\n")
    assert load(place.sources).access.may_receive(b"alice", b"c", b"b")


def test_a_name_that_is_in_one_file_only_is_a_warning(place: Place) -> None:
    place.permit("user alice\nread a\ngroup g\nmember alcie\n")
    (warning,) = load(place.sources).warnings
    assert warning.startswith(f"{place.permissions}, line 4: 'alcie' is not in {place.users}")
