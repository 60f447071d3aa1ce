"""`make run`, all of it: repos, panels, a consumer, a kill, and the hierarchy pipeline on Spark."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.verbs import RUN, environment_of


def test_the_demo_shows_results_of_every_level_and_verifies_them_down_to_the_sensors(tmp_path: Path) -> None:
    done = subprocess.run(
        [*RUN, "demo", "--rounds", "6"],
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
        check=False,
    )
    told = done.stdout
    assert done.returncode == 0, told
    assert "Traceback" not in done.stdout
    for level in ("room1 ", "floor1", "Hall  ", "campus"):
        assert f"\n{level}   temp_mean from" in told, told
    assert "readings of sensors, all verified" in told
    assert "out of order or twice" in told
