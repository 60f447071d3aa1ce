"""Work that several may wait for: done once, however many ask for it meanwhile. One who stops waiting ends nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


class Joint(Generic[Key, Result]):
    """What is under way, by what it is for; bound: as many as wait."""

    def __init__(self) -> None:
        self._tasks: dict[Key, asyncio.Task[Result]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    async def do(self, key: Key, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Wait for the work under this key, begun now unless it is under way."""
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.ensure_future(work())
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))
        return await asyncio.shield(task)
