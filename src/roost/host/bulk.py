"""The door for TCP bulk insert: whoever connects writes Data back to back and closes [repo.md §4].

What comes is taken apart by `roost.repo.bulk`, and each Data is verified before it is stored. The next piece is read
when all of the last one is on the disk or refused, so a fast writer waits for a slow disk. Nothing is answered; the log
says what became of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from roost.errors import BadConfig
from roost.host.doorway import Doorway
from roost.host.listen import in_use
from roost.host.server import Server
from roost.machine import Effect
from roost.pubsub.repos.repo import Repo
from roost.repo.bulk import BulkStream
from roost.repo.cause import BULK
from roost.wire import Data

PORT: Final = 7376
MAX_CONNECTIONS: Final = 16
_PIECE_BYTES: Final = 16_384


class BulkDoor(Doorway):
    """Takes connections for some repos' machines; `act` carries out what a command to one of them returned."""

    def __init__(self, repos: Sequence[Repo], act: Callable[[Repo, list[Effect]], None], server: Server) -> None:
        super().__init__(MAX_CONNECTIONS)
        self.port = 0
        self._repos: Final = repos
        self._act: Final = act
        self._server: Final = server

    @contextlib.asynccontextmanager
    async def opened(self, host: str, port: int) -> AsyncIterator[BulkDoor]:
        """Listen while the block runs; raises `BadConfig`."""
        try:
            listening = await asyncio.start_server(self.connected, host, port)
        except OSError as error:
            raise BadConfig(f"cannot listen on {host}:{port} (bulk): {in_use(error, 'bulk')}") from None
        self.port = listening.sockets[0].getsockname()[1]
        async with self.kept(listening):
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take in what is written; if the connection breaks, what came before is kept."""
        peer = str(writer.get_extra_info("peername"))
        stream = BulkStream()
        refusals: list[str] = []
        kept = 0
        while not stream.trouble and (piece := await reader.read(_PIECE_BYTES)):
            outcomes = await asyncio.gather(*[self._insert(data) for data in stream.feed(piece)])
            refused = [reason for reason in outcomes if reason]
            kept += len(outcomes) - len(refused)
            refusals = (refusals + refused)[-1:]
        trouble = stream.ended() or "".join(refusals)
        why = f"; the last trouble: {trouble}" if trouble else ""
        self._server.journal.warn("bulk insert from %s: %d of %d packets kept%s", peer, kept, stream.taken, why)

    async def _insert(self, data: Data) -> str:
        """Have a packet kept; returns why it is not."""
        repo = next((repo for repo in self._repos if data.name.starts_with(repo.place.group.name)), None)
        if repo is None:
            return f"{data.name} is in no group that is kept here"
        outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def then(refusal: str, now: int) -> list[Effect]:  # noqa: ARG001  a continuation's shape
            if not outcome.done():
                outcome.set_result(refusal)
            return []

        self._act(repo, repo.insert(data, BULK, then, self._server.clock()))
        return await outcome
