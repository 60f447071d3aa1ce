"""`roost pub GROUP PANEL STREAM VALUE`: publish readings as a panel, and wait until a repo has them.

With `-t TOPIC` it publishes to an MQTT server instead, with the letters of mosquitto_pub (`_mqtt_pub`).

Standard output has one line per reading, once it is on the disk: `kept here STREAM NUMBER`. Standard error says when
repos have confirmed them, and which lines of standard input cannot be published. After a signal it waits `GRACE_S` more
at most, after a second one no more: what no repo has yet is on the disk, and goes with the next run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._mqtt_options import Letters, add_connection, add_publishing, is_mqtt
from roost.cli._output import add_json, say
from roost.cli._page import Page
from roost.cli._parsing import add_at

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from roost.host.publishing import RunningPanel

SUMMARY = "Publish readings into a group as a panel, or messages to an MQTT server."
PAGE: Final = Page(
    examples=(
        ("roost pub /BigCompany/Building1/Electricity Panel1 Heater/Voltage 229.5 --unit V", "one reading"),
        (
            "roost pub /BigCompany/Building1/Electricity Panel1 --stdin --json < readings.txt",
            'lines of "STREAM VALUE"; what was published in JSON',
        ),
        (
            "roost pub /BigCompany/Building1/Electricity Panel1 Heater/Voltage 230 --copies 1",
            "wait until so many repos have it on their disks",
        ),
        ("roost pub -t hall/room1/temp -m 21.5 -q 1", "a message to an MQTT server, acknowledged when it is safe"),
    ),
    text="Readings are on this machine's disk before they are told of, and it ends when repos have confirmed all. "
    "After SIGINT or SIGTERM that may take three seconds more; what no repo has yet goes with the next run. With -t it "
    "speaks MQTT instead, with the letters of mosquitto_pub; a server's refusal is the exit status then.",
    see=("sub", "stream", "key", "docs/repos.md", "docs/mqtt-tools.md"),
)

USAGE: Final = """roost pub [options] GROUP PANEL STREAM VALUE
       roost pub [options] GROUP PANEL --stdin
       roost pub [options] -t TOPIC (-m MESSAGE | -f FILE | -l | -s | -n)"""

GRACE_S: Final = 3.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say where, as whom and what."""
    parser.usage = USAGE
    parser.add_argument("group", metavar="GROUP", nargs="?", help="the group's name: /BigCompany/Building1/Electricity")
    parser.add_argument("panel", metavar="PANEL", nargs="?", help="the panel, whose key has to be here: Panel1")
    parser.add_argument("stream", metavar="STREAM", nargs="?", help="the stream, below the panel: Heater/Voltage")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="a finite number, or text")
    add_json(parser, "a line of JSON per reading")
    groups = Letters(parser, "options for groups")
    groups.add("--unit", default="", help="the unit, as SenML has it: V, Cel, %%RH")
    groups.add("--every", metavar="S", type=float, help="publish it again every so many seconds")
    groups.add("--stdin", action="store_true", help='take lines "STREAM VALUE" from standard input')
    groups.add(
        "--copies", metavar="N", type=int, default=1, help="on how many repos it is to be, up to 64 (default: 1)"
    )
    groups.add("--folder", metavar="DIR", type=Path, help="where what waits is kept (default: panels in ROOST_HOME)")
    add_at(parser)
    mqtt = Letters(parser, "options for MQTT, as mosquitto_pub has them")
    add_publishing(mqtt)
    add_connection(mqtt)
    parser.set_defaults(for_groups=groups, for_mqtt=mqtt, verbatim=mqtt.with_value(), mistake=parser.error)


