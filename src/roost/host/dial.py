"""Opening a face towards an address: Unix, TCP, UDP and WebSocket, for clients and for `faces/create`.

Failures are `Disconnected` with what was tried, why it failed and what to do. Trying again is the caller's business.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, Final

from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import InvalidHandshake, InvalidURI

from roost.errors import Disconnected
from roost.forwarding.face import PERSISTENT, FaceSpec
from roost.host.address import Address, describe_datagram, describe_stream, is_loopback
from roost.host.datagram import connected_udp
from roost.host.framing import MAX_LINK_PACKET_BYTES
from roost.host.stream import StreamTransport
from roost.host.transport import Owner, Transport
from roost.host.websocket import CLOSE_S, PING_S, WebSocketTransport, websocket_uri

CONNECT_S: Final = 10.0


async def dial(address: Address, owner: Owner, persistency: int = PERSISTENT) -> Transport:
    """Open a face; it delivers to `owner` at once."""
    try:
        async with asyncio.timeout(CONNECT_S):
            if address.scheme in {"ws", "wss"}:
                return await _dial_websocket(address, owner)
            if address.scheme == "unix":
                return await _dial_stream(socket.AF_UNIX, address.host, owner, persistency)
            family, target = await resolve(address)
            if address.scheme == "tcp":
                return await _dial_stream(family, target, owner, persistency)
            return await _dial_datagram(family, target, owner, persistency)
    except TimeoutError:
        raise Disconnected(f"{address}: no connection within {CONNECT_S:g} s; is its port open?") from None
    except (OSError, UnicodeError, InvalidHandshake, InvalidURI) as error:  # a host name may not be one
        raise Disconnected(f"{address}: {_reason(error)}{_advice(address, error)}") from None


async def resolve(address: Address) -> tuple[int, Any]:
    """Look up the socket address of a host and port."""
    kind = socket.SOCK_STREAM if address.scheme == "tcp" else socket.SOCK_DGRAM
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, family=address.family, type=kind)
    family, _, _, _, target = found[0]
    return family, target


async def _dial_stream(family: int, target: Any, owner: Owner, persistency: int) -> Transport:  # noqa: ANN401  a sockaddr
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        await asyncio.get_running_loop().sock_connect(sock, target)
        spec = describe_stream(sock, persistency)
        if family == socket.AF_UNIX:
            spec = FaceSpec(f"unix://{target}", spec.remote_uri, local=True, persistency=persistency)
        transport = StreamTransport(sock, spec, owner)
    except BaseException:
        sock.close()
        raise
    transport.start()
    return transport


async def _dial_datagram(family: int, target: Any, owner: Owner, persistency: int) -> Transport:  # noqa: ANN401  a sockaddr
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.settimeout(0)
        sock.connect(target)
        return connected_udp(sock, owner, describe_datagram(target, sock.getsockname(), persistency))
    except BaseException:
        sock.close()
        raise


async def _dial_websocket(address: Address, owner: Owner) -> Transport:
    uri = str(address)
    connection = await connect_websocket(
        uri, compression=None, max_size=MAX_LINK_PACKET_BYTES, ping_interval=PING_S, close_timeout=CLOSE_S, proxy=None
    )
    remote, local = connection.remote_address, connection.local_address
    spec = FaceSpec(uri, websocket_uri("wsclient", local), local=is_loopback(str(remote[0])))
    transport = WebSocketTransport(connection, spec, owner)
    transport.start()
    return transport


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _advice(address: Address, error: Exception) -> str:
    if isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
        return "; nothing listens there: start one with `roost up`, `roost repo` or `roost node`, or name another one"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "; if that certificate is to be trusted, name its file, or that of its issuer, in SSL_CERT_FILE"
    if isinstance(error, PermissionError):
        return f"; this user may not open {address.host}"
    if isinstance(error, socket.gaierror):
        return f"; the host {address.host!r} is not known"
    return ""
