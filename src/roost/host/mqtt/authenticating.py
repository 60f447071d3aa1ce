"""Finding out who a client is: by its password, by a token in the place of one, or by a hook for other methods.

Passwords are checked beside the event loop (`roost.host.mqtt.checks`), and every answer comes in a later turn of it. An
answer counts only if it was found by what counts then: when a reload brought another line for the user, or another
hook, the question is asked again.

A password is a token if tokens are read (`tokens`) and the users file has no such user. Who gives no name is anonymous;
so is, while nobody is configured, who gives one that cannot be checked. Whether anonymous clients may come in is not
decided here (`Access.may_connect`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from roost.broker.access import ANONYMOUS
from roost.broker.effects import Authenticate, Verdict
from roost.broker.packets.reasons import (
    BAD_AUTHENTICATION_METHOD,
    BAD_USER_NAME_OR_PASSWORD,
    SERVER_BUSY,
    SUCCESS,
    UNSPECIFIED_ERROR,
)
from roost.host.journal import Journal
from roost.host.mqtt.checks import Checks
from roost.host.mqtt.hook import KEY, Hook
from roost.host.mqtt.passwords import PasswordHash
from roost.host.mqtt.reload import Reloader

MAX_ASKED: Final = 1024  # questions to the hook at one time
HOOK_TIMEOUT_S: Final = 30
_QUIET_S: Final = 10
_MAX_DATA_BYTES: Final = 65_535  # of Authentication Data


class Authenticator:
    """Answers `Authenticate` by `told(link, verdict)`."""

    def __init__(self, security: Reloader, told: Callable[[int, Verdict], None], journal: Journal) -> None:
        self._security: Final = security
        self._told: Final = told
        self._journal: Final = journal
        self._checks: Final = Checks()
        self._loop: Final = asyncio.get_running_loop()
        self._tasks: Final[set[asyncio.Task[None]]] = set()  # bound: MAX_ASKED
        self.tokens: Hook | None = None  # finds whose token a password is
        self.turned_away = 0  # for there were so many already
        self.hook_failures = 0
        self._quiet_until = 0.0

    def ask(self, effect: Authenticate) -> None:
        """Find out who this is."""
        hook = self._judge_of(effect)
        if effect.method or hook is not None:
            self._ask_hook(hook, effect)
            return
        users, user = self._security.current.users, effect.user
        if user is None or not len(users):
            self._loop.call_soon(self._told, effect.link, Verdict(SUCCESS, ANONYMOUS))
            return

        def then(right: bool) -> None:  # noqa: FBT001  it is the answer
            if not self._loop.is_closed():  # this may be another thread
                self._loop.call_soon_threadsafe(self._answer, effect, user, users.hash_of(user), right)

        if not self._checks.ask(users, user, effect.password or b"", then):
            busy = Verdict(SERVER_BUSY, why="too many passwords wait to be checked")
            self._loop.call_soon(self._told, effect.link, busy)

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        return {
            "authentication/passwords/remembered": self._checks.remembered_hits,
            "authentication/passwords/refused": self._checks.turned_away,
            "authentication/passwords/failed": self._checks.failed,
            "authentication/hook/refused": self.turned_away,
            "authentication/hook/failed": self.hook_failures,
        }

    def close(self) -> None:
        """Answer no more."""
        for task in self._tasks:
            task.cancel()
        self._checks.close()

    def _judge_of(self, effect: Authenticate) -> Hook | None:
        """Who is asked now: the hook for other methods, the one for tokens, None if it is a matter of passwords."""
        if effect.method:
            return self._security.current.hook
        is_user = effect.user is not None and effect.user in self._security.current.users
        return None if effect.password is None or is_user else self.tokens

    def _answer(self, effect: Authenticate, user: bytes, kept: PasswordHash | None, right: bool) -> None:  # noqa: FBT001
        """Tell how a check by this line of the users file ended, if it is still the line."""
        if self._security.current.users.hash_of(user) != kept:
            self.ask(effect)
        elif right:
            self._told(effect.link, Verdict(SUCCESS, user))
        else:
            self._told(effect.link, Verdict(BAD_USER_NAME_OR_PASSWORD, why="wrong name or password"))

    def _ask_hook(self, hook: Hook | None, effect: Authenticate) -> None:
        if hook is None:
            unknown = Verdict(BAD_AUTHENTICATION_METHOD, why="there is no such method here")
            self._loop.call_soon(self._told, effect.link, unknown)
        elif len(self._tasks) >= MAX_ASKED:
            self.turned_away += 1
            busy = Verdict(SERVER_BUSY, why="too many wait to be authenticated")
            self._loop.call_soon(self._told, effect.link, busy)
        else:
            task = self._loop.create_task(self._hear_hook(hook, effect))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _hear_hook(self, hook: Hook, effect: Authenticate) -> None:
        try:
            async with asyncio.timeout(HOOK_TIMEOUT_S):
                verdict = _checked(await hook(effect))
        except Exception as error:  # noqa: BLE001  a hook's bug must not leave a client waiting
            self._tell_failure(error)
            verdict = Verdict(UNSPECIFIED_ERROR, why="the server could not find out who this is")
        if hook is self._judge_of(effect):
            self._told(effect.link, verdict)
        else:
            self.ask(effect)

    def _tell_failure(self, error: Exception) -> None:
        """Say what a client should not read; who connects again and again does not fill the log."""
        self.hook_failures += 1
        if self._loop.time() >= self._quiet_until:
            self._quiet_until = self._loop.time() + _QUIET_S
            self._journal.warn("%s failed: %s: %s", KEY, type(error).__name__, error)


def _checked(verdict: object) -> Verdict:
    """See that a hook's answer is one: nobody has checked its types."""
    if not isinstance(verdict, Verdict):
        raise TypeError(f"it returned {type(verdict).__name__}, not Verdict")
    types = [type(each) for each in (verdict.reason, verdict.user, verdict.challenge, verdict.why)]
    if types != [int, bytes, bytes, str]:
        raise TypeError("in its Verdict reason is to be an int, user and challenge bytes, why a str")
    if not 0 <= verdict.reason <= 0xFF or len(verdict.challenge) > _MAX_DATA_BYTES:
        raise ValueError(f"in its Verdict reason is at most 255, and challenge has at most {_MAX_DATA_BYTES} bytes")
    verdict.user.decode()  # a name is text; `UnicodeDecodeError` says the rest
    return verdict
