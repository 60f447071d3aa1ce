"""Some seeds of every family of scenarios; `make sim N=…` runs more, `make sim SEED=…` tells one as a story.

ROOST_SIM_N sets how many of each, ROOST_SIM_SEED the first.
"""

from __future__ import annotations

import os

import pytest

from roost.sim.campaign import run_seeds
from roost.sim.families import built_in
from roost.sim.replay import how_to

SEED = int(os.environ.get("ROOST_SIM_SEED", "1"))
RUNS = {
    "forwarding": 600,  # enough to catch each loop rule left out, several times over
    "building": 16,  # whole nodes and stores, a second each
    "blobs": 24,  # half a second each
}
RUNS_OF_OTHERS = 48
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("family", built_in())
def test_every_promise_is_kept(family: str, part: int) -> None:
    runs = int(os.environ.get("ROOST_SIM_N", "0")) or RUNS.get(family, RUNS_OF_OTHERS)
    if os.environ.get("ROOST_RUN") == "interpreted":
        runs //= 2  # the other run of `make test` plays them all, compiled and quicker
    results = run_seeds(family, range(SEED + part, SEED + runs, PARTS))
    assert not results.failures, [f"{each.sentence}; {how_to(family, each.seed)}" for each in results.failures]
    assert results.events > 0
