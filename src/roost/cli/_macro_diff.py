"""`roost macro diff OLD NEW`: two versions of macros over the same past readings, and where what they bring differs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from roost.cli._engines import engines
from roost.cli._macro_file import check, read_definitions
from roost.cli._macro_node import definition_at
from roost.cli._macro_past import spooled
from roost.cli._macro_show import brought, given_lines, iso
from roost.cli._progress import Progress
from roost.errors import BadConfig
from roost.process.comparing import Comparing, Comparison, Difference
from roost.process.definition import Definition
from roost.process.telling import run_told


def diff(options: argparse.Namespace) -> int:
    """Compare them; the exit status is 1 if they differ."""
    if options.show < 0:
        raise BadConfig("--show is at least 0")
    old, new = _versions(options)
    check([*old, *new])
    comparing = Comparing(old, new, engines(), options.show)
    progress = Progress(sys.stderr)
    with spooled(options, comparing.filters, progress) as samples:
        for sample in progress.over(samples, "readings", len(samples)):
            comparing.take(sample)
    result = comparing.finish()
    for each in result.first:
        for line in _json(each) if options.json else _lines(each):
            print(line)
    counts = _counts(result)
    if options.json:
        print(json.dumps(counts))
    else:
        print(", ".join(f"{count:,} {word}" for word, count in counts.items()))
        if result.differences > len(result.first):
            print(f"these are the first {len(result.first):,} of {result.differences:,} differences; --show has more")
    return 1 if result.differences else 0


def _json(each: Difference) -> list[str]:
    before, after = (None if run is None else run_told(run) for run in (each.old, each.new))
    told = {"kind": each.kind, "macro": each.macro, "time": each.run.time, "old": before, "new": after}
    return [json.dumps(told, ensure_ascii=False)]


def _lines(each: Difference) -> list[str]:
    before, after = (None if run is None else run_told(run) for run in (each.old, each.new))
    return [
        f"{iso(each.run.time)}  {each.macro}  {each.kind}",
        f"  old    {brought(before)}",
        f"  new    {brought(after)}",
        *given_lines(run_told(each.run)),
    ]


def _counts(result: Comparison) -> dict[str, int]:
    return {
        "readings": result.samples,
        "equal": result.equal,
        "differ": result.differs,
        "only old": result.only_old,
        "only new": result.only_new,
        "old failures": result.old_failures,
        "new failures": result.new_failures,
    }


def _versions(options: argparse.Namespace) -> tuple[list[Definition], list[Definition]]:
    """The old macros and the new ones."""
    if options.new is not None:
        return _definitions(options, options.old), _definitions(options, options.new)
    new = read_definitions(Path(options.old))
    return [definition_at(options, each.name) for each in new], new


def _definitions(options: argparse.Namespace, said: str) -> list[Definition]:
    """What is in a file; what is none is the name of a macro."""
    path = Path(said)
    return read_definitions(path) if path.is_file() else [definition_at(options, said)]
