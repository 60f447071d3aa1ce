"""Sockets to listen on: Unix (stale ones cleared away), TCP and UDP. Errors name the address and the way out."""

from __future__ import annotations

import errno
import socket
import stat
from pathlib import Path
from typing import Final

from roost.errors import BadConfig

BACKLOG: Final = 128
_MAX_PATH_BYTES: Final = 107  # of sun_path on Linux, less its zero


def listen_unix(path: Path) -> socket.socket:
    """Listen on a Unix socket that only this user may open; one left behind by a dead process is replaced."""
    if len(bytes(path)) > _MAX_PATH_BYTES:
        raise BadConfig(f"{path} is too long for a Unix socket, {_MAX_PATH_BYTES} bytes are the limit: use --unix PATH")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadConfig(
            f"{path.parent} cannot be made or entered: {error.strerror}; "
            "name another directory with ROOST_HOME, or use --unix PATH"
        ) from None
    _clear_stale(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        path.chmod(0o600)  # before `listen`, so nobody was let in under other rights
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise BadConfig(f"cannot listen on {path}: {error.strerror}; use --unix PATH for another one") from None
    return sock


def _clear_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise BadConfig(f"{path} is there and is not a socket: remove it, or use --unix PATH for another one")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise BadConfig(f"cannot listen on {path}: {error.strerror}; use --unix PATH for another one") from None
    raise BadConfig(f"a node already listens on {path}: stop it, or use --unix PATH for a second one")


def listen_tcp(host: str, port: int) -> socket.socket:
    """Listen on a TCP address."""
    sock = _socket(host, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _bind(sock, host, port, "tcp")
    sock.listen(BACKLOG)
    return sock


def listen_udp(host: str, port: int) -> socket.socket:
    """Receive on a UDP address."""
    sock = _socket(host, socket.SOCK_DGRAM)
    _bind(sock, host, port, "udp")
    return sock


def _socket(host: str, kind: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, 0, type=kind, flags=socket.AI_PASSIVE)[0][0]
    except socket.gaierror as error:
        raise BadConfig(f"cannot listen on {host}: {error.strerror}") from None
    sock = socket.socket(family, kind)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return sock


def _bind(sock: socket.socket, host: str, port: int, scheme: str) -> None:
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise BadConfig(f"cannot listen on {host}:{port} ({scheme}): {in_use(error, scheme)}") from None


def in_use(error: OSError, scheme: str) -> str:
    """Say why an address could not be had and what to do."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"another program uses it (a forwarder, perhaps): stop that, give --{scheme} HOST:PORT another port, "
            f"or do without with --no-{scheme}; for `roost mqtt`: change node.{scheme} in its configuration"
        )
    return (
        f"{error.strerror}; give --{scheme} HOST:PORT another address, or for `roost mqtt` node.{scheme} in its "
        "configuration"
    )
