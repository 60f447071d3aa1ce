"""An event loop that looks at a broker's connections before anything else: for processes that are mostly a broker.

asyncio waits for its own epoll, on which the broker's is one descriptor of many; so every packet costs two waits and
the way through asyncio's handles, ten microseconds of a round trip of fifty. Here it is the other way round: the loop
waits for the broker's epoll, on which asyncio's is one descriptor, and the broker's packets are served within the wait,
which lasts until asyncio has something to do: a descriptor of its own, a timer, or a call that serving gave rise to.
Everything else works as ever, timers, threads, signals and other sockets among them.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from contextvars import Context
from time import monotonic
from typing import Final, Protocol, TypeVarTuple

_Arguments = TypeVarTuple("_Arguments")


class Served(Protocol):
    """What is waited for first: `roost.host.mqtt.loop.Poll`."""

    def serve(self, timeout_s: float) -> bool:
        """Wait so long at most, for ever if it is negative, and serve; whether asyncio has something to do too."""


class Turnstile(selectors.EpollSelector):
    """asyncio's selector, behind somebody else's."""

    first: Served | None = None
    is_called = False  # something was put into the event loop while it waited

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for both; serve the first and return the events of the second."""
        first = self.first
        if first is None:
            return super().select(timeout)
        self.is_called = False
        left_s = -1.0 if timeout is None else max(0.0, timeout)
        end_s = monotonic() + left_s
        while not first.serve(left_s):
            if self.is_called or self.first is not first:
                return []
            if timeout is not None:
                left_s = end_s - monotonic()
                if left_s <= 0:
                    return []
        return super().select(0)


class BrokerLoop(asyncio.SelectorEventLoop):
    """The loop; a `Poll` that is made in it goes first."""

    def __init__(self) -> None:
        self.turnstile: Final = Turnstile()
        super().__init__(self.turnstile)

    def call_soon(
        self,
        callback: Callable[[*_Arguments], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Call it in the next turn, for which nobody waits."""
        self.turnstile.is_called = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Arguments], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call it then; `call_later` comes here too."""
        self.turnstile.is_called = True
        return super().call_at(when, callback, *args, context=context)


def first_place(loop: asyncio.AbstractEventLoop) -> Turnstile | None:
    """Where somebody may go first, None if the loop has no such place or it is taken."""
    return loop.turnstile if isinstance(loop, BrokerLoop) and loop.turnstile.first is None else None
