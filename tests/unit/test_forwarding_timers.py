"""Timers in buckets: what stops early is not kept, whatever lifetimes people choose."""

from __future__ import annotations

import random

from roost.forwarding.timers import BUCKET_NS, Timed, Timers
from roost.machine import MS, SECOND


def test_timers_expire_once_and_not_before_their_time() -> None:
    timers: Timers[Timed] = Timers()
    draw = random.Random(1)
    items = [Timed() for _ in range(500)]
    for item in items:
        timers.arm(item, draw.randrange(5 * SECOND))
    for item in items[::7]:
        timers.arm(item, item.expires + draw.randrange(SECOND))
    for item in items[::5]:
        timers.stop(item)
    seen: list[Timed] = []
    now = 0
    while (deadline := timers.deadline()) is not None:
        now = deadline
        due = timers.due(now)
        for item in due:
            assert item.expires <= now <= item.expires + BUCKET_NS
            timers.stop(item)
        seen += due
    assert {id(item) for item in seen} == {id(item) for n, item in enumerate(items) if n % 5}
    assert len(seen) == len({id(item) for item in seen})


def test_stopped_timers_are_let_go_even_while_others_run() -> None:
    timers: Timers[Timed] = Timers()
    keeper = Timed()
    timers.arm(keeper, 1)
    for n in range(20_000):
        item = Timed()
        timers.arm(item, SECOND + n * 20 * MS)
        timers.stop(item)
    assert len(timers._buckets) < 3000
    assert sum(len(bucket.listed) for bucket in timers._buckets.values()) == 1
    crowd = [Timed() for _ in range(1000)]
    for item in crowd:
        timers.arm(item, SECOND)
    for item in crowd[:-1]:
        timers.stop(item)
    assert sum(len(bucket.listed) for bucket in timers._buckets.values()) < 20
