"""`roost node`: run a node with the embedded forwarder until it is told to stop (SIGINT, SIGTERM)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, say
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.host import Listen
    from roost.host.mqtt.config_web import WebSettings
    from roost.host.server import Server
    from roost.naming import Name
    from roost.node import Node

SUMMARY = "Run a forwarder alone: a node without repos, groups and MQTT."
PAGE: Final = Page(
    examples=(
        ("roost node", "a forwarder for the programs of this machine"),
        ("roost node --uplink tcp4://10.0.0.7:6363", "what nobody here serves is asked there"),
        (
            "roost node --no-unix --no-udp --no-ws --tcp 127.0.0.1:0 --json",
            "on any free TCP port, which is told in JSON",
        ),
    ),
    text="An NDN forwarder on Unix, TCP, UDP and WebSocket, on this machine only unless told otherwise. It prints "
    "where it listens, then `ready`, and runs until it is stopped (SIGINT, SIGTERM).",
    see=("up", "repo", "status", "docs/client.md"),
)

_TCP, _UDP, _WS = "127.0.0.1:6363", "127.0.0.1:6363", "127.0.0.1:9696"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say where to listen, and whom to ask."""
    listen_arguments(parser)
    parser.add_argument(
        "--uplink",
        metavar="URI",
        action="append",
        default=[],
        help="another node, such as tcp4://10.0.0.7:6363; repeatable, the first is preferred as long as it answers",
    )
    parser.add_argument(
        "--route", metavar="PREFIX", action="append", help="what to ask over the uplinks (default: /); repeatable"
    )
    parser.add_argument("--verbose", action="store_true", help="say when faces come and go")
    add_json(parser, "what happens as lines of JSON: listening, ready, stopped")


def listen_arguments(parser: argparse.ArgumentParser) -> None:
    """Say where to listen."""
    parser.add_argument("--unix", metavar="PATH", help="Unix socket (default: $ROOST_HOME/node.sock)")
    parser.add_argument(
        "--tcp", metavar="HOST:PORT", action="append", help=f"TCP address (default: {_TCP}); repeatable"
    )
    parser.add_argument(
        "--udp", metavar="HOST:PORT", action="append", help=f"UDP address (default: {_UDP}); repeatable"
    )
    parser.add_argument("--ws", metavar="HOST:PORT", action="append", help=f"WebSocket (default: {_WS}); repeatable")
    for scheme in ("unix", "tcp", "udp", "ws"):
        parser.add_argument(f"--no-{scheme}", action="store_true", help=f"do without {scheme}")
    parser.add_argument(
        "--multicast", metavar="ADDRESS", action="append", default=[], help="join the UDP multicast group on this card"
    )


def run(options: argparse.Namespace) -> int:
    """Run until a signal comes."""
    import asyncio

    start_log(verbose=options.verbose)
    asyncio.run(_serve(options, listen_of(options), uplinks_of(options)))
    return 0


def start_log(*, verbose: bool, web: WebSettings | None = None) -> None:
    """Have the log written to standard error, as a configuration has it."""
    from roost.host.log import TEXT, start

    form, level = (TEXT, "warning") if web is None else (web.log_format, web.log_level)
    start(form, "info" if verbose and level != "debug" else level)


def uplinks_of(options: argparse.Namespace) -> tuple[list[str], list[Name]]:
    """Turn the flags into URIs and the prefixes to route there; raises `BadConfig` for one that cannot be."""
    from roost.errors import BadConfig
    from roost.host.address import parse_uri
    from roost.naming import Name

    if options.route and not options.uplink:
        raise BadConfig("--route says what to ask over uplinks, and there is none: name one with --uplink URI")
    for uri in options.uplink:
        parse_uri(uri)
    return options.uplink, [Name.parse(prefix) for prefix in options.route or ["/"]]


def listen_of(options: argparse.Namespace) -> Listen:
    """Turn the flags into addresses; raises `BadConfig` for one that cannot be."""
    from roost.errors import BadConfig
    from roost.host import Listen
    from roost.host.address import NDN_PORT, WEBSOCKET_PORT, is_loopback, parse_listen
    from roost.host.home_trust import is_initialised
    from roost.host.paths import node_socket

    def addresses(given: list[str] | None, default: str, port: int, *, off: bool) -> tuple[tuple[str, int], ...]:
        return () if off else tuple(parse_listen(text, port) for text in given or [default])

    listen = Listen(
        None if options.no_unix else Path(options.unix).absolute() if options.unix else node_socket(),
        addresses(options.tcp, _TCP, NDN_PORT, off=options.no_tcp),
        addresses(options.udp, _UDP, NDN_PORT, off=options.no_udp),
        addresses(options.ws, _WS, WEBSOCKET_PORT, off=options.no_ws),
        tuple(options.multicast),
    )
    outside = [host for host, _ in listen.tcp + listen.udp + listen.ws if not is_loopback(host) and host != "localhost"]
    if (outside or listen.multicast) and not is_initialised():
        raise BadConfig(
            f"{(outside + list(listen.multicast))[0]} is reachable from other machines, and this node has no keys "
            "and no policy yet: run `roost init` first, or listen on 127.0.0.1 only"
        )
    return listen


def calm_collector() -> None:
    """Collect garbage rarely: packets and table entries make no cycles, and walking through them costs a third."""
    import gc

    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _link(node: Node, server: Server, uris: list[str], prefixes: list[Name]) -> None:
    from roost.forwarding.strategy import STRATEGY_PREFIX
    from roost.host.uplink import Uplink

    if uris:
        for prefix in prefixes:
            node.forwarder.strategies.set(prefix, STRATEGY_PREFIX / "fail-over")
    for cost, uri in enumerate(uris):
        Uplink(server, uri, routes=prefixes, cost=cost).start()


async def _serve(options: argparse.Namespace, listen: Listen, uplinks: tuple[list[str], list[Name]]) -> None:
    import asyncio
    import random
    import secrets
    import signal
    import time

    from roost import __version__
    from roost.host import running
    from roost.host.home_trust import choose_trust
    from roost.node import Node, NodeSettings
    from roost.node.introduction import INSIDE, Introduction

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    randomness = random.Random(secrets.randbits(128))  # noqa: S311  nonces are no secrets
    trust = choose_trust(None, None, time.time_ns())
    introduction = Introduction(trust.verifier, randomness)
    machine = Node(NodeSettings(version=f"roost {__version__}", policy=introduction), randomness)
    async with running(machine, listen) as node:
        node.server.attach_application(introduction, lambda effect, now: None, INSIDE)  # noqa: ARG005  it tells nothing
        _link(machine, node.server, *uplinks)
        for uri in node.uris:
            say(options, f"listening on {uri}", event="listening", uri=uri)
        calm_collector()
        say(options, "ready; stop with Ctrl-C", event="ready")
        await stopped.wait()
        faces = node.server.faces
    refused = node.server.journal.rejected
    line = f"stopped; {faces} faces closed, {refused} packets refused"
    say(options, line, event="stopped", faces=faces, refused=refused)
