"""The UDP multicast face, for those who ask for it: everyone on a link hears everyone [ndn-packets §9].

One socket listens on the group, one sends from this machine's address; what comes back from the latter is our own and
is passed over. Nothing is fragmented here, and forwarders never send Nacks on it (multi-access).
"""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from roost.forwarding.face import MULTI_ACCESS, PERMANENT, FaceSpec
from roost.host.address import DATAGRAM_MTU, canonical
from roost.host.datagram import DatagramSocket, count_in
from roost.host.framing import MAX_LINK_PACKET_BYTES
from roost.host.transport import MAX_BATCH, Counters, Owner

GROUP: Final = "224.0.23.170"
PORT: Final = 56363


class MulticastTransport:
    """The face; `interface` is the IPv4 address of the network card to use."""

    def __init__(self, interface: str, owner: Owner, group: str = GROUP, port: int = PORT) -> None:
        self._owner: Final = owner
        self._group: Final = (group, port)
        self._listening: Final = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._loop: Final = asyncio.get_running_loop()
        sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._listening.settimeout(0)
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind(self._group)
            membership = socket.inet_aton(group) + socket.inet_aton(interface)
            self._listening.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
            sending.bind((interface, 0))
            sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface))
            sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            # Other programs on this machine hear us; our own echo is recognised by its source address.
            sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        except OSError:
            self._listening.close()
            sending.close()
            raise
        self.counters: Final = Counters()
        self.spec: Final = FaceSpec(
            canonical("udp", self._group),
            canonical("udp", sending.getsockname()),
            local=False,
            link_type=MULTI_ACCESS,
            persistency=PERMANENT,
            mtu=DATAGRAM_MTU,
        )
        self._own: Final = sending.getsockname()
        self._link: Final = DatagramSocket(sending)

    def start(self) -> None:
        """Begin to read."""
        self._loop.add_reader(self._listening, self._readable)

    @property
    def queued_bytes(self) -> int:
        """What waits for the kernel."""
        return self._link.queued_bytes

    def send(self, packets: list[bytes]) -> None:
        """Write a batch to the group."""
        self._link.send(packets, self._group, self.counters)

    def close(self) -> None:
        """Leave the group."""
        self._loop.remove_reader(self._listening)
        self._listening.close()
        self._link.close()

    def _readable(self) -> None:
        packets: list[bytes] = []
        for _ in range(MAX_BATCH):
            try:
                packet, source = self._listening.recvfrom(MAX_LINK_PACKET_BYTES + 1)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                continue
            if source != self._own:
                packets.append(packet)
        if packets:
            count_in(self.counters, packets)
            self._owner.arrived([(self, packets)])
