"""A job whose keys are renewed while it runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from tests.pipeline_world import COMPANY, JOB, RAW, ROOMS, World

from roost.host.keystore import KeyStore
from roost.pipeline.publishing import Publisher, SinkOptions


def _batch(number: int) -> pa.RecordBatch:
    row = {
        "output": "d1/total",
        "number": number,
        "event_time": datetime(2026, 5, 1, tzinfo=UTC),
        "value": 1.0,
        "inputs": [{"stream": f"{RAW.name}/P1/d1/power", "low": number, "high": number}],
    }
    return pa.Table.from_pylist([row]).to_batches()[0]


def test_a_renewed_key_signs_the_next_batch_and_its_commands(tmp_path: Path) -> None:
    world = World(tmp_path)
    keys = KeyStore(world.home(JOB))
    with world.repo("Repo1") as repo:
        said = {"group": str(ROOMS.name), "panel": JOB, "home": str(keys.home), "repos": repo.uri}
        Publisher(SinkOptions.read(said)).publish(_batch(1))
        for path in (keys.home / "keys").iterdir():  # nothing can be signed by them any more
            path.unlink()
        renewed = world._under(world.identities[COMPANY.building("B1").name], ROOMS.panel(JOB).name)
        keys.save_identity(renewed)
        assert Publisher(SinkOptions.read(said)).publish(_batch(2)).kept == 1
        first, second = world.read(repo, ROOMS, f"{JOB}/d1/total")
    assert renewed.signer.key_locator in second.data.wire
    assert renewed.signer.key_locator not in first.data.wire
