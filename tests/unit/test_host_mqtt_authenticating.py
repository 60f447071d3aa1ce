"""Who a client is: hooks with their mistakes, and answers that a reload overtakes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.loops import run

from roost.broker.effects import Authenticate, Verdict
from roost.host.journal import Journal
from roost.host.mqtt import authenticating as module
from roost.host.mqtt.authenticating import Authenticator
from roost.host.mqtt.hook import Hook
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.users import Users

WRONG = Verdict(0x86, why="wrong name or password")
FAILED = Verdict(0x80, why="the server could not find out who this is")
OLD, NEW = PasswordHash.make(b"old", LIGHT), PasswordHash.make(b"new", LIGHT)


class Desk:
    """An authenticator, and what it said."""

    def __init__(self, hook: Hook | None = None) -> None:
        self.security = Reloader(Sources(hook=lambda: hook))
        self.journal = Warnings()
        self.answers: asyncio.Queue[tuple[int, Verdict]] = asyncio.Queue()
        self.authenticator = Authenticator(self.security, self._told, self.journal)

    def _told(self, link: int, verdict: Verdict) -> None:
        self.answers.put_nowait((link, verdict))

    def adopt(self, users: Users | None = None, hook: Hook | None = None) -> None:
        current = self.security.current
        self.security.adopt(replace(current, users=users or current.users, hook=hook))

    async def verdict(self, asked: Authenticate) -> Verdict:
        self.authenticator.ask(asked)
        return (await self.answers.get())[1]


class Warnings(Journal):
    """A journal that keeps what it warned of."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def warn(self, message: str, *arguments: object) -> None:
        self.lines.append(message % arguments)


@asynccontextmanager
async def desk(hook: Hook | None = None) -> AsyncIterator[Desk]:
    made = Desk(hook)
    try:
        yield made
    finally:
        made.authenticator.close()


def password(word: bytes) -> Authenticate:
    return Authenticate(1, b"me", b"bob", word, b"", b"")


def method(data: bytes = b"") -> Authenticate:
    return Authenticate(1, b"me", None, None, b"TOKEN", data)


class Slow(Users):
    """Users whose check, once made, waits until it may be told."""

    def __init__(self, kept: PasswordHash) -> None:
        super().__init__({b"bob": kept})
        self.checked = threading.Semaphore(0)
        self.go_on = threading.Event()

    def check(self, user: bytes, password: bytes) -> bool:
        found = super().check(user, password)
        self.checked.release()
        assert self.go_on.wait(30)
        return found


@pytest.mark.parametrize(
    ("word", "after", "verdict"),
    [
        (b"old", Users({b"bob": NEW}), WRONG),
        (b"old", Users({b"eve": NEW}), WRONG),
        (b"new", Users({b"bob": NEW}), Verdict(0, b"bob")),
        (b"old", Users({b"bob": OLD, b"eve": NEW}), Verdict(0, b"bob")),
        (b"new", Users({b"bob": OLD, b"eve": NEW}), WRONG),
    ],
    ids=["changed", "removed", "changed to this one", "same line", "same line, wrong"],
)
def test_a_check_that_a_reload_overtakes_is_judged_by_the_new_users(
    word: bytes, after: Users, verdict: Verdict
) -> None:
    async def test() -> None:
        async with desk() as made:
            before = Slow(OLD)
            made.adopt(before)
            made.authenticator.ask(password(word))
            assert await asyncio.to_thread(before.checked.acquire, timeout=30)
            made.adopt(after)
            before.go_on.set()
            assert await made.answers.get() == (1, verdict)
            assert made.answers.empty()

    run(test)


def test_a_check_that_waits_while_a_reload_comes_is_judged_by_the_new_users() -> None:
    async def test() -> None:
        async with desk() as made:
            before = Slow(OLD)
            made.adopt(before)
            for _ in range(5):  # more than there are workers
                made.authenticator.ask(password(b"old"))
            made.adopt(Users({b"bob": NEW}))
            before.go_on.set()
            assert [await made.answers.get() for _ in range(5)] == [(1, WRONG)] * 5

    run(test)


def test_a_remembered_password_is_forgotten_with_its_line() -> None:
    async def test() -> None:
        async with desk() as made:
            made.adopt(Users({b"bob": OLD}))
            assert await made.verdict(password(b"old")) == Verdict(0, b"bob")
            made.authenticator.ask(password(b"old"))  # which is answered at once, but told in a later turn
            made.adopt(Users({b"bob": NEW}))
            assert await made.answers.get() == (1, WRONG)

    run(test)


def answering(answer: Callable[[], object]) -> Hook:
    async def hook(asked: Authenticate) -> Verdict:
        del asked
        return answer()  # type: ignore[return-value]  # a mistake on purpose

    return hook


