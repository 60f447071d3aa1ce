"""`roost hicn`: run an hICN forwarder on UDP until it is told to stop (SIGINT, SIGTERM)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, say
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.hicn import Prefix
    from roost.hicn.strategy import StrategyKind

SUMMARY = "Run a forwarder of hybrid ICN: names in IPv6, over UDP."
PAGE: Final = Page(
    examples=(
        ("roost hicn", "a forwarder for the programs of this machine, on 127.0.0.1:9695"),
        ("roost hicn --route abcd::/16=10.0.0.7:9695", "a prefix is asked of another machine"),
        ("roost hicn --strategy local-remote", "another way to choose next hops, for all but topics"),
        ("roost hicn --udp 127.0.0.1:0 --json", "on any free port, which is told in JSON"),
    ),
    text="On this machine only unless told otherwise. It runs until it is stopped (SIGINT, SIGTERM).",
    see=("flips", "node", "docs/hicn.md"),
)

_STRATEGIES: Final = ("load-balance", "random", "replication", "local-remote")
_TOPICS: Final = "abcd::/16"  # of FLIPS: whether one is taken, and where it is, is asked of all who may know
_UDP: Final = "127.0.0.1:9695"
_MAX_COST: Final = 0xFFFF

Route = tuple["Prefix", tuple[str, int], int]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say where to listen, and where to send what."""
    parser.add_argument(
        "--udp", metavar="HOST:PORT", action="append", help=f"UDP address (default: {_UDP}); repeatable"
    )
    parser.add_argument(
        "--connect", metavar="HOST:PORT", action="append", default=[], help="another forwarder; repeatable"
    )
    parser.add_argument(
        "--route",
        metavar="PREFIX=HOST:PORT[,COST]",
        action="append",
        default=[],
        help="ask there for a prefix, such as abcd::/16=10.0.0.7:9695; connects too; repeatable",
    )
    parser.add_argument(
        "--tun",
        metavar="NAME=LOCATOR[,PREFIX]",
        action="append",
        default=[],
        help="make a TUN device for raw IPv6, with this address of ours in it, and ask there for a prefix: "
        "hicn0=fd00::1,abcd::/16; repeatable",
    )
    parser.add_argument(
        "--strategy",
        metavar="[PREFIX=]NAME",
        action="append",
        default=[],
        help=f"how next hops are chosen, of several: {', '.join(_STRATEGIES)}; for all (default: random), or below a "
        f"prefix (default: {_TOPICS}=replication, so that no publisher is left out); repeatable",
    )
    parser.add_argument("--cache", metavar="PACKETS", type=int, default=100_000, help="Data to keep (default: 100000)")
    parser.add_argument("--verbose", action="store_true", help="say when faces come")
    add_json(parser, "what happens as lines of JSON: listening, ready, stopped")


def run(options: argparse.Namespace) -> int:
    """Run until a signal comes."""
    import asyncio

    from roost.cli.node import start_log
    from roost.errors import BadConfig

    listen = listen_of(options.udp or [_UDP])
    peers = [peer_of(text) for text in options.connect]
    routes = [route_of(text) for text in options.route]
    tuns = [tun_of(text) for text in options.tun]
    strategies = [strategy_of(text) for text in (f"{_TOPICS}=replication", *options.strategy)]
    if options.cache < 0:
        raise BadConfig("--cache is at least 0")
    start_log(verbose=options.verbose)
    asyncio.run(_serve(options, listen, peers, routes, tuns, strategies))
    return 0


def listen_of(given: list[str]) -> list[tuple[str, int]]:
    """Read the addresses to listen on; those that others can reach are refused until there are keys and a policy."""
    from roost.errors import BadConfig
    from roost.host.address import is_loopback, parse_listen
    from roost.host.hicn import HICN_PORT
    from roost.host.home_trust import is_initialised

    listen = [parse_listen(text, HICN_PORT) for text in given]
    outside = [host for host, _ in listen if not is_loopback(host) and host != "localhost"]
    if outside and not is_initialised():
        raise BadConfig(
            f"{outside[0]} is reachable from other machines, and this node has no keys and no policy yet: "
            "run `roost init` first, or listen on 127.0.0.1 only"
        )
    return listen


