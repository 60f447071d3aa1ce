"""Groups of streams without `await`, for notebooks: `group = face.group(…)` on a face of `roost.connect_sync`.

    with group.panel("Panel1") as panel:
        panel.publish("Heater/Voltage", 229.5, unit="V")
    with group.subscribe("+/Heater/#", since="24h") as readings:
        for reading in readings: ...                       waits for the next one; `take(timeout_s=1)` does not for long

As `roost.host.streams`, waited for on the thread of `roost.host.background`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any, Final, Self

from roost.errors import Disconnected
from roost.host.background import Closing
from roost.host.blocking_group import Run
from roost.host.blocking_inserting import SyncInserter
from roost.host.publishing import Readable, RunningPanel
from roost.host.streams import StreamGroup, Wanted
from roost.host.subscribing import Subscription
from roost.host.watch import Watch
from roost.naming import Name, NameLike
from roost.pubsub.consumers.arrival import Arrival
from roost.repo.catalogue import Catalogue


class SyncPanel(Closing):
    """A panel; `close` it, or use it with `with`."""

    def __init__(self, panel: RunningPanel, run: Run) -> None:
        self._panel: Final = panel
        self._run: Final = run

    @property
    def waiting(self) -> int:
        """How many readings no repo has confirmed yet."""
        return self._panel.waiting

    def publish(self, stream: NameLike, value: Readable, **options: Any) -> int:  # noqa: ANN401  `RunningPanel.publish`'s
        """Publish a value; returns its number once it is on this panel's disk."""
        return self._run(self._panel.publish(stream, value, **options))

    def publish_many(self, readings: Iterable[tuple[NameLike, Readable]]) -> list[int]:
        """Publish many at once, all or none."""
        return self._run(self._panel.publish_many(readings))

    def describe(self, stream: NameLike, **options: Any) -> None:  # noqa: ANN401  those of `RunningPanel.describe`
        """Say what a stream is."""
        self._run(self._panel.describe(stream, **options))

    def flush(self) -> None:
        """Wait until no reading waits for a repo."""
        self._run(self._panel.flush())

    def close(self) -> None:
        """Publish no more; harmless when the face is closed already."""

        async def close() -> None:
            await self._panel.finish()
            await self._panel.close()

        with contextlib.suppress(Disconnected):
            self._run(close())


class SyncSubscription(Closing):
    """A subscription; iterate over it, and `close` it, or use it with `with`."""

    def __init__(self, subscription: Subscription, run: Run) -> None:
        self._subscription: Final = subscription
        self._run: Final = run

    def take(self, timeout_s: float | None = None) -> Arrival | None:
        """Wait for the next reading; None if there was none for so long, or the face is closed."""

        async def take() -> Arrival | None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    return await anext(self._subscription, None)
            return None

        return self._run(take())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Arrival:
        reading = self.take()
        if reading is None:
            raise StopIteration
        return reading

    def close(self) -> None:
        """Be done with the reading in hand, and end; harmless when the face is closed already."""

        async def close() -> None:
            await self._subscription.finish()
            await self._subscription.close()

        with contextlib.suppress(Disconnected):
            self._run(close())


class SyncWatch(Closing):
    """A group that is watched; `close` it, or use it with `with`. Several threads may use it."""

    def __init__(self, watch: Watch, run: Run) -> None:
        self._watch: Final = watch
        self._run: Final = run

    def ready(self, timeout_s: float | None = None) -> bool:
        """Wait until a repo has said all it has; whether it did within the time."""
        return self._run(self._watch.ready(timeout_s))

    def changed(self, timeout_s: float | None = None) -> bool:
        """Wait until a number has risen since `numbers` was called; whether one did within the time."""
        return self._run(self._watch.changed(timeout_s))

    def numbers(self) -> dict[Name, int]:
        """The highest number of every watched stream."""

        async def numbers() -> dict[Name, int]:
            return self._watch.numbers()

        return self._run(numbers())

    def news(self) -> dict[Name, int]:
        """Those of the numbers that have risen since this was called; at first all of them."""

        async def news() -> dict[Name, int]:
            return self._watch.news()

        return self._run(news())

    def holes(self) -> dict[Name, list[tuple[int, int]]]:
        """The numbers up to the highest that the nearest repo neither holds nor dropped."""
        return self._run(self._watch.holes())

    def boundaries(self, time_ns: int) -> dict[Name, int]:
        """The lowest number of every watched stream at or after a time, or the one behind its highest."""
        return self._run(self._watch.boundaries(time_ns))

    def times(self, stream: Name, low: int, high: int) -> dict[int, int]:
        """The event times of readings low to high of a watched stream, as the nearest repo has them."""
        return self._run(self._watch.times(stream, low, high))

    def close(self) -> None:
        """Watch no longer; harmless when the face is closed already."""
        with contextlib.suppress(Disconnected):
            self._run(self._watch.close())


class SyncStreamGroup:
    """A group of streams; made by `SyncFace.group`."""

    def __init__(self, group: StreamGroup, run: Run) -> None:
        self._group: Final = group
        self._run: Final = run

    def panel(self, name: str, **options: Any) -> SyncPanel:  # noqa: ANN401  those of `StreamGroup.panel`
        """Publish as a panel."""
        return SyncPanel(self._run(self._group.panel(name, **options).open()), self._run)

    def subscribe(self, *wishes: Wanted, **options: Any) -> SyncSubscription:  # noqa: ANN401  `StreamGroup.subscribe`'s
        """Subscribe."""
        return SyncSubscription(self._run(self._group.subscribe(*wishes, **options).open()), self._run)

    def watch(self, *wishes: Wanted) -> SyncWatch:
        """Watch the highest numbers, live."""
        return SyncWatch(self._run(self._group.watch(*wishes).open()), self._run)

    def latest(self, stream: NameLike) -> Arrival | None:
        """The newest reading of a stream."""
        return self._run(self._group.latest(stream))

    def read(self, stream: NameLike, low: int = 1, high: int | None = None) -> list[Arrival]:
        """The readings low to high of a stream, or to the newest."""
        return self._run(self._group.read(stream, low, high))

    def streams(self, prefix: NameLike | None = None) -> dict[Name, int]:
        """All streams of the group, or at or below a prefix, each with its highest number."""
        return self._run(self._group.streams(prefix))

    def catalogue(self) -> Catalogue:
        """What the panels of the group say about their streams."""
        return self._run(self._group.catalogue())

    def inserter(self, panel: str, **options: Any) -> SyncInserter:  # noqa: ANN401  those of `StreamGroup.inserter`
        """Have packets kept that a panel's key has signed."""
        return SyncInserter(self._run(self._group.inserter(panel, **options).open()), self._run)
