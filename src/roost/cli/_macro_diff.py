"""`roost macro diff OLD NEW`: two versions of macros over the same past readings, and where what they bring differs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final, TypeAlias

from roost.cli._macro_file import check, read_definitions
from roost.cli._macro_node import definition_at
from roost.cli._macro_past import groups_of, spooled
from roost.cli._macro_show import brought, given_lines, iso
from roost.cli._macro_spark import compared_on_spark, is_for_spark
from roost.cli._progress import progress_of
from roost.errors import BadConfig
from roost.host.mqtt.macro_checking import engines
from roost.process.comparing import Comparing, Comparison
from roost.process.definition import Definition
from roost.process.telling import run_told
from roost.process.trace import Run

_BESIDE: Final = ("macro", "state")  # what is told of a replay, and not of a run

_Told: TypeAlias = Mapping[str, Any]


def diff(options: argparse.Namespace) -> int:
    """Compare them; the exit status is 1 if they differ."""
    if options.show < 0:
        raise BadConfig("--show is at least 0")
    old, new = _versions(options)
    check([*old, *new])
    comparing = Comparing(old, new, engines(), options.show, perf_counter_ns)
    progress = progress_of(options)
    with groups_of(options, comparing.filters) as groups:
        if is_for_spark(options, groups) and groups is not None:
            result, told = compared_on_spark(options, groups, (old, new), progress)
            first = [(each.kind, each.macro, _read(each.old), _read(each.new)) for each in told]
        else:
            with spooled(options, comparing.filters, groups, progress) as samples:
                for sample in progress.over(samples, "readings", len(samples)):
                    comparing.take(sample)
            result = comparing.finish()
            first = [(each.kind, each.macro, _told(each.old), _told(each.new)) for each in result.first]
    for each in first:
        for line in _json(*each) if options.json else _lines(*each):
            print(line)
    counts = _counts(result)
    if options.json:
        print(json.dumps(counts))
    else:
        print(", ".join(f"{count:,} {word}" for word, count in counts.items()))
        if result.differences > len(first):
            print(f"these are the first {len(first):,} of {result.differences:,} differences; --show has more")
    return 1 if result.differences else 0


def _told(run: Run | None) -> _Told | None:
    return None if run is None else run_told(run)


def _read(text: str | None) -> _Told | None:
    """What is told of a run of a replay, but for whose it was and what it keeps."""
    return None if text is None else {key: each for key, each in json.loads(text).items() if key not in _BESIDE}


def _json(kind: str, macro: str, old: _Told | None, new: _Told | None) -> list[str]:
    told = {"kind": kind, "macro": macro, "time": _either(old, new)["time"], "old": old, "new": new}
    return [json.dumps(told, ensure_ascii=False)]


def _lines(kind: str, macro: str, old: _Told | None, new: _Told | None) -> list[str]:
    either = _either(old, new)
    return [
        f"{iso(either['time'])}  {macro}  {kind}",
        f"  old    {brought(old)}",
        f"  new    {brought(new)}",
        *given_lines(either),
    ]


def _either(old: _Told | None, new: _Told | None) -> _Told:
    """The one that there is, the new one if there are both."""
    return new or old or {}


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
