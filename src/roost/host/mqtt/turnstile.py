"""An event loop that looks at a broker's connections before anything else: for processes that are mostly a broker.

asyncio waits for its own epoll, on which the broker's is one descriptor of many; so every packet costs two waits and
the way through asyncio's handles, ten microseconds of a round trip of fifty. Here it is the other way round: the loop
waits for the broker's epoll, on which asyncio's is one descriptor, and the broker's packets are served within the wait.
Everything else works as ever, timers, threads, signals and other sockets among them.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Final, Protocol


class Served(Protocol):
    """What is waited for first: `roost.host.mqtt.loop.Poll`."""

    def serve(self, timeout_s: float) -> bool:
        """Wait so long at most, for ever if it is negative, and serve; whether asyncio has something to do too."""


class Turnstile(selectors.EpollSelector):
    """asyncio's selector, behind somebody else's."""

    first: Served | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for both; serve the first and return the events of the second."""
        if self.first is None:
            return super().select(timeout)
        return super().select(0) if self.first.serve(-1.0 if timeout is None else max(0.0, timeout)) else []


class BrokerLoop(asyncio.SelectorEventLoop):
    """The loop; a `Poll` that is made in it goes first."""

    def __init__(self) -> None:
        self.turnstile: Final = Turnstile()
        super().__init__(self.turnstile)


def first_place(loop: asyncio.AbstractEventLoop) -> Turnstile | None:
    """Where somebody may go first, None if the loop has no such place or it is taken."""
    return loop.turnstile if isinstance(loop, BrokerLoop) and loop.turnstile.first is None else None
