"""Finding out who a client is: by its certificate, its password, or whatever a hook for other methods makes of it.

Passwords are checked beside the event loop (`roost.host.mqtt.checks`), and every answer comes in a later turn of it.
Who gives no name is anonymous; so is, while nobody is configured, who gives one that cannot be checked. Whether
anonymous clients may come in is not decided here (`Access.may_connect`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
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
from roost.host.mqtt.checks import Checks
from roost.host.mqtt.reload import Reloader

Hook = Callable[[Authenticate], Awaitable[Verdict]]  # for enhanced authentication [MQTT 5.0 section 4.12]


class Authenticator:
    """Answers `Authenticate` by `told(link, verdict)`."""

    def __init__(self, security: Reloader, told: Callable[[int, Verdict], None], hook: Hook | None = None) -> None:
        self._security: Final = security
        self._told: Final = told
        self._hook: Final = hook
        self._checks: Final = Checks()
        self._loop: Final = asyncio.get_running_loop()
        self._tasks: Final[set[asyncio.Task[None]]] = set()  # bound: one per link

    def ask(self, effect: Authenticate) -> None:
        """Find out who this is."""
        if effect.method:
            self._ask_hook(effect)
            return
        if effect.user is None or not self._knows_anybody:
            self._answer(effect.link, Verdict(SUCCESS, ANONYMOUS))
            return
        user = effect.user

        def then(right: bool) -> None:  # noqa: FBT001  it is the answer
            self._answer(
                effect.link,
                Verdict(SUCCESS, user) if right else Verdict(BAD_USER_NAME_OR_PASSWORD, why="wrong name or password"),
            )

        if not self._checks.ask(self._security.current.users, user, effect.password or b"", then):
            self._answer(effect.link, Verdict(SERVER_BUSY, why="too many passwords wait to be checked"))

    def close(self) -> None:
        """Answer no more."""
        for task in self._tasks:
            task.cancel()
        self._checks.close()

    @property
    def _knows_anybody(self) -> bool:
        return len(self._security.current.users) > 0

    def _answer(self, link: int, verdict: Verdict) -> None:
        """From whichever thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._told, link, verdict)

    def _ask_hook(self, effect: Authenticate) -> None:
        if self._hook is None:
            self._answer(effect.link, Verdict(BAD_AUTHENTICATION_METHOD, why="there is no such method here"))
            return
        task = self._loop.create_task(self._hear_hook(self._hook, effect))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hear_hook(self, hook: Hook, effect: Authenticate) -> None:
        try:
            verdict = await hook(effect)
        except Exception as error:  # noqa: BLE001  a hook's bug must not leave a client waiting
            verdict = Verdict(UNSPECIFIED_ERROR, why=f"the hook failed: {type(error).__name__}: {error}")
        self._told(effect.link, verdict)