def run(options: argparse.Namespace) -> int:
    """Publish, and wait until it is kept."""
    import asyncio

    from roost.errors import BadConfig
    from roost.repo.batch import MAX_COPIES

    if is_mqtt(options, ("GROUP", "PANEL")):
        from roost.cli._mqtt_client import run_verb
        from roost.cli._mqtt_pub import publish

        return run_verb(publish, options)
    if options.stdin == (options.value is not None) or (options.stdin and options.stream is not None):
        raise BadConfig('give STREAM and VALUE, or --stdin and lines of "STREAM VALUE"')
    if options.every is not None and (options.stdin or not options.every > 0):
        raise BadConfig("--every is more than 0, and goes with STREAM and VALUE")
    if not 1 <= options.copies <= MAX_COPIES:
        raise BadConfig(f"--copies is 1 to {MAX_COPIES}, the number of repos that are to have a reading")
    if options.value is not None:
        value_of(options.value)
    return 1 if asyncio.run(_publish(options)) else 0


async def _publish(options: argparse.Namespace) -> int:
    """Publish all there is; how many lines could not be."""
    import asyncio
    import signal

    from roost.cli import note
    from roost.errors import InvalidInput, NoKey, TimedOut
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
    waiting = bad = 0
    try:
        uris = options.uris if len(options.uris) > 1 else await await_node((options.uris or [None])[0], note)
        async with (
            connect(uris) as face,
            face.group(options.group).panel(options.panel, folder=options.folder, copies=options.copies) as panel,
        ):
            try:
                complete = True
                async for place, stream, value in _readings(options, stopped):
                    if options.every is not None:
                        complete = _look(panel, complete=complete)
                    try:
                        await _publish_one(panel, stream, value, options)
                    except (InvalidInput, NoKey) as error:
                        if not place:
                            raise
                        note(f"line {place} is left out: {error}")
                        bad += 1
                await panel.flush()
                _look(panel, complete=False)
            finally:
                waiting = panel.waiting
    except asyncio.CancelledError:  # by a signal
        raise TimedOut(f"stopped; {waiting} readings wait for a repo on the disk, the next run sends them") from None
    return bad


def _look(panel: RunningPanel, *, complete: bool) -> bool:
    """Whether repos have all readings; says so when it was otherwise the last time."""
    from roost.cli import note

    waiting = panel.waiting
    if waiting and complete:
        note(f"not confirmed yet: {waiting} readings wait for a repo")
    elif not waiting and not complete:
        note("confirmed: repos have all readings so far")
    return not waiting


async def _publish_one(panel: RunningPanel, stream: str, value: str, options: argparse.Namespace) -> None:
    from roost.errors import BadConfig

    try:
        f"{stream} {value}".encode()
    except UnicodeEncodeError:
        raise BadConfig(f"{stream!r} {value!r} is not in UTF-8") from None
    number = await panel.publish(stream, value_of(value), unit=options.unit)
    name = str(panel.stream(stream))
    say(options, f"kept here {name} {number}", stream=name, number=number)


async def _readings(options: argparse.Namespace, stopped: asyncio.Event) -> AsyncIterator[tuple[int, str, str]]:
    """The readings to publish, each with the number of its line, 0 for what does not come from standard input."""
    import asyncio
    import contextlib
    import sys

    if not options.stdin:
        yield 0, options.stream, options.value
        while options.every is not None and not stopped.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(options.every):
                    await stopped.wait()
            if not stopped.is_set():
                yield 0, options.stream, options.value
        return
    loop = asyncio.get_running_loop()
    place = 0
    while not stopped.is_set() and (line := await loop.run_in_executor(None, sys.stdin.buffer.readline)):
        place += 1
        stream, _, value = line.decode(errors="surrogateescape").strip().partition(" ")
        if stream and not stream.startswith("#"):
            yield place, stream, value.strip()


def value_of(text: str) -> int | float | str:
    """A number where the text is one, else the text; raises `BadConfig` for no value, and for no finite number."""
    import math

    from roost.errors import BadConfig

    if not text:
        raise BadConfig('there is no value: give "STREAM VALUE"')
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if not math.isfinite(number):
            raise BadConfig(f"the value {text} is no finite number: leave the reading out, or publish a word for it")
        return number
    return text
