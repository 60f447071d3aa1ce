"""`roost fetch NAME`: fetch one Data, or a segmented object, and write its content out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.host import Face
    from roost.wire import Data

SUMMARY = "Fetch a Data, or with --segments a whole object, verify it and write its content."


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what to fetch and where from."""
    parser.add_argument("name", metavar="NAME", help="the name, as a URI: /BigCompany/Building1/seq=5")
    parser.add_argument("--segments", action="store_true", help="fetch a segmented object")
    parser.add_argument("--pretty", action="store_true", help="show name, signature and content for people")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to a file instead of standard output")
    parser.add_argument("--prefix", action="store_true", help="any Data under NAME will do (CanBePrefix)")
    parser.add_argument("--fresh", action="store_true", help="only fresh Data (MustBeFresh)")
    parser.add_argument("--lifetime-ms", metavar="MS", type=int, help="wait this long for each try (default 4000)")
    parser.add_argument("--tries", metavar="N", type=int, help="ask at most so often (default 3, for each segment 10)")
    parser.add_argument("--uri", metavar="URI", help="the forwarder (default: NDN_CLIENT_TRANSPORT, client.conf, node)")
    parser.add_argument("--accept-any", action="store_true", help="do not verify who made it")


def run(options: argparse.Namespace) -> int:
    """Fetch and write."""
    import asyncio

    asyncio.run(_fetch(options))
    return 0


async def _fetch(options: argparse.Namespace) -> None:
    from roost.host import ACCEPT_ANY, connect

    async with connect(options.uri, verifier=ACCEPT_ANY if options.accept_any else None) as face:
        if options.segments:
            await _fetch_object(face, options)
            return
        data = await face.fetch(
            options.name,
            can_be_prefix=options.prefix,
            must_be_fresh=options.fresh,
            lifetime_ms=_at_least_one(options.lifetime_ms, 4000, "--lifetime-ms"),
            tries=_at_least_one(options.tries, 3, "--tries"),
        )
    _write(pretty(data).encode() if options.pretty else data.content, options.output)


async def _fetch_object(face: Face, options: argparse.Namespace) -> None:
    from roost.host import FetchSettings

    settings = FetchSettings(
        lifetime_ms=_at_least_one(options.lifetime_ms, 4000, "--lifetime-ms"),
        tries=_at_least_one(options.tries, 10, "--tries"),
    )
    if options.pretty:
        async for data in face.fetch_segments(options.name, settings):
            print(f"{data.name}  {len(data.content)} bytes  {data.signature!r}")
        return
    _write(await face.fetch_object(options.name, settings), options.output)


def _at_least_one(given: int | None, default: int, option: str) -> int:
    from roost.errors import BadConfig

    if given is not None and given < 1:
        raise BadConfig(f"{option} is at least 1")
    return default if given is None else given


def pretty(data: Data) -> str:
    """Show a Data for people: text as text, anything else as hexadecimal."""
    content = data.content
    try:
        text = content.decode()
        shown = text if text.isprintable() or text.replace("\n", "").isprintable() else content.hex()
    except UnicodeDecodeError:
        shown = content.hex()
    lines = [
        f"name       {data.name}",
        f"type       {data.content_type}",
        f"freshness  {data.freshness_ms} ms",
        f"signature  {data.signature!r}",
        f"digest     {data.implicit_digest.hex()}",
        f"content    {len(content)} bytes",
        shown,
    ]
    return "\n".join(lines) + "\n"


def _write(content: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        from roost.errors import BadConfig

        try:
            output.write_bytes(content)
        except OSError as error:
            raise BadConfig(f"{output} cannot be written: {error.strerror}") from None
        print(f"{len(content)} bytes in {output}", file=sys.stderr)
