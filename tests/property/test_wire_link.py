"""Links under loss, reordering and duplication: what is delivered, how often, and that everything comes to rest."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.machine import MS, SECOND
from roost.wire import LpPacket, decode_lp
from roost.wire.link import Link

Fate = Callable[[int, LpPacket], list[int]]  # of a datagram to side 0 or 1: when its copies arrive, in ns from now


def run(links: list[Link], outbox: list[tuple[int, int, bytes]], fate: Fate) -> tuple[list[list[bytes]], int]:
    """Send the messages of `outbox` (when, from whom, what), run until both rest; what each side got, and when."""
    got: list[list[bytes]] = [[], []]
    order = 0
    queue: list[tuple[int, int, int, bytes, bool]] = []
    for at, side, message in outbox:
        order += 1
        queue.append((at, order, side, message, True))
    heapq.heapify(queue)
    now = 0
    while True:
        deadlines = [deadline for link in links if (deadline := link.deadline()) is not None]
        if not queue and not deadlines:
            return got, now
        now = max(now, min(deadlines + [entry[0] for entry in queue[:1]]))
        sent: list[tuple[int, bytes]] = []
        if queue and queue[0][0] <= now:
            _, _, side, wire, fresh = heapq.heappop(queue)
            if fresh:
                sent += [(1 - side, datagram) for datagram in links[side].wrap([wire], now)]
            else:
                whole = links[side].unwrap(decode_lp(wire), now) if wire[0] == 100 else LpPacket(wire)
                if whole is not None:
                    got[side].append(whole.fragment)
        for side, link in enumerate(links):
            if (deadline := link.deadline()) is not None and deadline <= now:
                sent += [(1 - side, datagram) for datagram in link.tick(now)]
        for side, datagram in sent:
            assert len(datagram) <= links[0].mtu
            for delay in fate(side, decode_lp(datagram) if datagram[0] == 100 else LpPacket(datagram)):
                order += 1
                heapq.heappush(queue, (now + delay, order, side, datagram, False))


def messages(random: Random, count: int) -> list[tuple[int, int, bytes]]:
    """Distinct messages of both sides, from one byte to a hundred fragments, at random times within two seconds."""
    return [
        (
            random.randrange(2 * SECOND),
            random.randrange(2),
            b"\x05" + number.to_bytes(2, "big") + bytes(random.choice([0, 20, 150, 1000, 5000])),
        )
        for number in range(count)
    ]


def of(outbox: list[tuple[int, int, bytes]], side: int) -> list[bytes]:
    return sorted(message for _, sender, message in outbox if sender == side)


SEEDS = st.integers(0, 2**32)
FIRST = st.integers(0, 2**64 - 1) | st.integers(2**64 - 30, 2**64 - 1)  # Sequence numbers wrap


@given(SEEDS, FIRST)
@settings(max_examples=40, deadline=None)
def test_without_loss_everything_arrives_once_in_whatever_order(seed: int, first: int) -> None:
    random = Random(seed)
    links = [Link(150, first_sequence=first), Link(150, first_sequence=first)]
    outbox = messages(random, 20)
    got, _ = run(links, outbox, lambda _side, _lp: [random.randrange(100 * MS)])
    for side in (0, 1):
        assert sorted(got[side]) == of(outbox, 1 - side)
    assert all(link.counters.timed_out == link.counters.evicted == 0 for link in links)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_with_loss_a_message_arrives_whole_or_not_at_all(seed: int) -> None:
    random = Random(seed)
    links = [Link(150), Link(150)]
    outbox = messages(random, 20)
    got, _ = run(links, outbox, lambda _side, _lp: [] if random.random() < 0.05 else [random.randrange(50 * MS)])
    for side in (0, 1):
        assert len(set(got[side])) == len(got[side])
        assert set(got[side]) <= set(of(outbox, 1 - side))


@given(SEEDS, FIRST, st.floats(0, 0.6))
@settings(max_examples=40, deadline=None)
def test_a_reliable_link_delivers_at_most_once_whatever_happens(seed: int, first: int, loss: float) -> None:
    random = Random(seed)
    links = [Link(150, reliable=True, first_sequence=first) for _ in range(2)]
    outbox = messages(random, 10)

    def fate(_side: int, _lp: LpPacket) -> list[int]:
        return [random.randrange(300 * MS) for _ in range(random.choice([1, 1, 1, 2, 3])) if random.random() >= loss]

    got, _ = run(links, outbox, fate)
    for side in (0, 1):
        assert len(set(got[side])) == len(got[side])
        assert set(got[side]) <= set(of(outbox, 1 - side))
    assert all(link.deadline() is None for link in links)


@given(SEEDS, FIRST, st.floats(0, 0.9))
@settings(max_examples=40, deadline=None)
def test_a_reliable_link_delivers_exactly_once_if_no_fragment_is_lost_more_than_three_times(
    seed: int, first: int, loss: float
) -> None:
    """A lost fragment and a lost acknowledgement both cost one of the three retransmissions."""
    random = Random(seed)
    links = [Link(150, reliable=True, first_sequence=first) for _ in range(2)]
    outbox = messages(random, 10)
    lost: Counter[tuple[int, int]] = Counter()
    sequences: dict[tuple[int, int], int] = {}

    def fate(side: int, lp: LpPacket) -> list[int]:
        touched = [(side, sequences[side, ack]) for ack in lp.acks]
        if lp.fragment:
            sequences[1 - side, lp.tx_sequence] = lp.sequence
            touched.append((1 - side, lp.sequence))
        after = lost + Counter(touched)
        if random.random() < loss and all(after[key] <= 3 for key in touched):
            lost.update(touched)
            return []
        return [20 * MS]

    got, _ = run(links, outbox, fate)
    for side in (0, 1):
        assert sorted(got[side]) == of(outbox, 1 - side)
    assert all(link.counters.given_up == 0 for link in links)
    assert all(link.deadline() is None for link in links)
