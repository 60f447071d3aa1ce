"""`roost pub GROUP PANEL STREAM VALUE`: publish readings as a panel, and wait until a repo has them.

After a signal it waits `GRACE_S` more at most, after a second one no more: what no repo has yet is on the disk, and
goes with the next run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from roost.host.publishing import RunningPanel

SUMMARY = "Publish readings as a panel: one, one every so often, or those on standard input."

GRACE_S: Final = 3.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say where, as whom and what."""
    parser.add_argument("group", metavar="GROUP", help="the group's name: /BigCompany/Building1/Electricity")
    parser.add_argument("panel", metavar="PANEL", help="the panel, whose key has to be here: Panel1")
    parser.add_argument("stream", metavar="STREAM", nargs="?", help="the stream, below the panel: Heater/Voltage")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="a number, or text")
    parser.add_argument("--unit", default="", help="the unit, as SenML has it: V, Cel, %%RH")
    parser.add_argument("--every", metavar="S", type=float, help="publish it again every so many seconds")
    parser.add_argument("--stdin", action="store_true", help='take lines "STREAM VALUE" from standard input')
    parser.add_argument("--copies", metavar="N", type=int, default=1, help="on how many repos it is to be (default: 1)")
    parser.add_argument(
        "--folder", metavar="DIR", type=Path, help="where what waits is kept (default: panels in ROOST_HOME)"
    )
    parser.add_argument(
        "--at",
        "--uri",
        dest="uris",
        metavar="URI",
        action="append",
        default=[],
        help="a repo, or a forwarder (default: NDN_CLIENT_TRANSPORT, client.conf, or the running node); repeatable, "
        "the first one that answers is used",
    )


def run(options: argparse.Namespace) -> int:
    """Publish, and wait until it is kept."""
    import asyncio

    from roost.errors import BadConfig

    if options.stdin == (options.value is not None) or (options.stdin and options.stream is not None):
        raise BadConfig('give STREAM and VALUE, or --stdin and lines of "STREAM VALUE"')
    if options.every is not None and (options.stdin or not options.every > 0):
        raise BadConfig("--every is more than 0, and goes with STREAM and VALUE")
    asyncio.run(_publish(options))
    return 0


async def _publish(options: argparse.Namespace) -> None:
    import asyncio
    import signal

    from roost.cli import note
    from roost.errors import TimedOut
    from roost.host import connect
    from roost.host.locate import await_node

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def stop() -> None:
        loop.call_later(0 if stopped.is_set() else GRACE_S, lambda: task and task.cancel())
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    waiting = 0
    try:
        uris = options.uris if len(options.uris) > 1 else await await_node((options.uris or [None])[0], note)
        async with (
            connect(uris) as face,
            face.group(options.group).panel(options.panel, folder=options.folder, copies=options.copies) as panel,
        ):
            try:
                async for stream, value in _readings(options, stopped):
                    await _publish_one(panel, stream, value, options.unit)
                await panel.flush()
            finally:
                waiting = panel.waiting
    except asyncio.CancelledError:  # by a signal
        raise TimedOut(f"stopped; {waiting} readings wait for a repo on the disk, the next run sends them") from None


async def _publish_one(panel: RunningPanel, stream: str, value: str, unit: str) -> None:
    number = await panel.publish(stream, value_of(value), unit=unit)
    print(f"published {panel.stream(stream)} {number}", flush=True)


async def _readings(options: argparse.Namespace, stopped: asyncio.Event) -> AsyncIterator[tuple[str, str]]:
    import asyncio
    import contextlib
    import sys

    from roost.errors import BadConfig

    if not options.stdin:
        yield options.stream, options.value
        while options.every is not None and not stopped.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(options.every):
                    await stopped.wait()
            if not stopped.is_set():
                yield options.stream, options.value
        return
    loop = asyncio.get_running_loop()
    while not stopped.is_set() and (line := await loop.run_in_executor(None, sys.stdin.readline)):
        stream, _, value = line.strip().partition(" ")
        if stream and not value:
            raise BadConfig(f'{line.strip()!r} has no value: a line is "STREAM VALUE"')
        if stream:
            yield stream, value.strip()


def value_of(text: str) -> int | float | str:
    """A number where the text is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
