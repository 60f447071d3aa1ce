"""The clock never goes back; the alarm never rings early; the journal rations its lines and not its counts."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from roost.host.alarm import Alarm
from roost.host.clock import Clock
from roost.host.journal import MAX_QUIET, Journal
from roost.machine import MS, SECOND, Note, Rejected
from roost.naming import Name
from roost.pubsub.repos.disk_watch import DiskWatch
from roost.repo.store import Unwritten


class Times:
    def __init__(self) -> None:
        self.wall = 1_000 * SECOND
        self.monotonic = 5 * SECOND


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    held = Times()
    monkeypatch.setattr(time, "time_ns", lambda: held.wall)
    monkeypatch.setattr(time, "monotonic_ns", lambda: held.monotonic)
    return held


def test_time_passes_with_the_monotonic_clock(times: Times) -> None:
    clock = Clock()
    assert clock() == 1_000 * SECOND
    times.monotonic += SECOND
    assert clock() == 1_001 * SECOND


def test_a_wall_clock_set_back_is_not_followed(times: Times) -> None:
    clock = Clock()
    times.wall -= 500 * SECOND
    times.monotonic += MS
    assert clock() == 1_000 * SECOND + MS


def test_a_wall_clock_set_forward_is_followed(times: Times) -> None:
    clock = Clock()
    times.wall += 1_000_000 * SECOND
    assert clock() == times.wall
    assert clock.stepped == 1_000_000 * SECOND
    times.monotonic += SECOND
    assert clock() == times.wall + SECOND
    assert clock.stepped == 1_000_000 * SECOND


def test_a_wall_clock_is_looked_at_a_hundred_times_a_second(times: Times) -> None:
    clock = Clock()
    assert clock() == 1_000 * SECOND
    times.wall += 1_000_000 * SECOND
    times.monotonic += 9 * MS
    assert clock() == 1_000 * SECOND + 9 * MS
    times.monotonic += MS
    assert clock() == times.wall


def test_an_alarm_rings_for_the_nearest_deadline_only_when_it_has_passed() -> None:
    rung: list[int] = []

    async def main() -> None:
        clock = Clock()
        done = asyncio.Event()

        def ring(now: int) -> None:
            rung.append(now)
            done.set()

        alarm = Alarm(clock, ring)
        start = clock()
        alarm.set(start + 3600 * SECOND, start)
        deadline = start + 5 * MS
        alarm.set(deadline, start)  # nearer: moved
        await done.wait()
        assert rung[0] >= deadline
        done.clear()
        now = clock()
        alarm.set(now + 2 * MS, now)
        alarm.set(now + 8 * MS, now)  # later: the timer stays where it is, and does not ring early
        await done.wait()
        assert rung[1] >= now + 8 * MS
        alarm.set(None, clock())
        alarm.cancel()

    asyncio.run(main())


def test_refusals_name_the_peer_and_are_rationed(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal()
    with caplog.at_level(logging.INFO, "roost.node"):
        for index in range(100):
            journal.write(Rejected("udp4://192.0.2.1:6363", "the packet is empty", b"\x00"), index * MS)
        journal.write(Rejected("udp4://192.0.2.9:6363", "other"), 100 * MS)
        journal.write(Rejected("udp4://192.0.2.1:6363", "the packet is empty"), 11 * SECOND)
        journal.write(Note("face.up", (("face", 256),)), 0)
    assert journal.rejected == 102
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "refused a packet of udp4://192.0.2.1:6363: the packet is empty [00]",
        "refused a packet of udp4://192.0.2.9:6363: other",
        "refused a packet of udp4://192.0.2.1:6363: the packet is empty (99 more of this kind since)",
        "refused a packet of udp4://192.0.2.1:6363: the packet is empty",
        "face.up face=256",
    ]


def test_the_first_of_every_kind_is_written_at_once_whatever_came_before(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal()
    for reason in (
        "the packet is empty",
        "wrong password (user 'a')",
        "wrong password (user 'b')",
        "8 levels",
        "9 levels",
    ):
        journal.write(Rejected("192.0.2.1", reason), 0)
    journal.finish()
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "the packet is empty",
        "wrong password (user 'a')",
        "8 levels",
        "wrong password (user 'a') (1 more of this kind since)",
        "8 levels (1 more of this kind since)",
    ]


def test_what_was_kept_back_is_told_when_nothing_else_comes(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        journal = Journal(MS)
        for now in (0, 1, 2):
            journal.write(Rejected("192.0.2.1", "the packet is empty"), now)
        journal.write(Rejected("192.0.2.2", "the packet is empty"), 3)
        journal.write(Rejected("192.0.2.2", "the packet is empty"), 4)
        async with asyncio.timeout(10):
            while len(caplog.records) < 4:  # noqa: ASYNC110  a log has no event
                await asyncio.sleep(0)

    asyncio.run(main())
    assert [record.getMessage() for record in caplog.records[2:]] == [
        "refused a packet of 192.0.2.1: the packet is empty (2 more of this kind since)",
        "refused a packet of 192.0.2.2: the packet is empty (1 more of this kind since)",
    ]


def test_of_notes_those_about_a_disk_that_is_full_are_warnings(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal()
    watch = DiskWatch(Name.parse("/Repo1"))
    with caplog.at_level(logging.INFO, "roost.node"):
        for effect in (*watch.receive(Unwritten("Repo1", 1, "no space left")), Note("face.up")):
            journal.write(effect, 0)
    assert [(record.levelname, record.getMessage().strip()) for record in caplog.records] == [
        ("WARNING", "the disk refuses writes repo=/Repo1 reason=no space left"),
        ("INFO", "face.up"),
    ]


def test_the_journal_remembers_and_writes_a_bounded_number_of_complaints(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal()
    for index in range(3 * MAX_QUIET):
        journal.write(Rejected(f"peer{index}", "x"), 0)
    assert (len(caplog.records), journal.unwritten) == (MAX_QUIET, 2 * MAX_QUIET)
    journal.write(Rejected("peer", "x"), 10 * SECOND)
    assert len(caplog.records) == MAX_QUIET + 1
