"""`roost fetch NAME`: fetch one Data, or a segmented object, and write its content out.

Which of the two it is need not be said: while the Data of exactly that name is asked, so is whether there are segments
below it, and what is there first is fetched. `--segments` spares the question.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._output import add_json, show
from roost.cli._page import Page
from roost.cli._progress import progress_of

if TYPE_CHECKING:
    from roost.host import Face, FetchSettings
    from roost.naming import Name
    from roost.wire import Data

SUMMARY = "Fetch a Data or a whole segmented object, verify it and write its content."
PAGE: Final = Page(
    examples=(
        (
            "roost fetch /BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=1 --pretty",
            "a reading: name, signature and content",
        ),
        ("roost fetch /BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=1 --json", "the same for programs"),
        (
            "roost fetch /BigCompany/Building1/Electricity/Panel1/manual -o manual.txt",
            "what `roost serve` serves, into a file",
        ),
    ),
    text="Which of the two it is need not be said: while the Data of exactly that name is asked for, so is whether "
    "there are segments below it, and what is there first is fetched. What is not signed by who should "
    "have is not written.",
    see=("serve", "stream", "trust", "docs/client.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what to fetch and where from."""
    parser.add_argument("name", metavar="NAME", help="the name, as a URI: /BigCompany/Building1/seq=5")
    parser.add_argument("--segments", action="store_true", help="fetch a segmented object, without looking first")
    parser.add_argument("--pretty", action="store_true", help="show name, signature and content for people")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to a file instead of standard output")
    parser.add_argument("--prefix", action="store_true", help="any Data under NAME will do (CanBePrefix)")
    parser.add_argument("--fresh", action="store_true", help="only fresh Data (MustBeFresh)")
    parser.add_argument("--lifetime-ms", metavar="MS", type=int, help="wait this long for each try (default 4000)")
    parser.add_argument("--tries", metavar="N", type=int, help="ask at most so often (default 3, for each segment 10)")
    parser.add_argument(
        "--at",
        "--uri",
        dest="uri",
        metavar="URI",
        help="the forwarder (default: NDN_CLIENT_TRANSPORT, client.conf, or the running node)",
    )
    parser.add_argument("--accept-any", action="store_true", help="do not verify who made it")
    add_json(parser, "name, signature and content in JSON; what is no text is in base64")


def run(options: argparse.Namespace) -> int:
    """Fetch and write."""
    import asyncio

    asyncio.run(_fetch(options))
    return 0


async def _fetch(options: argparse.Namespace) -> None:
    from roost.cli import note
    from roost.errors import Nacked, Untrusted
    from roost.host import ACCEPT_ANY, FetchSettings, connect
    from roost.host.home_trust import is_initialised
    from roost.host.locate import await_node
    from roost.host.paths import home
    from roost.naming import Name
    from roost.wire.lp import NO_ROUTE

    name = Name.parse(options.name)
    lifetime_ms = _at_least_one(options.lifetime_ms, 4000, "--lifetime-ms")
    once, each = (_at_least_one(options.tries, default, "--tries") for default in (3, 10))
    settings = FetchSettings(lifetime_ms=lifetime_ms, tries=each)
    uri = await await_node(options.uri, note)
    if not options.accept_any and not is_initialised():
        raise Untrusted(
            f"{name} could not be verified: no trust is configured in {home()}; run `roost init` or, for what another "
            "machine trusts, `roost init --join`, or add --accept-any if you do not care who made the data"
        )
    async with connect(uri, verifier=ACCEPT_ANY if options.accept_any else None) as face:
        try:
            data = None if options.segments else await _fetch_one(face, name, options, lifetime_ms, once)
            if data is None:
                await _fetch_object(face, name, settings, options)
                return
        except Nacked as error:
            if error.reason != NO_ROUTE:
                raise
            raise Nacked(f"{error}: nobody serves this name here, or its route is missing", error.reason) from None
    if options.json:
        if options.output is not None:
            _write(data.content, options.output)
        show(options, _told(data, options.output), ())
        return
    _write(pretty(data).encode() if options.pretty else data.content, options.output)


async def _fetch_one(face: Face, name: Name, options: argparse.Namespace, lifetime_ms: int, tries: int) -> Data | None:
    """Fetch one Data; None if there is none so far, but an object of that name."""
    import asyncio

    from roost.errors import TimedOut, Untrusted

    exact = asyncio.ensure_future(
        face.fetch(
            name, can_be_prefix=options.prefix, must_be_fresh=options.fresh, lifetime_ms=lifetime_ms, tries=tries
        )
    )
    if options.prefix:
        return await exact
    look = asyncio.ensure_future(_is_object(face, name, lifetime_ms, tries))
    try:
        await asyncio.wait({exact, look}, return_when=asyncio.FIRST_COMPLETED)
        if not exact.done() and look.exception() is None and look.result():
            return None
        return await exact
    except TimedOut:
        refusal = look.exception() if look.done() else None
        if isinstance(refusal, Untrusted):  # there is something, which is more than nothing
            raise refusal from None
        raise
    finally:
        exact.cancel()
        look.cancel()
        await asyncio.gather(exact, look, return_exceptions=True)


async def _is_object(face: Face, name: Name, lifetime_ms: int, tries: int) -> bool:
    """Whether what is served below a name are segments of it, or the metadata that tells its version."""
    from roost.naming.component import SEGMENT, VERSION
    from roost.wire.rdr import discovery_name

    found = (await face.fetch(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=lifetime_ms, tries=tries)).name
    if len(found) == len(name) or found.at(-1).type != SEGMENT:
        return False
    between = found.prefix(-1)
    return (
        between == name
        or (between.prefix(-1) == name and between.at(-1).type == VERSION)
        or found.starts_with(discovery_name(name))
    )


async def _fetch_object(face: Face, name: Name, settings: FetchSettings, options: argparse.Namespace) -> None:
    if options.pretty and not options.json:
        async for data in face.fetch_segments(name, settings):
            print(f"{data.name}  {len(data.content)} bytes  {data.signature!r}")
        return
    progress = progress_of(options)
    content = await face.fetch_object(name, settings, tell=lambda done, total: progress.say(done, "segments", total))
    progress.end()
    if options.json:
        if options.output is not None:
            _write(content, options.output)
        show(options, {"name": str(name), **_content(content, options.output)}, ())
        return
    _write(content, options.output)


def _told(data: Data, output: Path | None) -> dict[str, Any]:
    """What is told of a Data in JSON."""
    return {
        "name": str(data.name),
        "type": data.content_type,
        "freshness_ms": data.freshness_ms,
        "signature": repr(data.signature),
        "digest": data.implicit_digest.hex(),
        **_content(data.content, output),
    }


def _content(content: bytes, output: Path | None) -> dict[str, Any]:
    if output is not None:
        return {"size_bytes": len(content), "file": str(output)}
    from base64 import b64encode

    try:
        return {"size_bytes": len(content), "content": content.decode()}
    except UnicodeDecodeError:
        return {"size_bytes": len(content), "content": None, "base64": b64encode(content).decode()}


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
