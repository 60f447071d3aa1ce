"""Which forwarder a client talks to: what it was told, what the environment says, what runs here, or its own.

In this order: the argument; `NDN_CLIENT_TRANSPORT`; `transport=` in client.conf where ndn-cxx looks for it; the socket
of a running `roost node` of this user; none, which means a node inside this process.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from roost.host.address import Address, parse_uri
from roost.host.paths import node_socket

VARIABLE: Final = "NDN_CLIENT_TRANSPORT"
_SHARED_FILES: Final = (Path("/usr/local/etc/ndn/client.conf"), Path("/etc/ndn/client.conf"))


def locate(uri: str | None = None) -> tuple[Address | None, str]:
    """Find the forwarder's address, None for a node of our own; and say who said so."""
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
    path = node_socket()
    try:
        if stat.S_ISSOCK(path.stat().st_mode):
            return Address("unix", str(path)), "the socket of a running node"
    except OSError:
        pass
    return None, "there is no other"


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
