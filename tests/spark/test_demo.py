"""`make run`, all of it: a campus that is broken in every way, and the hierarchy pipeline on Spark behind it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.verbs import RUN, environment_of


def test_windows_of_the_campus_are_whole_although_everything_was_broken_and_go_back_to_the_sensors(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [*RUN, "demo", "--for", "30s", "--check", "--http-port", "0", "--mqtt-port", "0"],
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    told = done.stdout
    assert done.returncode == 0, told
    assert "Traceback" not in told
    for level in ("room1", "floor1", "Hall", "campus"):
        assert re.search(rf"^pipeline +first result of {level}: temp_mean", told, re.MULTILINE), told
    assert re.search(
        r"^kept +windows: .* [1-9]\d* windows of the campus whole, \d+ of them corrected, 0 not yet$",
        told,
        re.MULTILINE,
    )
    assert re.search(r"^kept +lineage: .* goes back to [1-9]\d* readings of sensors, all verified$", told, re.MULTILINE)
