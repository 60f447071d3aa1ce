"""The thread behind synchronous faces: one event loop for all of them, so that they share the node inside the process.

That loop never runs on the caller's thread, where a notebook runs its own. Who calls waits for what is done there, and
takes it back when interrupted. The faces themselves are in `roost.host.blocking`.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from roost.errors import Disconnected, RoostError

T = TypeVar("T")

CLOSED: Final = "the face is closed: use it within its `with` block"


class Background:
    """The thread and its loop; started by the first user, stopped by the last."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run_loop, args=(self._loop,), name="roost", daemon=True)
                self._thread.start()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            loop, thread = self._loop, self._thread
            if self._users or loop is None or thread is None:
                return
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def refuse_handlers(self) -> None:
        if threading.current_thread() is self._thread:
            raise RoostError("a handler cannot wait for its own thread: make it async and use `roost.connect` in it")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            self.refuse_handlers()
            with self._lock:  # so that the loop is not stopped before it has the work
                if self._loop is None:
                    raise Disconnected(CLOSED)
                future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RoostError:
            work.close()
            raise
        try:
            return future.result()
        except BaseException:  # KeyboardInterrupt above all: take back what was asked
            future.cancel()
            raise


background: Final = Background()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_drained(loop))
    finally:
        loop.close()


async def _drained(loop: asyncio.AbstractEventLoop) -> None:
    """End what an interrupted caller has left behind."""
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()


class Closing(ABC):
    """Closed at the end of its `with` block."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