def test_a_hook_answers_for_other_methods() -> None:
    async def test() -> None:
        question = Verdict(0x18, challenge=b"prove it")
        async with desk(answering(lambda: question)) as made:
            assert await made.verdict(method()) == question

    run(test)


def fail() -> object:
    raise ValueError("secret 42 is unknown")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (fail, "ValueError: secret 42 is unknown"),
        (lambda: None, "TypeError: it returned NoneType, not Verdict"),
        (lambda: Verdict(0, "ann"), "TypeError: in its Verdict reason is to be an int, user and challenge bytes"),  # type: ignore[arg-type]
        (lambda: Verdict(0, b"\xff"), "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff"),
        (lambda: Verdict(256, b"ann"), "ValueError: in its Verdict reason is at most 255"),
        (lambda: Verdict(0x18, challenge=bytes(65_536)), "ValueError: in its Verdict reason is at most 255"),
    ],
    ids=["raises", "says nothing", "says text", "says no text", "says too much", "asks too much"],
)
def test_a_mistake_of_a_hook_is_told_to_the_log_and_not_to_the_client(answer: Callable[[], object], said: str) -> None:
    async def test() -> None:
        async with desk(answering(answer)) as made:
            for _ in range(3):
                assert await made.verdict(method()) == FAILED
            (line,) = made.journal.lines
            assert line.startswith(f"authentication.hook failed: {said}")
            assert made.authenticator.hook_failures == 3

    run(test)


def test_a_function_that_is_not_async_is_a_mistake_too() -> None:
    def hook(asked: Authenticate) -> Awaitable[Verdict]:
        del asked
        return Verdict(0, b"ann")  # type: ignore[return-value]  # a mistake on purpose

    async def test() -> None:
        async with desk(hook) as made:
            assert await made.verdict(method()) == FAILED

    run(test)


def test_a_hook_that_never_answers_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOOK_TIMEOUT_S", 0)

    async def hook(asked: Authenticate) -> Verdict:
        await asyncio.Event().wait()
        raise AssertionError(asked)

    async def test() -> None:
        async with desk(hook) as made:
            assert await made.verdict(method()) == FAILED

    run(test)


def test_only_so_many_wait_for_a_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ASKED", 2)

    async def test() -> None:
        go_on = asyncio.Event()

        async def hook(asked: Authenticate) -> Verdict:
            await go_on.wait()
            return Verdict(0, asked.data)

        async with desk(hook) as made:
            for name in (b"ann", b"bob", b"eve"):
                made.authenticator.ask(method(name))
            assert await made.answers.get() == (1, Verdict(0x89, why="too many wait to be authenticated"))
            assert made.authenticator.turned_away == 1
            go_on.set()
            assert {(await made.answers.get())[1].user for _ in range(2)} == {b"ann", b"bob"}
            while made.authenticator._tasks:  # noqa: ASYNC110  nobody tells when a task is gone
                await asyncio.sleep(0)  # a turn of the loop, in which it is told that they are done
            assert await made.verdict(method(b"eve")) == Verdict(0, b"eve")

    run(test)


@pytest.mark.parametrize("is_removed", [False, True])
def test_what_an_old_hook_says_after_a_reload_does_not_count(is_removed: bool) -> None:
    async def test() -> None:
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def old(effect: Authenticate) -> Verdict:
            del effect
            asked.set()
            await go_on.wait()
            return Verdict(0, b"by the old one")

        async with desk(old) as made:
            made.authenticator.ask(method())
            await asked.wait()
            made.adopt(hook=None if is_removed else answering(lambda: Verdict(0, b"by the new one")))
            go_on.set()
            _, verdict = await made.answers.get()
            assert (verdict.reason, verdict.user) == ((0x8C, b"") if is_removed else (0, b"by the new one"))
            assert made.answers.empty()

    run(test)


@pytest.mark.parametrize("change", ["other tokens", "no tokens", "a user"])
def test_a_token_that_a_change_overtakes_is_judged_by_what_counts_then_and_never_by_the_hook(change: str) -> None:
    async def test() -> None:
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def old(effect: Authenticate) -> Verdict:
            del effect
            asked.set()
            await go_on.wait()
            return Verdict(0, b"by the old tokens")

        async with desk(answering(lambda: Verdict(0, b"by the hook"))) as made:
            made.authenticator.tokens = old
            made.authenticator.ask(password(b"old"))
            await asked.wait()
            if change == "a user":
                made.adopt(Users({b"bob": OLD}), hook=made.security.current.hook)
            else:
                tokens = answering(lambda: Verdict(0, b"by the new tokens"))
                made.authenticator.tokens = tokens if change == "other tokens" else None
            go_on.set()
            user = {"other tokens": b"by the new tokens", "no tokens": b"", "a user": b"bob"}[change]
            assert await made.answers.get() == (1, Verdict(0, user))
            assert made.answers.empty()

    run(test)
