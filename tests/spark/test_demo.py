"""`make run`, all of it: a campus that is broken in every way, and the hierarchy pipeline on Spark behind it."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.verbs import RUN, environment_of

LEVELS = {"rooms": "Env", "floors": "Rooms", "building": "Floors", "campus": "Building"}


def test_windows_of_the_campus_are_whole_although_everything_was_broken_and_go_back_to_the_sensors(
    tmp_path: Path,
) -> None:
    told, seen = "", dict[str, Any]()
    with subprocess.Popen(
        [*RUN, "demo", "--for", "30s", "--check", "--http-port", "0", "--mqtt-port", "0"],
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            told += line
            if "first result of campus" in told and not seen:  # it says something at least every 15 s
                seen = stages(re.findall(r"^page +(http://\S+)", told, re.MULTILINE)[0])
    assert demo.returncode == 0, told
    assert "Traceback" not in told
    for level in ("room1", "floor1", "Hall", "campus"):
        assert re.search(rf"^pipeline +first result of {level}: temp_mean", told, re.MULTILINE), told
    assert re.search(
        r"^kept +windows: .* [1-9]\d* windows of the campus whole, \d+ of them corrected, 0 not yet$",
        told,
        re.MULTILINE,
    )
    assert re.search(r"^kept +lineage: .* goes back to [1-9]\d* readings of sensors, all verified$", told, re.MULTILINE)
    assert len(seen) > len(LEVELS), told
    for name, above in LEVELS.items():
        stage = seen[name]
        assert [each.rpartition("/")[2] for each in stage["inputs"]] == [above]
        assert stage["lag_s"] > 0


def stages(url: str) -> dict[str, Any]:
    """What the page is told of the pipeline, by stage, once each level does something and has nearly all it needs."""
    with suppress(OSError), urllib.request.urlopen(f"{url}/pipelines", timeout=30) as answer:
        (pipeline,) = json.load(answer)["items"]
        found = {each["name"]: each for each in pipeline["stages"]}
        if pipeline["state"] == "running" and all(is_well(found.get(name, {})) for name in LEVELS):
            return found
    return {}


def is_well(stage: dict[str, Any]) -> bool:
    rates = (stage.get("input_rate"), stage.get("output_rate"))
    return all(rate is not None and rate > 0 for rate in rates) and 0.9 <= (stage["completeness"] or 0) <= 1
