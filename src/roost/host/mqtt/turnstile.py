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
from typing import Final, Protocol, TypeVarTuple

_Arguments = TypeVarTuple("_Arguments")


class Served(Protocol):
    """What is waited for first: `roost.host.mqtt.loop.Poll`."""

    is_called: bool  # set when something is put into the event loop while it waits

    def attend(self, timeout_s: float) -> bool:
        """Serve until asyncio has something to do, or so long, for ever if it is negative; whether to look at its own.

        What is called, and who steps back, ends it too.
        """


class Turnstile(selectors.EpollSelector):
    """asyncio's selector, behind somebody else's."""

    first: Served | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for both; serve the first and return the events of the second."""
        first = self.first
        if first is None:
            return super().select(timeout)
        return super().select(0) if first.attend(-1.0 if timeout is None else max(0.0, timeout)) else []

    def call(self) -> None:
        """End the wait: there is something to do."""
        if self.first is not None:
            self.first.is_called = True


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
        self.turnstile.call()
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Arguments], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call it then; `call_later` comes here too."""
        self.turnstile.call()
        return super().call_at(when, callback, *args, context=context)


def first_place(loop: asyncio.AbstractEventLoop) -> Turnstile | None:
    """Where somebody may go first, None if the loop has no such place or it is taken."""
    return loop.turnstile if isinstance(loop, BrokerLoop) and loop.turnstile.first is None else None
