"""The files of machines (`roost.machine.disk`) on a real disk: appended or replaced, forced to the disk, then reported.

A file is read when its keeper is made. From then on one thread per keeper does the work, in order, and the event loop
never waits for the disk. Whoever opens a file holds it alone: two processes that count in one file would both give the
same number.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, RoostError
from roost.machine.disk import Save, Saved


class Keeper:
    """One file, ours alone, and what was `found` in it; without a path nothing is kept and all is well at once.

    Raises `BadConfig` if another has the file, or it cannot be read.
    """

    def __init__(self, path: Path | None, said: Callable[[Saved], None], failed: Callable[[RoostError], None]) -> None:
        self.found = b""
        self._path: Final = path
        self._said: Final = said
        self._failed: Final = failed
        self._loop: Final = asyncio.get_running_loop()
        self._thread: Final = ThreadPoolExecutor(1, "roost-keeper")  # which it starts with the first save
        self._released: asyncio.Future[None] | None = None
        self._lock = -1
        if path is not None:
            self._take(path)

    def save(self, effect: Save) -> None:
        """Do as the effect says; the answer comes in a later turn of the event loop, in order."""
        if self._path is None:
            self._loop.call_soon(self._said, Saved(effect.file, effect.ticket))
        else:
            self._thread.submit(self._write, self._path, effect)

    async def close(self) -> None:
        """Finish what is under way and let the file go; that happens, whether or not somebody waits for it."""
        if self._path is None:
            return
        if self._released is None:
            self._released = self._loop.run_in_executor(self._thread, self.release)
            self._thread.shutdown(wait=False)
        await asyncio.shield(self._released)

    def release(self) -> None:
        """Let the file go at once; for those who have saved nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _take(self, path: Path) -> None:
        try:
            _make_folder(path.parent)
            self._lock = os.open(_beside(path, ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.found = path.read_bytes() if path.exists() else b""
        except BlockingIOError:
            self.release()
            raise BadConfig(
                f"{path} is in use: another program, or another part of this one, is the same member, panel or "
                "subscription. Have it run once, or give another folder"
            ) from None
        except OSError as error:
            self.release()
            raise BadConfig(f"{path} cannot be used: {error.strerror or error}; give another folder") from None

    def _write(self, path: Path, effect: Save) -> None:
        try:
            (_replace if effect.replace else _append)(path, effect.data)
        except OSError as error:
            trouble = RoostError(
                f"{path} could not be written: {error.strerror or error}; nothing more is saved, nor announced. "
                "Make room or mend the disk, then join again"
            )
            self._tell(self._failed, trouble)
            return
        self._tell(self._said, Saved(effect.file, effect.ticket))

    def _tell(self, whom: Callable[[Saved], None] | Callable[[RoostError], None], what: Saved | RoostError) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(whom, what)  # type: ignore[arg-type]  # each is called with its own kind


def _append(path: Path, data: bytes) -> None:
    is_new = not path.exists()
    with path.open("ab") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        _sync_folder(path.parent)


def _replace(path: Path, data: bytes) -> None:
    fresh = _beside(path, ".new")
    with fresh.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    _sync_folder(path.parent)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, for their owner only, and on the disk: what is saved in it shall be found."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
