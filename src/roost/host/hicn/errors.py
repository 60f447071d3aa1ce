"""Which datagrams could not be delivered: Linux keeps them in the error queue of a socket that asked for it.

Elsewhere nobody is told, and a forwarder goes on sending to programs that are gone.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
from struct import unpack_from
from typing import Final

from roost.host.datagram import SocketAddress

_IP_RECVERR: Final = 11
_IPV6_RECVERR: Final = 25
_MSG_ERRQUEUE: Final = 0x2000
_MAX_ERRORS: Final = 64  # read at once


def tell_of_errors(sock: socket.socket) -> None:
    """Have the kernel keep what could not be delivered."""
    if sys.platform == "linux":
        six = sock.family == socket.AF_INET6
        level, option = (socket.IPPROTO_IPV6, _IPV6_RECVERR) if six else (socket.IPPROTO_IP, _IP_RECVERR)
        with contextlib.suppress(OSError):
            sock.setsockopt(level, option, 1)


def gone(sock: socket.socket) -> list[SocketAddress]:
    """Return the addresses at which nobody has the port, as far as that was told since the last time."""
    found: list[SocketAddress] = []
    if sys.platform != "linux":
        return found
    for _ in range(_MAX_ERRORS):
        try:
            _, notes, _, address = sock.recvmsg(64, 512, _MSG_ERRQUEUE)
        except OSError:
            break
        for _, kind, error in notes:
            if kind in {_IP_RECVERR, _IPV6_RECVERR} and unpack_from("=I", error)[0] == errno.ECONNREFUSED:
                found.append(address)
    return found
