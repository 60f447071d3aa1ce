"""`roost status`: what a forwarder has and does, ours or NFD, read through its status datasets [nfd-management §5]."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, show
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.forwarding.records import Record
    from roost.host.face import Face

SUMMARY = "Show what a forwarder has and does: faces, routes, strategies, cache."
PAGE: Final = Page(
    examples=(
        ("roost status", "the forwarder as a whole"),
        ("roost status faces --json", "its faces, with what has gone over them"),
        ("roost status fib", "where it sends what"),
    ),
    text="Ours or NFD, by the status datasets that both have. `general` is the whole, `cs` the content store.",
    see=("doctor", "node", "group"),
)

DATASETS: Final = {
    "general": "status/general",
    "faces": "faces/list",
    "fib": "fib/list",
    "rib": "rib/list",
    "strategies": "strategy-choice/list",
    "cs": "cs/info",
}
_MAX_SEGMENTS: Final = 100_000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "what", nargs="?", choices=sorted(DATASETS), default="general", help="what of it (default: general)"
    )
    parser.add_argument(
        "--at", "--uri", dest="at", metavar="URI", help="the forwarder, such as unix:///run/nfd/nfd.sock"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fetch one dataset and print it."""
    import asyncio

    from roost.cli._status_lines import told

    where, records = asyncio.run(_status(arguments.what, arguments.at))
    said = {"forwarder": where, arguments.what: [told(record) for record in records]}
    return show(arguments, said, [f"forwarder {where}", *describe(records)])


async def _status(what: str, at: str | None) -> tuple[str, Sequence[Record]]:
    from roost.cli import note
    from roost.forwarding.requests import read_dataset
    from roost.host.client import connect
    from roost.host.locate import await_node
    from roost.trust.acceptance import ACCEPT_ANY

    uri = await await_node(at, note)
    # /localhost never leaves this machine, and forwarders sign it with keys nobody has a chain for.
    async with connect(uri, verifier=ACCEPT_ANY) as face:
        content = await fetch_dataset(face, DATASETS[what])
        return face.where, read_dataset(DATASETS[what], content)


async def fetch_dataset(face: Face, dataset: str) -> bytes:
    """Fetch all segments of a dataset, one after the other: they are few, and the forwarder is near."""
    from roost.forwarding.requests import check_segment, dataset_name
    from roost.naming.component import SEGMENT
    from roost.naming.conventions import segment

    data = await face.fetch(dataset_name(dataset), can_be_prefix=True, must_be_fresh=True)
    check_segment(data)
    parts = [data.content]
    while data.final_block != data.name.at(-1) and data.name.at(-1).type == SEGMENT and len(parts) < _MAX_SEGMENTS:
        data = await face.fetch(data.name.prefix(-1) / segment(len(parts)))
        parts.append(data.content)
    return b"".join(parts)


def describe(records: Sequence[Record]) -> list[str]:
    """Write records for people, one line or a few each."""
    from roost.cli._status_lines import describe as lines_of

    return lines_of(records)
