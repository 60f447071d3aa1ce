"""Which forwarder a client talks to: what it was told, what the environment says, what runs here, or its own.

In this order: the argument; `NDN_CLIENT_TRANSPORT`; `transport=` in client.conf where ndn-cxx looks for it; the socket
of a running `roost node` of this user; none, which means a node inside this process. The command line has no use for a
node that ends with it: `await_node` waits a little for one that is starting, then says what to do.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from roost.errors import Disconnected
from roost.host.address import Address, parse_uri
from roost.host.paths import node_socket

VARIABLE: Final = "NDN_CLIENT_TRANSPORT"
STARTING_S: Final = 2.0  # how long a node may take from its start to its socket
_POLL_S: Final = 0.05
_SHARED_FILES: Final = (Path("/usr/local/etc/ndn/client.conf"), Path("/etc/ndn/client.conf"))


def locate(uri: str | None = None) -> tuple[Address | None, str]:
    """Find the forwarder's address, None for a node of our own; and say who said so."""
    told = _told(uri)
    if told is not None:
        return told
    path = node_socket()
    try:
        if stat.S_ISSOCK(path.stat().st_mode):
            return Address("unix", str(path)), "the socket of a running node"
    except OSError:
        pass
    return None, "there is no other"


async def await_node(uri: str | None, say: Callable[[str], None], wait_s: float = STARTING_S) -> str | None:
    """Find a forwarder outside this process, as a `uri` for `connect`; raises `Disconnected` when there is none."""
    if _told(uri) is not None:
        return uri
    path = node_socket()
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    said = False
    while not _answers(path):
        if not said:
            say(f"no node is running here yet; waiting {wait_s:g} s for {path}")
            said = True
        if loop.time() >= until:
            raise Disconnected(
                f"no node is running here (looked at {VARIABLE}, client.conf and {path}); "
                f"start one with `roost up`, `roost repo` or `roost node`, or name a forwarder with --at or {VARIABLE}"
            )
        await asyncio.sleep(_POLL_S)
    return f"unix://{path}"


def _answers(path: Path) -> bool:
    """Whether somebody listens: a node that died leaves its socket behind."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_POLL_S)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _told(uri: str | None) -> tuple[Address, str] | None:
    """The address that somebody wrote down, and where."""
    if uri is not None:
        return parse_uri(uri), "the uri argument"
    told = os.environ.get(VARIABLE)
    if told:
        return parse_uri(told), VARIABLE
    for path in (Path.home() / ".ndn" / "client.conf", *_SHARED_FILES):
        written = _transport_of(path)
        if written is not None:
            if written:
                return parse_uri(written), str(path)
            break  # ndn-cxx reads the first file there is, and no other
    return None


def _transport_of(path: Path) -> str | None:
    """Read `transport=` of a client.conf: empty if the file does not say, None if there is no file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = ""
    for line in lines:
        key, equals, value = line.partition("=")
        if equals and key.strip() == "transport":
            found = value.split(";", 1)[0].strip()
    return found
