"""Fragmentation, reassembly and reliability of one link [ndn-packets §8]."""

from __future__ import annotations

import pytest

from roost.errors import BadConfig, BadPacket
from roost.machine import MS, SECOND
from roost.machine.rtt import INITIAL_RTO
from roost.naming import Name
from roost.wire import DigestSigner, LpPacket, decode_lp, encode_data
from roost.wire.link import MIN_MTU, RELIABLE_PATIENCE_NS, Link
from roost.wire.reassembly import MAX_FRAGMENTS, PATIENCE_NS
from roost.wire.reliability import IDLE_ACK_NS, MAX_ACKS, SEEN_NS

PACKET = encode_data(Name.parse("/A"), bytes(range(200)), DigestSigner())


def pieces(link: Link, packet: LpPacket | bytes = PACKET, now: int = 0) -> list[LpPacket]:
    return [decode_lp(wire) for wire in link.wrap([packet], now)]


def test_fragments_are_cut_and_numbered_as_nfd_does() -> None:
    packet = bytes([6, 216]) + bytes(216)  # 218 bytes: 88 + 88 + 42
    wires = Link(150, first_sequence=2**64 - 1).wrap([packet], 0)
    assert [wire.hex()[:40] for wire in wires] == [
        "646a5108ffffffffffffffff5201005301035058",
        "646a51080000000000000000520101530103 5058".replace(" ", ""),
        "643c51080000000000000001520102530103502a",
    ]
    assert [len(wire) for wire in wires] == [108, 108, 62]
    receiver = Link(150)
    whole = [receiver.unwrap(decode_lp(wire), 0) for wire in wires]
    assert whole[:2] == [None, None]
    assert whole[2] is not None
    assert whole[2].fragment == packet


def test_what_fits_is_not_touched() -> None:
    link = Link(MIN_MTU * 4)
    lp = LpPacket(b"\x05\x00", pit_token=b"t")
    assert link.wrap([PACKET, lp], 0) == [PACKET, lp.encode()]
    assert link.wrap([bytes(MIN_MTU * 4)], 0) == [bytes(MIN_MTU * 4)]
    assert link.counters.fragmented == 0
    assert link.deadline() is None


def test_headers_travel_on_the_first_fragment_only() -> None:
    lp = LpPacket(PACKET, pit_token=b"t" * 32, congestion_mark=1, incoming_face=7, no_cache=True)
    lp.announcement = b"\x06\x20" + bytes(32)
    fragments = pieces(Link(200), lp)
    assert fragments[0].pit_token == b"t" * 32
    assert all(not fragment.pit_token and not fragment.announcement for fragment in fragments[1:])
    assert lp.sequence == -1, "the packet that was handed in is not changed"
    receiver = Link(200)
    whole = [receiver.unwrap(fragment, 0) for fragment in reversed(fragments)][-1]
    assert whole is not None
    assert whole.encode() == lp.encode()


def test_every_datagram_fits_the_mtu() -> None:
    for mtu in range(MIN_MTU, 400, 7):
        for reliable in (False, True):
            link = Link(mtu, reliable=reliable)
            for size in (mtu - 60, mtu - 30, mtu, 1000, 8800):
                wires = link.wrap([LpPacket(bytes(size), pit_token=b"t" * 8)], 0)
                assert wires
                assert max(len(wire) for wire in wires) <= mtu


def test_messages_mix_and_fragments_come_in_any_order_across_the_wrap() -> None:
    sender = Link(150, first_sequence=2**64 - 2)
    receiver = Link(150)
    one, two = pieces(sender), pieces(sender, PACKET[::-1])
    mixed = [fragment for pair in zip(reversed(one), two, strict=True) for fragment in pair]
    whole = [message.fragment for fragment in mixed if (message := receiver.unwrap(fragment, 0))]
    assert sorted(whole) == sorted([PACKET, PACKET[::-1]])
    assert receiver.counters.reassembled == 2
    assert receiver.deadline() is None


