"""The retransmission time-out of RFC 6298 within NDN's bounds."""

from __future__ import annotations

from roost.machine import MS, SECOND
from roost.machine.rtt import INITIAL_RTO, MAX_RTO, MIN_RTO, RttEstimator


def test_the_time_out_follows_rfc_6298() -> None:
    rtt = RttEstimator(maximum=60 * SECOND)
    rtt.measured(400 * MS)
    assert rtt.rto == 400 * MS + 4 * 200 * MS
    rtt.measured(400 * MS)
    assert rtt.rto == 400 * MS + 4 * 150 * MS
    rtt.backed_off()
    assert rtt.rto == 2 * SECOND
    for _ in range(20):
        rtt.backed_off()
    assert rtt.rto == 60 * SECOND
    rtt.measured(400 * MS)
    assert rtt.rto < SECOND, "a sample ends the doubling"


def test_it_stays_within_its_bounds() -> None:
    rtt = RttEstimator()
    assert rtt.rto == INITIAL_RTO
    rtt.measured(2 * MS)
    assert rtt.rto == MIN_RTO
    rtt.measured(3 * SECOND)
    assert MIN_RTO < rtt.rto <= MAX_RTO
    for _ in range(10):
        rtt.backed_off()
    assert rtt.rto == MAX_RTO
    for _ in range(100):
        rtt.measured(10 * MS)
    assert rtt.rto == MIN_RTO
