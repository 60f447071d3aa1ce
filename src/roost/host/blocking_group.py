"""Sync groups without `await`: `with face.join("/group") as group`, on a face of `roost.connect_sync`.

    number = group.produce("/me")                    as `roost.host.joining`, waited for
    group.announce("/me", number)
    for learned in group: ...                        waits for the next one; ends when the group is left
    while learned := group.learn(timeout_s=1): ...   None when there was nothing for so long

Everything is done on the thread of `roost.host.background`; a group may be used from several threads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from roost.errors import Disconnected
from roost.host.background import Closing
from roost.host.joining import Followed, Joined, Reached
from roost.naming import Name, NameLike
from roost.sync import Learned, NameRange, Stream

T = TypeVar("T")


class Run(Protocol):
    """Does work on the background thread and waits for it."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


class SyncGroup(Closing, Generic[Reached]):
    """What `SyncJoined` and `SyncFollowed` have in common."""

    def __init__(self, group: Reached, run: Run) -> None:
        self._group: Final = group
        self._run: Final = run

    @property
    def name(self) -> Name:
        """The group's name."""
        return self._group.name

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream, ours included."""

        async def latest() -> Mapping[Stream, int]:
            return dict(self._group.latest())

        return self._run(latest())

    def learn(self, timeout_s: float | None = None) -> Learned | None:
        """Wait for the next news; None if there were none for so long, or the group was left."""

        async def learn() -> Learned | None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    return await anext(self._group, None)
            return None

        return self._run(learn())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Learned:
        learned = self.learn()
        if learned is None:
            raise StopIteration
        return learned

    def close(self) -> None:
        """Leave the group; harmless when the face is closed already, which has left it."""
        with contextlib.suppress(Disconnected):
            self._run(self._group.close())


class SyncJoined(SyncGroup[Joined]):
    """A group we are a member of."""

    def produce(self, stream: NameLike) -> int:
        """Make a stream ours; returns the number to go on with."""
        return self._run(self._group.produce(stream))

    def announce(self, stream: NameLike, high: int) -> None:
        """Tell the group that a stream of ours has come to `high`, once that is on the disk."""
        self._run(self._group.announce(stream, high))


class SyncFollowed(SyncGroup[Followed]):
    """A producer's streams, of which we follow some."""

    def subscribe(self, wanted: NameLike | NameRange) -> None:
        """Follow more; what there is of it already is learnt too."""

        async def subscribe() -> None:
            self._group.subscribe(wanted)

        self._run(subscribe())

    def unsubscribe(self, wanted: NameLike | NameRange) -> None:
        """Follow it no longer."""

        async def unsubscribe() -> None:
            self._group.unsubscribe(wanted)

        self._run(unsubscribe())

    def available(self) -> Mapping[Name, int]:
        """Every stream the producer has, and its number, as it said when we last asked for all."""

        async def available() -> Mapping[Name, int]:
            return self._group.available()

        return self._run(available())
