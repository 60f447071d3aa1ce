"""The driver of a store: in order, in groups, and never in the way of the event loop."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable, Sequence

from roost.host.stores import StoreDriver
from roost.naming import Name
from roost.repo.memory import MemoryStore
from roost.repo.store import Batch, Entry, Unwritten, Write, Written


class Disk(MemoryStore):
    """A store that writes when it is told to, and can be full."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.begun = threading.Event()
        self.groups: list[int] = []
        self.is_full = False
        self.is_broken = False
        self.is_closed = False

    def write(self, batches: Sequence[Batch]) -> None:
        self.begun.set()
        assert self.go.wait(30), "the event loop waited for the disk"
        self.groups.append(len(batches))
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.is_broken:
            raise Exception("IO error: nobody knows")  # noqa: TRY002  as rocksdict does
        super().write(batches)

    def close(self) -> None:
        self.is_closed = True


class Told:
    """What a driver says."""

    def __init__(self) -> None:
        self.answers: list[Written | Unwritten] = []
        self._turn = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._turn.clear()
            await self._turn.wait()

    def said(self, event: Written | Unwritten) -> None:
        self.answers.append(event)
        self._turn.set()


def write(ticket: int) -> Write:
    return Write("data", ticket, Batch((Entry(Name.of("packet", str(ticket)), b"%d" % ticket),)))


def test_what_waits_is_written_as_one_group_and_answered_in_order() -> None:
    async def story() -> None:
        disk, told = Disk(), Told()
        driver = StoreDriver("data", disk, told.said)
        driver.write(write(1))
        await asyncio.to_thread(disk.begun.wait, 30)
        for ticket in range(2, 6):
            driver.write(write(ticket))
        assert told.answers == []
        disk.go.set()
        await told.until(lambda: len(told.answers) == 5)
        assert told.answers == [Written("data", ticket) for ticket in range(1, 6)]
        assert disk.groups == [1, 4]
        assert driver.groups == 2
        await driver.close()

    asyncio.run(story())


def test_a_full_disk_fails_the_group_and_the_next_is_tried_again() -> None:
    async def story() -> None:
        disk, told = Disk(), Told()
        disk.is_full = True
        disk.go.set()
        driver = StoreDriver("data", disk, told.said)
        driver.write(write(1))
        await told.until(lambda: len(told.answers) == 1)
        reason = "the store could not be written: No space left on device; make room, or mend the disk"
        assert told.answers == [Unwritten("data", 1, reason)]
        disk.is_full = False
        driver.write(write(2))
        await told.until(lambda: len(told.answers) == 2)
        assert told.answers[1] == Written("data", 2)
        assert disk.get(Name.of("packet", "1")) is None
        await driver.close()

    asyncio.run(story())


def test_whatever_goes_wrong_with_a_write_is_answered() -> None:
    async def story() -> None:
        disk, told = Disk(), Told()
        disk.is_broken = True
        disk.go.set()
        driver = StoreDriver("data", disk, told.said)
        driver.write(write(1))
        await told.until(lambda: len(told.answers) == 1)
        reason = "the store could not be written: IO error: nobody knows; make room, or mend the disk"
        assert told.answers == [Unwritten("data", 1, reason)]
        await driver.close()

    asyncio.run(story())


def test_closing_finishes_what_waits_and_lets_the_store_go() -> None:
    async def story() -> None:
        disk, told = Disk(), Told()
        driver = StoreDriver("data", disk, told.said)
        driver.write(write(1))
        await asyncio.to_thread(disk.begun.wait, 30)
        driver.write(write(2))
        closing = asyncio.ensure_future(driver.close())
        disk.go.set()
        await closing
        await driver.close()
        assert told.answers == [Written("data", 1), Written("data", 2)]
        assert disk.groups == [1, 1]
        assert disk.is_closed
        assert disk.get(Name.of("packet", "2")) == b"2"

    asyncio.run(story())
