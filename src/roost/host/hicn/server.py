"""The driver of an hICN forwarder: UDP sockets on one side, the machine on the other.

An Interest or a command of an unknown peer makes a face for it, its Data does not, as with hicn-light; neither does
what cannot be read. A program of this machine that is gone without goodbye is noticed with the next packet to it, where
hicn-light would go on sending there. Peers on a loopback address are local: they may command, and push Data into the
cache. A command from afar makes a face too, which is how its sender hears that it is refused.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from ipaddress import IPv6Address
from types import TracebackType
from typing import Final, Self

from roost.errors import Backpressure, BadConfig, BadPacket
from roost.hicn.face import Arrived, CloseFace, HicnFaceSpec, Send, introduces
from roost.hicn.forwarder import HicnForwarder
from roost.hicn.head import MAX_PACKET_BYTES
from roost.hicn.name import Prefix
from roost.host.address import canonical, is_loopback
from roost.host.alarm import Alarm
from roost.host.clock import Clock
from roost.host.datagram import DatagramSocket, SocketAddress, count_in
from roost.host.hicn.errors import gone, tell_of_errors
from roost.host.hicn.line import Hear, InsideLine, InsideLink
from roost.host.hicn.peers import Peer, PeerLink, Peers
from roost.host.hicn.tun import DEFAULT, TunLink
from roost.host.journal import Journal
from roost.host.listen import listen_udp
from roost.host.transport import MAX_BATCH
from roost.machine import Effect, Rejected

HICN_PORT: Final = 9695  # hicn-light's
_READ: Final = MAX_PACKET_BYTES + 1  # one more than allowed, so that longer ones show
_SAMPLE_BYTES: Final = 64


class HicnServer:
    """Runs one forwarder within its `async with` block."""

    def __init__(
        self, forwarder: HicnForwarder, clock: Callable[[], int] | None = None, journal: Journal | None = None
    ) -> None:
        self.forwarder: Final = forwarder
        self.clock: Final = clock or Clock()
        self.journal: Final = journal or Journal()
        self.peers: Final = Peers(forwarder.settings.face_limit)
        self.buried = 0  # faces of programs that were killed
        self._links: Final[list[DatagramSocket]] = []  # bound: as many as were asked for
        self._tuns: Final[list[TunLink]] = []  # as above
        self._insides: Final[list[InsideLink]] = []  # bound: face_limit
        self._loop: Final = asyncio.get_running_loop()
        self._alarm: Final = Alarm(self.clock, self._tick)

    async def __aenter__(self) -> Self:
        now = self.clock()
        self._execute(self.forwarder.start(now), now)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._alarm.cancel()
        for link in self._links:
            link.close()
        for tun in self._tuns:
            tun.close()
        self._links.clear()
        self.journal.finish()

    def listen(self, host: str, port: int) -> str:
        """Receive on a UDP address; returns it as a URI. Raises `BadConfig` if it cannot be had."""
        sock = listen_udp(host, port)
        self._opened(sock)
        return canonical("udp", sock.getsockname())

    def connect(self, host: str, port: int) -> int:
        """Make a face to another forwarder, over the socket it will know us by; returns the face.

        Raises `BadConfig` if that socket is not there, `Backpressure` if there are too many faces.
        """
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        except (socket.gaierror, UnicodeError):
            raise BadConfig(f"the host {host!r} is not known") from None
        for link in self._links:
            local = link.sock.getsockname()
            if link.sock.family == family and is_loopback(str(local[0])) <= is_loopback(str(address[0])):
                if local[:2] == address[:2]:
                    raise BadConfig(f"{host}:{port} is this forwarder itself: connect it to another one")
                peer = self.peers.heard(link, address) or self._admit_from(link, address, stays=True)
                if peer is None:
                    raise Backpressure(f"there are {len(self.peers)} faces, which is the limit", 0)
                peer.stays = True
                return peer.face
        raise BadConfig(
            f"none of the addresses listened on reaches {host}:{port}: listen on one from which it can be reached"
        )

    def dial(self, host: str, port: int) -> int:
        """Make a face to another forwarder over a socket that hears nobody else; returns the face.

        Raises `BadConfig` if there is no such host, `Backpressure` if there are too many faces.
        """
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            sock = socket.socket(family, socket.SOCK_DGRAM)
            sock.connect(address)
        except (OSError, UnicodeError) as error:
            raise BadConfig(f"{host}:{port} cannot be reached: {error}") from None
        link = self._opened(sock)
        peer = self._admit_from(link, address, stays=True)
        if peer is None:
            self._links.remove(link)
            link.close()
            raise Backpressure(f"there are {len(self.peers)} faces, which is the limit", 0)
        return peer.face

    def open_tun(self, name: str, locator: str) -> int:
        """Make a TUN device for raw IPv6, `locator` being our address in it; returns the face to route names to.

        Raises `BadConfig` if it cannot be had, `Backpressure` if there are too many faces.
        """
        link = TunLink(name, locator, self._from_tun)
        peer = self._admit(link, DEFAULT, f"tun {name}", local=False, stays=True)
        if peer is None:
            link.close()
            raise Backpressure(f"there are {len(self.peers)} faces, which is the limit", 0)
        self._tuns.append(link)
        return peer.face

    def attach(self, hear: Hear) -> InsideLine:
        """Give a program of this process a face, local and without a socket; raises `Backpressure`."""
        link = InsideLink(hear)
        peer = self._admit(link, None, "inside this process", local=True, stays=True)
        if peer is None:
            raise Backpressure(f"there are {len(self.peers)} faces, which is the limit", 0)
        self._insides.append(link)
        return InsideLine(link, partial(self._inside, link), partial(self._leave, link, peer.face))

    def add_route(self, prefix: Prefix, face: int, cost: int = 1) -> None:
        """Route a prefix to a face; raises `Backpressure` when there are too many routes."""
        self.forwarder.add_route(prefix, face, cost)

    def _opened(self, sock: socket.socket) -> DatagramSocket:
        link = DatagramSocket(sock)
        tell_of_errors(sock)
        self._links.append(link)
        self._loop.add_reader(sock, partial(self._readable, link))
        return link

    # -- what comes

    def _readable(self, link: DatagramSocket) -> None:
        groups: dict[SocketAddress, list[bytes]] = {}
        for _ in range(MAX_BATCH):
            try:
                packet, address = link.sock.recvfrom(_READ)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # an earlier send has failed
                continue
            groups.setdefault(address, []).append(packet)
        if not groups:
            self._bury(link)
        now = self.clock()
        for address, packets in groups.items():
            self._arrived(link, address, packets, now)
        for inside in list(self._insides):
            inside.deliver()

    def _bury(self, link: DatagramSocket) -> None:
        """Close the faces of programs of this machine that are gone without goodbye: nobody has their port any more."""
        for address in gone(link.sock):
            peer = self.peers.heard(link, address)
            if peer is not None and not peer.stays and is_loopback(str(address[0])):
                self.buried += 1
                self._detach(peer.face)

    def _arrived(self, link: DatagramSocket, address: SocketAddress, packets: list[bytes], now: int) -> None:
        peer = self.peers.heard(link, address)
        if peer is None:
            packets = self._from_introduction(address, packets, now)
            peer = self._admit_from(link, address) if packets else None
        if peer is not None:
            count_in(peer.counters, packets)
            self._execute(self.forwarder.receive(Arrived(peer.face, packets), now), now)

    def _from_introduction(self, address: SocketAddress, packets: list[bytes], now: int) -> list[bytes]:
        """Return what an unknown peer sent from its first Interest or command on."""
        for place, packet in enumerate(packets):
            try:
                if introduces(packet):
                    return packets[place:]
            except BadPacket as error:
                self.journal.write(Rejected(canonical("udp", address), str(error), packet[:_SAMPLE_BYTES]), now)
        return []

    def _from_tun(self, link: TunLink, locator: bytes, packets: list[bytes]) -> None:
        peer = self.peers.heard(link, locator)
        if peer is None:
            remote = f"tun {link.name} {IPv6Address(locator)}"
            peer = self._admit(link, locator, remote, local=False, stays=False)
        if peer is not None:
            now = self.clock()
            count_in(peer.counters, packets)
            self._execute(self.forwarder.receive(Arrived(peer.face, packets), now), now)

    def _inside(self, link: InsideLink, packets: list[bytes]) -> None:
        peer = self.peers.heard(link, None)
        if peer is not None:
            now = self.clock()
            count_in(peer.counters, packets)
            self._execute(self.forwarder.receive(Arrived(peer.face, packets), now), now)

    def _leave(self, link: InsideLink, face: int) -> None:
        if link in self._insides:
            self._insides.remove(link)
        self._detach(face)

    def _detach(self, face: int) -> None:
        self.peers.remove(face)
        self.forwarder.close_face(face)

    def _admit_from(self, link: DatagramSocket, address: SocketAddress, *, stays: bool = False) -> Peer | None:
        return self._admit(link, address, canonical("udp", address), local=is_loopback(str(address[0])), stays=stays)

    def _admit(self, link: PeerLink, address: SocketAddress, remote: str, *, local: bool, stays: bool) -> Peer | None:
        gone = self.peers.spare(self.forwarder.fib.leads_to)
        if gone is not None:
            self.peers.evicted += 1
            self.peers.remove(gone.face)
            self.forwarder.close_face(gone.face)
        peer = self.peers.add(link, address, stays=stays)
        if peer is not None:
            self.forwarder.open_face(peer.face, HicnFaceSpec(remote, local=local))
            self.journal.say("face %d to %s", peer.face, remote)
        return peer

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                peer = self.peers.of_face(effect.face)
                if peer is not None:
                    peer.send(effect.packets)
            elif isinstance(effect, CloseFace):
                self.peers.remove(effect.face)
            else:
                self.journal.write(effect, now)
        self._alarm.set(self.forwarder.deadline(), now)

    def _tick(self, now: int) -> None:
        self._execute(self.forwarder.tick(now), now)
