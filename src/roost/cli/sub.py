"""`roost sub GROUP [FILTER…]`: subscribe to a group's streams and show each reading, verified.

With `-t FILTER` it subscribes at an MQTT server instead, with the letters of mosquitto_sub (`_mqtt_sub`).
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

from roost.cli._exit import MEANINGS, TIME_IS_UP
from roost.cli._face import face_of
from roost.cli._mqtt_options import Letters, add_connection, add_subscribing, is_mqtt
from roost.cli._output import add_json, say
from roost.cli._page import Page
from roost.cli._parsing import add_at

SUMMARY = "Subscribe to streams of a group, or to topics of an MQTT server."
PAGE: Final = Page(
    examples=(
        ('roost sub /BigCompany/Building1/Electricity "+/Heater/#"', "all heaters of the group, from now on"),
        (
            "roost sub /BigCompany/Building1/Electricity Panel1 --since 24h --json -C 2",
            "two readings of the last 24 hours, for programs",
        ),
        (
            "roost sub /BigCompany/Building1/Electricity --since 1 --name display -C 1",
            "go on where `display` stopped the last time, or begin with the first reading",
        ),
        ("roost sub -t 'hall/#' -v -W 5", "messages of an MQTT server, for 5 seconds"),
    ),
    text="Each reading is shown once, in order, and verified up to a trust anchor of this home. It goes on until it is "
    "stopped, or until there were enough. With -t it speaks MQTT instead, with the letters of mosquitto_sub.",
    exits={TIME_IS_UP: MEANINGS[TIME_IS_UP]},
    see=("pub", "stream", "flips", "docs/repos.md", "docs/mqtt-tools.md"),
)

USAGE: Final = """roost sub [options] GROUP [FILTER ...]
       roost sub [options] -t FILTER [-t FILTER ...]"""

_NUMBER: Final = re.compile(r"-?[0-9]{1,20}")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say to what, from when and how."""
    parser.usage = USAGE
    parser.add_argument("group", metavar="GROUP", nargs="?", help="the group's name: /BigCompany/Building1/Electricity")
    parser.add_argument(
        "filters",
        metavar="FILTER",
        nargs="*",
        help="what to show, relative to the group: a stream or all below it (Panel1/Heater/Voltage, Panel1), or an "
        'MQTT filter ("+/Heater/#"); default: all',
    )
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="begin in the past: so long ago (24h, 7d), at a time (2026-05-01, 2026-05-01T08:00+02:00; in UTC unless "
        "it says otherwise); a bare number is a reading's number, to begin with in each stream (1: all there are)",
    )
    parser.add_argument("-C", "--count", metavar="N", type=int, help="leave after so many readings, or messages")
    parser.add_argument("-W", dest="wait", metavar="S", type=int, help="leave after so many seconds, with exit code 27")
    add_json(parser, "one JSON object per line; of MQTT messages as -F %%j prints them")
    groups = Letters(parser, "options for groups")
    groups.add("--policy", default="sequential", help="sequential (the default), latest or sample(n)")
    groups.add("--name", help="remember under this name what was shown, and go on behind it next time")
    groups.add("--folder", metavar="DIR", type=Path, help="where that is kept (default: subscriptions in ROOST_HOME)")
    groups.add("--accept-any", action="store_true", help="do not verify who has signed")
    add_at(parser)
    mqtt = Letters(parser, "options for MQTT, as mosquitto_sub has them")
    add_subscribing(mqtt)
    add_connection(mqtt)
    parser.set_defaults(for_groups=groups, for_mqtt=mqtt, verbatim=mqtt.with_value(), mistake=parser.error)


def run(options: argparse.Namespace) -> int:
    """Show readings until there were enough, or a signal comes."""
    if is_mqtt(options, ("GROUP",)):
        from roost.cli._mqtt_client import run_verb
        from roost.cli._mqtt_sub import subscribe

        if options.json and options.form is not None:
            options.mistake("--json and -F both say how a message is shown: leave one of them out")
        options.form = "%j" if options.json else options.form
        return run_verb(subscribe, options)
    return follow(options)


def follow(options: argparse.Namespace) -> int:
    """Show readings of a group."""
    import asyncio

    from roost.errors import BadConfig

    if options.count is not None and options.count < 1:
        raise BadConfig("--count is at least 1")
    if options.wait is not None and options.wait < 1:
        raise BadConfig("-W is at least 1 second")
    return asyncio.run(_show(options))


async def _show(options: argparse.Namespace) -> int:
    import asyncio
    import signal

    from roost.cli import note
    from roost.cli._readings import line_of, told
    from roost.cli._stream_names import is_internal

    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: task and task.cancel())
    since = int(options.since) if options.since is not None and _NUMBER.fullmatch(options.since) else options.since
    limit = asyncio.timeout(options.wait)
    try:
        async with limit, face_of(options) as face:
            group = face.group(options.group)
            wants_all = any("$roost" in each or "%24roost" in each for each in options.filters)
            subscribing = group.subscribe(
                *options.filters, policy=options.policy, since=since, name=options.name, folder=options.folder
            )
            async with subscribing as subscription:
                await subscription.subscribed()
                note(f"subscribed to {options.group}; stop with Ctrl-C")
                shown = 0
                async for reading in subscription:
                    if not wants_all and is_internal(group.name, reading.stream):
                        continue
                    say(options, line_of(reading), **told(reading))
                    shown += 1
                    if shown == options.count:
                        break
    except asyncio.CancelledError:  # by a signal
        return 0
    except TimeoutError:
        if not limit.expired():  # else somebody did not answer
            raise
        note(f"roost {options.verb}: timed out after {options.wait} s")
        return TIME_IS_UP
    return 0
