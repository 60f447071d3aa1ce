"""Doors: listening TCP sockets, each with what its connections pass through before the machine sees them.

Accepted sockets inherit their options on Linux, so those are set here, once. TCP itself finds out that a peer vanished
without a word: MQTT lets clients do without keep-alive.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig
from roost.host.mqtt.pipes import Pipe, Stack
from roost.host.mqtt.tls import Tls, TlsFiles, make_context
from roost.host.mqtt.websocket import WebSocket

BACKLOG: Final = 4_096  # connections that come at once; the system may allow fewer
PORTS: Final = {"tcp": 1883, "tls": 8883, "ws": 8083, "wss": 8084}
SCHEMES: Final = {"tcp": "mqtt", "tls": "mqtts", "ws": "ws", "wss": "wss"}
_ALPN: Final = {"tls": "mqtt", "wss": "http/1.1"}


@dataclass(frozen=True, slots=True)
class ListenerSettings:
    """Where to listen, and for what: tcp, tls, ws or wss."""

    transport: str
    host: str
    port: int
    tls: TlsFiles | None = None
    behind_proxy: bool = False  # whether whoever comes was brought by a proxy

    def __str__(self) -> str:
        return f"{self.transport} {self.host}:{self.port}"


class Door:
    """A listening socket; raises `BadConfig` if the address cannot be used."""

    def __init__(self, settings: ListenerSettings, context: ssl.SSLContext | None, max_frame_bytes: int) -> None:
        self.settings: Final = settings
        self.transport: Final = settings.transport
        self._max_frame_bytes: Final = max_frame_bytes
        self._context = context
        self.sock: Final = _listen(settings)

    @property
    def uri(self) -> str:
        """Where clients find it."""
        host, port = self.sock.getsockname()[:2]
        return f"{SCHEMES[self.transport]}://{f'[{host}]' if ':' in host else host}:{port}"

    def make_pipe(self) -> Pipe | None:
        """What a new connection passes through; None if nothing."""
        inner = WebSocket(self._max_frame_bytes) if self.transport in {"ws", "wss"} else None
        if self._context is None or self.settings.tls is None:
            return inner
        outer = Tls(self._context, self.settings.tls.user_from)
        return outer if inner is None else Stack(outer, inner)

    def renew(self, context: ssl.SSLContext) -> None:
        """Have connections from now on see another certificate."""
        self._context = context

    def close(self) -> None:
        """Accept no more."""
        self.sock.close()


def contexts_of(listeners: Iterable[ListenerSettings]) -> dict[str, ssl.SSLContext]:
    """Read the certificates of those that have one, by how each is called; raises `BadConfig`."""
    return {str(each): make_context(each.tls, _ALPN[each.transport]) for each in listeners if each.tls is not None}


def _listen(settings: ListenerSettings) -> socket.socket:
    try:
        family = socket.getaddrinfo(settings.host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    except socket.gaierror as error:
        raise BadConfig(f"cannot listen on {settings}: {error.strerror}; give an address of this machine") from None
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        sock.bind((settings.host, settings.port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise BadConfig(f"cannot listen on {settings}: {error.strerror}; {_way_out(error, settings)}") from None
    return sock


def _way_out(error: OSError, settings: ListenerSettings) -> str:
    if error.errno == errno.EADDRNOTAVAIL:
        return f"this machine has no address {settings.host}: give one that it has, or 0.0.0.0 for all of them"
    if error.errno == errno.EACCES:
        return "give a port above 1023"
    return "stop what uses it, or give another address or port"
