"""`roost mule export FILE GROUP`, `import FILE`, `keep FILE GROUP`, `show FILE`: a data mule that is a file.

`export` joins the group, gets what there is of its topics, and writes it into the file, or adds it to what is there.
`import` verifies what is in the file, joins its group where the file is now, and answers with it until a signal comes,
or for so long as it is told: then whoever wanted something of it has it, and carries it on. `keep` stays, and does
both: it is where a group's history is when its producers are not.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._output import add_json, counted, say, show
from roost.cli._page import Page
from roost.cli._progress import progress_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from roost.host.client import GroupConnection
    from roost.host.mule import Loaded, Say
    from roost.naming import Name
    from roost.sync.port import Stream
    from roost.sync.svs_settings import SvsSettings

SUMMARY = "Carry what a group published in a file, to members that no network reaches."
PAGE: Final = Page(
    examples=(
        ("roost mule export ops.mule /campus/ops --accept-any --wait 1", "what the group has, into a file"),
        ("roost mule show ops.mule --json", "what is in it"),
        ("roost mule import ops.mule --accept-any --for 2", "bring it to its group, here, for two seconds"),
        ("roost mule keep ops.mule /campus/ops", "stay, and be where the group's history is"),
    ),
    text="What a file brings is verified like anything else that comes. A mule of a group that nobody signs for needs "
    "--accept-any.",
    see=("sync", "docs/svsps.md"),
)

CARRY_BYTES: Final = 1 << 32


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which file, and what to do with it."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    export = actions.add_parser("export", help="get what a group has, into a file", description="Write a mule's file.")
    export.add_argument("file", metavar="FILE", type=Path, help="where to; what is in it already stays")
    export.add_argument("group", metavar="GROUP", help="the group's name: /campus/ops")
    export.add_argument("topics", metavar="TOPIC", nargs="*", help="what to get: /position (default: everything)")
    export.add_argument("--since", metavar="WHEN", help="only what is not older: 24h, 7d, 2026-05-01T08:00Z")
    export.add_argument("--latest", action="store_true", help="of what there is, only the latest of each name")
    export.add_argument(
        "--wait",
        metavar="S",
        type=float,
        default=5.0,
        help="listen for so long, then get what there was, until nothing of it came for so long (default 5)",
    )
    export.add_argument(
        "--at-most", metavar="S", type=float, default=3600.0, help="leave after so long in any case (default 3600)"
    )
    _joined(export)
    keep = actions.add_parser(
        "keep",
        help="be where a group's history is",
        description="Stay in a group, carry what it has, and keep it in a file.",
    )
    keep.add_argument("file", metavar="FILE", type=Path, help="where to; what is in it already is carried, too")
    keep.add_argument("group", metavar="GROUP", help="the group's name: /campus/ops")
    keep.add_argument("topics", metavar="TOPIC", nargs="*", help="what to keep: /position (default: everything)")
    keep.add_argument(
        "--wait", metavar="S", type=float, default=5.0, help="write when nothing new came for so long (default 5)"
    )
    keep.add_argument(
        "--every", metavar="S", type=float, default=60.0, help="write so often if new things keep coming (default 60)"
    )
    _joined(keep)
    import_ = actions.add_parser(
        "import", help="bring a file to a group", description="Bring a mule's file to its group."
    )
    import_.add_argument("file", metavar="FILE", type=Path, help="what `roost mule export` wrote")
    import_.add_argument("--for", dest="for_s", metavar="S", type=float, help="leave after so many seconds")
    _joined(import_)
    looking = actions.add_parser("show", help="say what is in a file", description="Say what is in a mule's file.")
    looking.add_argument("file", metavar="FILE", type=Path, help="what `roost mule export` wrote")
    add_json(looking)


def _joined(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--node",
        metavar="NAME",
        help="our name in the group (default: mule, below the key that signs; with --accept-any, below this machine)",
    )
    parser.add_argument(
        "--carry-for",
        metavar="NAME",
        action="append",
        default=[],
        help="answer for members below this name also those who set no forwarding hints, as NDNts and ndn-svs do not",
    )
    parser.add_argument("--v2", action="store_true", help="a group of version 2, as ndn-svs and NDNts have them")
    parser.add_argument(
        "--at", dest="uri", metavar="URI", help="the forwarder (default: NDN_CLIENT_TRANSPORT, client.conf, the node)"
    )
    parser.add_argument("--accept-any", action="store_true", help="do not verify who has signed")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Write, bring or show."""
    import asyncio

    from roost.errors import BadConfig, Untrusted
    from roost.host.home_trust import is_initialised
    from roost.host.paths import home

    if options.action == "show":
        from roost.cli._mule_show import show_file

        return asyncio.run(show_file(options))
    for name, what in (("wait", "--wait"), ("for_s", "--for"), ("at_most", "--at-most"), ("every", "--every")):
        given = getattr(options, name, None)
        if given is not None and not given > 0:
            raise BadConfig(f"{what} is more than 0")
    if not options.accept_any and not is_initialised():
        raise Untrusted(
            f"nothing could be believed: no trust is configured in {home()}; run `roost init`, or add --accept-any if "
            "you do not care who has signed"
        )
    work = {"export": _export, "keep": _keep, "import": _import}[options.action]
    return asyncio.run(_until_stopped(work(options)))


