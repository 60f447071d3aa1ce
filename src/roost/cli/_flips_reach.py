"""How `roost flips` reaches topics: by a forwarder of hybrid ICN, here, elsewhere or inside, or over NDN names."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from roost.host.topics import Topics
    from roost.naming import Name

_FORWARDER: Final = "127.0.0.1:9695"


def add_reach(parser: argparse.ArgumentParser) -> None:
    """Take where."""
    add_json(parser, "a line of JSON per content")
    parser.add_argument(
        "--at", metavar="HOST:PORT", help=f"the forwarder, `roost hicn` or a hicn-light (default: {_FORWARDER})"
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        action="append",
        default=[],
        help="run a forwarder inside, on this UDP address; repeatable",
    )
    parser.add_argument(
        "--peer", metavar="HOST:PORT", action="append", default=[], help="ask this forwarder for topics; repeatable"
    )
    parser.add_argument("--ndn", action="store_true", help="over NDN names, at this machine's node")
    parser.add_argument(
        "--home",
        metavar="NAME",
        help="with --ndn: below which name topics are (default: where a key of this home may publish, BUILDING/flips)",
    )
    parser.add_argument("--accept-any", action="store_true", help="with --ndn: do not verify who has signed")


def add_root(parser: argparse.ArgumentParser, *, verifying: bool) -> None:
    """Take whose keys and whose content."""
    parser.add_argument(
        "--root", metavar="NAME", default="/", help="below which the topic counts as a stream, for keys (default: /)"
    )
    if verifying:
        parser.add_argument(
            "--verify", action="store_true", help="take only content signed by who may, by this home's trust schema"
        )
    else:
        parser.add_argument(
            "--unsigned", action="store_true", help="do not sign, although a key of this home may sign the topic"
        )


def check_reach(options: argparse.Namespace) -> None:
    """See that only one way is meant; raises `BadConfig`."""
    from roost.errors import BadConfig

    if options.ndn and (options.at or options.listen or options.peer):
        raise BadConfig("--ndn goes by the NDN node: leave --at, --listen and --peer away")
    if options.ndn and getattr(options, "verify", False):
        raise BadConfig("over NDN all content is verified, unless --accept-any is given: leave --verify away")
    if options.home and not options.ndn:
        raise BadConfig("--home is for topics over NDN: say --ndn as well")
    if options.at and (options.listen or options.peer):
        raise BadConfig("--listen and --peer are for a forwarder inside: leave --at away")


def topics_of(options: argparse.Namespace, folder: Path | None) -> AbstractAsyncContextManager[Topics]:
    """What was asked for; without a folder nothing is kept."""
    from roost.cli.hicn import listen_of, peer_of
    from roost.host import flips
    from roost.host.topics.signing import home_judge, home_key_for
    from roost.naming import Name

    if options.ndn:
        return _over_ndn(options, folder)
    root = Name.parse(options.root)
    key = None if getattr(options, "unsigned", True) else home_key_for(root, options.topic)
    judge = home_judge(root) if getattr(options, "verify", False) else None
    durable = folder is not None
    if options.listen or options.peer:
        listen_of(options.listen)
        for text in options.peer:
            peer_of(text)
        return flips(listen=options.listen, peers=options.peer, folder=folder, durable=durable, key=key, judge=judge)
    return flips(options.at or _FORWARDER, folder=folder, durable=durable, key=key, judge=judge)


def _over_ndn(options: argparse.Namespace, folder: Path | None) -> AbstractAsyncContextManager[Topics]:
    from contextlib import asynccontextmanager

    from roost.host import ACCEPT_ANY, connect
    from roost.wire import DigestSigner

    home = _home_of(options)

    @asynccontextmanager
    async def over() -> AsyncIterator[Topics]:
        verifier, signer = (ACCEPT_ANY, DigestSigner()) if options.accept_any else (None, None)
        async with (
            connect(verifier=verifier, signer=signer) as face,
            face.flips(home, folder=folder, durable=folder is not None) as topics,
        ):
            yield topics

    return over()


def _home_of(options: argparse.Namespace) -> Name | None:
    """Below which name topics are; raises `BadConfig` where nothing says so and content has to be verified."""
    from roost.errors import BadConfig
    from roost.host.keystore import KeyStore
    from roost.host.paths import home
    from roost.host.topics.signing import topics_home
    from roost.naming import Name

    if options.home:
        return Name.parse(options.home)
    store = KeyStore(home())
    found = topics_home(store.keychain()) if store.exists else None
    if found is None and not options.accept_any:
        raise BadConfig(
            "no key here may publish topics over NDN, which would say below which name they are: say it, as with "
            "--home /MyCompany/Building1/flips, or run `roost init`, or say --accept-any"
        )
    return found
