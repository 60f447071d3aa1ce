"""`roost macro test FILE`: run macros over past readings, and show every run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any

from roost.cli import note
from roost.cli._macro_file import check, read_definitions
from roost.cli._macro_past import Groups, groups_of, spooled
from roost.cli._macro_show import run_lines
from roost.cli._macro_spark import is_for_spark, tested_on_spark
from roost.cli._progress import Progress, progress_of
from roost.host.mqtt.macro_checking import engines
from roost.process.definition import Definition
from roost.process.replay import Replay, Replayed
from roost.process.telling import replayed_told


def test(options: argparse.Namespace) -> int:
    """Run them; the exit status is 1 if a run failed."""
    definitions = read_definitions(options.file)
    check(definitions)
    replay = Replay(definitions, engines(), stopwatch=perf_counter_ns)
    progress = progress_of(options)
    with groups_of(options, replay.filters) as groups:
        if is_for_spark(options, groups) and groups is not None:
            return _on_spark(options, groups, definitions, progress)
        return _here(options, groups, replay, progress)


def _here(options: argparse.Namespace, groups: Groups | None, replay: Replay, progress: Progress) -> int:
    def show(ran: list[Replayed]) -> None:
        if options.failures:
            ran = [each for each in ran if each.run.failure is not None]
        if ran:
            progress.end()
        for each in ran:
            _show(options, codes[each.macro], replayed_told(each.macro, each.run, each.state))

    macros = [replay.processor.macro(name) for name in replay.processor.macros()]
    codes = {each.name: each.definition.code for each in macros}
    with spooled(options, replay.filters, groups, progress) as samples:
        total = len(samples)
        for sample in progress.over(samples, "readings", total):
            show(replay.take(sample))
        show(replay.finish())
    for each in macros:
        _sum_up(each.name, total, (each.activations, each.waited, each.runs, each.results, each.failures))
        _say_found(each.name, [found.topic for found in each.found])
    return 1 if any(each.failures for each in macros) else 0


def _on_spark(
    options: argparse.Namespace, groups: Groups, definitions: Sequence[Definition], progress: Progress
) -> int:
    codes = {each.name: each.code for each in definitions}
    with tested_on_spark(options, groups, definitions, progress) as tested:
        for text in tested.told:
            told = json.loads(text)
            _show(options, codes[told["macro"]], told)
    for name, counts in sorted(tested.counts.items()):
        _sum_up(name, tested.readings, counts)
        _say_found(name, tested.found.get(name, ()))
    return 1 if any(counts[-1] for counts in tested.counts.values()) else 0


def _show(options: argparse.Namespace, code: str, told: Mapping[str, Any]) -> None:
    if options.json:
        print(json.dumps(told, ensure_ascii=False))
        return
    for line in run_lines(told["macro"], told, code, full=options.full):
        print(line)
    if options.full and "state" in told:
        print(f"  state  {told['state']}")


def _sum_up(name: str, total: int, counts: Sequence[int]) -> None:
    """Say how a macro fared."""
    activations, waited, runs, results, failures = counts
    note(
        f"{name}: {total:,} readings, {activations:,} activations, {waited:,} of them with too few values, "
        f"{runs:,} runs, {results:,} results, {failures:,} failures"
    )


def _say_found(name: str, topics: Sequence[str]) -> None:
    if topics:
        found = ", ".join(sorted(topics))
        note(f"{name}: that it refers to {found} is found out by running it: of these not all may be given here")
