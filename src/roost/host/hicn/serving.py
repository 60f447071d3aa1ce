"""Answering Interests on an hICN face: handlers by prefix, the longest first.

An Interest with a list of suffixes is asked of the handler name by name. At most `MAX_RUNNING` async handlers run at
once; what comes beyond is dropped and counted, and its sender will ask again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from roost.errors import BadPacket, RoostError
from roost.hicn import Data, HicnName, Interest, Prefix

if TYPE_CHECKING:
    from roost.host.hicn.endpoint import HicnEndpoint

MAX_RUNNING: Final = 1024

Answer: TypeAlias = Data | bytes | None
Handler: TypeAlias = Callable[[Interest], Answer | Awaitable[Answer]]

_log: Final = logging.getLogger("roost.hicn")


class HicnDesk:
    """All handlers of a face."""

    def __init__(self, send: Callable[[Data], None]) -> None:
        self.overflowed = 0
        self.failed = 0
        self._send: Final = send
        self._handlers: Final[dict[Prefix, Handler]] = {}  # bound: as many as are served
        self._running: Final[set[asyncio.Task[None]]] = set()  # bound: MAX_RUNNING

    def open(self, prefix: Prefix, handler: Handler) -> None:
        """Let a handler answer for a prefix."""
        if prefix in self._handlers:
            raise RoostError(f"{prefix} is served already on this face: close that first")
        self._handlers[prefix] = handler

    def close(self, prefix: Prefix) -> None:
        """Let it answer no longer."""
        del self._handlers[prefix]

    async def stop(self) -> None:
        """End all handlers that still run."""
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def asked(self, interest: Interest) -> None:
        """Have somebody answer."""
        matching = [prefix for prefix in self._handlers if prefix.covers(interest.name.prefix)]
        if not matching:
            return
        handler = self._handlers[max(matching, key=lambda prefix: prefix.length)]
        for question in _one_by_one(interest):
            try:
                answer = handler(question)
                if inspect.isawaitable(answer):
                    self._run(answer, question)
                else:
                    self._reply(answer, question)
            except Exception as error:  # noqa: BLE001  a handler's bug must not stop the others
                self._report(question, error)

    def _run(self, answer: Awaitable[Answer], interest: Interest) -> None:
        if len(self._running) >= MAX_RUNNING:
            self.overflowed += 1
            if inspect.iscoroutine(answer):
                answer.close()
            return
        task = asyncio.ensure_future(self._finish(answer, interest))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _finish(self, answer: Awaitable[Answer], interest: Interest) -> None:
        try:
            self._reply(await answer, interest)
        except Exception as error:  # noqa: BLE001  as in asked
            self._report(interest, error)

    def _reply(self, answer: Answer, interest: Interest) -> None:
        if answer is None:
            return
        if isinstance(answer, bytes):
            answer = Data(interest.name, answer, form=interest.form)
        elif answer.name != interest.name:
            raise BadPacket(f"the handler answered {interest.name} with {answer.name}")
        self._send(answer)

    def _report(self, interest: Interest, error: Exception) -> None:
        self.failed += 1
        _log.warning("no answer to %s: %s: %s", interest.name, type(error).__name__, error)


class HicnServing:
    """A served prefix: the `async with` block begins when it is registered, and its end takes that back."""

    def __init__(self, face: HicnEndpoint, desk: HicnDesk, prefix: Prefix, handler: Handler, cost: int) -> None:
        self.prefix: Final = prefix
        self._face: Final = face
        self._desk: Final = desk
        self._handler: Final = handler
        self._cost: Final = cost

    async def __aenter__(self) -> Self:
        self._desk.open(self.prefix, self._handler)
        try:
            await self._face.add_route(self.prefix, self._cost)
        except BaseException:  # whoever asked has nothing in hand to close it with
            self._desk.close(self.prefix)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._desk.close(self.prefix)
        try:
            await self._face.remove_route(self.prefix)
        except RoostError as refusal:  # the route goes with the face, or with the forwarder
            _log.info("the route of %s stays until the face is closed: %s", self.prefix, refusal)


def _one_by_one(interest: Interest) -> list[Interest]:
    if interest.manifest is None:
        return [interest]
    prefix = interest.name.prefix
    return [
        replace(interest, name=HicnName(prefix, suffix), manifest=None, signature=None)
        for suffix in interest.manifest.wanted()
    ]
