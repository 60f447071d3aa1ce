"""`roost serve NAME FILE`: serve a file as a segmented, versioned object with RDR metadata until told to stop."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from roost.cli._output import add_json, say
from roost.cli._page import Page

SUMMARY = "Serve a file as an object that `roost fetch` and other NDN tools can fetch."
PAGE: Final = Page(
    examples=(
        ("roost serve /BigCompany/Building1/Electricity/Panel1/manual manual.txt", "until it is stopped"),
        (
            "roost serve /BigCompany/Building1/Electricity/Panel1/manual manual.txt --version 1 --json",
            "as version 1; told in JSON",
        ),
    ),
    text="The file is cut into segments, which are signed with the key that the schema asks for, and has a version and "
    "metadata by which its newest version is found (RDR).",
    see=("fetch", "node", "docs/client.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what to serve and where."""
    parser.add_argument("name", metavar="NAME", help="the name of the object, without a version")
    parser.add_argument("file", metavar="FILE", type=Path, help="what to serve")
    parser.add_argument("--version", metavar="N", type=int, help="the version (default: the time in milliseconds)")
    parser.add_argument("--segment-bytes", metavar="N", type=int, default=0, help="content per segment (default: 8000)")
    parser.add_argument(
        "--freshness-ms",
        metavar="MS",
        type=int,
        default=1000,
        help="how long an answer counts as fresh (default: 1000)",
    )
    parser.add_argument("--digest", action="store_true", help="sign with a SHA-256 digest: whole, but from nobody")
    parser.add_argument(
        "--at",
        "--uri",
        dest="uri",
        metavar="URI",
        help="the forwarder (default: NDN_CLIENT_TRANSPORT, client.conf, or the running node)",
    )
    add_json(parser, "what is served as a line of JSON")


def run(options: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    import asyncio

    from roost.errors import BadConfig

    try:
        content = options.file.read_bytes()
    except OSError as error:
        raise BadConfig(f"cannot read {options.file}: {error.strerror}") from None
    asyncio.run(_serve(options, content))
    return 0


async def _serve(options: argparse.Namespace, content: bytes) -> None:
    import asyncio
    import signal

    from roost.cli import note
    from roost.host import connect
    from roost.host.locate import await_node
    from roost.wire import DigestSigner

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    uri = await await_node(options.uri, note)
    async with connect(uri, signer=DigestSigner() if options.digest else None) as face:
        serving = face.publish_object(
            options.name,
            content,
            version=options.version,
            segment_bytes=options.segment_bytes,
            freshness_ms=options.freshness_ms,
        )
        async with serving:
            line = f"serving {len(content)} bytes as {serving.prefix} over {face.where}; stop with Ctrl-C"
            say(options, line, event="serving", name=str(serving.prefix), size_bytes=len(content), over=face.where)
            await stopped.wait()
