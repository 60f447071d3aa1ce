"""Answering Interests: handlers that people write, called one batch at a time, their answers sent in one write.

A handler takes the Interest and returns a `Data`, bytes (which become the signed content of a Data with the Interest's
name) or None (no answer); it may be async. At most `MAX_RUNNING` async ones run at once, further Interests are
dropped and counted: their senders will ask again.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Final, Self, TypeAlias

from roost.errors import BadPacket, RoostError
from roost.forwarding.endpoint_effects import Asked
from roost.host.session import Session
from roost.naming import Name
from roost.wire import Data, Interest, Signer, encode_data
from roost.wire.interest import matches

MAX_RUNNING: Final = 1024
FRESHNESS_MS: Final = 1000
REGISTER_S: Final = 10.0

Answer: TypeAlias = Data | bytes | None
Handler: TypeAlias = Callable[[Interest], Answer | Awaitable[Answer]]
Taker: TypeAlias = Callable[[Asked], None]  # answers by itself, if at all


class Desk:
    """All handlers of a face."""

    def __init__(self, session: Session, signer_for: Callable[[Name], Signer]) -> None:
        self.overflowed = 0
        self.failed = 0
        self._session: Final = session
        self._signer_for: Final = signer_for
        self._handlers: dict[Name, Handler] = {}  # bound: the endpoint's max_served
        self._takers: dict[Name, Taker] = {}  # as the handlers
        self._running: set[asyncio.Task[None]] = set()  # bound: MAX_RUNNING
        session.on_asked = self._asked

    def open(self, prefix: Name, handler: Handler) -> None:
        """Let a handler answer for a prefix."""
        self._take_prefix(prefix)
        self._handlers[prefix] = handler

    def open_taker(self, prefix: Name, taker: Taker) -> None:
        """Hand Interests under a prefix to somebody who replies through the session."""
        self._take_prefix(prefix)
        self._takers[prefix] = taker

    def serves(self, prefix: Name) -> bool:
        """Whether somebody answers for exactly this prefix."""
        return prefix in self._handlers or prefix in self._takers

    def close(self, prefix: Name) -> None:
        """Let it answer no longer."""
        self._session.endpoint.stop_serving(prefix)
        self._handlers.pop(prefix, None)
        self._takers.pop(prefix, None)

    async def stop(self) -> None:
        """End all handlers that still run."""
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _asked(self, batch: list[Asked]) -> None:
        answers: list[tuple[bytes, bytes]] = []
        for asked in batch:
            try:
                wire = self._answer(asked)
            except Exception as error:  # noqa: BLE001  a handler's bug must not stop the others
                self._report(asked, error)
                continue
            if wire is not None:
                answers.append((wire, asked.token))
        if answers:
            self._session.reply(answers)

    def _answer(self, asked: Asked) -> bytes | None:
        """Answer now if that can be; a taker and an async handler do so by themselves."""
        taker = self._takers.get(asked.prefix)
        if taker is not None:
            taker(asked)
            return None
        handler = self._handlers.get(asked.prefix)
        if handler is None:
            return None
        answer = handler(asked.interest)
        if inspect.isawaitable(answer):
            self._run(answer, asked)
            return None
        return self._wire(answer, asked.interest)

    def _take_prefix(self, prefix: Name) -> None:
        if self.serves(prefix):
            raise RoostError(f"{prefix} is served already on this face: close that first")
        self._session.endpoint.serve(prefix)

    def _run(self, answer: Awaitable[Answer], asked: Asked) -> None:
        if len(self._running) >= MAX_RUNNING:
            self.overflowed += 1
            if inspect.iscoroutine(answer):
                answer.close()
            return
        task = asyncio.ensure_future(self._finish(answer, asked))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _finish(self, answer: Awaitable[Answer], asked: Asked) -> None:
        try:
            wire = self._wire(await answer, asked.interest)
        except Exception as error:  # noqa: BLE001  as in _asked
            self._report(asked, error)
            return
        if wire is not None:
            self._session.reply([(wire, asked.token)])

    def _wire(self, answer: Answer, interest: Interest) -> bytes | None:
        if answer is None:
            return None
        if isinstance(answer, Data):
            if not matches(interest, answer.name, answer.implicit_digest):
                raise BadPacket(f"the handler answered {interest.name} with {answer.name}, which does not match")
            return answer.wire
        return encode_data(interest.name, answer, self._signer_for(interest.name), freshness_ms=FRESHNESS_MS)

    def _report(self, asked: Asked, error: Exception) -> None:
        self.failed += 1
        self._session.journal.warn("no answer to %s: %s: %s", asked.interest.name, type(error).__name__, error)


class Serving:
    """A served prefix: `async with face.serve(…)` waits until it is registered; or `await` it, and `close` it later."""

    def __init__(self, desk: Desk, session: Session, prefix: Name, *, register: bool) -> None:
        self.prefix: Final = prefix
        self._desk: Final = desk
        self._session: Final = session
        self._register: Final = register

    async def ready(self, timeout_s: float = REGISTER_S) -> Serving:
        """Wait until Interests can come; raises `Refused` or `TimedOut` with the reason."""
        if self._register:
            await self._session.registered(self.prefix, timeout_s)
        return self

    def close(self) -> None:
        """Serve no longer."""
        self._desk.close(self.prefix)
        if self._register:
            self._session.unregister(self.prefix)

    def __await__(self) -> Generator[None, None, Self]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        try:
            await self.ready()
        except BaseException:  # whoever asked has nothing in hand to close it with
            self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
