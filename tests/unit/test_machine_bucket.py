"""Token buckets: a burst at once, then exactly what time brings."""

from __future__ import annotations

from roost.machine import SECOND
from roost.machine.bucket import Bucket

NOW = 1_900_000_000 * SECOND


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    bucket = Bucket(10, SECOND, 20, NOW)
    assert [bucket.take(NOW) for _ in range(21)] == [True] * 20 + [False]
    assert not bucket.take(NOW + SECOND // 10 - 1)
    assert bucket.holds(NOW + SECOND // 10)
    assert bucket.take(NOW + SECOND // 10)
    assert [bucket.take(NOW + 3600 * SECOND) for _ in range(21)] == [True] * 20 + [False]


def test_debt_is_paid_exactly_when_the_bucket_said() -> None:
    bucket = Bucket(3, SECOND, 1, NOW)
    until = bucket.spend(5, NOW)
    assert until == NOW + 4 * SECOND // 3 + 1  # rounded towards later
    assert bucket.spend(0, until - 1) == until
    assert bucket.spend(0, until) == 0


def test_a_clock_that_is_set_back_stops_nobody_for_long() -> None:
    bucket = Bucket(1, SECOND, 1, NOW)
    assert bucket.take(NOW)
    assert not bucket.take(NOW - 3600 * SECOND)
    assert bucket.take(NOW - 3599 * SECOND)


def test_nothing_drifts_however_often_a_bucket_is_asked() -> None:
    bucket = Bucket(3, SECOND, 3, NOW)
    assert sum(bucket.take(NOW + tick * SECOND // 100) for tick in range(1001)) == 3 + 30
    assert not Bucket(0, SECOND, 0, NOW).take(NOW + 100 * SECOND)