def test_more_than_400_fragments_are_not_sent() -> None:
    link = Link(MIN_MTU)
    per_fragment = MIN_MTU - 62
    assert len(link.wrap([bytes(per_fragment * MAX_FRAGMENTS)], 0)) == MAX_FRAGMENTS
    assert link.wrap([bytes(per_fragment * MAX_FRAGMENTS + 1), b"\x05\x00"], 0) == [b"\x05\x00"]
    assert link.counters.oversized == 1


def test_headers_that_leave_no_room_are_not_sent() -> None:
    link = Link(MIN_MTU)
    lp = LpPacket(bytes(200))
    lp.announcement = bytes(MIN_MTU)
    assert link.wrap([lp], 0) == []
    assert link.counters.oversized == 1


def test_a_duplicate_fragment_is_counted() -> None:
    receiver = Link(150)
    fragments = pieces(Link(150))
    assert [receiver.unwrap(fragments[0], 0), receiver.unwrap(fragments[0], 0)] == [None, None]
    assert receiver.counters.duplicates == 1


def test_fragments_that_disagree_are_refused_and_the_message_survives() -> None:
    receiver = Link(150)
    fragments = pieces(Link(150))
    receiver.unwrap(fragments[0], 0)
    liar = pieces(Link(150))[1]
    liar.frag_count = 9
    with pytest.raises(BadPacket, match="9 fragments, its message has"):
        receiver.unwrap(liar, 0)
    assert receiver.counters.refused == 1
    assert [receiver.unwrap(fragment, 0) for fragment in fragments[1:]][-1] is not None


@pytest.mark.parametrize(("count", "size", "reason"), [(401, 1, "limit of 400"), (2, 8801, "8800 bytes")])
def test_messages_over_the_limits_are_refused(count: int, size: int, reason: str) -> None:
    receiver = Link(150)
    lp = LpPacket(bytes(size))
    lp.sequence = 5
    lp.frag_count = count
    with pytest.raises(BadPacket, match=reason):
        receiver.unwrap(lp, 0)
    assert receiver.counters.refused == 1
    assert receiver.deadline() is None


def test_a_fragment_without_a_fragment_is_refused() -> None:
    lp = LpPacket()
    lp.sequence = 5
    lp.frag_count = 2
    with pytest.raises(BadPacket, match="has none"):
        Link(150).unwrap(lp, 0)


def test_an_incomplete_message_is_forgotten_500_ms_after_its_last_fragment() -> None:
    receiver = Link(150)
    fragments = pieces(Link(150))
    receiver.unwrap(fragments[0], 0)
    receiver.unwrap(fragments[1], 100 * MS)
    assert receiver.deadline() == 100 * MS + PATIENCE_NS
    assert receiver.tick(100 * MS + PATIENCE_NS - 1) == []
    assert receiver.counters.timed_out == 0
    assert receiver.tick(100 * MS + PATIENCE_NS) == []
    assert receiver.counters.timed_out == 1
    assert receiver.deadline() is None
    assert receiver.unwrap(fragments[2], SECOND) is None


def test_the_number_and_the_bytes_of_incomplete_messages_are_bounded() -> None:
    few = Link(150, max_partials=3)
    small = Link(150, max_partial_bytes=300)
    sender = Link(150)
    for _ in range(10):
        first = pieces(sender)[0]
        few.unwrap(first, 0)
        small.unwrap(first, 0)
    assert few.counters.evicted == 7
    assert len(few._reassembly) == 3
    assert small._reassembly.size_bytes <= 300
    assert small.counters.evicted == 7


def test_multicast_neither_fragments_nor_reassembles() -> None:
    link = Link(150, multicast=True)
    assert link.wrap([PACKET, b"\x05\x00"], 0) == [b"\x05\x00"]
    assert link.counters.oversized == 1
    with pytest.raises(BadPacket, match="multicast"):
        link.unwrap(pieces(Link(150))[0], 0)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(BadConfig, match="at least 128"):
        Link(MIN_MTU - 1)
    with pytest.raises(BadConfig, match="multicast"):
        Link(1400, reliable=True, multicast=True)


