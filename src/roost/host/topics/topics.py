"""What people do with topics, whatever carries them: register, publish, subscribe, unregister.

`register` returns when the hash of the topic is known to be free, which takes some seconds, and `publish` when the
content is on the disk: then it goes to whoever asks, and a publisher that is killed still has it, and goes on behind
it. The store is opened with the first `register`; only one process may have it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from roost.errors import InvalidInput, Refused, RoostError
from roost.host.keeping import Keeper
from roost.host.topics.feed import Callback, Content, TopicFeed
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.pubsub.flips.hicn_binding import HicnFlips
from roost.pubsub.flips.ndn_binding import NdnFlips
from roost.pubsub.flips.port import (
    BegunAnew,
    Collided,
    Deliver,
    Missed,
    Published,
    Registered,
    Revived,
    Subscribed,
    SubscriptionEnded,
    WentStale,
)
from roost.pubsub.flips.publishing import MAX_UNSAVED
from roost.pubsub.flips.settings import Delivery, Following

MAX_UNTAKEN: Final = 256  # items of a feed that wait to be taken, before no more are asked for
ITEMS: Final = (Deliver, WentStale, Revived, Missed, BegunAnew)
TAKEN: Final = 409  # the status of a topic that another has


@dataclass(slots=True)
class _Wish:
    number: int | None = None
    refusal: str = ""


class Topics(ABC):
    """Topics of one machine of FLIPS; `HicnTopics` and `NdnTopics` carry them."""

    closed: bool

    def __init__(self, store: Path | None) -> None:
        self._store: Final = store
        self._contents: Keeper | None = None  # own_content_store
        self._registering: Final[dict[str, _Wish]] = {}  # bound: the machine's topics
        self._publishing: Final[dict[str, deque[_Wish]]] = {}  # bound: as above; each: MAX_UNSAVED
        self._entering: Final[WeakValueDictionary[str, asyncio.Lock]] = WeakValueDictionary()  # bound: who publishes
        self._feeds: Final[dict[str, list[TopicFeed]]] = {}  # bound: as many as are subscribed
        self._held: Final[set[str]] = set()  # topics of which no more is asked for; bound: as above

    # -- publishing

    async def register(self, topic: str, interval_ms: int = 0) -> int:
        """Make a topic ours, with content every `interval_ms`, 0 if nobody knows when; returns how many there were.

        Raises `Refused` if another publisher has the topic, or another topic its hash.
        """
        if topic in self._registering:
            raise InvalidInput(f"{topic} is being registered already")
        self._open_store()
        wish = self._registering[topic] = _Wish()
        try:
            self._command(lambda now: self.binding.flips.register(topic, interval_ms, now))
            await self._until_registered(topic, wish)
        finally:
            del self._registering[topic]
        if wish.refusal:
            raise Refused(wish.refusal, TAKEN)
        return wish.number or 0

    async def _until_registered(self, topic: str, wish: _Wish) -> None:
        """Wait until a topic is ours or refused; who waits no longer wants it no longer."""
        try:
            await self.until(lambda: wish.number is not None or bool(wish.refusal))
            if not wish.refusal:
                await self.attracted()
        except BaseException:
            if not self.closed and not wish.refusal:
                self.unregister(topic)
            raise

    def unregister(self, topic: str) -> None:
        """Publish a topic no longer; others may register it. Who still waits in `publish` gets a `RoostError`."""
        self._command(lambda now: self.binding.flips.unregister(topic, now))
        for wish in self._publishing.pop(topic, ()):
            wish.refusal = f"{topic} was unregistered before its content was on the disk: wait for `publish` first"
        self.wake()

    async def publish(self, topic: str, content: bytes) -> int:
        """Publish content of any size up to a MiB; returns its number when it is on the disk."""
        entering = self._entering.setdefault(topic, asyncio.Lock())
        async with entering:  # who came first is first, however often there is room for a moment
            await self.until(lambda: len(self._publishing.get(topic, ())) < MAX_UNSAVED)
            wish = self._publish(topic, content)
        await asyncio.sleep(0)  # who publishes in a loop lets others have their turn
        await self.until(lambda: wish.number is not None or bool(wish.refusal))
        if wish.refusal:
            raise RoostError(wish.refusal)
        return wish.number or 0

    def _publish(self, topic: str, content: bytes) -> _Wish:
        wish = _Wish()
        waiting = self._publishing.setdefault(topic, deque())
        waiting.append(wish)
        try:
            self._command(lambda now: self.binding.flips.publish(topic, content, now))
        except BaseException:
            waiting.remove(wish)
            if not waiting:
                del self._publishing[topic]
            raise
        return wish

    # -- subscribing

    def subscribe(
        self,
        topic: str,
        callback: Callback | None = None,
        *,
        following: Following | None = None,
        latest: bool = False,
        events: bool = False,
    ) -> TopicFeed:
        """Follow a topic, from its latest content on; `async for` over it, or a `callback`.

        `latest` passes over content that was missed, instead of asking for all of it. With `events` the feed has also
        `WentStale`, `Revived`, `Missed` and `BegunAnew`. How the first subscription of a topic is kept (`following`)
        counts for all.
        """
        how = following or Following(Delivery.LATEST if latest else Delivery.COMPLETE)
        feeds = self._feeds.setdefault(topic, [])
        feed = TopicFeed(self, topic, callback, events=events)
        feed.subscribed = any(each.subscribed for each in feeds)
        feeds.append(feed)  # first: a topic of our own is answered at once
        try:
            self._command(lambda now: self.binding.flips.subscribe(topic, now, how))
        except BaseException:
            feed.abandon()
            feeds.remove(feed)
            if not feeds:
                del self._feeds[topic]
            raise
        return feed

    def drop(self, feed: TopicFeed) -> None:
        """Have a feed no longer; use `feed.close`."""
        feeds = self._feeds.get(feed.topic, [])
        if feed in feeds:
            feeds.remove(feed)
            if not feeds:
                del self._feeds[feed.topic]
            if not self.closed and not feed.failure:
                self._command(lambda now: self.binding.flips.unsubscribe(feed.topic, now))
            self.taken(feed)
        self.wake()

    def taken(self, feed: TopicFeed) -> None:
        """Hear that an item was taken, or its feed closed: there may be room for more."""
        topic = feed.topic
        if topic not in self._held or self.closed or feed.failure:
            return
        if all(len(each.waiting) < MAX_UNTAKEN // 2 for each in self._feeds.get(topic, ())):
            self._held.discard(topic)
            self._hold(topic, held=False)

    def warn(self, text: str, *facts: object) -> None:
        """Say something in the log."""
        raise NotImplementedError

    # -- what carries them

    @property
    @abstractmethod
    def binding(self) -> HicnFlips | NdnFlips:
        """The machine, and what it speaks."""

    @abstractmethod
    def act(self, command: Callable[[int], list[Effect]]) -> None:
        """Give the machine a command, and execute what comes of it."""

    @abstractmethod
    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the machine tells makes it true."""

    @abstractmethod
    def check(self) -> None:
        """Raise `RoostError` if nothing more can come."""

    @abstractmethod
    async def attracted(self) -> None:
        """Wait until the forwarder sends the Interests for our topics here."""

    @abstractmethod
    def wake(self) -> None:
        """Have those who wait look again."""

    @abstractmethod
    def _saved(self, event: Saved) -> None: ...

    @abstractmethod
    def _failed(self, error: RoostError) -> None: ...

    def note(self, effect: Effect) -> bool:
        """Take in what the machine tells; whether it was for an application.

        An item wakes who waits for it, and need wake nobody else.
        """
        if isinstance(effect, Registered):
            self._registering[effect.topic].number = effect.counter
        elif isinstance(effect, Collided):
            self._registering[effect.topic].refusal = effect.text
        elif isinstance(effect, Published):
            waiting = self._publishing[effect.topic]
            waiting.popleft().number = effect.number
            if not waiting:
                del self._publishing[effect.topic]
        elif isinstance(effect, Deliver):
            self._deliver(effect)
        elif isinstance(effect, (WentStale, Revived, Missed, BegunAnew)):
            for feed in self._feeds.get(effect.topic, []):
                if feed.events:
                    feed.put(effect)
        elif isinstance(effect, Subscribed):
            for feed in self._feeds.get(effect.topic, []):
                feed.subscribed = True
        elif isinstance(effect, SubscriptionEnded):
            self._held.discard(effect.topic)
            for feed in self._feeds.pop(effect.topic, []):
                feed.fail(effect.reason)
        else:
            return False
        return True

    def wake_feeds(self) -> None:
        """Have all who wait for items look again."""
        for feeds in self._feeds.values():
            for feed in feeds:
                feed.wake()

    @property
    def is_kept(self) -> bool:
        """Whether what is published goes to the disk."""
        return self._store is not None

    def save(self, effect: Save) -> None:
        """Keep something, in the file there is."""
        assert self._contents is not None  # noqa: S101  nothing is saved before something is registered
        self._contents.save(effect)

    async def close_store(self) -> None:
        """Let the file go; returns when it is free for others."""
        if self._contents is not None:
            await self._contents.close()

    def _deliver(self, effect: Deliver) -> None:
        feeds = self._feeds.get(effect.topic, [])
        item = Content(effect.topic, effect.high, effect.content, effect.next_ms, effect.signer, self.now())
        for feed in feeds:
            feed.put(item)
        if effect.topic not in self._held and any(len(feed.waiting) >= MAX_UNTAKEN for feed in feeds):
            self._held.add(effect.topic)
            self._hold(effect.topic, held=True)

    @abstractmethod
    def now(self) -> int:
        """The time."""

    def _hold(self, topic: str, *, held: bool) -> None:
        self._command(lambda now: self.binding.flips.hold(topic, now, held=held))

    def _command(self, command: Callable[[int], list[Effect]]) -> None:
        self.act(lambda now: self.binding.act(command(now), now))

    def _open_store(self) -> None:
        if self._contents is None:
            self._contents = Keeper(self._store, self._saved, self._failed)
            self.binding.flips.store.restore(self._contents.found)
            self.binding.flips.store.is_kept = self.is_kept
