"""The store of a machine (`roost.repo.store`) on a real disk: its `Write`s done in order by one thread, and answered.

While the thread forces one group of batches to the disk, those that come wait, and then make up the next group, which
costs one sync. When a group cannot be written nothing of it is, and each of its batches is `Unwritten`; a batch that is
wanted after that is tried again, for there may be room by then. The machine keeps what waits within bounds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from roost.repo.store import Keeper, Unwritten, Write, Written


class StoreDriver:
    """One store under its name, and who is told; made and used in the event loop."""

    def __init__(self, name: str, keeper: Keeper, said: Callable[[Written | Unwritten], None]) -> None:
        self.name: Final = name
        self.keeper: Final = keeper
        self.groups = 0  # how many syncs there were
        self._said: Final = said
        self._loop: Final = asyncio.get_running_loop()
        self._thread: Final = ThreadPoolExecutor(1, f"roost-store-{name}")  # which it starts with the first write
        self._waiting: list[Write] = []  # bound: what the machine has under way
        self._under_way: asyncio.Future[list[Written | Unwritten]] | None = None
        self._closed: asyncio.Future[None] | None = None

    def write(self, effect: Write) -> None:
        """Do as the effect says; the answer comes in a later turn of the event loop, in order."""
        if self._closed is None:
            self._waiting.append(effect)
            self._proceed()

    async def finish(self) -> None:
        """Wait until all that was to be written is answered."""
        while self._under_way is not None:
            await asyncio.wait([self._under_way])
            await asyncio.sleep(0)  # for who was told

    async def close(self) -> None:
        """Finish what is under way and what waits, and let the store go; that happens, whoever waits for it."""
        if self._closed is None:
            self._closed = asyncio.ensure_future(self._let_go())
        await asyncio.shield(self._closed)

    async def _let_go(self) -> None:
        await self.finish()
        await self._loop.run_in_executor(self._thread, self.keeper.close)
        self._thread.shutdown(wait=False)

    def _proceed(self) -> None:
        if self._under_way is None and self._waiting:
            self._begin()

    def _begin(self) -> None:
        group, self._waiting = self._waiting, []
        self._under_way = self._loop.run_in_executor(self._thread, self._write, group)
        self._under_way.add_done_callback(self._answer)

    def _write(self, group: list[Write]) -> list[Written | Unwritten]:
        try:
            self.keeper.write([effect.batch for effect in group])
        except Exception as error:  # noqa: BLE001  whatever it was: a machine that gets no answer waits for ever
            said = (error.strerror if isinstance(error, OSError) else None) or error
            reason = f"the store could not be written: {said}; make room, or mend the disk"
            return [Unwritten(self.name, effect.ticket, reason) for effect in group]
        return [Written(self.name, effect.ticket) for effect in group]

    def _answer(self, written: asyncio.Future[list[Written | Unwritten]]) -> None:
        self._under_way = None
        self.groups += 1
        for answer in written.result():
            self._said(answer)
        self._proceed()
