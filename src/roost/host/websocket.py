"""WebSocket faces: one link packet per binary message [ndn-packets §9], by the websockets library.

Here asyncio's own machinery is used: HTTP, masking and pings cost more than it does. A page in a browser can connect
from this machine on behalf of any web site, so only connections without an Origin header have local scope.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from roost.forwarding.face import ON_DEMAND, FaceSpec
from roost.host.address import is_loopback
from roost.host.framing import MAX_LINK_PACKET_BYTES
from roost.host.transport import MAX_QUEUE_BYTES, Counters, Owner

PING_S: Final = 10.0  # as NFD
CLOSE_S: Final = 1.0  # a peer that does not answer the closing handshake must not hold up the end


class WebSocketTransport:
    """One connection; `run`, or the task made by `start`, reads until it ends."""

    def __init__(self, connection: ServerConnection | ClientConnection, spec: FaceSpec, owner: Owner) -> None:
        self.spec: Final = spec
        self.counters: Final = Counters()
        self.queued_bytes = 0
        self._connection: Final = connection
        self._owner: Final = owner
        self._queue: deque[bytes] = deque()  # bound: MAX_QUEUE_BYTES
        self._writer: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._closer: asyncio.Task[None] | None = None
        self._open = True

    def start(self) -> None:
        """Begin to read, in a task of its own."""
        self._reader = asyncio.ensure_future(self.run())

    def send(self, packets: list[bytes]) -> None:
        """Queue a batch for the writer."""
        for packet in packets:
            if not self._open or self.queued_bytes + len(packet) > MAX_QUEUE_BYTES:
                self.counters.dropped += 1
                continue
            self.queued_bytes += len(packet)
            self._queue.append(packet)
        if self._queue and (self._writer is None or self._writer.done()):
            self._writer = asyncio.ensure_future(self._write())

    def close(self) -> None:
        """Close; the closing handshake goes on behind the scenes."""
        if self._open:
            self._open = False
            if self._writer is not None:
                self._writer.cancel()
            self._closer = asyncio.ensure_future(self._connection.close())

    async def wait_closed(self) -> None:
        """Wait until the closing handshake is over."""
        tasks = [task for task in (self._closer, self._reader) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def run(self) -> None:
        """Read until the connection ends, then tell the owner."""
        reason = "the other end closed it"
        try:
            async for message in self._connection:
                if isinstance(message, str):
                    reason = "it sent text, where a packet is a binary message"
                    break
                self.counters.in_packets += 1
                self.counters.in_bytes += len(message)
                self._owner.arrived([(self, [message])])
        except ConnectionClosed as error:
            reason = f"the connection broke: {error}"
        if self._open:
            self.close()
            self._owner.closed(self, reason)

    async def _write(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while self._queue:
                packet = self._queue.popleft()
                await self._connection.send(packet)
                self.queued_bytes -= len(packet)
                self.counters.out_packets += 1
                self.counters.out_bytes += len(packet)


async def listen_websocket(host: str, port: int, owner: Owner) -> Server:
    """Accept WebSocket faces on an address."""

    async def accept(connection: ServerConnection) -> None:
        remote, local = connection.remote_address, connection.local_address
        browser = connection.request is not None and "Origin" in connection.request.headers
        spec = FaceSpec(
            websocket_uri("wsclient", remote),
            websocket_uri("ws", local),
            local=is_loopback(str(remote[0])) and not browser,
            persistency=ON_DEMAND,
        )
        transport = WebSocketTransport(connection, spec, owner)
        owner.accepted(transport)
        await transport.run()

    return await serve(
        accept,
        host,
        port,
        compression=None,
        max_size=MAX_LINK_PACKET_BYTES,
        ping_interval=PING_S,
        close_timeout=CLOSE_S,
    )


def websocket_uri(scheme: str, sockaddr: tuple[object, ...]) -> str:
    """Write the URI of one end of a WebSocket."""
    host = f"[{sockaddr[0]}]" if ":" in str(sockaddr[0]) else sockaddr[0]
    return f"{scheme}://{host}:{sockaddr[1]}"
