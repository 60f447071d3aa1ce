"""One network connection as the loop keeps it: small, for there may be tens of thousands of them, mostly idle.

A link is GREETING while TLS and WebSocket shake hands and the machine only counts it, OPEN from when the machine
hears it, and LEAVING from when the machine wants it closed, or its pipe has ended: what waits is written, the end is
said, the peer's end is awaited.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Final

from roost.host.mqtt.pipes import Pipe
from roost.machine import SECOND

GREETING: Final = 0
OPEN: Final = 1
LEAVING: Final = 2


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the connections may take of this process."""

    max_links: int = 20_000
    high_water_bytes: int = 1 << 20  # of what one link has not taken; above it the machine is told
    low_water_bytes: int = 256 << 10  # and told again when it is down to this
    max_link_bytes: int = 64 << 20  # who has more than this waiting is cut off
    max_total_bytes: int = 256 << 20  # of what all have waiting; then whoever has most is cut off
    greeting_timeout: int = 10 * SECOND  # for handshakes of TLS and WebSocket
    leaving_timeout: int = 2 * SECOND  # to take the last bytes and close
    max_leaving: int = 1_024  # more than these are closed without waiting
    max_read_bytes: int = 256 << 10  # from one link in one wake-up


class Link:
    """A socket, its pipe, and what the peer has not taken yet."""

    __slots__ = (
        "above",
        "held_bytes",
        "host",
        "is_deaf",
        "is_paused",
        "is_proxied",
        "mask",
        "number",
        "out",
        "pipe",
        "sock",
        "state",
        "transport",
    )

    def __init__(
        self, number: int, sock: socket.socket, pipe: Pipe | None, host: str, transport: str, *, is_proxied: bool
    ) -> None:
        self.number: Final = number
        self.sock: Final = sock
        self.pipe: Final = pipe
        self.host: Final = host
        self.transport: Final = transport
        self.is_proxied: Final = is_proxied
        self.state = GREETING
        self.mask = 0  # what epoll watches
        self.out: bytearray | None = None  # bound: Bounds.max_link_bytes; None when nothing waits
        self.held_bytes = 0  # by the pipe, as the owner was told
        self.above = False  # the high-water mark, and not yet below the low one; then it is not read either
        self.is_paused = False  # not read, by the machine's wish
        self.is_deaf = False  # it takes nothing any more; reading finds the end

    @property
    def waiting_bytes(self) -> int:
        """What the peer has not taken yet."""
        return 0 if self.out is None else len(self.out)
