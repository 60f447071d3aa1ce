"""A door that others connect to, so many at a time: beside the faces of a node, for those who move much at once.

What is said at the door is up to who keeps it (`roost.host.bulk`, `roost.host.bulk_reading`). When it is closed,
connections end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Final


class Doorway(ABC):
    """The connections of a door; `_serve` talks to one of them."""

    def __init__(self, limit: int) -> None:
        self.turned_away = 0
        self._limit: Final = limit
        self._open: Final[set[asyncio.Task[None]]] = set()  # bound: limit

    @contextlib.asynccontextmanager
    async def kept(self, listening: asyncio.Server) -> AsyncIterator[None]:
        """Keep the door while the block runs."""
        try:
            yield
        finally:
            listening.close()
            for task in list(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection, or turn it away: what asyncio calls."""
        task = asyncio.current_task()
        if task is None or len(self._open) >= self._limit:
            self.turned_away += 1
            writer.close()
            return
        self._open.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # who connected has what it wanted, or is gone
        except asyncio.CancelledError:
            writer.transport.abort()  # the door is closed, and nobody awaits this task who would want to know
        finally:
            self._open.discard(task)
            writer.close()

    @abstractmethod
    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk to one connection until it ends."""
