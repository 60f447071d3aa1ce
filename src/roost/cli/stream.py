"""`roost stream list|show|read|follow|describe|export`: the streams of a group, their past and what they are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._face import add_face, face_of
from roost.cli._output import add_json, say, show
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.host.streams import StreamGroup
    from roost.naming import Name
    from roost.repo.catalogue import Description

SUMMARY = "List streams, read their past, follow them, describe them, export them."
_GROUP: Final = "/BigCompany/Building1/Electricity"
PAGE: Final = Page(
    examples=(
        (f'roost stream list {_GROUP} "+/Heater/#"', "the streams of all heaters, with units and numbers"),
        (f"roost stream show {_GROUP} Panel1/Heater/Voltage", "what a stream is, and its newest reading"),
        (f"roost stream read {_GROUP} Panel1/Heater/Voltage --since 24h --json", "its last 24 hours, for programs"),
        (f"roost stream read {_GROUP} Panel1 --last 3", "the last three readings of each stream of a panel"),
        (f"roost stream follow {_GROUP} Panel1/Heater/Voltage -C 1 --since 1", "its readings as they come"),
        (
            f"roost stream describe {_GROUP} Panel1/Heater/Voltage --unit V --class Voltage_Sensor --interval-ms 1000",
            "say what it is; without options: what its panel says of it",
        ),
        (f"roost stream export {_GROUP} --since 7d -o week.csv", "a week of all streams, as CSV"),
    ),
    text="A FILTER is relative to the group: a stream, or all below it (Panel1/Heater/Voltage, Panel1), or an MQTT "
    'filter ("+/Heater/#"); without one it is all streams. What is read has been verified. WHEN is so long ago (24h, '
    "7d) or a time (2026-05-01T08:00+02:00; in UTC unless it says otherwise).",
    see=("group", "sub", "sql", "lineage", "docs/repos.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    many = [
        actions.add_parser("list", help="the streams of a group, with their units and how many readings there are"),
        actions.add_parser("read", help="past readings, stream after stream, and leave"),
        actions.add_parser("follow", help="readings as they come, until stopped"),
        actions.add_parser("export", help="past readings as a file: CSV or JSON lines"),
    ]
    one = [
        actions.add_parser("show", help="what a stream is, how many readings there are, and the newest"),
        actions.add_parser("describe", help="what the panel says that a stream is; with options: say it"),
    ]
    for verb in (*many, *one):
        verb.add_argument("group", metavar="GROUP", help=f"the group's name: {_GROUP}")
    for verb in many:
        verb.add_argument("filters", metavar="FILTER", nargs="*", default=[], help="which streams (default: all)")
    for verb in one:
        verb.add_argument("stream", metavar="STREAM", help="the stream, relative to the group: Panel1/Heater/Voltage")
    listing, read, follow, export = many
    listing.add_argument("--all", action="store_true", help="also streams that nodes keep for themselves ($roost)")
    for verb in (read, export):
        verb.add_argument("--since", metavar="WHEN", help="leave out what is older (default: all there is)")
        verb.add_argument("--until", metavar="WHEN", help="leave out what is not older (default: now)")
        verb.add_argument("--last", metavar="N", type=int, help="of each stream, at most the last N of these")
    follow.add_argument("--since", metavar="WHEN", help="begin in the past; a number is that of a reading")
    follow.add_argument("-C", "--count", metavar="N", type=int, help="leave after so many readings")
    export.add_argument("-o", "--output", metavar="FILE", type=Path, help="write there (default: standard output)")
    export.add_argument("--format", choices=("csv", "json"), default="csv", help="csv (the default), or JSON lines")
    describe = one[1]
    describe.add_argument("--unit", help="the unit, as SenML has it: V, Cel, %%RH")
    describe.add_argument("--class", dest="brick", metavar="CLASS", help="the Brick class: Voltage_Sensor")
    describe.add_argument("--interval-ms", metavar="MS", type=int, help="what is between two readings; 0 if it varies")
    describe.add_argument("--label", metavar="TEXT", help="what people call it")
    for verb in (*many, *one):
        add_face(verb)
        add_json(verb)


def run(options: argparse.Namespace) -> int:
    """Run one action."""
    import asyncio

    if options.action == "follow":
        return _follow(options)
    if options.action in {"read", "export"}:
        from roost.cli._stream_past import export, read

        return asyncio.run(export(options) if options.action == "export" else read(options))
    actions = {"list": _list, "show": _show, "describe": _describe}
    return asyncio.run(actions[options.action](options))


async def _list(options: argparse.Namespace) -> int:
    from roost.cli._stream_names import is_internal
    from roost.host.watch import Selection

    async with face_of(options) as face:
        group = face.group(options.group)
        chosen = Selection(group.name, [group.wish(each) for each in options.filters])
        numbers = {
            stream: high
            for stream, high in (await group.streams()).items()
            if chosen.covers(stream) and (options.all or not is_internal(group.name, stream))
        }
        catalogue = await group.catalogue()
    for stream, readings in numbers.items():
        told = {"stream": str(stream), "readings": readings, **_said(catalogue.get(stream))}
        described = " ".join(str(told[key]) for key in ("unit", "class", "label") if told[key])
        say(options, f"{stream}  {readings}  {described}".rstrip(), **told)
    return 0


async def _show(options: argparse.Namespace) -> int:
    from roost.cli._readings import line_of, told

    async with face_of(options) as face:
        group = face.group(options.group)
        stream, readings = await _found(group, options.stream)
        newest = await group.latest(stream)
        said = (await group.catalogue()).get(stream)
    answer: dict[str, Any] = {"stream": str(stream), "panel": str(stream.at(len(group.name))), "readings": readings}
    answer |= _said(said) | {"newest": None if newest is None else told(newest)}
    lines = [f"stream       {stream}", f"readings     {readings}", *_said_lines(said)]
    if newest is not None:
        lines += [f"newest       {line_of(newest)}", f"signer       {newest.signer}"]
    return show(options, answer, lines)


async def _found(group: StreamGroup, wanted: str) -> tuple[Name, int]:
    """A stream that is there, with its highest number; raises `Unreachable` with what is."""
    from roost.cli._stream_names import absent
    from roost.host.publishing import below

    stream = below(group.name, wanted)
    streams = await group.streams()
    if stream not in streams:
        raise absent(group.name, stream, streams)
    return stream, streams[stream]


async def _describe(options: argparse.Namespace) -> int:
    given = {
        "unit": options.unit,
        "brick": options.brick,
        "interval_ms": options.interval_ms,
        "label": options.label,
    }
    async with face_of(options) as face:
        group = face.group(options.group)
        stream, _ = await _found(group, options.stream)
        said = (await group.catalogue()).get(stream)
        if any(each is not None for each in given.values()):
            known = {} if said is None else {key: getattr(said, key) for key in given}
            wanted = known | {key: each for key, each in given.items() if each is not None}
            async with group.panel(str(stream.at(len(group.name)))) as panel:
                await panel.describe(stream, **wanted)
                await panel.flush()
            said = (await group.catalogue()).get(stream)
    lines = _said_lines(said) or [f"the panel of {stream} does not say what it is; it can, with --unit and the like"]
    return show(options, {"stream": str(stream), **_said(said)}, lines)


def _said(said: Description | None) -> dict[str, object]:
    """What its panel says of a stream."""
    if said is None:
        return {"unit": "", "class": "", "interval_ms": None, "label": ""}
    return {"unit": said.unit, "class": said.brick, "interval_ms": said.interval_ms or None, "label": said.label}


def _said_lines(said: Description | None) -> list[str]:
    told = _said(said) if said is not None else {}
    return [f"{key:<12} {each}" for key, each in told.items() if each]


def _follow(options: argparse.Namespace) -> int:
    """As `roost sub` does."""
    from roost.cli import sub

    options.policy, options.name, options.folder, options.wait = "sequential", None, None, None
    return sub.follow(options)
