"""A node that listens: the server and its listeners, opened together and closed together.

By default everything binds to loopback: until `roost init` has made keys and a policy nobody else is let in, and
after it only where the operator says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from websockets.asyncio.server import Server as WebSocketServer

from roost.errors import BadConfig
from roost.host.address import canonical, describe_stream
from roost.host.datagram import UdpChannel
from roost.host.disk import Disk
from roost.host.listen import in_use, listen_tcp, listen_udp, listen_unix
from roost.host.multicast import MulticastTransport
from roost.host.node_machine import NodeMachine
from roost.host.server import Server
from roost.host.stream import StreamListener
from roost.host.websocket import listen_websocket, websocket_uri

HostPort = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen; port 0 takes a free one."""

    unix: Path | None = None
    tcp: tuple[HostPort, ...] = ()
    udp: tuple[HostPort, ...] = ()
    ws: tuple[HostPort, ...] = ()
    multicast: tuple[str, ...] = ()  # IPv4 addresses of the network cards to join on


class ListeningNode:
    """A running node; `uris` says where it listens, in the order unix, tcp, udp, ws, multicast."""

    def __init__(self, server: Server) -> None:
        self.server: Final = server
        self.uris: list[str] = []
        self._closers: list[Callable[[], None]] = []
        self._websockets: list[WebSocketServer] = []

    async def open(self, listen: Listen) -> None:
        """Open all listeners; raises `BadConfig` with what to do when an address cannot be had."""
        server = self.server
        if listen.unix is not None:
            self._open_unix(listen.unix)
        for host, port in listen.tcp:
            sock = listen_tcp(host, port)
            self.uris.append(canonical("tcp", sock.getsockname()))
            self._closers.append(StreamListener(sock, server, describe_stream).close)
        for host, port in listen.udp:
            channel = UdpChannel(listen_udp(host, port), server)
            server.channels.append(channel)
            self.uris.append(canonical("udp", channel.local))
            self._closers.append(channel.close)
        for host, port in listen.ws:
            await self._open_websocket(host, port)
        for interface in listen.multicast:
            try:
                transport = MulticastTransport(interface, server)
            except OSError as error:
                raise BadConfig(f"cannot join the multicast group on {interface}: {error.strerror or error}") from None
            server.attach(transport)
            transport.start()
            self.uris.append(transport.spec.remote_uri)

    async def close(self) -> None:
        """Close the listeners, then every face."""
        for close in self._closers:
            close()
        for websocket in self._websockets:
            websocket.close(close_connections=True)
        await self.server.stop()
        for websocket in self._websockets:
            await websocket.wait_closed()

    def _open_unix(self, path: Path) -> None:
        sock = listen_unix(path)
        inode = path.stat().st_ino
        listener = StreamListener(sock, self.server, describe_stream)
        self.uris.append(f"unix://{path}")

        def close() -> None:
            listener.close()
            with contextlib.suppress(OSError):
                if path.stat().st_ino == inode:  # not one that a later node put in its place
                    path.unlink()

        self._closers.append(close)

    async def _open_websocket(self, host: str, port: int) -> None:
        try:
            websocket = await listen_websocket(host, port, self.server)
        except OSError as error:
            raise BadConfig(f"cannot listen on {host}:{port} (ws): {in_use(error, 'ws')}") from None
        self._websockets.append(websocket)
        for sock in websocket.sockets:
            self.uris.append(websocket_uri("ws", sock.getsockname()))


class NodeWithChannels(NodeMachine, Protocol):
    """A node that can say where it listens (`faces/channels`)."""

    channels: list[str]


@contextlib.asynccontextmanager
async def running(node: NodeWithChannels, listen: Listen, disk: Disk | None = None) -> AsyncIterator[ListeningNode]:
    """Run a node while the block runs; `disk` has the files and stores of the applications inside it."""
    listening = ListeningNode(Server(node, disk=disk))
    listening.server.start()
    try:
        await listening.open(listen)
        node.channels = listening.uris
        yield listening
    finally:
        await listening.close()
