"""`roost mqtt`: run an MQTT broker until it is told to stop; `roost mqtt reload` has it read its users anew."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.node import calm_collector, start_log

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from roost.host.mqtt.config import Config
    from roost.host.mqtt.running import Running

_OTHER_FILES: Final = 1_000  # of the store, the listeners and Python

_RELOADED: Final = "reloaded users, permissions, certificates, authentication, roles, macros and limits"

SUMMARY = "Run an MQTT broker (3.1.1 and 5.0), on this machine only unless it is told who its users are."


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


def run(options: argparse.Namespace) -> int:
    """Do it."""
    import asyncio

    from roost.host.mqtt.turnstile import BrokerLoop

    if options.action == "sample":
        print(_sample(), end="")
        return 0
    config = config_of(options)
    if options.action == "check":
        return _check(config)
    if options.action == "reload":
        return _reload(config)
    start_log(verbose=options.verbose)
    with asyncio.Runner(loop_factory=BrokerLoop) as runner:
        runner.run(_serve(config, lambda: config_of(options)))
    return 0


def config_of(options: argparse.Namespace) -> Config:
    """Read the file, if there is one, and put in what the flags say; raises `BadConfig`."""
    from roost.host.mqtt.config import read_config
    from roost.host.paths import home

    said = dict(_read(options.config)) if options.config is not None else {}
    listeners = _listeners(options)
    if listeners:
        said["listeners"] = listeners
    for key in ("store", "durability"):
        if getattr(options, key) is not None:
            said[key] = getattr(options, key)
    for key in ("users", "permissions"):
        if getattr(options, key) is not None:
            said[key] = str(Path(getattr(options, key)).absolute())
    folder = options.config.absolute().parent if options.config is not None else Path.cwd()
    return read_config(said, folder, home())


def _read(path: Path) -> Mapping[str, object]:
    import yaml

    from roost.errors import BadConfig

    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}; `roost mqtt sample` prints one") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is no YAML: {error}") from None
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise BadConfig(f"{path}: there are no keys; `roost mqtt sample` prints a configuration")
    return said


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


def _sample() -> str:
    from importlib.resources import files

    return (files("roost.host.mqtt") / "sample.yaml").read_text(encoding="utf-8")


def _within_limits(config: Config) -> tuple[Config, str]:
    """Have as many open files as the system allows, and let in no more clients than leaves some for the store.

    The sentence says so if that is fewer than the configuration has.
    """
    import resource
    from dataclasses import replace

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    room = max(1, most - _OTHER_FILES)
    if most == resource.RLIM_INFINITY or config.bounds.max_links <= room:
        return config, ""
    fewer = replace(config, bounds=replace(config.bounds, max_links=room))
    return fewer, (
        f"lets in {room} connections at most, not {config.bounds.max_links} (limits.connections): the system allows "
        f"this process {most} open files (ulimit -Hn)"
    )


def _check(config: Config) -> int:
    """Read everything that running it would read before anybody is let in; raises `BadConfig` with all mistakes.

    Keys of groups come last, and the first that is missing is a `NoKey`.
    """
    from roost.cli import note
    from roost.errors import BadConfig
    from roost.host.clock import Clock
    from roost.host.keystore import KeyStore
    from roost.host.mqtt.config import sources_of
    from roost.host.mqtt.config_groups import check_keys
    from roost.host.mqtt.reload import load
    from roost.host.paths import home

    count, wrong = _macros(config)
    try:
        security = load(sources_of(config))
    except BadConfig as error:
        raise BadConfig("\n".join([str(error), *wrong])) from None
    if wrong:
        raise BadConfig("\n".join(wrong))
    if config.groups:
        check_keys(config.groups, KeyStore(home()), Clock()())
    for warning in security.warnings:
        note(warning)
    parts = [", ".join(map(str, config.listeners)), f"store {config.store or 'in memory'}"]
    if config.users is not None:
        parts.append(f"users: {len(security.users)}")
    if config.http is not None:
        parts.append(str(config.http))
    if config.groups:
        parts.append(f"groups: {', '.join(str(each.group.name) for each in config.groups)}")
    if config.macros is not None:
        parts.append(f"macros: {count}")
    if security.roles is not None:
        parts.append(f"role documents: {len(security.roles.documents)}")
    print(f"can run: {'; '.join(parts)}")
    return 0


def _macros(config: Config) -> tuple[int, list[str]]:
    """How many macros the configuration has, and what is wrong with them."""
    from roost.cli._macro_file import check
    from roost.cli._macro_graph import check_cycles
    from roost.errors import BadConfig, BadMacro

    try:
        definitions = [] if config.macros is None else config.macros.load()
        check_cycles(check(definitions))
    except (BadConfig, BadMacro) as error:
        return 0, [str(error)]
    return len(definitions), []


def _reload(config: Config) -> int:
    from roost.cli._mqtt_reload import request

    print(request(config.store))
    return 0


async def _serve(config: Config, read_again: Callable[[], Config]) -> None:
    import asyncio
    import signal

    from roost.cli import note
    from roost.cli._mqtt_reload import forget_answers
    from roost.host.mqtt.running import running_broker

    config, shortage = _within_limits(config)
    stopped = asyncio.Event()
    hangups = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, hangups.set)
    async with running_broker(config) as running:
        forget_answers(config.store)
        for uri in running.uris:
            print(f"listening on {uri}", flush=True)
        where = f"keeps sessions in {config.store}" if config.store is not None else "keeps sessions in memory only"
        print(f"{where}; sessions so far: {running.broker.statistics().sessions}", flush=True)
        if shortage:
            note(shortage)
        calm_collector()
        print("ready; stop with Ctrl-C", flush=True)
        reloading = asyncio.create_task(_reload_on(hangups, running, read_again))
        await stopped.wait()
        reloading.cancel()
        poll = running.server.poll
        links, refused = len(poll), running.server.journal.rejected
    print(
        f"stopped; {links} connections closed, {poll.turned_away} turned away, {poll.outbox.cut} cut off for not "
        f"reading, {refused} refusals",
        flush=True,
    )


async def _reload_on(hangups: asyncio.Event, running: Running, read_again: Callable[[], Config]) -> None:
    """Reload whenever SIGHUP comes; what is wrong is said, and everything stays as it was."""
    import time

    from roost.cli._mqtt_reload import answer
    from roost.errors import BadConfig

    while True:
        await hangups.wait()
        hangups.clear()
        began = time.monotonic_ns()
        said, done = _RELOADED, True
        try:
            await running.reload(read_again())
        except BadConfig as error:
            said, done = f"nothing was reloaded, everything stays as it was: {error}", False
        running.server.journal.warn("%s", said)
        answer(running.config.store, began, said, done=done)
