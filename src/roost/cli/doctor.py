"""`roost doctor`: look at this machine and its node, and say what is wrong and what to do about it."""

from __future__ import annotations

import argparse
import platform
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._doctor_finding import HINT, WRONG, Finding
from roost.cli._output import add_json
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.host.mqtt.config import Config

NFD_SOCKETS: Final = ("/run/nfd/nfd.sock", "/run/nfd.sock")

SUMMARY = "Look at this machine and its node: what is wrong, and what to do about it."

PAGE: Final = Page(
    examples=(("roost doctor", "look at everything"), ("roost doctor --json", "the same, for programs")),
    text="Ports, clock, disk, trust, configuration, forwarders, packages, compiled modules and the Java of Spark are "
    "looked at. The configuration is that of -c, else the one that `roost up` would use. What a running node holds is "
    "no mistake. A line with !! keeps a node from running as it should, one with -- is a hint.",
    exits={1: "something is wrong that keeps a node from running as it should"},
    see=("check-config", "up", "trust", "docs/node.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which configuration, and which other forwarder."""
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="the configuration of the node")
    parser.add_argument("--uri", metavar="URI", help="also try this forwarder")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 if something is wrong."""
    from roost import __version__
    from roost.cli._output import counted, show

    about = f"roost {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    found = examine(options.config, options.uri)
    wrong = sum(each.level == WRONG for each in found)
    hints = sum(each.level == HINT for each in found)
    lines = [about]
    for area, findings in groupby(found, key=lambda each: each.area):
        lines += ["", area, *[line for each in findings for line in each.lines()]]
    lines += ["", f"{wrong or 'nothing'} wrong, {counted(hints, 'hint')}"]
    show(options, {"about": about, "healthy": not wrong, "findings": [each.told() for each in found]}, lines)
    return 1 if wrong else 0


def examine(file: Path | None, uri: str | None) -> list[Finding]:
    """Look at everything."""
    import asyncio

    from roost.cli import _doctor_machine, _doctor_node, _doctor_software
    from roost.cli._doctor_trust import trust
    from roost.cli._up_config import find_source
    from roost.host.paths import home

    config: Config | None
    found, config = _doctor_node.configuration(find_source(file))
    if config is not None:
        found += _doctor_node.ports(config)
    found += _doctor_machine.clock()
    if config is not None:
        found += _doctor_machine.disk(config.store)
    found += trust(home())
    others = [f"unix://{path}" for path in NFD_SOCKETS if Path(path).exists()] + ([uri] if uri else [])
    found += asyncio.run(_doctor_node.forwarders(others))
    found += _doctor_software.packages() + _doctor_software.compilation()
    return found + _doctor_software.pipelines() + _doctor_software.tools()
