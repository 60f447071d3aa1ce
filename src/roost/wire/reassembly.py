"""Cutting packets into NDNLPv2 fragments and putting them together again [NDNLPv2, indexed fragmentation].

The fragments of a message have consecutive Sequence numbers, so (Sequence − FragIndex) mod 2^64 names the message
whatever order they come in. Sizes and limits are NFD's. One `Reassembly` serves one peer; timers and acknowledgements
are in `roost.wire.link` and `roost.wire.reliability`.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.machine import MS
from roost.wire.lp import LpPacket
from roost.wire.tlv import MAX_PACKET_BYTES

WRAP: Final = (1 << 64) - 1
MAX_FRAGMENTS: Final = 400
PATIENCE_NS: Final = 500 * MS  # after its last fragment, an incomplete message is forgotten
FRAGMENT_OVERHEAD: Final = 50  # LpPacket 10, Sequence 10, FragIndex 10, FragCount 10, Fragment 10


class LinkCounters:
    """What happened on one link; everything that was dropped is in one of these."""

    def __init__(self) -> None:
        self.fragmented = 0  # packets sent in more than one fragment
        self.oversized = 0  # packets not sent: too large for the link, or for 400 fragments
        self.reassembled = 0
        self.refused = 0  # fragments that contradict their message or a limit
        self.timed_out = 0  # incomplete messages forgotten
        self.evicted = 0  # incomplete messages pushed out by the bounds
        self.duplicates = 0  # fragments and packets seen before
        self.acked = 0
        self.retransmitted = 0
        self.given_up = 0  # packets lost more often than they are retransmitted
        self.unprotected = 0  # fragments sent without acknowledgement because the table of unacknowledged ones is full
        self.acks_dropped = 0  # acknowledgements not sent because too many waited


class _Partial:
    """A message of which some fragments are here."""

    __slots__ = ("count", "head", "last_at", "parts", "size")

    def __init__(self, count: int, now: int) -> None:
        self.count: Final = count
        self.last_at = now
        self.parts: dict[int, bytes] = {}
        self.size = 0
        self.head: LpPacket | None = None  # fragment 0, which carries the other headers


class Reassembly:
    """The incomplete messages of one peer, bounded in number and bytes; the oldest yields."""

    def __init__(self, counters: LinkCounters, max_messages: int, max_bytes: int, patience: int) -> None:
        self._counters: Final = counters
        self._max_messages: Final = max_messages
        self._max_bytes: Final = max_bytes
        self._patience: Final = patience
        self._partials: dict[int, _Partial] = {}  # the one that heard a fragment longest ago first
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._partials)

    def add(self, lp: LpPacket, now: int) -> LpPacket | None:
        """Take a fragment; returns the whole message with the headers of its first fragment, or None."""
        if lp.frag_count > MAX_FRAGMENTS:
            raise self._refusal(f"a message of {lp.frag_count} fragments is over the limit of {MAX_FRAGMENTS}")
        self.expire(now)
        key = (lp.sequence - lp.frag_index) & WRAP
        partial = self._partials.pop(key, None)
        if partial is None:
            partial = _Partial(lp.frag_count, now)
        elif partial.count != lp.frag_count:
            self._partials[key] = partial
            raise self._refusal(f"fragment says {lp.frag_count} fragments, its message has {partial.count}")
        partial.last_at = now
        self._partials[key] = partial
        if lp.frag_index in partial.parts:
            self._counters.duplicates += 1
            return None
        size = len(lp.fragment)
        if partial.size + size > MAX_PACKET_BYTES:
            self._forget(key)
            raise self._refusal(f"a message in fragments is over the packet limit of {MAX_PACKET_BYTES} bytes")
        partial.parts[lp.frag_index] = lp.fragment
        partial.size += size
        self.size_bytes += size
        if lp.frag_index == 0:
            partial.head = lp
        if len(partial.parts) == partial.count:
            self._forget(key)
            self._counters.reassembled += 1
            return _joined(partial)
        while len(self._partials) > self._max_messages or self.size_bytes > self._max_bytes:
            self._counters.evicted += 1
            self._forget(next(iter(self._partials)))
        return None

    def expire(self, now: int) -> None:
        """Forget the messages that heard nothing for too long."""
        for key, partial in list(self._partials.items()):
            if partial.last_at + self._patience > now:
                break
            self._counters.timed_out += 1
            self._forget(key)

    def deadline(self) -> int | None:
        """When the oldest incomplete message is to be forgotten."""
        for partial in self._partials.values():
            return partial.last_at + self._patience
        return None

    def _forget(self, key: int) -> None:
        self.size_bytes -= self._partials.pop(key).size

    def _refusal(self, reason: str) -> BadPacket:
        self._counters.refused += 1
        return BadPacket(reason)


def _joined(partial: _Partial) -> LpPacket:
    whole = b"".join([partial.parts[index] for index in range(partial.count)])
    return with_fragment(partial.head if partial.head is not None else LpPacket(), whole)


def with_fragment(lp: LpPacket, fragment: bytes) -> LpPacket:
    """Copy the headers of the network layer to a new fragment; those of the link (Sequence, Acks …) stay behind."""
    copy = LpPacket(
        fragment,
        pit_token=lp.pit_token,
        nack=lp.nack,
        congestion_mark=lp.congestion_mark,
        incoming_face=lp.incoming_face,
        next_hop_face=lp.next_hop_face,
        no_cache=lp.no_cache,
    )
    copy.non_discovery = lp.non_discovery
    copy.announcement = lp.announcement
    return copy


def fragments_of(lp: LpPacket, room: int) -> list[LpPacket]:
    """Cut a packet so that each fragment fits `room`; empty if it cannot be done within the limits."""
    payload = lp.fragment
    head_bytes = len(with_fragment(lp, b"").encode()) - 2  # two too many for long headers, to be on the safe side
    body = room - FRAGMENT_OVERHEAD
    first = min(body - head_bytes, len(payload))
    if first < 1:
        return []
    count = 1 + -(-(len(payload) - first) // body)
    if count > MAX_FRAGMENTS:
        return []
    fragments = [with_fragment(lp, payload[:first])]
    fragments += [LpPacket(payload[low : low + body]) for low in range(first, len(payload), body)]
    for index, fragment in enumerate(fragments):
        fragment.frag_index = index
        fragment.frag_count = count
    return fragments
