"""The repo's side of the door for bulk reading (`roost.host.bulk_frames`): stores read in slices, connections in turn.

A slice is read by a thread beside the node's own, so the node goes on answering; one slice at a time is read, for one
connection after the other. A client that does not take what it asked for is waited for, and costs a slice of memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, BadPacket
from roost.host.bulk_frames import (
    BUNDLED,
    DONE,
    LENGTH_BYTES,
    REFUSED,
    Door,
    allowed,
    frame,
    frame_head,
    questions_of,
)
from roost.host.doorway import Doorway
from roost.host.listen import in_use, listen_unix
from roost.host.rocks import RocksStore
from roost.naming.number import var
from roost.pubsub.repos.repo import Repo
from roost.repo import question
from roost.repo.question import MAX_DROPPED, Bundle, Run, encode_bundle
from roost.repo.store import Store

MAX_CONNECTIONS: Final = 32
SLICE: Final = 1000  # readings
_PER_QUESTION: Final = 8  # readings' worth of a slice that a question takes, whatever it finds
_BUFFER_BYTES: Final = 1 << 20  # that wait for a client, beside a slice


class ReadingDoor(Doorway):
    """Answers for some repos' machines."""

    def __init__(self, repos: Sequence[Repo]) -> None:
        super().__init__(MAX_CONNECTIONS)
        self.address = ""
        self.answered = 0  # questions
        self.refused = 0  # requests
        self._repos: Final = repos
        self._turn: Final = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def opened(self, door: Door) -> AsyncIterator[ReadingDoor]:
        """Listen while the block runs; raises `BadConfig`."""
        if isinstance(door, Path):
            listening = await asyncio.start_unix_server(self.connected, sock=_socket_at(door))
            self.address = str(door)
        else:
            listening = await self._listen(*door)
            self.address = f"{door[0]}:{listening.sockets[0].getsockname()[1]}"
        try:
            async with self.kept(listening):
                yield self
        finally:
            if isinstance(door, Path):
                door.unlink(missing_ok=True)

    async def _listen(self, host: str, port: int) -> asyncio.Server:
        try:
            return await asyncio.start_server(self.connected, host, port)
        except OSError as error:
            reason = in_use(error, "bulk-read")
            raise BadConfig(f"cannot listen on {host}:{port} (bulk reading): {reason}") from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        writer.transport.set_write_buffer_limits(_BUFFER_BYTES)
        while await self._answer_request(reader, writer):
            pass

    async def _answer_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether another may follow."""
        length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
        try:
            waiting = deque(questions_of(await reader.readexactly(allowed(length))))
        except BadPacket as error:
            self.refused += 1
            writer.write(frame(REFUSED, str(error).encode()))
            await writer.drain()
            return False
        begun: deque[_Answer] = deque()  # bound: as many as a slice can take
        while waiting or begun:
            while waiting and len(begun) * _PER_QUESTION < SLICE:
                begun.append(self._begin(waiting.popleft()))
            before = len(begun)
            async with self._turn:
                found = await _slice(begun)
            self.answered += before - len(begun)
            writer.write(found)
            await writer.drain()
        return True

    def _begin(self, asked: Bundle) -> _Answer:
        """Look up on the node's thread what only that may touch."""
        for repo in self._repos:
            if asked.stream.starts_with(repo.place.group.name):
                dropped = repo.shelf.holdings.dropped(asked.stream, asked.low, asked.high)
                return _Answer(asked, asked.low, repo.store, dropped)
        return _Answer(asked, asked.low, None, [])


@dataclass(slots=True)
class _Answer:
    """A question that is being answered: what is left of it, and where to look."""

    asked: Bundle
    low: int
    store: Store | None  # None: of a group that is not kept here
    dropped: list[Run]


async def _slice(begun: deque[_Answer]) -> bytes:
    if all(isinstance(answer.store, RocksStore) for answer in begun):
        return await asyncio.to_thread(_read, begun)
    return _read(begun)  # a store in memory is its node's alone


def _read(begun: deque[_Answer]) -> bytes:
    """The next slice, as frames; questions that are answered are taken out."""
    frames: list[bytes] = []
    room = SLICE
    while begun and room > 0:
        answer = begun[0]
        asked = answer.asked
        if answer.dropped:
            frames += _dropped(answer.dropped)
            answer.dropped = []
        page = answer.store.range(asked.stream, answer.low, asked.high, room) if answer.store else []
        if page:
            frames += _bundled([wire for _, wire in page])
            answer.low = page[-1][0] + 1
        if len(page) < room or answer.low > asked.high:
            frames.append(frame(DONE))
            begun.popleft()
        room -= max(len(page), _PER_QUESTION)
    return b"".join(frames)


def _bundled(wires: list[bytes]) -> list[bytes]:
    """A frame of packets, in parts: they are joined once, with all others of a slice."""
    size = sum(map(len, wires))
    head = var(question.BUNDLED) + var(size)
    return [frame_head(BUNDLED, len(head) + size), head, *wires]


def _dropped(runs: list[Run]) -> list[bytes]:
    """Frames that say what was dropped."""
    parts = [runs[at : at + MAX_DROPPED] for at in range(0, len(runs), MAX_DROPPED)]
    return [frame(BUNDLED, encode_bundle((), part)) for part in parts]


def _socket_at(path: Path) -> socket.socket:
    try:
        return listen_unix(path)
    except BadConfig as error:
        raise BadConfig(str(error).replace("--unix", "--bulk-read")) from None