def test_an_unreliable_link_ignores_acknowledgements_and_idle_packets() -> None:
    link = Link(1400)
    lp = LpPacket()
    lp.acks = [1]
    assert link.unwrap(lp, 0) is None
    lp = LpPacket(PACKET)
    lp.tx_sequence = lp.sequence = 4
    assert link.unwrap(lp, 0) is lp
    assert link.unwrap(lp, 0) is lp
    assert link.deadline() is None


def test_reliable_packets_are_numbered_and_acknowledged_when_idle() -> None:
    a, b = Link(1400, reliable=True, first_sequence=7), Link(1400, reliable=True)
    (lp,) = pieces(a, now=0)
    assert (lp.sequence, lp.tx_sequence, lp.frag_count) == (7, 7, 1)
    assert a.deadline() == INITIAL_RTO
    assert b.unwrap(lp, 0) is lp
    assert b.deadline() == IDLE_ACK_NS
    assert b.tick(IDLE_ACK_NS - 1) == []
    (idle,) = b.tick(IDLE_ACK_NS)
    ack = decode_lp(idle)
    assert (ack.acks, ack.fragment, ack.tx_sequence) == ([7], b"", -1)
    assert a.unwrap(ack, IDLE_ACK_NS) is None
    assert (a.deadline(), b.deadline()) == (None, None)
    assert a.counters.acked == 1


def test_acknowledgements_ride_on_data_and_only_once() -> None:
    a, b = Link(1400, reliable=True), Link(1400, reliable=True)
    for lp in pieces(a) + pieces(a):
        b.unwrap(lp, 0)
    first, second = pieces(b), pieces(b)
    assert first[0].acks == [0, 1]
    assert second[0].acks == []
    for again in b.tick(INITIAL_RTO):
        assert decode_lp(again).acks == []


def test_many_acknowledgements_fill_several_idle_packets() -> None:
    a, b = Link(MIN_MTU, reliable=True), Link(MIN_MTU, reliable=True)
    lps = pieces(a, bytes(8000))
    for lp in lps:
        b.unwrap(lp, 0)
    idle = b.tick(IDLE_ACK_NS)
    assert len(idle) > 1
    assert max(map(len, idle)) <= MIN_MTU
    assert sorted(ack for wire in idle for ack in decode_lp(wire).acks) == [lp.tx_sequence for lp in lps]


def test_three_later_acknowledgements_mean_loss() -> None:
    a, b = Link(1400, reliable=True), Link(1400, reliable=True)
    lost, *others = [pieces(a)[0] for _ in range(4)]
    for lp in others:
        b.unwrap(lp, 0)
    (idle,) = b.tick(IDLE_ACK_NS)
    a.unwrap(decode_lp(idle), 2 * IDLE_ACK_NS)
    assert a.deadline() == 2 * IDLE_ACK_NS
    (again,) = a.tick(2 * IDLE_ACK_NS)
    lp = decode_lp(again)
    assert (lp.sequence, lp.tx_sequence) == (lost.sequence, 4)
    assert b.unwrap(lp, 0) is not None
    assert a.counters.retransmitted == 1


def test_two_later_acknowledgements_do_not() -> None:
    a, b = Link(1400, reliable=True), Link(1400, reliable=True)
    for lp in [pieces(a)[0] for _ in range(3)][1:]:
        b.unwrap(lp, 0)
    a.unwrap(decode_lp(b.tick(IDLE_ACK_NS)[0]), IDLE_ACK_NS)
    assert a.tick(IDLE_ACK_NS) == []


def test_a_time_out_means_loss_at_most_three_times() -> None:
    a = Link(1400, reliable=True)
    (first,) = pieces(a)
    seen = []
    now = 0
    while (deadline := a.deadline()) is not None:
        assert deadline > now
        now = deadline
        seen += [decode_lp(wire) for wire in a.tick(now)]
    assert [lp.tx_sequence for lp in seen] == [1, 2, 3]
    assert {lp.sequence for lp in seen} == {first.sequence}
    assert now == 15 * SECOND, "1 + 2 + 4 + 8 s: the time-out doubles"
    assert a.counters.given_up == 1


