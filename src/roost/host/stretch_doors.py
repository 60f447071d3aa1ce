"""The client's side of the door for bulk reading (`roost.host.bulk_frames`), over a blocking socket.

All stretches go to a door in as few requests as they fit into, and what comes is handed on in pieces as it comes. A
door that fails is left, and the next one is asked for what the failed one had not given; what none gives is handed on
as pieces that lack it, for the faces to complete. Two threads may not use the same connection: each read has its own.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import Final

from roost.errors import BadPacket
from roost.host.bulk_frames import (
    BUNDLED,
    DONE,
    HEAD_BYTES,
    MAX_FRAME_BYTES,
    MAX_REQUEST_BYTES,
    REFUSED,
    door_of,
    request,
)
from roost.host.journal import Journal
from roost.host.stretch_access import Access
from roost.host.stretch_packets import open_bundle
from roost.host.stretch_pieces import Fetched, Piece, Stretch
from roost.repo.question import Bundle

_HEAD: Final = Struct(">BI")  # kind and length of a frame
_RECEIVE_BYTES: Final = 1 << 20
_QUESTION_BYTES: Final = 64  # of a Bundle, beside the stream's name


class Doors:
    """The doors of an access, the first that opens is used."""

    def __init__(self, access: Access) -> None:
        self._access: Final = access
        self._journal: Final = Journal()

    def read(self, stretches: Sequence[Stretch]) -> Iterator[Piece | Fetched]:
        """The pieces of stretches, in order; what no door gave is lacking in them. Fetched: there is no more to do."""
        waiting = deque(stretches)
        for address in self._access.bulk:
            if not waiting:
                return
            try:
                yield from self._read_at(address, waiting)
            except (OSError, BadPacket) as error:
                self._journal.warn("bulk door %s: %s; what it has not given is asked for elsewhere", address, error)
        for stretch in waiting:
            yield Piece(stretch)

    def _read_at(self, address: str, waiting: deque[Stretch]) -> Iterator[Piece | Fetched]:
        """Ask one door; what is left of the stretches stays in `waiting`."""
        with _connected(address, self._access.timeout_s) as connection:
            frames = _Frames(connection)
            doubtful = self._access.verifies_door(address)
            while waiting:
                asked = _fitting(waiting)
                connection.sendall(request(asked))
                for question in asked:
                    yield from _pieces(frames, question, waiting, doubtful=doubtful)


def _pieces(frames: _Frames, asked: Bundle, waiting: deque[Stretch], *, doubtful: bool) -> Iterator[Piece | Fetched]:
    """The pieces of one question: each ends where a frame does, the last one where the question does."""
    stream, low, high = asked.stream, asked.low, asked.high
    value = stream.value
    runs: list[tuple[int, int]] = []
    while True:
        kind, body = frames.next()
        if kind == DONE:
            break
        if kind != BUNDLED:
            raise BadPacket(body.decode(errors="replace") if kind == REFUSED else f"frames of kind {kind} are unknown")
        packets, sealed, dropped = open_bundle(body, value, low, high)
        if dropped and not doubtful:
            runs += dropped
        if packets:
            first, low = low, packets[-1][0] + 1
            if low <= high:
                waiting[0] = Stretch(stream, low, high)
            else:  # all there is to know of it, even if the door fails now
                waiting.popleft()
            if len(packets) == low - first and not (sealed or doubtful):
                yield Fetched(stream, packets)
                continue
            piece = Piece(Stretch(stream, first, low - 1))
            piece.take(packets, sealed, doubtful=doubtful)
            piece.drop(runs)
            yield piece
    if low <= high:
        waiting.popleft()
        rest = Piece(Stretch(stream, low, high))
        rest.drop(runs)
        yield rest


class _Frames:
    """Frames off a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection: Final = connection
        self._room: Final = memoryview(bytearray(_RECEIVE_BYTES))
        self._low = self._high = 0  # of what was received and not taken

    def next(self) -> tuple[int, bytes]:
        if self._high - self._low >= HEAD_BYTES:  # mostly a whole frame is there, often many
            kind, length = _HEAD.unpack_from(self._room, self._low)
            body = self._low + HEAD_BYTES
            if body + length <= self._high:
                self._low = body + length
                return kind, bytes(self._room[body : self._low])
        head = self._take(HEAD_BYTES)
        length = int.from_bytes(head[1:], "big")
        if length > MAX_FRAME_BYTES:
            raise BadPacket(f"a frame has at most {MAX_FRAME_BYTES} bytes, not {length}")
        return head[0], self._take(length)

    def _take(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            if self._low == self._high:
                self._low, self._high = 0, self._connection.recv_into(self._room)
                if not self._high:
                    raise ConnectionError("the door was closed")
            end = min(self._high, self._low + count)
            parts.append(bytes(self._room[self._low : end]))
            count -= end - self._low
            self._low = end
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _connected(address: str, timeout_s: float) -> socket.socket:
    door = door_of(address)
    if not isinstance(door, Path):
        return socket.create_connection(door, timeout_s)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        connection.connect(str(door))
    except OSError:
        connection.close()
        raise
    return connection


def _fitting(waiting: deque[Stretch]) -> list[Bundle]:
    """The first stretches, as many as fit a request."""
    found: list[Bundle] = []
    room = MAX_REQUEST_BYTES
    for stream, low, high in waiting:
        room -= len(stream.value) + _QUESTION_BYTES
        if room < 0:
            break
        found.append(Bundle(stream, low, high))
    return found
