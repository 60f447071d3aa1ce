"""The peers of an hICN forwarder: who is behind which face, bounded, the least active first.

UDP has no liveness, and a producer may be silent for long. So nobody goes for being idle; only when there are too many
the one idle longest goes, unless it was connected on purpose or is routed to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from roost.host.datagram import SocketAddress
from roost.host.transport import Counters


class PeerLink(Protocol):
    """What peers are reached by: the socket of a listener, or a way inside this process."""

    def send(self, packets: list[bytes], address: SocketAddress, counters: Counters) -> None: ...


class Peer:
    """One peer, over a link."""

    __slots__ = ("address", "counters", "face", "link", "stays")

    def __init__(self, face: int, link: PeerLink, address: SocketAddress, *, stays: bool) -> None:
        self.face: Final = face
        self.link: Final = link
        self.address: Final = address
        self.counters: Final = Counters()
        self.stays = stays  # it was connected on purpose

    def send(self, packets: list[bytes]) -> None:
        """Write a batch."""
        self.link.send(packets, self.address, self.counters)


class Peers:
    """Peers by face and by address."""

    def __init__(self, limit: int) -> None:
        self.evicted = 0
        self._limit: Final = limit
        self._by_address: Final[OrderedDict[tuple[PeerLink, SocketAddress], Peer]] = OrderedDict()  # bound: limit
        self._by_face: Final[dict[int, Peer]] = {}  # as above
        self._next_face = 0

    def __len__(self) -> int:
        return len(self._by_face)

    def of_face(self, face: int) -> Peer | None:
        """The peer behind a face."""
        return self._by_face.get(face)

    def heard(self, link: PeerLink, address: SocketAddress) -> Peer | None:
        """The peer at an address, which has just been active."""
        peer = self._by_address.get((link, address))
        if peer is not None:
            self._by_address.move_to_end((link, address))
        return peer

    def spare(self, is_needed: Callable[[int], bool]) -> Peer | None:
        """Return who has to go before there is room for one more: nobody while there is room, or if all are needed."""
        if len(self) < self._limit:
            return None
        return next((p for p in self._by_address.values() if not p.stays and not is_needed(p.face)), None)

    def add(self, link: PeerLink, address: SocketAddress, *, stays: bool = False) -> Peer | None:
        """Give a new peer a face; None if there is no room."""
        if len(self) >= self._limit:
            return None
        self._next_face += 1
        peer = Peer(self._next_face, link, address, stays=stays)
        self._by_address[link, address] = self._by_face[peer.face] = peer
        return peer

    def remove(self, face: int) -> None:
        """Forget who was behind a face."""
        peer = self._by_face.pop(face, None)
        if peer is not None:
            del self._by_address[peer.link, peer.address]
