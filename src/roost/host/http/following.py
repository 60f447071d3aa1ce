"""Readings as server-sent events [HTML Living Standard §9.2]: `data` is a reading, the others say what happened.

    data: {"topic":"room1/temperature","time":1777622400000000000,"value":21.5, …}

    event: dropped
    data: {"dropped":12}

Live readings are listened for before the past is read, so none is missed; what the past had already is not sent again:
each reading of a group has a number in its stream, and others are known again by all that they say. A long past is read
piece by piece. Who reads more slowly than readings come misses the oldest of those that wait, and is told how many.
What cannot go on is cut off: who asks again is told why.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from aiohttp import web

from roost.broker.since import Since
from roost.host.desk import TopicDesk
from roost.host.http.answers import dressed, encoded, encoded_reading

MAX_WAITING: Final = 1_000  # readings for one client
MAX_WAITING_BYTES: Final = 4 << 20  # the same, but for one reading, which may be larger
MAX_TRACKED: Final = 200_000  # streams whose numbers are remembered for one client
PIECE: Final = 1_000
BEAT_S: Final = 15  # a line that says nothing, so that both ends find out when the other has gone


class Following:
    """One client that follows a filter."""

    def __init__(self, desk: TopicDesk) -> None:
        self.dropped = 0
        self._desk: Final = desk
        self._waiting: Final[deque[tuple[object, int, bytes]]] = deque()  # bound: the two above, the oldest goes
        self._waiting_bytes = 0
        self._told = 0  # of those dropped
        self._arrived: Final = asyncio.Event()
        self._ended = False
        self._marks: Final[dict[object, int]] = {}  # stream → number sent; the past of plain topics; bound: MAX_TRACKED

    async def serve(self, request: web.Request, user: bytes, filter_: bytes, since: Since | None) -> web.StreamResponse:
        """Send until the client goes; raises `Denied`."""
        stop = await self._desk.follow(user, filter_, self._take)
        try:
            first = [] if since is None else await self._desk.past(user, filter_, since, PIECE)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            dressed(response)
            await response.prepare(request)
            await self._send_past(response, user, filter_, first)
            await self._send_live(response)
        finally:
            stop()
        return response

    def end(self) -> None:
        """Send no more."""
        self._ended = True
        self._arrived.set()

    def _take(self, reading: dict[str, object]) -> None:
        event = _event(encoded_reading(reading))
        self._waiting.append((*_mark(reading, event), event))
        self._waiting_bytes += len(event)
        while len(self._waiting) > MAX_WAITING or (self._waiting_bytes > MAX_WAITING_BYTES and len(self._waiting) > 1):
            self._waiting_bytes -= len(self._waiting.popleft()[2])
            self.dropped += 1
        self._arrived.set()

    async def _send_past(
        self, response: web.StreamResponse, user: bytes, filter_: bytes, piece: list[dict[str, object]]
    ) -> None:
        limit = PIECE
        while piece:
            events = [(reading, _event(encoded_reading(reading))) for reading in piece]
            fresh = [event for reading, event in events if self._is_new(*_mark(reading, event))]
            if fresh:
                await response.write(b"".join(fresh))
                limit = PIECE
            elif len(piece) < limit:
                return
            else:  # more than that are of one time
                limit *= 2
            piece = await self._desk.past(user, filter_, Since(time=int(str(piece[-1]["time"]))), limit)

    async def _send_live(self, response: web.StreamResponse) -> None:
        while not self._ended:
            waiting = list(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            self._arrived.clear()
            events = [event for place, mark, event in waiting if self._is_next(place, mark)]
            if self.dropped > self._told:
                events.insert(0, b"event: dropped\n" + _event(encoded({"dropped": self.dropped - self._told})))
                self._told = self.dropped
            if events:
                await response.write(b"".join(events))
            try:
                async with asyncio.timeout(BEAT_S):
                    await self._arrived.wait()
            except TimeoutError:
                await response.write(b": still here\n\n")

    def _is_new(self, place: object, mark: int) -> bool:
        """Whether it was not sent yet; it counts as sent from now on."""
        if mark <= self._marks.get(place, -1):
            return False
        if place in self._marks or len(self._marks) < MAX_TRACKED:
            self._marks[place] = mark
        return True

    def _is_next(self, place: object, mark: int) -> bool:
        """The same for a live one: of a plain topic, several that say the same are several."""
        return self._is_new(place, mark) if mark else self._marks.pop(place, None) is None


def _mark(reading: dict[str, object], event: bytes) -> tuple[object, int]:
    """By what a reading is known again: its stream and number, or all that it says and 0."""
    if reading.get("number"):
        return reading["stream"], int(str(reading["number"]))
    return hash(event), 0


def _event(content: bytes) -> bytes:
    return b"data: " + content + b"\n\n"
