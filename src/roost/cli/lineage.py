"""`roost lineage NAME`: where a computed reading comes from, fetched and verified back to the raw readings.

The exit status is 1 if something that it comes from is missing, or not signed by who should have; what retention has
dropped is told, and no fault.
"""

from __future__ import annotations

import argparse

from roost.cli._parsing import add_at

SUMMARY = "Check where a computed reading comes from: its inputs, theirs, and so on, each fetched and verified."


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which reading, and how far to go."""
    parser.add_argument(
        "name", metavar="NAME", help="the reading: /BigCompany/Building1/Energy/Meter/Heater/Mean/seq=7"
    )
    parser.add_argument("--depth", metavar="N", type=int, help="go back at most so many levels (default 16)")
    parser.add_argument("--max", metavar="N", type=int, help="fetch at most so many readings (default 100000)")
    add_at(parser)


def run(options: argparse.Namespace) -> int:
    """Trace and show."""
    import asyncio

    return asyncio.run(_lineage(options))


async def _lineage(options: argparse.Namespace) -> int:
    from roost.cli import note
    from roost.errors import BadConfig
    from roost.host import connect
    from roost.host.locate import await_node
    from roost.pipeline.ancestry import MAX_DEPTH, MAX_READINGS, trace

    depth = MAX_DEPTH if options.depth is None else options.depth
    readings = MAX_READINGS if options.max is None else options.max
    if depth < 0 or readings < 1:
        raise BadConfig("--depth is at least 0, and --max at least 1")
    uris = options.uris if len(options.uris) > 1 else await await_node((options.uris or [None])[0], note)
    async with connect(uris) as face:
        ancestry = await trace(face, options.name, max_depth=depth, max_readings=readings)
    print(ancestry.text())
    return 0 if ancestry.is_sound else 1