def peer_of(text: str) -> tuple[str, int]:
    """Read the address of another forwarder."""
    from roost.errors import BadConfig
    from roost.host.address import parse_listen
    from roost.host.hicn import HICN_PORT

    host, port = parse_listen(text, HICN_PORT)
    if text.startswith(":") or not text or not port:
        raise BadConfig(f"{text!r} is no address of another forwarder: write host:port or [host]:port")
    return host, port


def route_of(text: str) -> Route:
    """Read `PREFIX=HOST:PORT`, with `,COST` or without."""
    from roost.errors import BadConfig
    from roost.hicn import Prefix

    prefix, equals, rest = text.partition("=")
    place, comma, cost = rest.partition(",")
    if not equals or (comma and not (cost.isascii() and cost.isdigit() and int(cost) <= _MAX_COST)):
        raise BadConfig(
            f"{text!r} is no route: write abcd::/16=10.0.0.7:9695, and with a cost of 0 to {_MAX_COST} "
            "abcd::/16=10.0.0.7:9695,2"
        )
    return Prefix.parse(prefix), peer_of(place), int(cost) if comma else 1


def tun_of(text: str) -> tuple[str, str, Prefix | None]:
    """Read `NAME=LOCATOR`, with `,PREFIX` or without."""
    from roost.errors import BadConfig
    from roost.hicn import Prefix

    name, equals, rest = text.partition("=")
    locator, comma, prefix = rest.partition(",")
    if not equals or not name or not locator:
        raise BadConfig(f"{text!r} is no TUN device: write hicn0=fd00::1, and to ask there hicn0=fd00::1,abcd::/16")
    return name, locator, Prefix.parse(prefix) if comma else None


def strategy_of(text: str) -> tuple[Prefix | None, StrategyKind]:
    """Read `NAME`, for all prefixes, or `PREFIX=NAME`."""
    from roost.errors import BadConfig
    from roost.hicn import Prefix
    from roost.hicn.strategy import StrategyKind

    prefix, equals, name = text.rpartition("=")
    if name not in _STRATEGIES:
        raise BadConfig(
            f"{text!r} is no strategy: write {', '.join(_STRATEGIES)}, or one of them below a prefix as in "
            f"{_TOPICS}=random"
        )
    return Prefix.parse(prefix) if equals else None, StrategyKind[name.replace("-", "_").upper()]


async def _serve(
    options: argparse.Namespace,
    listen: list[tuple[str, int]],
    peers: list[tuple[str, int]],
    routes: list[Route],
    tuns: list[tuple[str, str, Prefix | None]],
    strategies: list[tuple[Prefix | None, StrategyKind]],
) -> None:
    import asyncio
    import random
    import secrets
    import signal

    from roost.cli.node import calm_collector
    from roost.hicn.forwarder import HicnForwarder, HicnSettings
    from roost.hicn.strategy import StrategyKind
    from roost.host.hicn import HicnServer

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    randomness = random.Random(secrets.randbits(128))  # noqa: S311  it chooses next hops
    kind = next((kind for prefix, kind in reversed(strategies) if prefix is None), StrategyKind.RANDOM)
    forwarder = HicnForwarder(HicnSettings(store_packets=options.cache, strategy=kind), randomness)
    for prefix, chosen in strategies:
        if prefix is not None:
            forwarder.strategies.set(prefix, chosen)
    async with HicnServer(forwarder) as server:
        for address in listen:
            where = str(server.listen(*address))
            say(options, f"listening on {where}", event="listening", uri=where)
        for peer in peers:
            server.connect(*peer)
        for prefix, peer, cost in routes:
            server.add_route(prefix, server.connect(*peer), cost)
        for name, locator, wanted in tuns:
            face = server.open_tun(name, locator)
            if wanted is not None:
                server.add_route(wanted, face)
        calm_collector()
        say(options, "ready; stop with Ctrl-C", event="ready")
        await stopped.wait()
        faces = len(server.peers)
    refused, hits = server.journal.rejected, forwarder.hits
    line = f"stopped; {faces} faces closed, {refused} packets refused, {hits} Interests answered from the cache"
    say(options, line, event="stopped", faces=faces, refused=refused, hits=hits)
