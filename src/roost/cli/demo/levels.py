"""What is made of the readings: the hierarchy pipeline on local Spark, and its results as they arrive.

The pipeline is a process of its own (`roost pipeline run`) with keys of its own, which may publish results and nothing
else. Rooms, floors, the building and the campus are groups like any other, so whoever shows them subscribes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.demo.keys import Keys
from roost.cli.demo.processes import VERB, RepoProcess
from roost.errors import BadConfig, RoostError
from roost.host.client import connect
from roost.machine import SECOND
from roost.sim import deployment

if TYPE_CHECKING:
    from roost.pubsub.consumers.arrival import Arrival

Say = Callable[[str, str], None]

WINDOW: Final = "5s"
START_S: Final = 600.0  # Spark, the first time and on a slow machine
WINDOWS: Final = 2  # of the campus, which are waited for
SHOWN: Final = {"Rooms": "room1", "Floors": "floor1", "Building": "Hall", "Report": "campus"}
METRIC: Final = "temp_mean"
_CALLS: Final = (" ", "\t", "Traceback", "BrokenPipe")  # of Python's and of Java's, between an error and its cause


class PipelineProcess:
    """`roost pipeline run`, whose words are passed on until it is to stop."""

    def __init__(self, keys: Keys, folder: Path, repos: Sequence[RepoProcess], say: Say) -> None:
        self._home: Final = folder / "job"
        self._file: Final = folder / "hall.yaml"
        self._repos: Final = repos
        self._say: Final = say
        self._log: Final = folder / "pipeline.log"
        self._process: asyncio.subprocess.Process | None = None
        self._telling: asyncio.Task[None] | None = None
        keys.save([group.panel(deployment.JOB).name for group in deployment.RESULTS], self._home)
        self._file.write_text(_hierarchy(), encoding="utf-8")

    async def start(self) -> None:
        """Start it; what it says is passed on."""
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
            raise RoostError(f"the pipeline ended with status {self._process.returncode}; see above for why")

    async def _tell(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # noqa: S101  it was asked for
        while line := await process.stderr.readline():
            text = line.decode(errors="replace").rstrip()
            if self._process is not None and text and not text.startswith(_CALLS):  # how it is torn down is no news
                self._say("spark", text)


async def show(
    keys: Keys,
    repos: Sequence[RepoProcess],
    pipeline: PipelineProcess,
    publish: Callable[[], Awaitable[None]],
    stack: AsyncExitStack,
    say: Say,
) -> bool:
    """Go on publishing until the campus has some whole windows; whether it came to that."""
    face = await stack.enter_async_context(connect([repo.uri for repo in repos], verifier=keys.verifier()))
    whole: list[Arrival] = []

    async def follow(level: str, device: str) -> None:
        group = next(group for group in deployment.RESULTS if group.systems[-1] == level)
        async for reading in face.group(group.name).subscribe(f"+/{device}/{METRIC}", since=1):
            counts = {value.name: value.value for value in reading.values if isinstance(value.value, int)}
            start = datetime.fromtimestamp(reading.event_time / SECOND, UTC)
            received, expected = counts.get("received", 0), counts.get("expected", 0)
            mean = next((value.value for value in reading.values if not value.name), None)
            value = f"{mean:.2f} °C" if isinstance(mean, int | float) else "no value"
            say(device, f"{METRIC} from {start:%H:%M:%S} on: {value}, {received} of {expected} readings")
            if level == "Report" and expected and received == expected:
                whole.append(reading)

    following = [asyncio.create_task(follow(level, device)) for level, device in SHOWN.items()]
    stack.callback(lambda: [task.cancel() for task in following])
    try:
        async with asyncio.timeout(START_S):
            while len(whole) < WINDOWS:
                await publish()
                pipeline.check()
    except TimeoutError:
        say("FAILED", f"the campus had {len(whole)} whole windows within {START_S:g} s")
        return False
    return await _traced(face_of=keys, newest=whole[-1], repos=repos, stack=stack, say=say)


async def _traced(
    face_of: Keys, newest: Arrival, repos: Sequence[RepoProcess], stack: AsyncExitStack, say: Say
) -> bool:
    """Follow one result back to the readings of the sensors, and verify all of them."""
    from roost.pipeline.ancestry import trace

    face = await stack.enter_async_context(connect([repo.uri for repo in repos], verifier=face_of.verifier()))
    ancestry = await trace(face, newest.data.name)
    good = ancestry.is_sound and ancestry.is_whole
    verdict = "all verified" if good else "NOT all verified"
    say("lineage", f"{newest.data.name} goes back to {ancestry.raw} readings of sensors, {verdict}")
    return good


def is_possible(say: Say) -> bool:
    """Whether Spark can run here; if not, what to do about it."""
    from roost.pipeline.java import find_java

    try:
        find_java()
    except BadConfig as error:
        say("spark", f"no pipeline this time: {error}")
        return False
    return True


def _hierarchy() -> str:
    from roost.pipeline.hierarchy import Comfort, Measures, hierarchy
    from roost.pipeline.yaml_form import dumps

    floors = {
        room: f"floor{deployment.floor_of(name)}" for name in deployment.PANELS for room in deployment.rooms(name)
    }
    measures = Measures(deployment.UNITS, ranges={"temp": (10.0, 35.0)}, spread={"temp": 3.0}, comfort=Comfort())
    raw, campus = str(deployment.GROUP.name), str(deployment.RESULTS[-1].name)
    return dumps(hierarchy(raw, floors, measures, window=WINDOW, deadline=WINDOW, interval="500ms", campus=campus))
