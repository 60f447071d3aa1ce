"""The broker's rows on a real disk: grouped, in order, ours alone, found again, and a disk that refuses."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.loops import run

from roost.broker.effects import Keep
from roost.errors import BadConfig
from roost.host.mqtt.rows import Rows, owner_of
from roost.host.rocks_rows import RocksRows


class Told:
    """Who hears what is kept."""

    def __init__(self, folder: Path) -> None:
        self.rows = Rows(folder)
        self.rows.answer = self._hear
        self.groups: list[tuple[list[int], str]] = []
        self._turn = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._turn.clear()
            await self._turn.wait()

    def _hear(self, tickets: list[int], why: str) -> None:
        self.groups.append((tickets, why))
        self._turn.set()

    @property
    def tickets(self) -> list[int]:
        return [ticket for tickets, _ in self.groups for ticket in tickets]


class Slow:
    """A disk that is forced when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.forced = 0
        self.begun = threading.Event()
        self._go = threading.Semaphore(0)
        force = RocksRows.force

        def slowly(log: RocksRows) -> None:
            self.begun.set()
            assert self._go.acquire(timeout=30), "the event loop waited for the disk"
            self.forced += 1
            force(log)

        monkeypatch.setattr(RocksRows, "force", slowly)

    def go(self, times: int = 1) -> None:
        self._go.release(times)


def keep(ticket: int, *, sync: bool = True) -> Keep:
    return Keep(ticket, [(b"k%d" % ticket, b"v%d" % ticket)], [], sync)


def test_rows_are_written_deleted_and_found_again_in_order(tmp_path: Path) -> None:
    async def test() -> None:
        told = Told(tmp_path / "mqtt")
        assert list(told.rows.load()) == []
        told.rows.keep(Keep(1, [(b"b", b"2"), (b"a", b"1"), (b"c", b"3")], [], sync=True))
        told.rows.keep(Keep(2, [(b"a", b"one")], [b"b"], sync=False))
        assert told.groups == [], "never within the call"
        await told.until(lambda: told.tickets == [1, 2])
        await told.rows.close()
        again = Told(tmp_path / "mqtt")
        assert list(again.rows.load()) == [(b"a", b"one"), (b"c", b"3")]
        assert again.rows.damaged == 0
        await again.rows.close()

    run(test)


def test_what_comes_while_the_disk_works_is_one_group_and_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Slow(monkeypatch)

    async def test() -> None:
        told = Told(tmp_path)
        told.rows.keep(keep(1))
        assert disk.begun.wait(30)
        for ticket in range(2, 101):
            told.rows.keep(keep(ticket))
        assert told.rows.waiting_bytes > 100
        disk.go(2)
        await told.until(lambda: len(told.tickets) == 100)
        assert [len(tickets) for tickets, _ in told.groups] == [1, 99]
        assert told.tickets == list(range(1, 101))
        assert (disk.forced, told.rows.groups, told.rows.waiting_bytes) == (2, 2, 0)
        await told.rows.close()

    run(test)


def test_the_disk_is_forced_only_if_somebody_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Slow(monkeypatch)

    async def test() -> None:
        told = Told(tmp_path)
        told.rows.keep(keep(1, sync=False))
        await told.until(lambda: told.tickets == [1])
        assert disk.forced == 0
        disk.go()
        told.rows.keep(keep(2, sync=True))
        told.rows.keep(keep(3, sync=False))
        await told.until(lambda: told.tickets == [1, 2, 3])
        assert disk.forced == 1
        await told.rows.close()

    run(test)


