"""A line to an hICN forwarder: packets and commands as bytes, one way and the other.

`UdpLine` leads to a forwarder in another process, `InsideLine` to one in this process (`HicnServer.attach`). What comes
is heard as it comes from the network, or in a later turn of the event loop, never while something is being sent.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from roost.errors import BadConfig, Disconnected
from roost.hicn.control import Control, Verb
from roost.hicn.head import MAX_PACKET_BYTES
from roost.host.address import canonical
from roost.host.datagram import DatagramSocket, SocketAddress
from roost.host.transport import MAX_BATCH, Counters

_READ: Final = MAX_PACKET_BYTES + 1  # one more than allowed, so that longer ones show

Hear: TypeAlias = Callable[[list[bytes]], None]


class Line(Protocol):
    """One face of a forwarder, seen from the application."""

    @property
    def where(self) -> str: ...
    def send(self, wires: list[bytes]) -> None: ...
    def when_gone(self, call: Callable[[], None]) -> None: ...
    def close(self) -> None: ...


class InsideLink:
    """What a forwarder writes to when a program of its own process is behind a face."""

    def __init__(self, hear: Hear) -> None:
        self._hear: Final = hear
        self._loop: Final = asyncio.get_running_loop()
        self._waiting: list[bytes] = []  # bound: what one turn of the event loop brings
        self._closed = False

    def send(self, packets: list[bytes], address: SocketAddress, counters: Counters) -> None:  # noqa: ARG002  one end
        """Have them heard in a later turn, unless `deliver` comes first."""
        counters.out_packets += len(packets)
        if not self._waiting:
            self._loop.call_soon(self.deliver)
        self._waiting += packets

    def close(self) -> None:
        """Have nothing heard any more."""
        self._closed = True

    def deliver(self) -> None:
        """Have what waits heard now: for those on whose way here no application is."""
        waiting, self._waiting = self._waiting, []
        if waiting and not self._closed:
            self._hear(waiting)


class InsideLine:
    """The application's end."""

    where = "the forwarder inside this process"

    def __init__(self, link: InsideLink, take: Hear, detach: Callable[[], None]) -> None:
        self._link: Final = link
        self._take: Final = take
        self._detach: Final = detach

    def send(self, wires: list[bytes]) -> None:
        """Hand them to the forwarder."""
        self._take(wires)

    def when_gone(self, call: Callable[[], None]) -> None:
        """It goes with this process."""

    def close(self) -> None:
        """Be no face of the forwarder any more."""
        self._link.close()
        self._detach()


class UdpLine:
    """A connected socket; its end says connection-remove, for a forwarder cannot see that a UDP peer is gone."""

    def __init__(self, sock: socket.socket, hear: Hear) -> None:
        self.where: Final = canonical("udp", sock.getpeername())
        self.counters: Final = Counters()
        self._link: Final = DatagramSocket(sock)
        self._hear: Final = hear
        self._closed = False
        self._gone: Callable[[], None] = _nothing
        asyncio.get_running_loop().add_reader(sock, self._readable)

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call this whenever the kernel says that nobody has the forwarder's port."""
        self._gone = call

    def send(self, wires: list[bytes]) -> None:
        """Write them."""
        if not self._closed:
            self._link.send(wires, None, self.counters)

    def close(self) -> None:
        """Say goodbye, once and without waiting for the answer."""
        if not self._closed:
            self.send([Control(Verb.REMOVE_CONNECTION, 0).encode()])
            self._closed = True
            self._link.close()

    def _readable(self) -> None:
        wires: list[bytes] = []
        for _ in range(MAX_BATCH):
            try:
                wires.append(self._link.sock.recv(_READ))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # nobody listens there: what was sent is lost, and sent again in time
                self._gone()
                continue
        if wires:
            self._hear(wires)


def _nothing() -> None:
    """Nobody wants to know."""


async def connected_socket(host: str, port: int, local_port: int) -> socket.socket:
    """Open a UDP socket to a forwarder; raises `BadConfig` or `Disconnected`."""
    lookup = asyncio.get_running_loop().getaddrinfo
    try:
        family, _, _, _, address = (await lookup(host, port, type=socket.SOCK_DGRAM))[0]
    except (socket.gaierror, OverflowError, UnicodeError):
        raise BadConfig(f"{host}:{port} is no address of a forwarder") from None
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        if local_port:
            sock.bind(("", local_port))
        sock.connect(address)
    except (OSError, OverflowError) as error:
        sock.close()
        raise Disconnected(f"no face to {host}:{port} from port {local_port or 'any'}: {error}") from None
    return sock
