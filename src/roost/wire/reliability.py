"""NDNLPv2 reliability: acknowledgements, loss detection and retransmission for one peer [NDNLPv2, reliability].

Both ends must have opted in. Every link packet with a fragment carries a TxSequence, new for each transmission; the
receiver returns it as an Ack, on the next packet that has room or on an idle packet after 5 ms. A transmission is lost
when three later ones were acknowledged or the retransmission time-out passed (RFC 6298); it is sent again at most three
times, then the whole network packet is given up. Better than best effort, but no transport: no order, no window.

The receiver drops what it has seen by Sequence, which stays the same over retransmissions. Between the first and the
last transmission of a packet fewer than 4 · (unacknowledged + 3) others are sent, so `MAX_SEEN` covers `MAX_UNACKED`.
A peer that was started anew may count from the same number again (NFD does), and nothing in a packet tells that from a
retransmission. So what was seen is forgotten after 60 s: the last retransmission leaves 1 + 2 + 4 time-outs after the
first transmission, and a time-out above 8 s is a link that hardly works. Not sooner, after some of our own time-outs
say: losses double the peer's and we would not know. A restarted peer is then ignored for a minute at the most, and only
where it uses numbers again that it used within that minute.
"""

from __future__ import annotations

from typing import Final

from roost.machine import MS, SECOND, earliest
from roost.machine.rtt import RttEstimator
from roost.wire.lp import LpPacket
from roost.wire.reassembly import WRAP, LinkCounters

MAX_RETRANSMISSIONS: Final = 3
LATER_ACKS: Final = 3
IDLE_ACK_NS: Final = 5 * MS
MAX_UNACKED: Final = 1024
MAX_SEEN: Final = 4 * (MAX_UNACKED + 4)
MAX_ACKS: Final = 2048
ACK_BYTES: Final = 12
MAX_RTO_NS: Final = 60 * SECOND  # RFC 6298 §2.5: at least
SEEN_NS: Final = 60 * SECOND


class _Sent:
    """A transmission that nobody has acknowledged yet."""

    __slots__ = ("later_acks", "lp", "message", "retries", "sent_at")

    def __init__(self, lp: LpPacket, message: int, sent_at: int) -> None:
        self.lp: Final = lp
        self.message: Final = message  # the Sequence of its first fragment
        self.sent_at = sent_at
        self.retries = 0
        self.later_acks = 0


class Reliability:
    """Both directions of one peer. The sender's table is in the order of sending, so its first entry expires first."""

    def __init__(self, counters: LinkCounters, first_sequence: int, max_unacked: int = MAX_UNACKED) -> None:
        self.estimate: Final = RttEstimator(maximum=MAX_RTO_NS)
        self._counters: Final = counters
        self._next = first_sequence
        self._max_unacked: Final = min(max_unacked, MAX_UNACKED)
        self._unacked: dict[int, _Sent] = {}
        self._lost: list[_Sent] = []  # to be sent again by the next tick
        self._lost_at = 0
        self._acks: list[int] = []
        self._acks_at = 0
        self._seen: dict[int, int] = {}  # Sequence → when it was first seen, in that order; bound: MAX_SEEN
        self._calm_until = 0

    @property
    def unacked(self) -> int:
        """How many transmissions wait for their acknowledgement or to be sent again."""
        return len(self._unacked) + len(self._lost)

    def protect(self, fragments: list[LpPacket], now: int) -> None:
        """Number and remember the fragments of one network packet; they have their Sequence already."""
        message = fragments[0].sequence
        for fragment in fragments:
            if self.unacked >= self._max_unacked:
                self._counters.unprotected += 1
            else:
                self._transmit(_Sent(fragment, message, now))

    def attach_acks(self, lp: LpPacket, room: int) -> None:
        """Let a packet that has `room` bytes left carry waiting acknowledgements."""
        count = room // ACK_BYTES
        lp.acks = self._acks[:count] if count > 0 else []
        del self._acks[: len(lp.acks)]

    @property
    def acks_waiting(self) -> bool:
        """Whether there is something to acknowledge."""
        return bool(self._acks)

    def received(self, lp: LpPacket, now: int) -> bool:
        """Take the acknowledgements of a packet and owe one for it; returns whether it is seen for the first time."""
        for ack in lp.acks:
            self._acknowledged(ack, now)
        if not lp.fragment or lp.tx_sequence < 0:
            return True
        if not self._acks:
            self._acks_at = now + IDLE_ACK_NS
        if len(self._acks) >= MAX_ACKS:
            self._counters.acks_dropped += 1
            self._acks.pop(0)
        self._acks.append(lp.tx_sequence)
        if lp.sequence < 0:
            return True
        self._forget_seen(now)
        if lp.sequence in self._seen:
            self._counters.duplicates += 1
            return False
        self._seen[lp.sequence] = now
        if len(self._seen) > MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        return True

    def tick(self, now: int) -> list[LpPacket]:
        """Return what is to be sent again: found lost by acknowledgements, or timed out."""
        timed_out = False
        for number, sent in list(self._unacked.items()):
            if sent.sent_at + self.estimate.rto > now:
                break
            if self._unacked.pop(number, None) is not None:  # its message may have been given up a moment ago
                timed_out = True
                self._lose(sent, now)
        if timed_out and now >= self._calm_until:  # one blackout is one reason to wait longer, whatever it cost
            self.estimate.backed_off()
            self._calm_until = now + self.estimate.rto
        again, self._lost = self._lost, []
        for sent in again:
            sent.sent_at = now
            sent.later_acks = 0
            self._transmit(sent)
        self._counters.retransmitted += len(again)
        return [sent.lp for sent in again]

    def acks_due(self, now: int) -> bool:
        """Whether the waiting acknowledgements have waited long enough for a packet to carry them."""
        return bool(self._acks) and self._acks_at <= now

    def deadline(self) -> int | None:
        """When something is to be sent again or acknowledged."""
        first: int | None = None
        for sent in self._unacked.values():
            first = sent.sent_at + self.estimate.rto
            break
        return earliest(first, self._lost_at if self._lost else None, self._acks_at if self._acks else None)

    def _forget_seen(self, now: int) -> None:
        while self._seen:
            sequence, since = next(iter(self._seen.items()))
            if since + SEEN_NS > now:
                return
            del self._seen[sequence]

    def _transmit(self, sent: _Sent) -> None:
        sent.lp.tx_sequence = self._next
        self._unacked[self._next] = sent
        self._next = (self._next + 1) & WRAP

    def _acknowledged(self, number: int, now: int) -> None:
        acked = self._unacked.pop(number, None)
        if acked is None:
            return
        self._counters.acked += 1
        if acked.retries == 0:
            self.estimate.measured(now - acked.sent_at)
        passed: list[int] = []
        for earlier, sent in self._unacked.items():
            if (number - earlier) & WRAP > WRAP >> 1:  # sent after the acknowledged one
                break
            sent.later_acks += 1
            if sent.later_acks >= LATER_ACKS:
                passed.append(earlier)
        for earlier in passed:
            lost = self._unacked.pop(earlier, None)
            if lost is not None:
                self._lose(lost, now)

    def _lose(self, sent: _Sent, now: int) -> None:
        if sent.retries < MAX_RETRANSMISSIONS:
            sent.retries += 1
            if not self._lost:
                self._lost_at = now
            self._lost.append(sent)
            return
        self._counters.given_up += 1
        # What is left of the message is of no use to the peer.
        self._lost = [other for other in self._lost if other.message != sent.message]
        for number in [number for number, other in self._unacked.items() if other.message == sent.message]:
            del self._unacked[number]