def test_rows_that_were_not_forced_survive_the_end_of_the_process(tmp_path: Path) -> None:
    program = f"""
import asyncio, os, pathlib
from roost.broker.effects import Keep
from roost.host.mqtt.rows import Rows
async def main():
    rows = Rows(pathlib.Path({str(tmp_path)!r}))
    rows.answer = lambda tickets, why: os.kill(os.getpid(), 9)
    rows.keep(Keep(1, [(b"a", b"1")], [], False))
    await asyncio.Event().wait()
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == -9

    async def test() -> None:
        told = Told(tmp_path)
        assert list(told.rows.load()) == [(b"a", b"1")]
        await told.rows.close()

    run(test)


def test_a_disk_that_refuses_is_a_sentence_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = RocksRows.write
    full = [True]

    def maybe(log: RocksRows, batch: object) -> None:
        if full.pop() if full else False:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(log, batch)

    monkeypatch.setattr(RocksRows, "write", maybe)

    async def test() -> None:
        told = Told(tmp_path)
        told.rows.keep(keep(1))
        await told.until(lambda: told.tickets == [1])
        ((_, why),) = told.groups
        assert "could not be written: No space left on device; make room" in why
        told.rows.keep(keep(2))
        await told.until(lambda: told.tickets == [1, 2])
        assert told.groups[-1] == ([2], "")
        await told.rows.close()

    run(test)


def test_what_came_behind_a_failure_is_not_written_and_answered_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the disk would have the later without the earlier."""
    write = RocksRows.write
    begun, go, full = threading.Event(), threading.Event(), [True]

    def maybe(log: RocksRows, batch: object) -> None:
        if full.pop() if full else False:
            begun.set()
            assert go.wait(30)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(log, batch)

    monkeypatch.setattr(RocksRows, "write", maybe)

    async def test() -> None:
        told = Told(tmp_path)
        told.rows.keep(keep(1))
        assert begun.wait(30)
        told.rows.keep(keep(2))
        go.set()
        thread = told.rows._thread
        thread.submit(int).result(30)  # it has failed, and nobody has been told
        told.rows.keep(keep(3))
        thread.submit(int).result(30)
        await told.until(lambda: told.tickets == [1, 2, 3])
        ((_, why),) = told.groups
        assert "No space left on device" in why
        assert told.rows.waiting_bytes == 0
        assert list(told.rows.load()) == []
        told.rows.keep(keep(4))
        await told.until(lambda: told.tickets == [1, 2, 3, 4])
        assert told.groups[-1] == ([4], "")
        assert list(told.rows.load()) == [(b"k4", b"v4")]
        await told.rows.close()

    run(test)


def test_a_log_that_cannot_be_forced_is_a_sentence_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        """A RocksDB whose disk has gone."""

        def __init__(self, real: object) -> None:
            self._real = real

        def flush_wal(self, *, sync: bool) -> None:
            raise RuntimeError(f"IO error: Input/output error, sync {sync}")

        def __getattr__(self, name: str) -> object:
            return getattr(self._real, name)

    async def test() -> None:
        told = Told(tmp_path)
        log = told.rows._log
        with monkeypatch.context() as patch:
            patch.setattr(log, "_db", Broken(log._db))
            told.rows.keep(keep(1))
            await told.until(lambda: told.tickets == [1])
        assert "Input/output error" in told.groups[0][1]
        told.rows.keep(keep(2))
        await told.until(lambda: told.tickets == [1, 2])
        assert told.groups[1][1] == "", "it was opened anew"
        await told.rows.close()

    run(test)


def test_a_folder_has_one_owner_who_can_be_found(tmp_path: Path) -> None:
    async def test() -> None:
        assert owner_of(tmp_path) is None
        told = Told(tmp_path)
        assert owner_of(tmp_path) == os.getpid()
        with pytest.raises(BadConfig, match=r"in use by another broker: stop that one, or .* --store DIR"):
            Rows(tmp_path)
        await told.rows.close()
        assert owner_of(tmp_path) is None
        await Told(tmp_path).rows.close()

    run(test)


def test_a_folder_that_cannot_be_used_is_named_and_let_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "rows").write_text("in the way")

    async def test() -> None:
        with pytest.raises(BadConfig, match="file/mqtt cannot be used: Not a directory; give a folder"):
            Rows(tmp_path / "file" / "mqtt")
        with pytest.raises(BadConfig, match="rows cannot be used"):
            Rows(tmp_path)
        assert owner_of(tmp_path) is None

    run(test)
