"""`roost demo`: a campus of two buildings, live, with a page to watch it and a panel to break it.

Everything is real but the sensors: processes, sockets, keys up to an anchor, RocksDB on the disk. Nothing is kept: keys
and stores are in a temporary folder, so it runs anywhere and any number of times. What there is and how it starts is in
`campus`; its parts are `hall`, `annex` and `centre`; what can be broken is in `breaks` and `harm`, what is promised
meanwhile in `promises`; a run, with or without a check, in `playing`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from roost.cli._page import Page

SUMMARY = "Run a campus of two buildings with its page, and break it: nothing that counts is lost."

PAGE: Final = Page(
    examples=(
        ("roost demo", "run the campus until Ctrl-C; it says where its page is and what to try"),
        ("roost demo break cut-building", "cut a building off; or kill-repo, corrupt-block, forge"),
        ("roost demo status", "show what is broken, and what is promised with its numbers"),
        ("roost demo --for 60s --check", "run it unattended, break everything once, and judge"),
        ("roost demo --for 60s --check --json", "the same for programs; the last line is the verdict"),
    ),
    text="A hall with 90 sensors on six panels, an annex whose modules speak MQTT, three repos, macros, roles, and a "
    "pipeline on Spark. Keys and data are in a temporary folder, and gone when it ends.",
    exits={1: "with --check or status: a promise was not kept"},
    see=("up", "sub", "docs/demo.md"),
)

_HTTP: Final = 8080
_MQTT: Final = 1883
_CHECK_S: Final = 60.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what to do, and for how long."""
    from roost.cli._output import add_json

    parser.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=("run", "break", "mend", "status"),
        default="run",
        help="run (default); break WHAT, mend WHAT and status ask the campus that runs",
    )
    parser.add_argument("what", metavar="WHAT", nargs="?", help="kill-repo, cut-building, corrupt-block or forge")
    parser.add_argument("--for", dest="for_s", metavar="TIME", type=_seconds, help="end after so long, such as 60s")
    parser.add_argument("--check", action="store_true", help="break everything once, and judge whether promises hold")
    parser.add_argument("--no-pipeline", action="store_true", help="without Spark: no results, only readings")
    parser.add_argument("--every", metavar="TIME", type=_seconds, default=2.0, help="between readings (default: 2s)")
    parser.add_argument("--seed", type=int, default=2026, metavar="N", help="of weather and people (default: 2026)")
    parser.add_argument(
        "--http-port", type=int, default=_HTTP, metavar="N", help=f"the page's, or the next free one; default {_HTTP}"
    )
    parser.add_argument(
        "--mqtt-port", type=int, default=_MQTT, metavar="N", help=f"MQTT's, or the next free one; default {_MQTT}"
    )
    parser.add_argument("--url", metavar="URL", help="of break, mend and status: where the campus is")
    parser.add_argument("--user", metavar="NAME", help="of break, mend and status: who asks")
    parser.add_argument("--password-file", type=Path, metavar="FILE", help="the file whose first line is the password")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Do it."""
    from roost.cli.demo import remote
    from roost.host.paths import home

    told = home() / "demo.json"
    if options.action != "run":
        remote.find(options, told)
        return remote.status(options) if options.action == "status" else remote.play(options)
    return _play(options, told)


def _play(options: argparse.Namespace, told: Path) -> int:
    import asyncio
    import logging
    import sys

    from roost.cli._output import wants_json
    from roost.cli.demo.campus import Settings
    from roost.cli.demo.harm import LASTS_S
    from roost.cli.demo.journal import Journal
    from roost.cli.demo.playing import play
    from roost.errors import BadConfig
    from roost.host.mqtt.turnstile import BrokerLoop

    if options.what is not None:
        raise BadConfig(f"what to break goes with an action: roost demo break {options.what}")
    for_s = options.for_s or (_CHECK_S if options.check else None)
    logging.basicConfig(level=logging.ERROR)
    lasts_s = LASTS_S if for_s is None else min(LASTS_S, for_s / 12)
    settings = Settings(
        options.http_port,
        options.mqtt_port,
        options.every,
        lasts_s,
        options.seed,
        with_pipeline=not options.no_pipeline,
    )
    journal = Journal(sys.stdout, as_json=wants_json(options))
    with asyncio.Runner(loop_factory=BrokerLoop) as runner:
        status = runner.run(play(settings, journal, for_s, check=options.check, told=told))
    journal.conclude(kept=status == 0)
    return status


def _seconds(text: str) -> float:
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 60s, 5m or 1h") from None
    if not 0 < seconds < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r}: a time is above zero and below some months")
    return seconds


_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