async def _until_stopped(work: Coroutine[None, None, None]) -> int:
    import asyncio
    import signal

    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return 0
    return 0


def _join(options: argparse.Namespace, group: Name, settings: SvsSettings, uri: str | None) -> GroupConnection:
    import time

    from roost.host import ACCEPT_ANY, join
    from roost.host.blob_names import MULE, carrying_name, machine
    from roost.host.keystore import KeyStore
    from roost.host.paths import home
    from roost.naming import Name
    from roost.wire import DigestSigner

    verifier = ACCEPT_ANY if options.accept_any else None
    signer = DigestSigner() if options.accept_any else None
    tells = None
    if options.node:
        node = Name.parse(options.node)
    elif options.accept_any:
        node = machine() / MULE
    else:
        node, tells = carrying_name(group, settings, KeyStore(home()).keychain(), time.time_ns())
    return join(
        group,
        node,
        settings,
        uri=uri,
        verifier=verifier,
        signer=signer,
        outer=tells,
        carry_bytes=CARRY_BYTES,
        carry_for=options.carry_for,
        receivers=(),  # it carries what is sealed as it is, for whomever
        durable=False,
    )


def _settings(version: int) -> SvsSettings:
    from dataclasses import replace

    from roost.pubsub.blobs.carrying import MULE_PERIODIC_MS
    from roost.sync.choice import SVS3
    from roost.sync.svs_settings import SvsSettings

    settings = SVS3 if version == 3 else SvsSettings(version=2, large_vectors=False)
    return replace(settings, periodic_ms=MULE_PERIODIC_MS)


async def _export(options: argparse.Namespace) -> None:
    from roost.cli import note
    from roost.cli._mule_collecting import collect, unless_stopped, want
    from roost.host.locate import await_node
    from roost.naming import Name

    uri = await await_node(options.uri, note)
    async with _join(options, Name.parse(options.group), _settings(2 if options.v2 else 3), uri) as group:
        want(group, options.topics, CARRY_BYTES, since=options.since, latest=options.latest)
        highs: dict[Stream, int] = {}
        await unless_stopped(collect(group, highs, options.wait, options.at_most, progress_of(options)))
        lacking = group.part.lacking(highs or None)
        loaded = await group.unload(options.file, _progress(options))
    of_what = f"{counted(loaded.packets, 'packet')} of {counted(loaded.streams, 'stream')}"
    line = f"{options.file}: {of_what}, {loaded.fresh} of them new"
    told = _counts(options, loaded) | {"fresh": loaded.fresh, "lacking": lacking}
    show(options, told, [line])
    if lacking:
        note(
            f"{lacking} publications are known of and could not be had, or not all of it: their holders are out of "
            "reach, or it took too long; try again later"
        )


async def _keep(options: argparse.Namespace) -> None:
    from roost.cli import note
    from roost.cli._mule_collecting import settled, unless_stopped, want
    from roost.host.locate import await_node
    from roost.naming import Name

    uri = await await_node(options.uri, note)
    async with _join(options, Name.parse(options.group), _settings(2 if options.v2 else 3), uri) as group:
        if options.file.exists():
            await group.load(options.file, _progress(options))
        want(group, options.topics, CARRY_BYTES)
        part = group.part
        line = f"keeping {options.group} in {options.file}, {part.carried} packets"
        say(options, line, event="keeping", group=options.group, file=str(options.file), packets=part.carried)
        written = part.ever_carried

        async def write() -> None:
            nonlocal written
            now = part.ever_carried
            loaded = await group.unload(options.file)
            written = now
            line = f"{options.file}: {counted(loaded.packets, 'packet')} of {counted(loaded.streams, 'stream')}"
            say(options, line, event="written", **_counts(options, loaded))

        async def go_on() -> None:
            while True:
                await group.until(lambda: part.ever_carried > written)
                await settled(group, options.wait, options.every)
                await write()

        await unless_stopped(go_on())
        if part.ever_carried > written:
            await write()


async def _import(options: argparse.Namespace) -> None:
    import asyncio

    from roost.cli import note
    from roost.cli._mule_show import first_of
    from roost.host.locate import await_node

    first = await first_of(options.file)
    uri = await await_node(options.uri, note)
    async with _join(options, first.group, _settings(first.naming.version), uri) as group:
        loaded = await group.load(options.file, _progress(options))
        line = f"carrying {counted(loaded.packets, 'packet')} of {counted(loaded.streams, 'stream')} in {first.group}"
        say(options, line, event="carrying", group=str(first.group), **_counts(options, loaded))
        try:
            async with asyncio.timeout(options.for_s):
                await asyncio.Event().wait()
        except TimeoutError:
            pass
        finally:
            say(options, f"answered {group.part.answered} times", event="left", answered=group.part.answered)


def _counts(options: argparse.Namespace, loaded: Loaded) -> dict[str, Any]:
    counts = {"file": str(options.file), "packets": loaded.packets, "streams": loaded.streams}
    return counts | ({"refused": loaded.refused} if loaded.refused else {})


def _progress(options: argparse.Namespace) -> Say:
    progress = progress_of(options)
    return lambda done, total: progress.say(done, "bytes verified", total)
