"""The house that the job with a gate (`gated_job`) works for: its readings, and what the job is told of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.pipeline_world import FLOORS, JOB, RAW, ROOMS, SECOND, RepoProcess, World
from tests.spark.gated_job import LIMIT_S

from roost.wire import Data

REPOS = ("Unharmed", "Repo1", "Repo2", "Repo3", "Repo4", "Repo5")  # each test has its own
BEGIN = 1_700_000_040 * SECOND  # a whole minute
COUNT = 26
STREAMS = ("P1/d1/power", "P2/d2/power")
GROUPS = [str(RAW.name), str(ROOMS.name), str(FLOORS.name), JOB]


def value(stream: str, number: int) -> float:
    return 100.0 * STREAMS.index(stream) + number


def readings(house: World) -> list[Data]:
    """All of them, by number."""
    return [
        house.reading(stream, number, value(stream, number), BEGIN + (number - 1) * 10 * SECOND)
        for number in range(1, COUNT + 1)
        for stream in STREAMS
    ]


def said(house: World, folder: Path, *repos: RepoProcess) -> dict[str, Any]:
    return {
        "repos": ",".join(repo.uri for repo in repos),
        "home": str(house.home(JOB)),
        "checkpoint": str(folder / "checkpoint"),
        "folder": str(folder),
        "groups": GROUPS,
    }


def settled(house: World, repos: tuple[RepoProcess, ...], expected: dict[str, bytes]) -> None:
    """Wait until each of them has everything, and in the same form, after which nobody can tell them apart."""
    until = time.monotonic() + LIMIT_S
    for repo in repos:
        while (found := house.published(repo)) != expected and time.monotonic() < until:
            time.sleep(1)  # each look costs as much as a batch, on the same cores
        assert found == expected
