"""Waiting for something that a machine does in a later turn, such as having its rows on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Until:
    """Who waits, and for what; looked at whenever the machine was called."""

    def __init__(self) -> None:
        self.waiting: list[
            tuple[Callable[[], bool], asyncio.Future[None]]
        ] = []  # bound: who asks, the requests at once

    async def so(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        if not is_so():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.append((is_so, future))
            await future

    def look(self) -> None:
        """See for whom it is so."""
        waiting, self.waiting = self.waiting, []
        for is_so, future in waiting:
            if future.done():
                continue
            if is_so():
                future.set_result(None)
            else:
                self.waiting.append((is_so, future))
