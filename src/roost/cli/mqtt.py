"""`roost mqtt`: run an MQTT broker until it is told to stop; `roost mqtt reload` has it read its users anew."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json
from roost.cli._page import Page
from roost.cli.node import start_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roost.cli._config_source import ConfigSource
    from roost.host.mqtt.config_file import Said
    from roost.host.mqtt.running import Running

SUMMARY = "Run an MQTT broker (3.1.1 and 5.0), on this machine only unless it is told who its users are."

PAGE: Final = Page(
    examples=(
        ("roost mqtt --listen 127.0.0.1:1883 --store sessions", "a broker with its sessions in this folder"),
        ("roost mqtt sample > broker.yaml", "a configuration with every key and its default"),
        ("roost mqtt check -c broker.yaml", "say what is wrong with it"),
        ("roost mqtt reload -c broker.yaml", "have the broker that runs read again who may come in"),
    ),
    text="This is the broker alone, with flags. `roost up` runs a whole node from the same configuration.",
    see=("up", "check-config", "users", "pub", "sub", "docs/mqtt.md", "docs/configuration.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say where to listen, where to keep things, and where the rest is written down."""
    parser.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=("run", "reload", "check", "sample"),
        default="run",
        help="run (default); reload: have the one that runs read again who may come in, roles, macros and limits; "
        "check: say what is wrong with a configuration and its files; sample: print one with every key",
    )
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="the configuration as YAML")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", action="append", help="MQTT over TCP (default: 127.0.0.1:1883); repeatable"
    )
    parser.add_argument("--ws", metavar="HOST:PORT", action="append", help="MQTT over WebSocket; repeatable")
    parser.add_argument("--tls", metavar="HOST:PORT", action="append", help="MQTT over TLS; repeatable")
    parser.add_argument("--wss", metavar="HOST:PORT", action="append", help="MQTT over WebSocket and TLS; repeatable")
    parser.add_argument("--certificate", metavar="FILE", help="for --tls and --wss: the chain in PEM form")
    parser.add_argument("--key", metavar="FILE", help="for --tls and --wss: the private key in PEM form")
    parser.add_argument("--clients", metavar="FILE", help="for --tls and --wss: who signs certificates of users")
    parser.add_argument("--users", metavar="FILE", help="made with `roost users add`")
    parser.add_argument("--permissions", metavar="FILE", help="who may read and write which topics")
    parser.add_argument(
        "--store", metavar="DIR", help="where sessions are kept (default: mqtt in ROOST_HOME), or memory"
    )
    parser.add_argument("--durability", choices=("disk", "received"), help="when messages are acknowledged")
    parser.add_argument("--verbose", action="store_true", help="say when clients come and go")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Do it."""
    import asyncio
    from functools import partial

    from roost.cli._mqtt_reload import request
    from roost.cli._output import show
    from roost.cli._serving import Told, serve
    from roost.host.mqtt.turnstile import BrokerLoop

    if options.action == "sample":
        return show_sample(options)
    source = source_of(options)
    config = source.read()
    if options.action == "check":
        return check(options, source)
    if options.action == "reload":
        said = request(config.store)
        return show(options, {"reloaded": said}, [said])
    start_log(verbose=options.verbose, web=config.web)
    with asyncio.Runner(loop_factory=BrokerLoop) as runner:
        runner.run(serve(config, source, Told(partial(_line, options), started=partial(_tell, options))))
    return 0


def source_of(options: argparse.Namespace) -> ConfigSource:
    """The file, if there is one, with what the flags say put in; raises `BadConfig` for flags that cannot be."""
    from roost.cli._config_source import ConfigSource

    flags: Said = {key: getattr(options, key) for key in ("store", "durability") if getattr(options, key) is not None}
    listeners = _listeners(options)
    if listeners:
        flags["listeners"] = listeners
    for key in ("users", "permissions"):
        if getattr(options, key) is not None:
            flags[key] = str(Path(getattr(options, key)).absolute())
    return ConfigSource(options.config, lambda said: said | flags)


def sample() -> str:
    """The configuration with every key and its default."""
    from importlib.resources import files

    return (files("roost.host.mqtt") / "sample.yaml").read_text(encoding="utf-8")


def show_sample(options: argparse.Namespace) -> int:
    """Print it; for programs, what it says: the keys that are no comments."""
    import yaml

    from roost.cli._output import show

    text = sample()
    return show(options, yaml.safe_load(text), text.splitlines())


def check(options: argparse.Namespace, source: ConfigSource) -> int:
    """Say whether a configuration and its files can run; raises `BadConfig` with all mistakes."""
    from roost.cli import note
    from roost.cli._config_check import check as read_all
    from roost.cli._output import show
    from roost.errors import BadConfig

    try:
        checked = read_all(source.read())
    except BadConfig as error:
        raise BadConfig(source.place(str(error))) from None
    warnings = [source.place(warning) for warning in checked.warnings]
    for warning in warnings:
        note(warning)
    answer = {"can_run": True, "parts": checked.parts, "warnings": warnings}
    return show(options, answer, [f"can run: {'; '.join(checked.parts)}"])


def _line(options: argparse.Namespace, line: str, told: Mapping[str, object]) -> None:
    from roost.cli._output import say

    say(options, line, **told)


def _tell(options: argparse.Namespace, running: Running) -> None:
    from roost.cli._output import say

    for uri in running.uris:
        say(options, f"listening on {uri}", listening=uri)
    store, sessions = running.config.store, running.broker.statistics().sessions
    where = f"keeps sessions in {store}" if store is not None else "keeps sessions in memory only"
    say(options, f"{where}; sessions so far: {sessions}", store=store, sessions=sessions)


def _listeners(options: argparse.Namespace) -> list[dict[str, object]]:
    from roost.errors import BadConfig

    files = {
        name: str(Path(given).absolute())
        for name in ("certificate", "key", "clients")
        if (given := getattr(options, name)) is not None
    }
    if files and not (options.tls or options.wss):
        raise BadConfig("--certificate, --key and --clients are for TLS: say where, with --tls or --wss HOST:PORT")
    flags: tuple[tuple[str, str, dict[str, str]], ...]
    flags = (("listen", "tcp", {}), ("tls", "tls", files), ("ws", "ws", {}), ("wss", "wss", files))
    return [{transport: address, **more} for flag, transport, more in flags for address in getattr(options, flag) or []]
