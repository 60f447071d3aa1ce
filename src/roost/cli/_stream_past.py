"""`roost stream read` and `export`: past readings of a group's streams, between two times, stream after stream."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final, TextIO

from roost.cli._face import face_of
from roost.cli._output import document, show, wants_json
from roost.cli._progress import progress_of
from roost.cli._readings import COLUMNS, line_of, row_of, told
from roost.cli._stream_names import absent

if TYPE_CHECKING:
    from roost.cli._progress import Progress
    from roost.host.streams import StreamGroup
    from roost.naming import Name
    from roost.pubsub.consumers.arrival import Arrival

_AT_ONCE: Final = 512  # readings
_ANSWER_S: Final = 15.0
_FORMS: Final = "use 24h, 30m, 7d, or a time such as 2026-05-01T08:00Z"


async def read(options: argparse.Namespace) -> int:
    """Print them."""
    async for reading in _past(options, progress_of(options, sys.stdout)):
        print(document(told(reading)) if wants_json(options) else line_of(reading))
    return 0


async def export(options: argparse.Namespace) -> int:
    """Write them into a file, or to standard output; with `--json` what was done is told in JSON."""
    from roost.errors import BadConfig

    if options.output is None:
        if options.json and options.format == "csv":
            raise BadConfig("--json tells what was written to a file: name one with -o, or take --format json")
        await _write(options, sys.stdout)
        return 0
    part = options.output.with_name(f"{options.output.name}.part")  # what was there stays until this one is whole
    try:
        with part.open("w", encoding="utf-8", newline="") as out:
            count = await _write(options, out)
        part.replace(options.output)
    finally:
        part.unlink(missing_ok=True)
    what = {"file": str(options.output), "format": options.format, "readings": count}
    return show(options, what, [f"{count} readings in {options.output}"])


async def _write(options: argparse.Namespace, out: TextIO) -> int:
    import csv

    write: Callable[[Arrival], object]
    if options.format == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)

        def write(reading: Arrival) -> object:
            return writer.writerow(row_of(reading))
    else:

        def write(reading: Arrival) -> object:
            return out.write(f"{document(told(reading))}\n")

    count = 0
    async for reading in _past(options, progress_of(options, out)):
        write(reading)
        count += 1
    return count


async def _past(options: argparse.Namespace, progress: Progress) -> AsyncIterator[Arrival]:
    async with face_of(options) as face:
        group = face.group(options.group)
        stretches = await _stretches(group, options)
        total = sum(high - low + 1 for low, high in stretches.values())
        done = 0
        for stream, (low, high) in stretches.items():
            for begin in range(low, high + 1, _AT_ONCE):
                end = min(high, begin + _AT_ONCE - 1)
                for reading in await group.read(stream, begin, end):
                    yield reading
                done += end - begin + 1
                progress.say(done, "readings", total)
    progress.end()


async def _stretches(group: StreamGroup, options: argparse.Namespace) -> dict[Name, tuple[int, int]]:
    """The numbers that are asked for, low to high, of each stream that has any."""
    import time

    from roost.errors import BadConfig, TimedOut
    from roost.host.streams import time_of

    if options.last is not None and options.last < 1:
        raise BadConfig("--last is at least 1")
    now = time.time_ns()
    since, until = (None if said is None else time_of(said, now, _FORMS) for said in (options.since, options.until))
    async with group.watch(*options.filters) as watch:
        if not await watch.ready(_ANSWER_S):
            raise TimedOut(
                f"no repo of {group.name} has answered for {_ANSWER_S:g} s: check the group's name; does one run, "
                "and lead --at there?"
            )
        numbers = watch.numbers()
        await _check(group, options.filters, numbers)
        lows = {} if since is None else await watch.boundaries(since)
        behind = {} if until is None else await watch.boundaries(until)
    found: dict[Name, tuple[int, int]] = {}  # bound: the streams of the group
    for stream, highest in sorted(numbers.items()):
        high = behind.get(stream, highest + 1) - 1
        low = max(lows.get(stream, 1), 1 if options.last is None else high - options.last + 1)
        if low <= high:
            found[stream] = (low, high)
    return found


async def _check(group: StreamGroup, filters: list[str], numbers: dict[Name, int]) -> None:
    """Raise `Unreachable` for what was named, as no filter is, and is neither a stream nor above one."""
    from roost.naming import Name

    for word in filters:
        wish = group.wish(word)
        if isinstance(wish, Name) and not any(stream.starts_with(wish) for stream in numbers):
            raise absent(group.name, wish, await group.streams())
