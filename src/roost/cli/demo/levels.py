"""What is made of the readings: the hierarchy pipeline on local Spark, and its results as they arrive.

The pipeline is a process of its own (`roost pipeline run`) with keys of its own, which may publish results and nothing
else. Rooms, floors, the building and the campus are groups like any other, so whoever shows them subscribes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.demo.keys import Keys
from roost.cli.demo.processes import VERB, RepoProcess
from roost.cli.demo.promises import Measured
from roost.cli.demo.tally import Debt
from roost.errors import BadConfig, RoostError
from roost.host.client import connect
from roost.sim import deployment

if TYPE_CHECKING:
    from roost.host.streams import StreamGroup
    from roost.pubsub.consumers.arrival import Arrival

Say = Callable[[str, str], None]

WINDOW: Final = "5s"
START_S: Final = 600.0  # Spark, the first time and on a slow machine
WINDOWS: Final = 2  # of the campus, which a run with a check waits for
REMEMBERED: Final = 2_000  # windows
LAST: Final = "Report"
SHOWN: Final = {"Rooms": "room1", "Floors": "floor1", "Building": "Hall", "Report": "campus"}
METRIC: Final = "temp_mean"
_CALLS: Final = (" ", "\t", "Traceback", "BrokenPipe")  # of Python's and of Java's, between an error and its cause


class PipelineProcess:
    """`roost pipeline run`, whose words are passed on until it is to stop."""

    def __init__(self, keys: Keys, folder: Path, shown: Path, repos: Sequence[RepoProcess], say: Say) -> None:
        self._home: Final = folder / "job"
        self._shown: Final = shown  # the home of the node with the page, which looks there for pipelines
        self._file: Final = folder / "hall.yaml"
        self._repos: Final = repos
        self._say: Final = say
        self._log: Final = folder / "pipeline.log"
        self._process: asyncio.subprocess.Process | None = None
        self._telling: asyncio.Task[None] | None = None
        keys.save([group.panel(deployment.JOB).name for group in deployment.RESULTS], self._home)
        self._file.write_text(_hierarchy(), encoding="utf-8")

    async def start(self) -> None:
        """Start it; what it says is passed on, and how it goes on is on the page."""
        (self._shown / "pipelines").symlink_to(self._home / "pipelines")
        words = [word for repo in self._repos for word in ("--repos", repo.uri)]
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", VERB, "pipeline", "run", str(self._file), "--since", "earliest", *words),
                env={**os.environ, "ROOST_HOME": str(self._home)},
                stdout=log,
                stderr=asyncio.subprocess.PIPE,
            )
        self._telling = asyncio.create_task(self._tell(self._process))

    async def stop(self) -> None:
        """Ask it to stop, and wait."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()
        if self._telling is not None:
            await self._telling

    def check(self) -> None:
        """Raise if it has ended by itself."""
        if self._process is not None and self._process.returncode is not None:
            raise RoostError(f"the pipeline has ended by itself, with status {self._process.returncode}")

    async def _tell(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # noqa: S101  it was asked for
        while line := await process.stderr.readline():
            text = line.decode(errors="replace").rstrip().removesuffix("; stop with Ctrl-C")  # it stops with the demo
            if self._process is not None and text and not text.startswith(_CALLS):  # how it is torn down is no news
                self._say("spark", text)


class Levels:
    """The results as they arrive, whether each window has all of its readings by now, and whether more will come."""

    def __init__(self, say: Say, check: Callable[[], None]) -> None:
        self.newest: Arrival | None = None  # of the windows of the campus that are whole, the one that began last
        self.ended = ""  # how the pipeline ended, if it did
        self.whole = 0
        self.corrected = 0  # windows that were not whole at first
        self._windows: Final[dict[int, tuple[int, int]]] = {}  # of the campus: received, expected; bound: REMEMBERED
        self._debt: Final = Debt()
        self._say: Final = say
        self._check: Final = check
        self._told: Final[set[str]] = set()

    async def follow(self, group: StreamGroup, device: str, *, is_last: bool) -> None:
        """Take all results of one level, for ever."""
        async for reading in group.subscribe(f"+/{device}/{METRIC}", since=1):
            counts = {value.name: value.value for value in reading.values if isinstance(value.value, int)}
            received, expected = counts.get("received", 0), counts.get("expected", 0)
            if device not in self._told:
                self._told.add(device)
                mean = next((value.value for value in reading.values if not value.name), None)
                value = f"{mean:.2f} °C" if isinstance(mean, int | float) else "no value"
                self._say("pipeline", f"first result of {device}: {METRIC} {value}, {received} of {expected} readings")
            if is_last:
                self.take(reading, received, expected)

    def take(self, reading: Arrival, received: int, expected: int) -> None:
        """Take in what a window of the campus has."""
        before = self._windows.pop(reading.event_time, None)
        self._windows[reading.event_time] = (received, expected)
        if len(self._windows) > REMEMBERED:
            del self._windows[next(iter(self._windows))]
        if expected and received == expected:
            if self.newest is None or reading.event_time > self.newest.event_time:
                self.newest = reading
            if before is None or before[0] < before[1]:
                self.whole += 1
                self.corrected += before is not None

    def is_whole_since(self, time_ns: int) -> bool:
        """Whether some windows are whole, and one of them began then or later."""
        return self.whole >= WINDOWS and self.newest is not None and self.newest.event_time >= time_ns

    def look(self) -> None:
        """See whether the pipeline still runs; if it has ended, nothing will come any more."""
        if self.ended:
            return
        try:
            self._check()
        except RoostError as error:
            self.ended = str(error)
            self._say("FAILED", self.ended)

    def measured(self) -> Measured:
        """How many are whole."""
        self.look()
        lacking = sum(received < expected for received, expected in self._windows.values())
        self._debt.look(lacking, time.monotonic())
        detail = f"{self.whole} windows of the campus whole, {self.corrected} of them corrected, {lacking} not yet"
        detail += f"; {self.ended}" if self.ended else ""
        return Measured(int(bool(self.ended)), lacking, self._debt.stuck_s(time.monotonic()), detail)


async def open_levels(
    keys: Keys, repos: Sequence[RepoProcess], stack: AsyncExitStack, say: Say, check: Callable[[], None]
) -> Levels:
    """Subscribe to one stream of each level."""
    levels = Levels(say, check)
    face = await stack.enter_async_context(connect([repo.uri for repo in repos], verifier=keys.verifier()))
    for group in deployment.RESULTS:
        level = group.systems[-1]
        following = levels.follow(face.group(group.name), SHOWN[level], is_last=level == LAST)
        task = asyncio.create_task(following)
        stack.callback(task.cancel)
    return levels


async def traced(keys: Keys, newest: Arrival, repos: Sequence[RepoProcess]) -> tuple[bool, str]:
    """Follow one result back to the readings of the sensors, and verify all of them."""
    from roost.pipeline.ancestry import trace

    async with connect([repo.uri for repo in repos], verifier=keys.verifier()) as face:
        ancestry = await trace(face, newest.data.name)
    good = ancestry.is_sound and ancestry.is_whole
    verdict = "all verified" if good else "NOT all verified"
    return good, f"{newest.data.name} goes back to {ancestry.raw} readings of sensors, {verdict}"


def hindrance() -> str:
    """Why Spark cannot run here, and what to do about it; empty if it can."""
    from roost.pipeline.java import find_java

    try:
        find_java()
    except BadConfig as error:
        return str(error)
    return ""


def _hierarchy() -> str:
    from roost.pipeline.hierarchy import Comfort, Measures, hierarchy
    from roost.pipeline.yaml_form import dumps

    floors = {
        room: f"floor{deployment.floor_of(name)}" for name in deployment.PANELS for room in deployment.rooms(name)
    }
    measures = Measures(deployment.UNITS, ranges={"temp": (10.0, 35.0)}, spread={"temp": 3.0}, comfort=Comfort())
    raw, campus = str(deployment.GROUP.name), str(deployment.RESULTS[-1].name)
    return dumps(hierarchy(raw, floors, measures, window=WINDOW, deadline=WINDOW, interval="500ms", campus=campus))