def test_giving_up_one_fragment_gives_up_its_message_and_no_other() -> None:
    a, b = Link(150, reliable=True), Link(150, reliable=True)
    fragments = pieces(a)
    (other,) = pieces(a, b"\x05\x00")
    assert len(fragments) > 2
    now = 0
    b.unwrap(other, 0)
    a.unwrap(decode_lp(b.tick(IDLE_ACK_NS)[0]), IDLE_ACK_NS)
    while (deadline := a.deadline()) is not None:
        now = deadline
        a.tick(now)
    assert a.counters.given_up == 1
    assert a.counters.acked == 1
    assert a.counters.retransmitted == 3 * len(fragments)


def test_a_retransmission_is_delivered_once_but_acknowledged_again() -> None:
    a, b = Link(1400, reliable=True), Link(1400, reliable=True)
    (lp,) = pieces(a)
    assert b.unwrap(lp, 0) is lp
    b.tick(IDLE_ACK_NS)  # this acknowledgement is lost
    (again,) = a.tick(INITIAL_RTO)
    assert b.unwrap(decode_lp(again), INITIAL_RTO) is None
    assert b.counters.duplicates == 1
    assert decode_lp(b.tick(INITIAL_RTO + IDLE_ACK_NS)[0]).acks == [1]


def test_a_late_fragment_of_a_reliable_link_still_completes_its_message() -> None:
    a, b = Link(150, reliable=True), Link(150, reliable=True)
    fragments = pieces(a)
    for fragment in fragments[:-1]:
        b.unwrap(fragment, 0)
    assert b.tick(RELIABLE_PATIENCE_NS - 1)
    assert b.unwrap(fragments[-1], RELIABLE_PATIENCE_NS - 1) is not None


def test_the_table_of_unacknowledged_fragments_is_bounded() -> None:
    a = Link(1400, reliable=True, max_unacked=4)
    lps = [pieces(a)[0] for _ in range(6)]
    assert [lp.tx_sequence for lp in lps] == [0, 1, 2, 3, -1, -1]
    assert [lp.sequence for lp in lps] == list(range(6))
    assert a.counters.unprotected == 2


def test_the_waiting_acknowledgements_are_bounded() -> None:
    b = Link(1400, reliable=True)
    for number in range(MAX_ACKS + 10):
        lp = LpPacket(b"\x05\x00")
        lp.sequence = lp.tx_sequence = number
        b.unwrap(lp, 0)
    assert b.counters.acks_dropped == 10


def test_an_acknowledgement_out_of_nowhere_does_nothing() -> None:
    a = Link(1400, reliable=True)
    pieces(a)
    stray = LpPacket()
    stray.acks = [99, 2**64 - 1]
    assert a.unwrap(stray, 0) is None
    assert a.counters.acked == 0
    assert a.deadline() == INITIAL_RTO


def restarted_peer_is_heard(receiver: Link, now: int) -> bool:
    return receiver.unwrap(pieces(Link(1400, reliable=True), now=now)[0], now) is not None  # it counts from 0 again


def test_a_restarted_peer_is_heard_again_after_a_minute() -> None:
    a, b = Link(1400, reliable=True), Link(1400, reliable=True)
    assert b.unwrap(pieces(a)[0], 0) is not None
    assert not restarted_peer_is_heard(b, SEEN_NS - 1)
    assert restarted_peer_is_heard(b, SEEN_NS)
    assert not restarted_peer_is_heard(b, SEEN_NS + 1), "the new one's packets are remembered as well"
    assert b.counters.duplicates == 2


def test_a_peer_that_restarts_after_more_than_a_minute_is_heard_at_once() -> None:
    a, b = Link(1400, reliable=True), Link(1400, reliable=True)
    for second in range(90):
        assert b.unwrap(pieces(a, now=second * SECOND)[0], second * SECOND) is not None
    assert restarted_peer_is_heard(b, 90 * SECOND)


def test_the_last_retransmission_is_still_recognised() -> None:
    a, b = Link(1400, reliable=True), Link(1400, reliable=True)
    assert b.unwrap(pieces(a)[0], 0) is not None
    again = 0
    while (deadline := a.deadline()) is not None:  # every acknowledgement is lost
        for wire in a.tick(deadline):
            assert b.unwrap(decode_lp(wire), deadline + 100 * MS) is None
            again += 1
    assert again == 3
