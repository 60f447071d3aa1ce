"""Waiting for something that a machine does in a later turn, such as having its rows on the disk.

Not for ever: a group that takes nothing would have everybody wait, until there is no room for who asks. What was done
is done by then, and is on the disk when the disk, or the group, can take it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from roost.errors import Unreachable

PATIENCE_S: Final = 30


class Until:
    """Who waits, and for what; looked at whenever the machine was called."""

    def __init__(self) -> None:
        self.waiting: list[
            tuple[Callable[[], bool], asyncio.Future[None]]
        ] = []  # bound: who asks, the requests at once

    async def so(self, is_so: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        """Wait until something is so; raises `Unreachable` after that time."""
        if not is_so():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.append((is_so, future))
            try:
                async with asyncio.timeout(patience_s):
                    await future
            except TimeoutError:
                raise Unreachable(f"it holds here, but is not kept after {patience_s} s: see the node's log") from None

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
