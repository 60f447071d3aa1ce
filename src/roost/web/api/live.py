"""Readings as they come, over a WebSocket [RFC 6455] or as server-sent events: many streams, or all of them.

    client ▶ {"streams": [name…], "topics": [filter…], "all": true, "latest": true, "every_ms": 500}
    server ◀ {"readings": [{"stream", "topic", "number", "time", "value", "unit", "quality"}…], "dropped": n}
             {"alerts": […]} at first and when they change, {"error": "…"}
             {"refused": [{"stream" or "topic", "status": 403 or 404, "error": "…"}…]} of what it asked for last

What a client says replaces what it had. What it may not see of that, or what is not there, is refused one by one, and
the rest is followed; what is no wish at all is an error, and changes nothing. A reading is read when it is sent, once
for all who get it, and who may see it is asked then. Who takes them more slowly than they come misses the oldest, and
is told how many; with `latest` only the newest of each stream is sent, and nothing is missed that would still be true.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Final

from aiohttp import WSMsgType, web

from roost.broker.packets.fields import check_filter
from roost.broker.packets.reasons import Malformed
from roost.errors import Denied, RoostError
from roost.host.http.answers import Problem, dressed, encoded, encoded_reading
from roost.host.http.asking import USER, one_of
from roost.host.http.pages import whole
from roost.web.api.live_client import LEAST_MS, MOST_MS, Client, Refused, Wish, wish_of
from roost.web.api.lookout import Lookout
from roost.web.index_rows import StreamRow

MAX_CLIENTS: Final = 128
PIECE: Final = 64  # that are read in one turn
HEARTBEAT_S: Final = 20.0
MAX_ASKED_BYTES: Final = 2 << 20
MAX_ENCODED: Final = 8192
_YES_NO: Final = ("true", "false")


def _no_alerts(_user: bytes) -> list[dict[str, object]]:
    return []


class Live:
    """Everybody who follows."""

    def __init__(self, lookout: Lookout) -> None:
        self.turned_away = 0
        self.dropped = 0  # for those who have gone
        self._lookout: Final = lookout
        self._clients: Final[set[Client]] = set()  # bound: MAX_CLIENTS
        self._everything: Final[set[Client]] = set()  # those of them that want all
        self._by_row: Final[dict[StreamRow, set[Client]]] = {}  # the others; bound: MAX_NAMES of each
        self._encoded: Final[dict[tuple[StreamRow, int], bytes]] = {}  # bound: MAX_ENCODED
        self._alerts: Callable[[bytes], list[dict[str, object]]] = _no_alerts
        lookout.index.watchers.append(self._hear)

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/live", self._live, allow_head=False), web.get("/events", self._events, allow_head=False)]

    @property
    def following(self) -> int:
        """How many do."""
        return len(self._clients)

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        return {
            "http/live": len(self._clients),
            "http/live/refused": self.turned_away,
            "http/live/dropped": self.dropped + sum([client.dropped for client in self._clients]),
        }

    def end(self) -> None:
        """Send everybody away."""
        for client in self._clients:
            client.ended = True
            client.arrived.set()

    def tell_alerts(self, alerts: Callable[[bytes], list[dict[str, object]]]) -> None:
        """The alerts have changed: `alerts` gives those of a user."""
        self._alerts = alerts
        for client in self._clients:
            client.alerts = alerts(client.user)
            client.arrived.set()

    # -- the two ways

    async def _live(self, request: web.Request) -> web.StreamResponse:
        async with self._client(request[USER]) as client:
            socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_ASKED_BYTES, compress=False)
            await socket.prepare(request)
            sending = asyncio.create_task(self._send_all(client, socket))
            try:
                async for message in socket:
                    if message.type != WSMsgType.TEXT:
                        break
                    await self._asked(client, message.data, socket)
            finally:
                sending.cancel()
                [failure] = await asyncio.gather(sending, return_exceptions=True)
            if isinstance(failure, Exception) and not isinstance(failure, ConnectionError):
                raise failure
            return socket

    async def _events(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        said = {
            "streams": query.getall("stream", []),
            "topics": query.getall("topic", []),
            "all": one_of(request, "all", _YES_NO) == "true",
            "latest": one_of(request, "latest", _YES_NO) == "true",
            "every_ms": whole(request, "every_ms", LEAST_MS, MOST_MS, LEAST_MS),
        }
        async with self._client(request[USER]) as client:
            refused = await self._want(client, wish_of(said))
            if refused and not client.wish.wants:
                raise Problem(refused[0].status, refused[0].error)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await dressed(response).prepare(request)
            if refused:
                await response.write(b"data: %b\n\n" % encoded(_told(refused)))
            while not client.ended:
                try:
                    async with asyncio.timeout(HEARTBEAT_S):
                        await client.arrived.wait()
                except TimeoutError:
                    await response.write(b": still here\n\n")
                    continue
                if client.alerts is not None:
                    alerts, client.alerts = client.alerts, None
                    await response.write(b"data: %b\n\n" % encoded({"alerts": alerts}))
                body = await self._message(client)
                if body is not None:
                    await response.write(b"data: %b\n\n" % body)
                await asyncio.sleep(client.wish.every_ms / 1000)
            return response

    async def _asked(self, client: Client, text: str, socket: web.WebSocketResponse) -> None:
        try:
            refused = await self._want(client, wish_of(json.loads(text)))
            if refused:
                await socket.send_str(encoded(_told(refused)).decode())
        except RecursionError:
            await socket.send_str(encoded({"error": "that is nested too deeply"}).decode())
        except ValueError:
            await socket.send_str(encoded({"error": "that is not JSON"}).decode())
        except (RoostError, Malformed) as error:
            await socket.send_str(encoded({"error": str(error)}).decode())

    async def _send_all(self, client: Client, socket: web.WebSocketResponse) -> None:
        try:
            while not client.ended:
                await client.arrived.wait()
                if client.alerts is not None:
                    alerts, client.alerts = client.alerts, None
                    await socket.send_str(encoded({"alerts": alerts}).decode())
                body = await self._message(client)
                if body is not None:
                    await socket.send_str(body.decode())
                await asyncio.sleep(client.wish.every_ms / 1000)
        finally:
            await socket.close()

    async def _message(self, client: Client) -> bytes | None:
        """What waits for a client as one message, if anything does."""
        found: list[bytes] = []
        for at, item in enumerate(client.next(), 1):
            if isinstance(item, bytes):
                found.append(item)
            elif self._lookout.views.sees(client.user, item[0]):
                reading = self._reading(client.user, *item)
                if reading is not None:
                    found.append(reading)
            if at % PIECE == 0:
                await asyncio.sleep(0)
        dropped, client.told = client.dropped - client.told, client.dropped
        if not found and not dropped:
            return None
        return b'{"readings":[%b],"dropped":%d}' % (b",".join(found), dropped)

    def _reading(self, user: bytes, row: StreamRow, number: int) -> bytes | None:
        known = self._encoded.get((row, number))
        if known is not None and not row.virtual:
            return known
        shown, message = self._lookout.reader.show(row, number)
        if self._lookout.views.hides(user, message):
            return None
        while len(self._encoded) >= MAX_ENCODED:
            del self._encoded[next(iter(self._encoded))]
        reading = self._encoded[row, number] = encoded_reading(shown)
        return reading

    # -- who wants what

    def _hear(self, row: StreamRow, number: int) -> None:
        for client in self._everything:
            client.hear(row, number)
        for client in self._by_row.get(row, ()):
            client.hear(row, number)

    @contextlib.asynccontextmanager
    async def _client(self, user: bytes) -> AsyncIterator[Client]:
        if len(self._clients) >= MAX_CLIENTS:
            self.turned_away += 1
            raise Problem(429, f"{MAX_CLIENTS} clients follow already, which is the limit", {"Retry-After": "10"})
        await self._lookout.views.admit(user)
        client = Client(user)
        client.alerts = self._alerts(user)
        client.arrived.set()
        self._clients.add(client)
        try:
            yield client
        finally:
            self._forget(client)
            self._clients.discard(client)
            self.dropped += client.dropped

    def _forget(self, client: Client) -> None:
        self._everything.discard(client)
        for text in client.wish.streams:
            row = self._lookout.index.get(text)
            if row is not None and row in self._by_row:
                self._by_row[row].discard(client)
                if not self._by_row[row]:
                    del self._by_row[row]
        for stop in client.stops:
            stop()
        client.stops = []

    async def _want(self, client: Client, wish: Wish) -> list[Refused]:
        """Have a client get what it wants from now on, as far as it may; returns the rest, and raises why nothing."""
        await self._lookout.views.admit(client.user)
        rows, refused = await self._rows(client, wish.streams)
        stops, denied = await self._follow(client, wish.topics)
        refused += denied
        gone = {each.name for each in refused}
        self._forget(client)
        client.wish = replace(
            wish,
            streams=tuple([row.text for row in rows]),
            topics=tuple([topic for topic in wish.topics if topic not in gone]),
        )
        client.stops = stops
        if wish.all:
            self._everything.add(client)
        else:
            for row in rows:
                self._by_row.setdefault(row, set()).add(client)
        return refused

    async def _rows(self, client: Client, names: tuple[str, ...]) -> tuple[list[StreamRow], list[Refused]]:
        lookout, rows, refused = self._lookout, list[StreamRow](), list[Refused]()
        for at, text in enumerate(names, 1):
            if at % PIECE == 0:
                await asyncio.sleep(0)
            row = lookout.index.get(text)
            if row is None:
                why = f"{text[:200]}: no repo of this node has such a stream"
                refused.append(Refused("stream", text, 404, why))
            elif not lookout.views.sees(client.user, row):
                refused.append(Refused("stream", text, 403, lookout.views.why_not(client.user, row)))
            else:
                rows.append(row)
        return rows, refused

    async def _follow(self, client: Client, topics: tuple[str, ...]) -> tuple[list[Callable[[], None]], list[Refused]]:
        desk, stops, refused = self._lookout.running.topics, list[Callable[[], None]](), list[Refused]()
        for topic in topics:
            check_filter(topic.encode())
        if desk is None:
            return stops, refused
        try:
            for topic in topics:
                try:
                    stops.append(await desk.follow(client.user, topic.encode(), client.take))
                except Denied as error:
                    refused.append(Refused("topic", topic, 403, str(error)))
        except (RoostError, Malformed):
            for stop in stops:
                stop()
            raise
        return stops, refused


def _told(refused: list[Refused]) -> dict[str, object]:
    return {"refused": [{each.kind: each.name, "status": each.status, "error": each.error} for each in refused]}
