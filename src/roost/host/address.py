"""Face URIs and socket addresses: reading what people and management write, describing what is connected.

`unix:///path`, `tcp4://host:port`, `tcp6://[host]:port`, `udp4://…`, `udp6://…` and without the digit (whatever the
host resolves to), `ws://host:port/path`, `wss://…`; a path such as `1.sock` is that Unix socket. Ports default to
NFD's: 6363, and 9696 for WebSocket.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from roost.errors import BadConfig
from roost.forwarding.face import ON_DEMAND, PERSISTENT, FaceSpec

NDN_PORT: Final = 6363
WEBSOCKET_PORT: Final = 9696
DATAGRAM_MTU: Final = 8800  # as NFD: what a link packet in one datagram may have

_FAMILIES: Final = {"": socket.AF_UNSPEC, "4": socket.AF_INET, "6": socket.AF_INET6}


@dataclass(frozen=True, slots=True)
class Address:
    """A face URI, taken apart; `scheme` is unix, tcp, udp, ws or wss."""

    scheme: str
    host: str = ""  # or the path of a Unix socket
    port: int = 0
    family: int = socket.AF_UNSPEC
    path: str = ""  # of a WebSocket

    def __str__(self) -> str:
        if self.scheme == "unix":
            return f"unix://{self.host}"
        digit = {socket.AF_INET: "4", socket.AF_INET6: "6"}.get(socket.AddressFamily(self.family), "")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}{digit if self.scheme in {'tcp', 'udp'} else ''}://{host}:{self.port}{self.path}"


def parse_uri(uri: str) -> Address:
    """Read a face URI; raises `BadConfig` that says what to write instead."""
    scheme, separator, rest = uri.partition("://")
    if scheme == "unix" and rest.startswith("/"):
        return Address("unix", rest)
    if ":" not in uri and ("/" in uri or uri.endswith(".sock")):
        return Address("unix", str(Path(uri).absolute()))
    if not separator or scheme.rstrip("46") not in {"tcp", "udp", "ws", "wss"}:
        raise BadConfig(
            f"{uri!r} is not a face Roost can open: write unix:///path, tcp4://host:port, udp4://host:port, "
            "tcp6://[host]:port, udp6://[host]:port, ws://host:port or wss://host:port"
        )
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise BadConfig(f"{uri!r} cannot be read: {error}") from None
    host = parts.hostname
    if not host:
        raise BadConfig(f"{uri!r} names no host: write {scheme}://host:port")
    base = scheme.rstrip("46")
    if base in {"ws", "wss"}:
        return Address(base, host, port or (443 if base == "wss" else WEBSOCKET_PORT), path=parts.path)
    return Address(base, host, port or NDN_PORT, _FAMILIES[scheme[3:]])


def parse_listen(text: str, port: int) -> tuple[str, int]:
    """Read `host:port`, `[host]:port`, `host` or `:port` of a listener; an empty host is loopback."""
    try:
        parts = urlsplit(f"//{text}")
        given = parts.port
    except ValueError:
        raise BadConfig(f"{text!r} is not an address to listen on: write host:port or [host]:port") from None
    return parts.hostname or "127.0.0.1", port if given is None else given


def is_loopback(host: str) -> bool:
    """Whether a numeric address stays on this machine."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def canonical(scheme: str, sockaddr: object) -> str:
    """Write the canonical URI of a numeric socket address, as NFD does; IPv4 in IPv6 becomes IPv4."""
    if not isinstance(sockaddr, tuple):
        return f"{scheme}://"
    host, port = str(sockaddr[0]), sockaddr[1]
    if ":" not in host:
        return f"{scheme}4://{host}:{port}"
    mapped = host.removeprefix("::ffff:")
    return f"{scheme}4://{mapped}:{port}" if "." in mapped and mapped != host else f"{scheme}6://[{host}]:{port}"


def describe_stream(sock: socket.socket, persistency: int = ON_DEMAND) -> FaceSpec:
    """Describe a connected Unix or TCP socket; one from this machine has local scope [ndn-packets §9]."""
    if sock.family == socket.AF_UNIX:
        path = sock.getsockname() or sock.getpeername()
        text = path.decode(errors="replace") if isinstance(path, bytes) else str(path)
        return FaceSpec(f"fd://{sock.fileno()}", f"unix://{text}", local=True, persistency=persistency)
    remote = sock.getpeername()
    local = is_loopback(str(remote[0]))
    return FaceSpec(canonical("tcp", remote), canonical("tcp", sock.getsockname()), local, persistency=persistency)


def describe_datagram(remote: object, local: object, persistency: int = PERSISTENT) -> FaceSpec:
    """Describe a UDP peer; one on this machine has local scope, so that applications can register over loopback.

    NFD never gives UDP local scope. The system drops datagrams from outside that claim a loopback address.
    """
    near = isinstance(remote, tuple) and is_loopback(str(remote[0]))
    return FaceSpec(
        canonical("udp", remote), canonical("udp", local), local=near, persistency=persistency, mtu=DATAGRAM_MTU
    )
