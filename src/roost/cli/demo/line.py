"""The line between two buildings: TCP connections that are passed on, until somebody cuts it.

The annex's gates reach the repos only over this line, so cutting it is what a digger does: connections die in both
directions, new ones are refused, and nobody is told why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

_CHUNK_BYTES: Final = 1 << 16


class Line:
    """One port for each that stands at the far end."""

    def __init__(self, targets: Sequence[int]) -> None:
        self.ports: Final[list[int]] = []
        self.is_cut = False
        self.passed_bytes = 0
        self._targets: Final = targets
        self._servers: Final[list[asyncio.Server]] = []
        self._writers: Final[set[asyncio.StreamWriter]] = set()  # bound: two for each link of a gate
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    async def open(self) -> None:
        """Lay it."""
        for target in self._targets:

            async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int = target) -> None:
                await self._pass(reader, writer, target)

            server = await asyncio.start_server(passed, "127.0.0.1", 0)
            self._servers.append(server)
            self.ports.append(int(server.sockets[0].getsockname()[1]))

    def cut(self) -> None:
        """Cut it."""
        self.is_cut = True
        for writer in self._writers.copy():
            writer.transport.abort()

    def mend(self) -> None:
        """Let connections through again; who lost one dials by itself."""
        self.is_cut = False

    async def close(self) -> None:
        """Take it away."""
        self.cut()
        for server in self._servers:
            server.close()
        for task in self._tasks.copy():
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.transport.abort()
            return
        ways = ((reader, far_writer), (far_reader, writer))
        tasks = [asyncio.create_task(self._copy(*way)) for way in ways]
        self._tasks.update(tasks)
        self._writers.update((writer, far_writer))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (writer, far_writer):
                self._writers.discard(each)
                each.transport.abort()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tasks.difference_update(tasks)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(_CHUNK_BYTES):
                self.passed_bytes += len(chunk)
                writer.write(chunk)
                await writer.drain()
