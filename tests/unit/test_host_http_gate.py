"""Who comes in over HTTP: the broker's users, by their passwords, and what their permissions let them do."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.loops import run

from roost.broker.permissions import Permissions
from roost.errors import Backpressure, Denied
from roost.host.http import gate as module
from roost.host.http.gate import UserGate
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.users import Users

OLD, NEW = PasswordHash.make(b"old:word", LIGHT), PasswordHash.make(b"new", LIGHT)
HERE, THERE = "127.0.0.1", "10.0.0.9"


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def guarded(permissions: str = "all\n readwrite #", users: Users | None = None) -> Reloader:
    security = Reloader(Sources())
    known = Users({b"alice": OLD}) if users is None else users
    security.adopt(replace(security.current, users=known, access=Permissions.parse(permissions)))
    return security


def with_gate(
    test: Callable[[UserGate], Awaitable[None]],
    security: Reloader,
    bearer: Callable[[str], Awaitable[bytes]] | None = None,
) -> None:
    async def within() -> None:
        gate = UserGate(security, bearer)
        try:
            await test(gate)
        finally:
            gate.close()

    run(within)


def test_without_users_whoever_is_on_this_machine_is_anonymous_and_may_do_everything() -> None:
    async def test(gate: UserGate) -> None:
        assert await gate.who("", HERE) == b""
        assert await gate.who(basic("anybody", "at all"), "::1") == b""
        assert gate.may_administer(b"", "Noctua/a")
        assert gate.may_look(b"", "$roles/#")
        for host in (THERE, ""):
            with pytest.raises(Denied, match="say who you are"):
                await gate.who("", host)

    with_gate(test, Reloader(Sources()))


def test_a_user_comes_in_by_name_and_password_from_anywhere_and_is_remembered() -> None:
    async def test(gate: UserGate) -> None:
        for _ in range(2):
            assert await gate.who(basic("alice", "old:word"), THERE) == b"alice"
        assert gate.counts()["http/passwords/remembered"] == 1
        for wrong in (basic("alice", "guess"), basic("bob", "old:word"), basic("alice", "")):
            with pytest.raises(Denied, match="wrong name or password"):
                await gate.who(wrong, HERE)

    with_gate(test, guarded())


@pytest.mark.parametrize(
    "header",
    ["Basic", "Basic !!!", "Basic YWxpY2U=", "basic " + b64encode(b":old:word").decode(), "Bearer abc", "Digest a=b"],
)
def test_what_names_nobody_is_denied(header: str) -> None:
    async def test(gate: UserGate) -> None:
        with pytest.raises(Denied):
            await gate.who(header, HERE)

    with_gate(test, guarded())


def test_anonymous_comes_in_only_where_the_permissions_have_it() -> None:
    async def test(gate: UserGate) -> None:
        with pytest.raises(Denied, match="say who you are"):
            await gate.who("", HERE)

    async def open_(gate: UserGate) -> None:
        assert await gate.who("", HERE) == b""
        assert gate.may_look(b"", "Noctua/a")
        assert not gate.may_administer(b"", "Noctua/a")

    with_gate(test, guarded())
    with_gate(open_, guarded("anonymous\n read Noctua/#"))


def test_tokens_are_for_whoever_reads_them() -> None:
    async def bearer(token: str) -> bytes:
        if token != "good":
            raise Denied("the token is not active")
        return b"carol"

    async def test(gate: UserGate) -> None:
        assert await gate.who("Bearer good", THERE) == b"carol"
        with pytest.raises(Denied, match="not active"):
            await gate.who("bearer bad", THERE)

    with_gate(test, guarded(), bearer)


def test_a_password_that_a_reload_replaced_is_asked_about_again() -> None:
    security = guarded()

    async def test(gate: UserGate) -> None:
        asked = asyncio.create_task(gate.who(basic("alice", "old:word"), THERE))
        await asyncio.sleep(0)
        security.adopt(replace(security.current, users=Users({b"alice": NEW})))
        with pytest.raises(Denied, match="wrong name"):
            await asked
        assert await gate.who(basic("alice", "new"), THERE) == b"alice"

    with_gate(test, security)


def test_too_many_passwords_at_once_are_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 0)
    slow = Users({b"alice": PasswordHash.make(b"x")})  # a check takes long enough for the other to come meanwhile

    async def test(gate: UserGate) -> None:
        first = asyncio.create_task(gate.who(basic("alice", "x"), THERE))
        await asyncio.sleep(0)
        with pytest.raises(Backpressure, match="try again"):
            await gate.who(basic("alice", "x"), THERE)
        assert await first == b"alice"
        assert gate.counts()["http/passwords/refused"] == 1

    with_gate(test, guarded(users=slow))


@pytest.mark.parametrize(
    ("granted", "what", "may"),
    [
        ("Noctua/#", "Noctua/a/b", True),
        ("Noctua/a", "Noctua/b", False),
        ("$roles/home/#", "$roles/home/#", True),
        ("$roles/home/#", "$roles/home/+/x", True),
        ("$roles/home/+", "$roles/home/+", True),
        ("$roles/home/+", "$roles/home/#", False),
        ("$roles/+/+", "$roles/#", False),
        ("$roles/home/a", "$roles/home/+", False),
        ("$roles/home/%c", "$roles/home/a", False),
        ("$roles/home/%u", "$roles/home/alice", True),
        ("#", "$roles/a", False),
    ],
)
def test_to_administer_a_filter_takes_the_permission_for_all_that_it_matches(
    granted: str, what: str, *, may: bool
) -> None:
    async def test(gate: UserGate) -> None:
        assert gate.may_administer(b"alice", what) is may
        assert gate.may_look(b"alice", what) is may

    with_gate(test, guarded(f"all\n write {granted}"))
