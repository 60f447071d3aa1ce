"""States published as they change, where repos do not agree on which is the newest."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from tests.pipeline_world import JOB, RAW, ROOMS, RepoProcess, World

from roost.pipeline.publishing import Publisher, SinkOptions
from roost.pipeline.report import Report


def _publish(world: World, value: float, *repos: RepoProcess) -> Report:
    row = {
        "output": "d1/total",
        "event_time": datetime(2026, 5, 1, tzinfo=UTC),
        "value": value,
        "inputs": [{"stream": f"{RAW.name}/P1/d1/power", "low": 1, "high": 6}],
    }
    named = ",".join(repo.uri for repo in repos)
    options = {"group": str(ROOMS.name), "panel": JOB, "home": str(world.home(JOB)), "repos": named}
    publisher = Publisher(SinkOptions.read({**options, "onConflict": "fail"}), changes=True)
    return publisher.publish(pa.Table.from_pylist([row]).to_batches()[0])


def test_a_repo_that_lags_behind_gives_no_number_that_is_taken(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.repo("Repo1") as behind, world.repo("Repo2") as ahead:  # they do not know each other
        _publish(world, 1.0, behind)
        for value in (1.0, 2.0, 3.0):
            _publish(world, value, ahead)
        assert _publish(world, 4.0, behind, ahead).kept == 1
        assert max(world.streams(behind, ROOMS).values()) == 4
        assert _publish(world, 4.0, behind, ahead).unchanged == 1
        ahead.kill()
        for value in (5.0, 5.0, 6.0):
            _publish(world, value, behind, ahead)
        assert max(world.streams(behind, ROOMS).values()) == 6
