"""One subscription to a topic: iterate over it, or have a callback called, one content after the other."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from roost.errors import TimedOut
from roost.pubsub.flips.port import BegunAnew, Missed, Revived, WentStale

if TYPE_CHECKING:
    from roost.host.topics.topics import Topics


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a topic; `number` is that of its last packet, `next_ms` when the next is due (0: nobody knows)."""

    topic: str
    number: int
    content: bytes
    next_ms: int
    signer: str
    arrived: int  # ns since 1970, by our clock


Item: TypeAlias = Content | WentStale | Revived | Missed | BegunAnew
Callback: TypeAlias = Callable[[Item], Awaitable[None] | None]


class TopicFeed:
    """What `subscribe` returns; it is there from the call on, until it is closed or the topics are left."""

    def __init__(self, topics: Topics, topic: str, callback: Callback | None, *, events: bool) -> None:
        self.topic: Final = topic
        self.events: Final = events
        self.waiting: Final[deque[Item]] = deque()  # bound: MAX_UNTAKEN, and what was under way
        self.subscribed = False
        self.closed = False
        self.failure = ""
        self._topics: Final = topics
        self._news: Final = asyncio.Event()
        self.calling: Final = None if callback is None else asyncio.ensure_future(self._call(callback))

    async def ready(self) -> None:
        """Wait until a publisher has answered; raises `TimedOut` if none does."""
        await self._topics.until(lambda: self.subscribed or self.closed or bool(self.failure))
        if self.failure:
            raise TimedOut(self.failure)

    def put(self, item: Item) -> None:
        """Have an item taken."""
        self.waiting.append(item)
        self._news.set()

    def fail(self, reason: str) -> None:
        """Nothing comes any more."""
        self.failure = reason
        self._news.set()

    def wake(self) -> None:
        """Have who waits for an item look whether something else has happened."""
        self._news.set()

    def abandon(self) -> None:
        """It was refused, and never began."""
        self.closed = True
        if self.calling is not None:
            self.calling.cancel()

    def close(self) -> None:
        """Unsubscribe; what waits is not given out any more."""
        if not self.closed:
            self.closed = True
            self._news.set()
            self._topics.drop(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        topics = self._topics
        while not (self.waiting or self.failure or self.closed or topics.closed):
            topics.check()
            self._news.clear()
            await self._news.wait()
        if self.closed or topics.closed:
            raise StopAsyncIteration
        if not self.waiting:
            raise TimedOut(self.failure)
        item = self.waiting.popleft()
        topics.taken(self)
        return item

    async def _call(self, callback: Callback) -> None:
        """Call for each item; one that fails ends the subscription, and so does a publisher that is not there."""
        try:
            async for item in self:
                done = callback(item)
                if inspect.isawaitable(done):
                    await done
        except Exception as error:  # noqa: BLE001  whatever it does, it is the application's
            self._topics.warn("%s: the subscription ends, and its callback is not called again: %r", self.topic, error)
            self.close()
