"""`roost sim`: machines under a virtual clock, with faults on purpose; many seeds, or one seed and its story."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roost.sim.campaign import Results

SUMMARY = "Simulate scenarios from seeds: many with --runs, or replay one and show what happened."


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("scenario", nargs="*", help="a built-in family, or module:function; default: every family")
    parser.add_argument("--runs", type=int, metavar="N", help="run so many seeds, instead of replaying one")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the seed, or the first of them; default: 1")
    parser.add_argument("--jobs", type=int, metavar="J", help="processes to run them in; default: one per core")
    parser.add_argument("--timeline", type=int, default=60, metavar="LINES", help="of a replay; default: 60")


def run(options: argparse.Namespace) -> int:
    """Run the campaign or the replay; 1 if a promise was broken."""
    from roost.errors import BadConfig
    from roost.sim.families import built_in, find

    sys.path.insert(0, os.getcwd())  # for scenarios of one's own; worker processes get it too  # noqa: PTH109
    scenarios = options.scenario or built_in()
    for name in scenarios:
        find(name)
    if options.runs is None:
        return _replay(scenarios, options.seed, options.timeline)
    if options.runs < 1 or (options.jobs or 1) < 1:
        raise BadConfig("--runs and --jobs are 1 at least")
    return _campaign(scenarios, options.seed, options.runs, options.jobs or os.cpu_count() or 1)


def _replay(scenarios: list[str], seed: int, lines: int) -> int:
    from roost.sim.replay import Replay

    broken = False
    for scenario in scenarios:
        replay = Replay(scenario, seed)
        print(*replay.report(lines), sep="\n", end="\n\n")
        broken |= replay.error is not None
    return int(broken)


def _campaign(scenarios: list[str], seed: int, runs: int, jobs: int) -> int:
    from roost.sim import campaign
    from roost.sim.progress import Progress

    progress = Progress(sys.stderr, runs)
    results: dict[str, campaign.Results] = {}

    def tell(scenario: str, so_far: campaign.Results) -> None:
        results[scenario] = so_far
        progress.show(scenario, so_far)

    try:
        campaign.run(scenarios, seed, runs, jobs, tell)
    finally:  # an interrupt must not cost the seeds that were found to fail
        progress.end()
        for scenario, total in results.items():
            print(*_summary(scenario, total, seed, runs), sep="\n")
    return int(any(total.failures for total in results.values()))


def _summary(scenario: str, total: Results, seed: int, runs: int) -> Iterator[str]:
    from roost.sim.replay import how_to

    of = "" if total.runs == runs else f" of {runs}"
    done = f"{scenario}: {total.runs}{of} seeds from {seed}, {total.events} events"
    yield f"{done}, {total.station_hours:.1f} simulated station-hours, checksum {total.checksum:032x}"
    for failure in sorted(total.failures, key=lambda each: each.seed):
        yield f"  seed {failure.seed}: {failure.sentence}\n    {how_to(scenario, failure.seed)}"
    yield f"  {len(total.failures)} failed" if total.failures else "  every promise was kept"
