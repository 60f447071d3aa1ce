"""`roost macro test FILE`: run macros over past readings, and show every run."""

from __future__ import annotations

import argparse
import json
import sys
from time import perf_counter_ns

from roost.cli import note
from roost.cli._engines import engines
from roost.cli._macro_file import check, read_definitions
from roost.cli._macro_past import spooled
from roost.cli._macro_show import run_lines
from roost.cli._progress import Progress
from roost.process.replay import Replay, Replayed
from roost.process.telling import payload_told, run_told


def test(options: argparse.Namespace) -> int:
    """Run them; the exit status is 1 if a run failed."""
    definitions = read_definitions(options.file)
    check(definitions)
    replay = Replay(definitions, engines(), stopwatch=perf_counter_ns)
    codes = {each.name: each.code for each in definitions}
    progress = Progress(sys.stderr)

    def show(ran: list[Replayed]) -> None:
        if options.failures:
            ran = [each for each in ran if each.run.failure is not None]
        if ran:
            progress.end()
        for each in ran:
            for line in _json(each) if options.json else _lines(each, codes[each.macro], full=options.full):
                print(line)

    with spooled(options, replay.filters, progress) as samples:
        total = len(samples)
        for sample in progress.over(samples, "readings", total):
            show(replay.take(sample))
        show(replay.finish())
    return 1 if _sum_up(replay, total) else 0


def _json(each: Replayed) -> list[str]:
    told = {"macro": each.macro, **run_told(each.run)}
    if each.state is not None:
        told["state"] = payload_told(each.state)
    return [json.dumps(told, ensure_ascii=False)]


def _lines(each: Replayed, code: str, *, full: bool) -> list[str]:
    lines = list(run_lines(each.macro, run_told(each.run), code, full=full))
    return [*lines, f"  state  {each.state.decode()}"] if full and each.state is not None else lines


def _sum_up(replay: Replay, total: int) -> int:
    """Say how each macro fared; how many runs failed."""
    failures = 0
    for name in replay.processor.macros():
        macro = replay.processor.macro(name)
        failures += macro.failures
        note(
            f"{name}: {total:,} readings, {macro.activations:,} activations, {macro.waited:,} of them with too few "
            f"values, {macro.runs:,} runs, {macro.results:,} results, {macro.failures:,} failures"
        )
        if macro.found:
            topics = ", ".join(sorted(each.topic for each in macro.found))
            note(f"{name}: that it refers to {topics} is found out by running it: of these not all may be given here")
    return failures
