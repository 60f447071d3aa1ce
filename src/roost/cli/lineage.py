"""`roost lineage NAME`: where a computed reading comes from, fetched and verified back to the raw readings.

The exit status is 1 if something that it comes from is missing, or not signed by who should have; what retention has
dropped is told, and no fault.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from roost.cli._exit import FAILED
from roost.cli._output import add_json, show
from roost.cli._page import Page
from roost.cli._parsing import add_at

if TYPE_CHECKING:
    from roost.errors import RoostError
    from roost.host.face import Face
    from roost.pipeline.ancestry_report import Ancestry

SUMMARY = "Check where a computed reading comes from, back to the raw readings."
PAGE: Final = Page(
    examples=(
        (
            "roost lineage /BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=1",
            "a raw reading comes from nothing",
        ),
        (
            "roost lineage /BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=1 --depth 2 --json",
            "two levels at most, for programs",
        ),
    ),
    text="Its inputs, theirs, and so on: each is fetched and verified, and a level says who signed, which program made "
    "it, and what is missing. What retention has dropped is told, and no fault.",
    exits={FAILED: "something it comes from is missing, or not signed by who should have; or failed"},
    see=("stream", "trust", "pipeline", "docs/pipelines.md"),
)

_BELOW_GROUP: Final = 3  # panel, device, metric; a topic of MQTT may have more levels
_LIKE: Final = 3  # streams that are named when one is not there


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which reading, and how far to go."""
    parser.add_argument(
        "name", metavar="NAME", help="the reading: /BigCompany/Building1/Energy/Meter/Heater/Mean/seq=7"
    )
    parser.add_argument("--depth", metavar="N", type=int, help="go back at most so many levels (default 16)")
    parser.add_argument("--max", metavar="N", type=int, help="fetch at most so many readings (default 100000)")
    add_at(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Trace and show."""
    import asyncio

    return asyncio.run(_lineage(options))


async def _lineage(options: argparse.Namespace) -> int:
    from roost.cli import note
    from roost.errors import BadConfig, Unreachable
    from roost.host import connect
    from roost.host.locate import await_node
    from roost.pipeline.ancestry import MAX_DEPTH, MAX_READINGS, trace

    depth = MAX_DEPTH if options.depth is None else options.depth
    readings = MAX_READINGS if options.max is None else options.max
    if depth < 0 or readings < 1:
        raise BadConfig("--depth is at least 0, and --max at least 1")
    uris = options.uris if len(options.uris) > 1 else await await_node((options.uris or [None])[0], note)
    async with connect(uris) as face:
        try:
            ancestry = await trace(face, options.name, max_depth=depth, max_readings=readings)
        except Unreachable as error:  # the reading itself
            raise await _absent(face, options.name, error) from None
    show(options, _told(ancestry), [ancestry.text()])
    return 0 if ancestry.is_sound else 1


def _told(ancestry: Ancestry) -> dict[str, Any]:
    levels = [
        [
            {
                "stream": str(origin.inputs.stream),
                "low": origin.inputs.low,
                "high": origin.inputs.high,
                "verified": origin.verified,
                "raw": origin.raw,
                "signers": [str(signer) for signer in origin.signers],
                "makers": [{"job": maker.job, "program": maker.program.hex()} for maker in origin.makers],
                "unnamed": origin.unnamed,
                "dropped": origin.dropped,
                "missing": list(origin.missing),
                "refused": [{"number": number, "reason": reason} for number, reason in origin.refused],
            }
            for origin in level
        ]
        for level in ancestry.levels
    ]
    said = {"sound": ancestry.is_sound, "whole": ancestry.is_whole, "cut": ancestry.is_cut, "raw": ancestry.raw}
    return {"name": str(ancestry.name), **said, "levels": levels}


async def _absent(face: Face, reading: str, error: RoostError) -> RoostError:
    """Why a reading cannot be had, as far as the repos of its group know."""
    import asyncio
    import difflib

    from roost.errors import Unreachable, Untrusted
    from roost.naming import Name
    from roost.repo.numbering import numbered

    value, number = numbered(Name.parse(reading))
    stream = Name(value)
    if len(stream) <= _BELOW_GROUP:
        return error
    groups = [stream.prefix(length) for length in range(len(stream) - _BELOW_GROUP, 0, -1)]
    answers = await asyncio.gather(*[face.group(each).streams() for each in groups], return_exceptions=True)
    said = [(each, answer) for each, answer in zip(groups, answers, strict=True) if isinstance(answer, dict)]
    if not said:
        return next(each for each in answers if isinstance(each, Unreachable | Untrusted))
    group, streams = said[0]
    if stream not in streams:
        like = difflib.get_close_matches(str(stream), map(str, streams), _LIKE, cutoff=0)
        there = f"it has {len(streams)}, such as {', '.join(like)}" if like else "it has none"
        return Unreachable(f"there is no stream {stream} in the group {group}: {there}")
    highest = streams[stream]
    if number > highest:
        return Unreachable(f"there is no reading {number} of {stream}: its readings are 1 to {highest}")
    return Unreachable(
        f"no repo that can be reached has reading {number} of {stream}, whose newest is {highest}: "
        "retention may have dropped it"
    )
