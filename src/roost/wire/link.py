"""The stateful part of NDNLPv2 on one face, as a machine without I/O [NDNLPv2; NFD's GenericLinkService].

    wrap(packets, now)  → datagrams to send          unwrap(lp, now) → the whole packet, or None
    tick(now)           → datagrams to send          deadline()      → when tick wants to be called next, or None

A face needs a `Link` only for packets that are larger than its MTU and for link packets that carry a Sequence or
Acks; everything else goes past it. With `reliable` everything goes through it. A multicast face neither fragments nor
reassembles, as in NFD. Bad input raises `BadPacket`, which the face's owner turns into `Rejected`; what cannot be sent
is counted. Bounds: 128 incomplete messages and 256 KiB of them, 1024 unacknowledged fragments, 2048 waiting Acks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.errors import BadConfig, BadPacket
from roost.machine import SECOND, earliest
from roost.wire.lp import LpPacket
from roost.wire.reassembly import PATIENCE_NS, WRAP, LinkCounters, Reassembly, fragments_of, with_fragment
from roost.wire.reliability import MAX_UNACKED, Reliability

MIN_MTU: Final = 128
MAX_PARTIALS: Final = 128
MAX_PARTIAL_BYTES: Final = 256 * 1024
# A lost fragment may come again after three time-outs, each twice the one before and the first at least 200 ms; to
# forget its message after NFD's 500 ms would make those retransmissions useless. The bounds above hold all the same.
RELIABLE_PATIENCE_NS: Final = 60 * SECOND
_MARK_RESERVE: Final = 12  # NFD keeps this for a CongestionMark, so fragments are cut as there
_TX_RESERVE: Final = 12  # TxSequence
_SINGLE_OVERHEAD: Final = 30  # LpPacket 10, Sequence 10, Fragment 10
_LENGTH_SLACK: Final = 2  # what the length field of an LpPacket may grow by when Acks are added


class Link:
    """Fragmentation, reassembly and, where both ends want it, reliability for one face."""

    def __init__(
        self,
        mtu: int,
        *,
        reliable: bool = False,
        multicast: bool = False,
        first_sequence: int = 0,
        max_partials: int = MAX_PARTIALS,
        max_partial_bytes: int = MAX_PARTIAL_BYTES,
        max_unacked: int = MAX_UNACKED,
    ) -> None:
        if mtu < MIN_MTU:
            raise BadConfig(f"an MTU of {mtu} bytes leaves no room for a fragment; use at least {MIN_MTU}")
        if reliable and multicast:
            raise BadConfig("a multicast face cannot be reliable: nobody could say whose acknowledgement is whose")
        self.mtu: Final = mtu
        self.multicast: Final = multicast
        self.counters: Final = LinkCounters()
        self._room: Final = mtu - _MARK_RESERVE - (_TX_RESERVE if reliable else 0)
        self._next = first_sequence & WRAP
        patience = RELIABLE_PATIENCE_NS if reliable else PATIENCE_NS
        self._reassembly: Final = Reassembly(self.counters, max_partials, max_partial_bytes, patience)
        self._reliability: Final = Reliability(self.counters, self._next, max_unacked) if reliable else None

    @property
    def reliable(self) -> bool:
        """Whether everything has to go through this link, to be acknowledged."""
        return self._reliability is not None

    @property
    def next_sequence(self) -> int:
        """The Sequence of the next packet."""
        return self._next

    def wrap(self, packets: Sequence[LpPacket | bytes], now: int) -> list[bytes]:
        """Turn network packets, bare or with headers, into datagrams within the MTU."""
        out: list[bytes] = []
        reliability = self._reliability
        for packet in packets:
            wire = packet if isinstance(packet, bytes) else packet.encode()
            if reliability is None and len(wire) <= self.mtu:
                out.append(wire)
                continue
            whole = LpPacket(packet) if isinstance(packet, bytes) else packet
            fragments = self._cut(whole, len(wire))
            if not fragments:
                self.counters.oversized += 1
                continue
            if len(fragments) > 1:
                self.counters.fragmented += 1
            for fragment in fragments:
                fragment.sequence = self._next
                self._next = (self._next + 1) & WRAP
            if reliability is not None:
                reliability.protect(fragments, now)
            out += [self._encode(fragment) for fragment in fragments]
        return out

    def unwrap(self, lp: LpPacket, now: int) -> LpPacket | None:
        """Take a link packet; returns it, or the message it completes, or None while there is nothing to hand on."""
        if self._reliability is not None and not self._reliability.received(lp, now):
            return None
        if lp.frag_count > 1:
            if self.multicast:
                self.counters.refused += 1
                raise BadPacket("a fragment came on a multicast face, where fragments are not put together")
            if not lp.fragment:
                self.counters.refused += 1
                raise BadPacket("a link packet with FragCount has a Fragment, this one has none")
            return self._reassembly.add(lp, now)
        return lp if lp.fragment else None

    def tick(self, now: int) -> list[bytes]:
        """Forget what is overdue; returns retransmissions and acknowledgements to send."""
        self._reassembly.expire(now)
        reliability = self._reliability
        if reliability is None:
            return []
        out = [self._encode(lp) for lp in reliability.tick(now)]
        if reliability.acks_due(now):
            while reliability.acks_waiting:
                out.append(self._encode(LpPacket()))
        return out

    def deadline(self) -> int | None:
        """When `tick` wants to be called next."""
        if self._reliability is None:
            return self._reassembly.deadline()
        return earliest(self._reassembly.deadline(), self._reliability.deadline())

    def _cut(self, whole: LpPacket, size: int) -> list[LpPacket]:
        if size + _SINGLE_OVERHEAD <= self._room and not self.multicast:
            return [with_fragment(whole, whole.fragment)]
        return [] if self.multicast else fragments_of(whole, self._room)

    def _encode(self, lp: LpPacket) -> bytes:
        wire = lp.encode()
        reliability = self._reliability
        if reliability is None or not reliability.acks_waiting:
            return wire
        reliability.attach_acks(lp, self.mtu - len(wire) - _LENGTH_SLACK)
        wire = lp.encode()
        lp.acks = []  # a retransmission must not repeat them
        return wire
