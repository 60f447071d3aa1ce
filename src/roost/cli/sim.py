"""`roost sim`: machines under a virtual clock, with faults on purpose; many seeds, or one seed and its story."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from roost.cli._exit import FAILED
from roost.cli._output import add_json, show
from roost.cli._page import Page
from roost.cli._progress import nowhere

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roost.sim.campaign import Results

SUMMARY = "Simulate worlds full of faults from seeds, and check what is promised."
PAGE: Final = Page(
    examples=(
        ("roost sim forwarding --runs 20 --jobs 1", "twenty seeds of a family"),
        ("roost sim forwarding --seed 7 --timeline 20", "one seed, and what happened in it"),
        ("roost sim forwarding --runs 5 --jobs 1 --json", "a document with the counts, for programs"),
    ),
    text="Machines under a virtual clock, with loss, partitions, crashes and flipped bits on purpose. What a seed did "
    "once it does again, so a failure can be replayed.",
    exits={FAILED: "a promise was broken; or failed"},
    see=("bench", "docs/simulator.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("scenario", nargs="*", help="a built-in family, or module:function; default: every family")
    parser.add_argument("--runs", type=int, metavar="N", help="run so many seeds, instead of replaying one")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the seed, or the first of them; default: 1")
    parser.add_argument("--jobs", type=int, metavar="J", help="processes to run them in; default: one per core")
    parser.add_argument("--timeline", type=int, default=60, metavar="LINES", help="of a replay; default: 60")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run the campaign or the replay; 1 if a promise was broken."""
    from roost.errors import BadConfig
    from roost.sim.families import built_in, find

    sys.path.insert(0, os.getcwd())  # for scenarios of one's own; worker processes get it too  # noqa: PTH109
    scenarios = options.scenario or built_in()
    for name in scenarios:
        find(name)
    if options.runs is None:
        return _replay(options, scenarios)
    if options.runs < 1 or (options.jobs or 1) < 1:
        raise BadConfig("--runs and --jobs are 1 at least")
    return _campaign(options, scenarios)


def _replay(options: argparse.Namespace, scenarios: list[str]) -> int:
    from roost.sim.replay import Replay

    told: list[dict[str, Any]] = []
    for scenario in scenarios:
        replay = Replay(scenario, options.seed)
        lines = list(replay.report(options.timeline))
        told.append({"scenario": scenario, "seed": options.seed, "kept": replay.error is None, "lines": lines})
        if not options.json:
            print(*lines, sep="\n", end="\n\n")
    if options.json:
        show(options, told, ())
    return int(not all(each["kept"] for each in told))


def _campaign(options: argparse.Namespace, scenarios: list[str]) -> int:
    from roost.sim import campaign
    from roost.sim.progress import Progress

    seed, runs, jobs = options.seed, options.runs, options.jobs or os.cpu_count() or 1
    progress = Progress(nowhere() if options.json else sys.stderr, runs)
    results: dict[str, campaign.Results] = {}

    def tell(scenario: str, so_far: campaign.Results) -> None:
        results[scenario] = so_far
        progress.show(scenario, so_far)

    try:
        campaign.run(scenarios, seed, runs, jobs, tell)
    finally:  # an interrupt must not cost the seeds that were found to fail
        progress.end()
        lines = [line for scenario, total in results.items() for line in _summary(scenario, total, seed, runs)]
        show(options, [_told(scenario, total) for scenario, total in results.items()], lines)
    return int(any(total.failures for total in results.values()))


def _told(scenario: str, total: Results) -> dict[str, Any]:
    failures = [{"seed": each.seed, "sentence": each.sentence} for each in sorted(total.failures, key=lambda e: e.seed)]
    return {
        "scenario": scenario,
        "seeds": total.runs,
        "events": total.events,
        "station_hours": total.station_hours,
        "checksum": f"{total.checksum:032x}",
        "failures": failures,
    }


def _summary(scenario: str, total: Results, seed: int, runs: int) -> Iterator[str]:
    from roost.sim.replay import how_to

    of = "" if total.runs == runs else f" of {runs}"
    done = f"{scenario}: {total.runs}{of} seeds from {seed}, {total.events} events"
    yield f"{done}, {total.station_hours:.1f} simulated station-hours, checksum {total.checksum:032x}"
    for failure in sorted(total.failures, key=lambda each: each.seed):
        yield f"  seed {failure.seed}: {failure.sentence}\n    {how_to(scenario, failure.seed)}"
    yield f"  {len(total.failures)} failed" if total.failures else "  every promise was kept"
