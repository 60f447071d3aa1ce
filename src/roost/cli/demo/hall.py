"""The hall: six panels that publish what ninety sensors measure, and a consumer that holds them to their word.

The consumer subscribes to all ninety streams from their first reading on. So it sees whether every reading that was
acknowledged is there, once, in order, and as it was measured: what was published is compared with what came.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.demo.keys import Keys
from roost.cli.demo.processes import RepoProcess
from roost.cli.demo.promises import Measured
from roost.cli.demo.tally import Debt
from roost.errors import Refused, RoostError
from roost.host.client import connect
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.catalogue import catalogue_of
from roost.sim import deployment
from roost.sim.physics import Climate

if TYPE_CHECKING:
    from roost.host.publishing import RunningPanel
    from roost.host.streams import StreamGroup
    from roost.pubsub.consumers.arrival import Arrival

ANSWER_S: Final = 10.0
WISH: Final = "+/+/+"
CATCH_UP_S: Final = 120.0
REMEMBERED: Final = 4_000  # values of a stream that are compared with what comes; bound of what is on its way
LATE: Final = 90  # readings of which the lateness is told
_DIGITS: Final = {"temp": 2, "hum": 1, "light": 0}


class Hall:
    """Its panels and its consumer."""

    def __init__(self, climate: Climate) -> None:
        self.rounds = 0
        self.safe: Final = dict.fromkeys(deployment.all_streams(), 0)  # up to which number a repo has them on its disk
        self.group: StreamGroup
        self.seen: Final[dict[Name, int]] = {}
        self.refused = 0  # times that a true reading was, and was sent again
        self.reason = ""
        self.wrong = 0  # out of order, twice, or another value than was published
        self.lateness_ms: Final[deque[float]] = deque(maxlen=LATE)
        self._climate: Final = climate
        self._panels: Final[dict[str, RunningPanel]] = {}
        self._said: Final[dict[Name, dict[int, float]]] = {stream: {} for stream in deployment.all_streams()}
        self._debt: Final = Debt()

    async def open(self, keys: Keys, repos: Sequence[RepoProcess], folder: Path, stack: AsyncExitStack) -> None:
        """Connect panels, each to another repo first, and the consumer."""
        for index, name in enumerate(deployment.PANELS):
            nearest = [repos[(index // 2 + turn) % len(repos)].uri for turn in range(len(repos))]
            face = await stack.enter_async_context(
                connect(nearest, verifier=keys.verifier(), signer=keys.of(deployment.panel(name).name))
            )
            opening = face.group(deployment.GROUP.name).panel(name, folder=folder / name)
            self._panels[name] = await stack.enter_async_context(opening)
        consumer = await stack.enter_async_context(connect([repo.uri for repo in repos], verifier=keys.verifier()))
        self.group = consumer.group(deployment.GROUP.name)

    async def describe(self, repos: Sequence[RepoProcess], interval_ms: int) -> int:
        """Have the panels say what they measure, and wait until every repo has heard it; how many streams there are."""
        for name, panel in self._panels.items():
            for each in deployment.descriptions(name, interval_ms):
                await panel.describe(each.stream, unit=each.unit, brick=each.brick, interval_ms=each.interval_ms)
        wanted = {catalogue_of(panel.name): 15 for panel in self._panels.values()}
        for repo in repos:
            async with asyncio.timeout(CATCH_UP_S):
                while not wanted.items() <= (await self.group.streams(repo=repo.name)).items():  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
        return len(await self.group.catalogue())

    async def consume(self) -> None:
        """Take all that comes, for ever."""
        async with self.group.subscribe(WISH, since=1) as subscription:
            async for reading in subscription:
                self.take(reading)

    def take(self, reading: Arrival) -> None:
        """Check one: it has to be the next of its stream, and what was measured."""
        said = self._said.get(reading.stream, {}).pop(reading.number, None)
        if reading.number != self.seen.get(reading.stream, 0) + 1 or said != reading.value:
            self.wrong += 1
        self.seen[reading.stream] = max(reading.number, self.seen.get(reading.stream, 0))
        self.lateness_ms.append(reading.lateness_ns / 1e6)

    async def publish(self) -> None:
        """One reading of each of the ninety streams."""
        number = self.rounds + 1
        for name, panel in self._panels.items():
            readings = []
            for stream in deployment.streams(name):
                metric = stream.at(-1).value.decode()
                conditions = self._climate.of(stream.at(-2).value.decode())
                value = round(getattr(conditions, metric), _DIGITS[metric])
                kept = self._said[stream]
                kept[number] = value
                if len(kept) > REMEMBERED:
                    kept.pop(next(iter(kept)))
                readings.append((stream, panel.reading(value, unit=deployment.UNITS[metric])))
            await panel.publish_many(readings)
        self.rounds = number

    @property
    def acknowledged(self) -> int:
        """How many readings are safe."""
        return sum(self.safe.values())

    def look(self) -> None:
        """Take in what was acknowledged by now: a panel keeps a reading until a repo has signed for it."""
        for name, panel in self._panels.items():
            kept = panel.part.outbox
            refused = {each.value for each, _ in panel.refused()}
            if refused:  # a forger who speaks in the name of this panel may have got its readings refused, too
                self.refused += len(refused)
                self.reason = panel.refused()[-1][1]
                panel.retry_refused()
            for stream in deployment.streams(name):
                number = self.safe[stream]
                while number < self.rounds:
                    following = numbered(stream, number + 1).value
                    if kept.get(following) is not None or following in refused:
                        break
                    number += 1
                self.safe[stream] = number
        owed = sum(max(0, number - self.seen.get(stream, 0)) for stream, number in self.safe.items())
        self._debt.look(owed, time.monotonic())

    async def finish(self) -> None:
        """Wait until repos have confirmed all."""
        for panel in self._panels.values():
            while panel.waiting or panel.refused():
                self.look()
                with suppress(Refused):
                    await panel.flush()
        self.look()

    def measured(self) -> Measured:
        """What the consumer found."""
        self.look()
        count = sum(min(self.seen.get(stream, 0), number) for stream, number in self.safe.items())
        early = sum(self.seen.values()) - count  # a consumer may be told sooner than a panel that its reading is safe
        detail = (
            f"{count} readings consumed of {self.acknowledged} acknowledged by a repo, "
            f"{self.wrong} out of order, twice or altered, {self._debt.missing} on their way"
        )
        if early:
            detail += f", and {early} more consumed that are not acknowledged yet"
        if self.refused:
            detail += f"; {self.refused} times refused at first and sent again: {self.reason}"
        behind = min(self.safe, key=lambda stream: self.seen.get(stream, 0) - self.safe[stream])
        if self.seen.get(behind, 0) < self.safe[behind]:
            detail += f" ({behind}: {self.seen.get(behind, 0)} of {self.safe[behind]})"
        return Measured(self.wrong, self._debt.missing, self._debt.stuck_s(time.monotonic()), detail)


class Copies:
    """How far each repo has come, as it says itself."""

    def __init__(self, hall: Hall, repos: Sequence[RepoProcess]) -> None:
        self._hall: Final = hall
        self._repos: Final = repos
        self._held: Final[dict[str, int]] = {}
        self._debts: Final = {repo.name: Debt() for repo in repos}

    async def look(self) -> None:
        """Ask all that run."""
        self._hall.look()
        wanted = self._hall.safe.copy()
        for repo in self._repos:
            if not repo.pid:
                continue
            try:
                async with asyncio.timeout(ANSWER_S):
                    found = await self._hall.group.streams(repo=repo.name)
            except (RoostError, TimeoutError):
                continue  # it starts, or it is gone: what it lacks is told as it was
            held = sum(min(number, found.get(stream, 0)) for stream, number in wanted.items())
            self._held[repo.name] = held
            self._debts[repo.name].look(sum(wanted.values()) - held, time.monotonic())

    def measured(self) -> Measured:
        """What they lack."""
        now = time.monotonic()
        held = ", ".join(f"{name} has {count}" for name, count in self._held.items())
        total = self._hall.acknowledged
        missing = sum(debt.missing for debt in self._debts.values())
        stuck_s = max(debt.stuck_s(now) for debt in self._debts.values())
        return Measured(0, missing, stuck_s, f"{held or 'not asked yet'}, of {total} acknowledged readings of the hall")
