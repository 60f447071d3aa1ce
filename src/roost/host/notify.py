"""What a service tells systemd: that it is ready, reloads, stops, and is alive (the protocol of `sd_notify(3)`).

A datagram to the Unix socket that `NOTIFY_SOCKET` names, of lines such as `READY=1`. Without that variable nobody wants
to know. Where the unit has `WatchdogSec=`, the event loop says twice in that time that it goes on; a loop that hangs
does not, and systemd starts the service anew. A message that cannot be sent is not worth an error: it is counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator, Mapping
from typing import Final

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG_US: Final = "WATCHDOG_USEC"
WATCHDOG_PID: Final = "WATCHDOG_PID"

_MICRO: Final = 1_000_000


class Notifier:
    """Tells the service manager, if there is one."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.unsent = 0
        self._where: Final = _address(environment.get(SOCKET, ""))
        self.alive_every_s: Final = _watchdog_s(environment) / 2 if self._where else 0.0

    def ready(self) -> None:
        """Everything has started, or a reload is over."""
        self._send("READY=1\nSTATUS=ready")

    def reloading(self) -> None:
        """The configuration is being read again; `ready` follows."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The end has begun."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def alive(self) -> None:
        """The event loop turns."""
        self._send("WATCHDOG=1")

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Say that the event loop turns while the block runs, if anybody wants to know."""
        if not self.alive_every_s:
            yield
            return
        task = asyncio.create_task(self._go_on())
        try:
            yield
        finally:
            task.cancel()

    async def _go_on(self) -> None:
        while True:
            self.alive()
            await asyncio.sleep(self.alive_every_s)

    def _send(self, message: str) -> None:
        if not self._where:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
                sock.settimeout(0)
                sock.sendto(message.encode(), self._where)
        except OSError:
            self.unsent += 1


def _address(said: str) -> str:
    """A path, or with a zero in front one of Linux's names without a file; anything else is none of ours."""
    if said.startswith("@"):
        return f"\0{said[1:]}"
    return said if said.startswith("/") else ""


def _watchdog_s(environment: Mapping[str, str]) -> float:
    said, process = environment.get(WATCHDOG_US, ""), environment.get(WATCHDOG_PID, str(os.getpid()))
    return int(said) / _MICRO if said.isdecimal() and process == str(os.getpid()) else 0.0
