"""`roost up`: run everything a node is configured for in one process, until it is told to stop."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, say, show
from roost.cli._page import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roost.cli._config_source import ConfigSource
    from roost.host.mqtt.config import Config
    from roost.host.mqtt.running import Builder, Running

SUMMARY = "Run this machine's node: groups and their repos, MQTT, macros, roles, FLIPS, the page and the API."

PAGE: Final = Page(
    examples=(
        ("roost up sample", "print a configuration with every key and its default"),
        ("roost up reload", "have the node that runs read its configuration again, without dropping anyone"),
    ),
    text="The configuration is the file of -c, else roost.yaml of this folder, else that of ROOST_HOME. Without one, "
    "MQTT is on 127.0.0.1:1883, the page on http://127.0.0.1:8080, and what is published goes into the group of which "
    "`roost init` made the keys.",
    see=("check-config", "doctor", "init", "docs/node.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which configuration."""
    parser.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=("run", "reload", "sample"),
        default="run",
        help="run (default); reload: have the node that runs read its configuration again; "
        "sample: print a configuration with every key",
    )
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="the configuration as YAML")
    parser.add_argument("--verbose", action="store_true", help="say when clients come and go")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Do it."""
    from roost.cli._up_config import find_source

    if options.action == "sample":
        from roost.cli.mqtt import show_sample

        return show_sample(options)
    source = find_source(options.config)
    config = source.read()
    if options.action == "reload":
        from roost.cli._mqtt_reload import request

        said = request(config.store)
        return show(options, {"reloaded": said}, [said])
    _run(config, source, options)
    return 0


def builders_of(config: Config) -> list[Builder]:
    """What else the HTTP door serves."""
    if config.http is None:
        return []
    from roost.web.site import site

    return [site]


def _run(config: Config, source: ConfigSource, options: argparse.Namespace) -> None:
    import asyncio

    from roost import __version__
    from roost.cli import note
    from roost.cli._serving import Told, serve
    from roost.cli.node import start_log
    from roost.host.home_trust import is_initialised
    from roost.host.mqtt.turnstile import BrokerLoop

    def line(text: str, told: Mapping[str, object]) -> None:
        say(options, text, **told)

    def part(text: str) -> None:
        say(options, text, part=text)

    def ready(running: Running) -> None:
        if running.http is not None and running.config.web.page:
            page = f"{running.uris[-1]}/"
            say(options, f"the page is at {page}", page=page)
        if source.path is None and not is_initialised():
            note("nothing is signed or kept as a stream yet: stop this, make keys with `roost init`, and start again")

    start_log(verbose=options.verbose, web=config.web)
    where = source.path or "no configuration, so what holds without one"
    say(options, f"node {config.name}, roost {__version__}: {where}", node=config.name, file=source.path)
    with asyncio.Runner(loop_factory=BrokerLoop) as runner:
        runner.run(serve(config, source, Told(line, part, ready=ready), builders_of(config)))
