"""UDP faces: a listener with an on-demand face per peer, and connected faces of a client. One packet per datagram.

A readiness event drains up to `MAX_BATCH` datagrams, sorts them by peer and hands them on as one batch. On-demand
faces that have been idle for ten minutes go [ndn-packets §9]; when there are too many, the one idle longest goes, so
that forged source addresses cannot lock anybody out. Multicast is in `roost.host.multicast`.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import OrderedDict, deque
from typing import Any, Final

from roost.forwarding.face import ON_DEMAND, FaceSpec
from roost.host.address import describe_datagram
from roost.host.framing import MAX_LINK_PACKET_BYTES
from roost.host.transport import MAX_BATCH, Batch, Counters, Owner, Transport

IDLE_S: Final = 600.0
MAX_PEERS: Final = 2048
MAX_QUEUED: Final = 1024  # datagrams that wait for the socket, per socket
SOCKET_BUFFER_BYTES: Final = 4 << 20  # the kernel gives what it allows
_READ: Final = MAX_LINK_PACKET_BYTES + 1  # one more than allowed, so that longer ones show

SocketAddress = Any  # what `recvfrom` returns: (host, port) or (host, port, flow, scope)


class DatagramSocket:
    """A non-blocking UDP socket with a bounded queue for the moments when the kernel has no room."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(0)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES)
        self.sock: Final = sock
        self.queued_bytes = 0
        self._loop: Final = asyncio.get_running_loop()
        self._queue: deque[tuple[bytes, SocketAddress, Counters]] = deque()  # bound: MAX_QUEUED

    def send(self, packets: list[bytes], address: SocketAddress, counters: Counters) -> None:
        """Write datagrams; `address` is None on a connected socket."""
        if self._queue:
            self._enqueue(packets, address, counters)
            return
        sock = self.sock
        size = 0
        for index, packet in enumerate(packets):
            try:
                _write(sock, packet, address)
            except (BlockingIOError, InterruptedError):
                self._enqueue(packets[index:], address, counters)
                self._loop.add_writer(sock, self._writable)
                packets = packets[:index]
                break
            except OSError:  # refused by the peer's kernel, too long, no route: a datagram may get lost
                counters.dropped += 1
                continue
            size += len(packet)
        counters.out_packets += len(packets)
        counters.out_bytes += size

    def close(self) -> None:
        """Close; what is queued is lost."""
        self._loop.remove_reader(self.sock)
        self._loop.remove_writer(self.sock)
        self.sock.close()

    def _enqueue(self, packets: list[bytes], address: SocketAddress, counters: Counters) -> None:
        room = max(0, MAX_QUEUED - len(self._queue))
        counters.dropped += max(0, len(packets) - room)
        for packet in packets[:room]:
            self._queue.append((packet, address, counters))
            self.queued_bytes += len(packet)

    def _writable(self) -> None:
        self._loop.remove_writer(self.sock)
        waiting, self._queue = self._queue, deque()
        self.queued_bytes = 0
        for packet, address, counters in waiting:
            self.send([packet], address, counters)


def _write(sock: socket.socket, packet: bytes, address: SocketAddress) -> None:
    try:
        sock.send(packet) if address is None else sock.sendto(packet, address)
    except ConnectionRefusedError:  # the kernel tells of an earlier datagram, and has not sent this one
        sock.send(packet) if address is None else sock.sendto(packet, address)


class DatagramTransport:
    """One UDP peer, over a socket of its own (connected) or over the listener's."""

    def __init__(
        self, link: DatagramSocket, spec: FaceSpec, address: SocketAddress, channel: UdpChannel | None
    ) -> None:
        self.spec: Final = spec
        self.counters: Final = Counters()
        self.address: Final = address
        self.last_active = 0.0
        self._link: Final = link
        self._channel: Final = channel

    @property
    def queued_bytes(self) -> int:
        """What waits for the kernel."""
        return self._link.queued_bytes

    def send(self, packets: list[bytes]) -> None:
        """Write a batch."""
        self._link.send(packets, self.address, self.counters)

    def close(self) -> None:
        """Forget the peer."""
        if self._channel is not None:
            self._channel.forget(self)
        else:
            self._link.close()


