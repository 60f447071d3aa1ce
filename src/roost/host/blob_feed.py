"""One subscription in a group of blobs: iterate over it, or have a callback called, one item after the other."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from roost.pubsub.blobs.items import Item

if TYPE_CHECKING:
    from roost.host.blobs import BlobGroup

Callback: TypeAlias = Callable[[Item], Awaitable[None] | None]


class Feed:
    """What `subscribe` returns; it is there from the call on, until it is closed or the group is left."""

    def __init__(self, number: int, group: BlobGroup, callback: Callback | None) -> None:
        self.number: Final = number
        self.waiting: Final[deque[Item]] = deque()  # bound: MAX_UNTAKEN, and what was under way
        self.closed = False
        self.calling: Final = None if callback is None else asyncio.ensure_future(self._call(callback))
        self._group: Final = group
        self._in_hand: Item | None = None

    def acknowledge(self) -> None:
        """Have dealt with the item in hand, without asking for another one."""
        item, self._in_hand = self._in_hand, None
        if item is not None and not self._group.closed:
            self._group.act(lambda now: self._group.part.subscriber.taken(self.number, item, now))

    def close(self) -> None:
        """Unsubscribe; what waits is not given out any more. The item in hand has been dealt with."""
        if not self.closed:
            self.acknowledge()
            self.closed = True
            self._group.drop(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        self.acknowledge()
        await self._group.until(lambda: bool(self.waiting) or self.closed or self._group.closed)
        if self.closed or self._group.closed:
            raise StopAsyncIteration
        self._in_hand = self.waiting.popleft()
        return self._in_hand

    async def _call(self, callback: Callback) -> None:
        """Call for each item; one that fails has not been dealt with, and ends the subscription."""
        async for item in self:
            try:
                done = callback(item)
                if inspect.isawaitable(done):
                    await done
            except Exception as error:  # noqa: BLE001  whatever it does, it is the application's
                self._group.warn("%s: the callback failed, and is not called again: %r", item.name, error)
                self._in_hand = None
                self.close()
