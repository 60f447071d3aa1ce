"""The broker's rows on a real disk: RocksDB in a folder of which this process is the only owner, and one thread.

While the thread writes one group of `Keep`s, those that come wait, and then make up the next group, which is one batch
and at most one sync (group commit). Answers come in the order of the tickets. A group that cannot be written is
answered with a sentence, and with it all that has come behind it, unwritten: what is on the disk is always everything
up to some ticket. What comes after that answer is tried again, for there may be room by then.

A group is written to the log, where it survives the death of this process, and the log is forced to the disk, where it
survives the machine's, if one of the group wants that (`roost.host.rocks_rows`).
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from roost.broker.effects import Keep
from roost.errors import BadConfig
from roost.host.rocks_rows import RocksRows

MAX_WAITING_BYTES: Final = 64 << 20  # then the broker reads nothing until less waits

_LAST: Final = b"\xff" * 8
_ROW_BYTES: Final = 64  # what a row takes beside its key and value, roughly

Answer = Callable[[list[int], str], None]


class Rows:
    """The rows in a folder; raises `BadConfig` if another process has it, or it cannot be used.

    `answer(tickets, why)`, set by the server, hears in the event loop what is kept, and why if it is not.
    """

    def __init__(self, folder: Path) -> None:
        self.answer: Answer = lambda tickets, why: None  # noqa: ARG005  until a server has it
        self.groups = 0  # how many batches were written
        self.waiting_bytes = 0  # bound: MAX_WAITING_BYTES and what one turn of the broker adds to it
        self._loop: Final = asyncio.get_running_loop()
        self._lock: Final = _take(folder)
        try:
            self._log: Final = RocksRows(folder / "rows")
        except BadConfig:
            os.close(self._lock)
            raise
        self._thread: Final = ThreadPoolExecutor(1, "roost-mqtt-rows")
        self._mutex: Final = threading.Lock()  # of the two below, which the thread takes and leaves
        self._waiting: list[Keep] = []  # bound: waiting_bytes
        self._is_busy = False
        self._unanswered = 0
        self._idle: Final = asyncio.Event()

    def load(self) -> Iterator[tuple[bytes, bytes]]:
        """All rows, in the order of their keys."""
        return self._log.forward(b"", _LAST)

    @property
    def damaged(self) -> int:
        """How many blocks of the disk could not be read."""
        return self._log.damaged

    @property
    def is_behind(self) -> bool:
        """Whether more waits than is good."""
        return self.waiting_bytes > MAX_WAITING_BYTES

    def keep(self, effect: Keep) -> None:
        """Do as the effect says; the answer comes in a later turn of the event loop."""
        self._unanswered += 1
        self._idle.clear()
        self.waiting_bytes += _size_bytes(effect)
        with self._mutex:
            self._waiting.append(effect)
            begins = not self._is_busy
            self._is_busy = True
        if begins:
            self._thread.submit(self._work)

    async def finish(self) -> None:
        """Wait until all that was to be kept is answered."""
        while self._unanswered:
            await self._idle.wait()

    async def close(self) -> None:
        """Finish what waits and let the folder go."""
        await self.finish()
        await self._loop.run_in_executor(self._thread, self._log.close)
        self._thread.shutdown(wait=False)
        os.close(self._lock)

    def _work(self) -> None:
        """In the thread: one group after the other, until nothing waits or one fails; the event loop may be busy."""
        while True:
            with self._mutex:
                group, self._waiting = self._waiting, []
                if not group:
                    self._is_busy = False
                    return
            why = self._write(group)
            self._loop.call_soon_threadsafe(self._tell, group, why)
            if why:
                return  # busy, so that nothing more is written until the broker hears of it

    def _write(self, group: list[Keep]) -> str:
        try:
            batch = self._log.batch()
            for effect in group:
                for key, value in effect.puts:
                    batch.put(key, value)
                for key in effect.deletes:
                    batch.delete(key)
            self._log.write(batch)
            if any(effect.sync for effect in group):
                self._log.force()
        except Exception as error:  # noqa: BLE001  whatever it was: a machine that gets no answer waits for ever
            said = (error.strerror if isinstance(error, OSError) else None) or error
            return f"{self._log.path} could not be written: {said}; make room, or mend the disk"
        return ""

    def _tell(self, group: list[Keep], why: str) -> None:
        self.groups += 1
        if why:
            with self._mutex:
                group += self._waiting  # what came behind is not to be on the disk without it
                self._waiting = []
                self._is_busy = False
        self.waiting_bytes -= sum(map(_size_bytes, group))
        self._unanswered -= len(group)
        if not self._unanswered:
            self._idle.set()  # who waits for that goes on in a later turn
        self.answer([effect.ticket for effect in group], why)


def _size_bytes(effect: Keep) -> int:
    rows = len(effect.puts) + len(effect.deletes)
    return _ROW_BYTES * rows + sum(len(key) + len(value) for key, value in effect.puts)


def _take(folder: Path) -> int:
    """Make a folder ours: the descriptor that holds its lock."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BadConfig(
            f"store {folder} cannot be used: {error.strerror}; give a folder that can be written, with --store DIR "
            "or `store` in the configuration"
        ) from None
    if not _is_ours(lock):
        os.close(lock)
        raise BadConfig(
            f"store {folder} is in use by another broker: stop that one, or give this one a folder of its own, with "
            "--store DIR or `store` in the configuration"
        )
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock


def owner_of(folder: Path) -> int | None:
    """The process whose broker has this folder, None if there is none."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return None
    try:
        number = os.pread(lock, 20, 0)
        return None if _is_ours(lock) or not number.isdigit() else int(number)
    finally:
        os.close(lock)


def _is_ours(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