class UdpChannel:
    """A bound UDP socket and the faces of those who talk to it."""

    def __init__(
        self, sock: socket.socket, owner: Owner, *, idle_s: float = IDLE_S, max_peers: int = MAX_PEERS
    ) -> None:
        self.local: Final = sock.getsockname()
        self.evicted = 0
        self.oversized = 0
        self._link: Final = DatagramSocket(sock)
        self._owner: Final = owner
        self._idle_s: Final = idle_s
        self._max_peers: Final = max_peers
        self._peers: OrderedDict[SocketAddress, DatagramTransport] = OrderedDict()  # least active first
        self._loop: Final = asyncio.get_running_loop()
        self._loop.add_reader(sock, self._readable)
        self._sweeper = self._loop.call_later(idle_s, self._sweep)

    @property
    def family(self) -> int:
        """IPv4 or IPv6."""
        return self._link.sock.family

    def open(self, address: SocketAddress, spec: FaceSpec) -> DatagramTransport:
        """Make a face for a peer, or hand out the one there is."""
        transport = self._peers.get(address)
        if transport is None:
            transport = DatagramTransport(self._link, spec, address, self)
            self._peers[address] = transport
        return transport

    def forget(self, transport: DatagramTransport) -> None:
        """Drop a peer."""
        if self._peers.get(transport.address) is transport:
            del self._peers[transport.address]

    def close(self) -> None:
        """Close the socket and with it all faces."""
        self._sweeper.cancel()
        self._link.close()
        self._peers.clear()

    def _readable(self) -> None:
        groups: dict[SocketAddress, list[bytes]] = {}
        receive = self._link.sock.recvfrom
        for _ in range(MAX_BATCH):
            try:
                packet, address = receive(_READ)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # an ICMP error of an earlier send, reported here
                continue
            group = groups.get(address)
            if group is None:
                groups[address] = [packet]
            else:
                group.append(packet)
        if groups:
            self._owner.arrived(self._sorted(groups))

    def _sorted(self, groups: dict[SocketAddress, list[bytes]]) -> Batch:
        batch: Batch = []
        now = self._loop.time()
        for address, packets in groups.items():
            transport = self._peers.get(address) or self._admit(address)
            if transport is None:
                continue
            transport.last_active = now
            self._peers.move_to_end(address)
            count_in(transport.counters, packets)
            batch.append((transport, packets))
        return batch

    def _admit(self, address: SocketAddress) -> DatagramTransport | None:
        if len(self._peers) >= self._max_peers:
            oldest = next((peer for peer in self._peers.values() if peer.spec.persistency == ON_DEMAND), None)
            if oldest is not None:
                self.evicted += 1
                self.forget(oldest)
                self._owner.closed(oldest, f"{self._max_peers} UDP peers are the limit and it was idle longest")
        transport = self.open(address, describe_datagram(address, self.local, ON_DEMAND))
        self._owner.accepted(transport)
        return self._peers.get(address)  # None if the owner has no room for it and closed it at once

    def _sweep(self) -> None:
        limit = self._loop.time() - self._idle_s
        for peer in [peer for peer in self._peers.values() if peer.last_active <= limit]:
            if peer.spec.persistency == ON_DEMAND:
                self.forget(peer)
                self._owner.closed(peer, f"idle for {self._idle_s:g} s")
        self._sweeper = self._loop.call_later(self._idle_s / 4, self._sweep)


def connected_udp(sock: socket.socket, owner: Owner, spec: FaceSpec) -> Transport:
    """Make a face of a connected UDP socket; it reads at once."""
    link = DatagramSocket(sock)
    transport = DatagramTransport(link, spec, None, None)

    def readable() -> None:
        packets: list[bytes] = []
        for _ in range(MAX_BATCH):
            try:
                packets.append(sock.recv(_READ))
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                if error.errno == errno.EBADF:
                    return
        if packets:
            count_in(transport.counters, packets)
            owner.arrived([(transport, packets)])

    asyncio.get_running_loop().add_reader(sock, readable)
    return transport


def count_in(counters: Counters, packets: list[bytes]) -> None:
    """Count a batch that came."""
    counters.in_packets += len(packets)
    counters.in_bytes += sum(map(len, packets))
