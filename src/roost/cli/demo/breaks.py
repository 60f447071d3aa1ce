"""What can be broken, and how each thing is whole again: by itself after a while, or as soon as somebody mends it.

ready ──break──▶ active ──a while, or mend──▶ mending ──everything is there again──▶ ready
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from roost.cli.demo.journal import Journal
from roost.errors import InvalidInput, RoostError

READY: Final = "ready"
ACTIVE: Final = "active"
MENDING: Final = "mending"
WHOLE_S: Final = 180.0  # how long one may take to be whole again before that is told
LOOK_S: Final = 0.2


class Unready(InvalidInput):
    """It is broken already, or not broken."""


class Break(ABC):
    """One thing that can be broken."""

    id: str
    title: str
    text: str

    def __init__(self, journal: Journal, lasts_s: float) -> None:
        self.state = READY
        self.done = 0  # times that it was broken and whole again
        self.failed = 0  # times that it was not whole again in time
        self.over_ns = 0  # when it was over the last time
        self.does = ""
        self._lasts_s: Final = lasts_s
        self._say: Final = journal.say
        self._mended: Final = asyncio.Event()

    @abstractmethod
    async def harm(self) -> str:
        """Break it; what was done."""

    @abstractmethod
    async def heal(self) -> str:
        """Mend it; what was done."""

    @abstractmethod
    async def whole(self) -> str:
        """Wait until nothing of it is left, and say how that shows."""

    def mend(self) -> None:
        """Do not wait any longer."""
        if self.state != ACTIVE:
            raise Unready(f"{self.title}: nothing is broken there that could be mended")
        self._mended.set()

    async def play(self) -> None:
        """Break it, and see that it is whole again."""
        self._mended.clear()
        try:
            self._tell("BREAK", await self.harm())
            with suppress(TimeoutError):
                async with asyncio.timeout(self._lasts_s):
                    await self._mended.wait()
            self.state = MENDING
            self._tell("mend", await self.heal())
            began = time.monotonic()
            async with asyncio.timeout(WHOLE_S):
                told = await self.whole()
            self._tell("whole", f"{told} ({time.monotonic() - began:.1f} s)")
            self.done += 1
        except TimeoutError:
            self.failed += 1
            self._tell("FAILED", f"{self.title}: not whole again after {WHOLE_S:g} s")
        except (RoostError, OSError) as error:
            self.failed += 1
            self._tell("FAILED", f"{self.title}: {error}")
        finally:
            self.state = READY
            self.over_ns = time.time_ns()

    def told(self) -> dict[str, object]:
        """As the page gets it."""
        return {"id": self.id, "title": self.title, "text": self.text, "state": self.state, "does": self.does}

    def _tell(self, what: str, text: str) -> None:
        self.does = text
        self._say(what, text)


class Breaks:
    """All of them, and those that are being played."""

    def __init__(self, breaks: Iterable[Break]) -> None:
        self.all: Final = {each.id: each for each in breaks}
        self._tasks: Final[set[asyncio.Task[None]]] = set()  # bound: one for each

    @property
    def is_calm(self) -> bool:
        """Whether nothing is broken."""
        return all(each.state == READY for each in self.all.values())

    @property
    def over_ns(self) -> int:
        """When the last thing that was broken was whole again, or given up."""
        return max(each.over_ns for each in self.all.values())

    async def calm(self) -> None:
        """Wait until nothing is broken; it is so when this returns."""
        while not self.is_calm:
            await asyncio.wait(self._tasks)

    def begin(self, name: str) -> asyncio.Task[None]:
        """Break one; one at a time, or nobody could tell what came of what."""
        for each in self.all.values():
            if each.state != READY:
                raise Unready(
                    f"{each.title} is under way ({each.state}): one thing at a time, so that its effect shows"
                )
        self.all[name].state = ACTIVE
        task = asyncio.create_task(self.all[name].play())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Stop playing."""
        for task in self._tasks.copy():
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again."""
    while not await done():  # noqa: ASYNC110  it is asked, and does not tell
        await asyncio.sleep(LOOK_S)
