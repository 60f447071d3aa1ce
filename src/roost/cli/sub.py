"""`roost sub GROUP [FILTER…]`: subscribe to a group's streams and show each reading, verified.

With `-t FILTER` it subscribes at an MQTT server instead, with the letters of mosquitto_sub (`_mqtt_sub`).
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._mqtt_options import Letters, add_connection, add_subscribing, is_mqtt
from roost.cli._parsing import add_at

if TYPE_CHECKING:
    from roost.pubsub.consumers.arrival import Arrival

SUMMARY = "Subscribe to streams of a group, and show each reading once, in order, verified; or at an MQTT server."

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
    groups = Letters(parser, "options for groups")
    groups.add("--policy", default="sequential", help="sequential (the default), latest or sample(n)")
    groups.add("--json", action="store_true", help="one JSON object per line")
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
    import asyncio

    from roost.errors import BadConfig, Untrusted
    from roost.host.home_trust import is_initialised
    from roost.host.paths import home

    if is_mqtt(options, ("GROUP",)):
        from roost.cli._mqtt_client import run_verb
        from roost.cli._mqtt_sub import subscribe

        return run_verb(subscribe, options)
    if options.count is not None and options.count < 1:
        raise BadConfig("--count is at least 1")
    if not options.accept_any and not is_initialised():
        raise Untrusted(
            f"no reading could be believed: no trust is configured in {home()}; run `roost init --join ANCHOR --schema "
            "FILE` with what the other machine trusts, or add --accept-any if you do not care who has signed"
        )
    asyncio.run(_show(options))
    return 0


async def _show(options: argparse.Namespace) -> None:
    import asyncio
    import signal

    from roost.cli import note
    from roost.host import ACCEPT_ANY, connect
    from roost.host.locate import await_node

    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: task and task.cancel())
    since = int(options.since) if options.since is not None and _NUMBER.fullmatch(options.since) else options.since
    try:
        uris = options.uris if len(options.uris) > 1 else await await_node((options.uris or [None])[0], note)
        async with connect(uris, verifier=ACCEPT_ANY if options.accept_any else None) as face:
            subscribing = face.group(options.group).subscribe(
                *options.filters, policy=options.policy, since=since, name=options.name, folder=options.folder
            )
            async with subscribing as subscription:
                await subscription.subscribed()
                note(f"subscribed to {options.group}; stop with Ctrl-C")
                shown = 0
                async for reading in subscription:
                    print(_json(reading) if options.json else _line(reading), flush=True)
                    shown += 1
                    if shown == options.count:
                        break
    except asyncio.CancelledError:  # by a signal
        return


def _line(reading: Arrival) -> str:
    unit = f" {reading.unit}" if reading.unit else ""
    quality = " (sealed)" if reading.sealed else f" ({reading.quality.name.lower()})" if reading.quality else ""
    return f"{_time(reading) or '-'} {reading.stream} {reading.number} {_value(reading)}{unit}{quality}"


def _json(reading: Arrival) -> str:
    import json

    return json.dumps(
        {
            "stream": str(reading.stream),
            "number": reading.number,
            "time": _time(reading),
            "time_ns": reading.event_time,
            "value": _value(reading),
            "unit": reading.unit,
            "quality": "sealed" if reading.sealed else reading.quality.name.lower(),
            "signer": str(reading.signer),
            "lateness_ms": reading.lateness_ns // 1_000_000,
        },
        ensure_ascii=False,
    )


def _time(reading: Arrival) -> str | None:
    """When it was measured, in UTC; None if it does not say, or no calendar has it."""
    from datetime import UTC, datetime

    milliseconds = reading.event_time // 1_000_000
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (ValueError, OverflowError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z" if milliseconds else None


def _value(reading: Arrival) -> object:
    """The value; bytes, and payloads that are no SenML, in hex."""
    if reading.values:
        value = reading.value
        return value.hex() if isinstance(value, bytes) else value
    return "" if reading.reading is None else reading.reading.payload.hex()
