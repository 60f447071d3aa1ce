"""`roost replay FILE`: publish readings of a CSV or Parquet file as streams of a panel, none of them twice."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, counted, show
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.cli._replay_rows import Columns

SUMMARY = "Publish the readings of a CSV or Parquet file as streams."

PAGE: Final = Page(
    examples=(
        (
            "roost replay readings.csv --group /BigCompany/Building1/Electricity --panel Panel1",
            "columns time, stream …",
        ),
        (
            (
                "roost replay meter.csv --group /BigCompany/Building1/Electricity --panel Panel1 "
                "--as Heater/Power --time ts --time-unit s --value watts --only-unit W"
            ),
            "a file of one stream, with columns of its own",
        ),
        (
            "roost replay readings.parquet --group /BigCompany/Building1/Electricity --panel Panel1 --speed 60",
            "as if it happened now, an hour in a minute",
        ),
        (
            "roost replay readings.csv --group /BigCompany/Building1/Electricity --panel Panel1 --dry-run",
            "read it to its end and say what is in it",
        ),
    ),
    text="The same file twice publishes nothing the second time: what the group has of the same stream, time and value "
    "is left out. A stream is what the file calls it, below the panel: hall/room1/temp.",
    see=("bridge", "stream", "docs/import.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which file, into which group, and what its columns are called."""
    from roost.cli._parsing import add_at
    from roost.cli._replay_rows import TIME_UNITS

    parser.add_argument("file", metavar="FILE", type=Path, help="CSV with a header, or Parquet (.parquet)")
    parser.add_argument("--group", metavar="NAME", required=True, help="the group's name")
    parser.add_argument(
        "--panel", metavar="NAME", required=True, help="who publishes; its key is here (roost key make)"
    )
    parser.add_argument("--time", metavar="COLUMN", default="time", help="when it was measured (default: time)")
    parser.add_argument("--stream", metavar="COLUMN", default="", help="which stream (default: stream, or topic)")
    parser.add_argument("--value", metavar="COLUMN", default="value", help="what was measured (default: value)")
    parser.add_argument("--unit", metavar="COLUMN", default="unit", help="its unit (default: unit, if it is there)")
    parser.add_argument("--as", dest="all_of", metavar="STREAM", default="", help="all rows are of this one stream")
    parser.add_argument("--only-unit", metavar="UNIT", default="", help="all values have this unit")
    parser.add_argument(
        "--time-unit", choices=tuple(TIME_UNITS), default="ns", help="of times that are numbers (default: ns)"
    )
    parser.add_argument(
        "--speed", metavar="N", type=float, help="N times as fast as it was measured (default: at once)"
    )
    parser.add_argument("--dry-run", action="store_true", help="read all of it, and publish nothing")
    add_at(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Do it."""
    import asyncio

    from roost.cli._progress import progress_of
    from roost.cli._replay_rows import Columns, read_rows
    from roost.errors import BadConfig

    if options.speed is not None and not 0 < options.speed < 1e9:
        raise BadConfig(f"--speed {options.speed:g}: 1 is as fast as it was measured, 60 an hour in a minute")
    columns = Columns(
        options.time,
        options.stream,
        options.value,
        options.unit,
        options.all_of,
        options.only_unit,
        options.time_unit,
    )
    progress = progress_of(options)
    first: dict[str, int] = {}  # by stream, the earliest time
    count = empty = 0

    def pass_over() -> None:
        nonlocal empty
        empty += 1

    for row in read_rows(options.file, columns, pass_over):
        count += 1
        progress.say(count, "rows read")
        first[row.stream] = min(row.time, first.get(row.stream, row.time))
    progress.end()
    if not count:
        raise BadConfig(f"{options.file}: there is no reading in it")
    without = f", {empty} rows without a value passed over" if empty else ""
    if options.dry_run:
        told = {"rows": count, "streams": len(first), "empty": empty, "sent": 0, "skipped": 0}
        return show(
            options,
            told,
            [f"{counted(count, 'reading')} of {counted(len(first), 'stream')}{without}; nothing was published"],
        )
    sent, skipped = asyncio.run(_replay(options, columns, first, count))
    told = {"rows": count, "streams": len(first), "empty": empty, "sent": sent, "skipped": skipped}
    there = f", {skipped} were there already" if skipped else ""
    return show(
        options, told, [f"{counted(sent, 'reading')} of {counted(len(first), 'stream')} published{there}{without}"]
    )


async def _replay(options: argparse.Namespace, columns: Columns, first: dict[str, int], count: int) -> tuple[int, int]:
    import time

    from roost.cli import note
    from roost.cli._progress import progress_of
    from roost.cli._replay_rows import read_rows
    from roost.cli._replay_sending import Replay
    from roost.host import connect
    from roost.host.keystore import KeyStore
    from roost.host.locate import await_node
    from roost.host.paths import home
    from roost.naming import Name

    keys = KeyStore(home())
    keys.check()
    uris = options.uris if len(options.uris) > 1 else await await_node((options.uris or [None])[0], note)
    progress = progress_of(options)
    async with connect(uris, signer=keys.keychain(), verifier=keys.verifier(time.time_ns())) as face:
        group = face.group(Name.parse(options.group))
        async with group.panel(options.panel) as panel:
            replay = Replay(group, panel, options.speed)
            await replay.prepare(first)
            rows = read_rows(options.file, columns)
            await replay.send(rows, lambda number: progress.say(number, "readings", count))
            progress.end()
            return replay.sent, replay.skipped
