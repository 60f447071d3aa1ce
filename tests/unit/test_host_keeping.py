"""Files of machines on a real disk: in order, ours alone, and never in the way of the event loop."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from roost.errors import BadConfig, RoostError
from roost.host import keeping
from roost.host.keeping import Keeper
from roost.machine.disk import Save, Saved


class Told:
    """What a keeper says."""

    def __init__(self) -> None:
        self.saved: list[Saved] = []
        self.troubles: list[RoostError] = []
        self._turn = asyncio.Event()

    def keeper(self, path: Path | None) -> Keeper:
        return Keeper(path, self._said, self._failed)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._turn.clear()
            await self._turn.wait()

    def _said(self, event: Saved) -> None:
        self.saved.append(event)
        self._turn.set()

    def _failed(self, error: RoostError) -> None:
        self.troubles.append(error)
        self._turn.set()


class Slow:
    """A disk that writes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._go = threading.Event()
        write = keeping._append

        def append(path: Path, data: bytes) -> None:
            assert self._go.wait(30), "the event loop waited for the disk"
            write(path, data)

        monkeypatch.setattr(keeping, "_append", append)

    def write(self) -> None:
        self._go.set()


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(main())


def test_what_is_saved_is_there_in_order_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "file"

    async def test() -> None:
        told = Told()
        keeper = told.keeper(path)
        assert keeper.found == b""
        for ticket, data in enumerate([b"one", b"two", b"three"], 1):
            keeper.save(Save("f", ticket, data))
        assert told.saved == [], "never within the call"
        await told.until(lambda: len(told.saved) == 3)
        assert told.saved == [Saved("f", 1), Saved("f", 2), Saved("f", 3)]
        assert path.read_bytes() == b"onetwothree"
        keeper.save(Save("f", 4, b"all", replace=True))
        keeper.save(Save("f", 5, b"!"))
        await keeper.close()
        assert told.keeper(path).found == b"all!"

    run(test)


def test_without_a_path_all_is_well_but_not_within_the_call() -> None:
    async def test() -> None:
        told = Told()
        keeper = told.keeper(None)
        keeper.save(Save("f", 1, b"x"))
        assert told.saved == []
        await told.until(lambda: told.saved == [Saved("f", 1)])
        await keeper.close()

    run(test)


def test_only_the_owner_can_read_files_and_the_folders_made_for_them(tmp_path: Path) -> None:
    path = tmp_path / "home" / "sync" / "file"

    async def test() -> None:
        keeper = Told().keeper(path)
        keeper.save(Save("f", 1, b"x"))
        await keeper.close()

    run(test)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [folder.stat().st_mode & 0o777 for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_folders_made_for_a_file_survive_a_crash_as_the_file_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(keeping, "_sync_folder", synced.append)

    async def test() -> None:
        keeper = Told().keeper(tmp_path / "home" / "sync" / "file")
        keeper.save(Save("f", 1, b"x"))
        keeper.save(Save("f", 2, b"y"))
        await keeper.close()

    run(test)
    assert synced == [tmp_path, tmp_path / "home", tmp_path / "home" / "sync"], "each is an entry of the one above"


def test_a_slow_disk_does_not_stop_the_event_loop_when_a_keeper_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Slow(monkeypatch)

    async def test() -> None:
        told = Told()
        keeper = told.keeper(tmp_path / "file")
        keeper.save(Save("f", 1, b"x"))
        closing = asyncio.ensure_future(keeper.close())
        await asyncio.sleep(0)
        with pytest.raises(BadConfig, match="in use"):
            told.keeper(tmp_path / "file")
        assert not closing.done()
        disk.write()
        await closing
        assert told.keeper(tmp_path / "file").found == b"x"

    run(test)


def test_a_close_that_is_cancelled_lets_the_file_go_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Slow(monkeypatch)

    async def test() -> None:
        told = Told()
        keeper = told.keeper(tmp_path / "file")
        keeper.save(Save("f", 1, b"x"))
        closing = asyncio.ensure_future(keeper.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        disk.write()
        await told.until(lambda: told.saved == [Saved("f", 1)])
        await keeper.close()
        assert told.keeper(tmp_path / "file").found == b"x"

    run(test)


def test_a_disk_that_refuses_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:  # noqa: ARG001  as the real one
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(keeping, "_append", full)

    async def test() -> None:
        told = Told()
        keeper = told.keeper(tmp_path / "file")
        keeper.save(Save("f", 1, b"x"))
        await told.until(lambda: bool(told.troubles))
        assert f"{tmp_path / 'file'} could not be written: No space left on device" in str(told.troubles[0])
        assert told.saved == []
        await keeper.close()

    run(test)


def test_a_file_that_cannot_be_read_is_refused_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()

    async def test() -> None:
        with pytest.raises(BadConfig, match="Is a directory; give another folder"):
            Told().keeper(path)
        path.rmdir()
        assert Told().keeper(path).found == b""

    run(test)
