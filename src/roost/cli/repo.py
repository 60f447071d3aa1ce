"""`roost repo NAME`: run a repo, which keeps, replicates and serves the streams of its groups, until told to stop."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, say
from roost.cli._page import Page
from roost.cli.node import calm_collector, listen_arguments, listen_of, start_log

if TYPE_CHECKING:
    from roost.host.keystore import KeyStore
    from roost.host.repo import Duty
    from roost.naming.building import Repo

SUMMARY = "Run a repo: keep, replicate and serve the streams of its groups."
PAGE: Final = Page(
    examples=(
        ("roost repo Repo1", "the repo that `roost init` has made a key for"),
        (
            'roost repo Repo2 --uplink tcp4://10.0.0.7:6363 --retention "+/+/temp 30d" --retention "# forever"',
            "another one, which replicates with the first, and drops old temperatures",
        ),
        ("roost repo Repo1 --no-tcp --no-udp --no-ws --json", "for this machine only; what happens in JSON"),
    ),
    text="It is a node as well: panels and consumers connect to it. It prints where it listens, what it keeps, then "
    "`ready`, and runs until it is stopped (SIGINT, SIGTERM); what it has confirmed is on the disk at any time.",
    see=("group", "stream", "pub", "up", "docs/repos.md"),
)

_BULK: Final = "127.0.0.1:7376"
_BULK_READ: Final = "127.0.0.1:7377"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which repo, of which groups, where it keeps them and for how long."""
    parser.add_argument(
        "name", metavar="NAME", help="which repo: Repo1, or its whole name /BigCompany/Building1/Electricity/Repo/Repo1"
    )
    parser.add_argument(
        "--group",
        metavar="NAME",
        action="append",
        help="a group to keep; repeatable (default: all for which there is a key of this repo here)",
    )
    parser.add_argument("--store", metavar="DIR", type=Path, help="where they are kept (default: store in ROOST_HOME)")
    parser.add_argument(
        "--uplink", metavar="URI", action="append", default=[], help="another repo of these groups; repeatable"
    )
    parser.add_argument(
        "--retention",
        metavar="RULE",
        action="append",
        default=[],
        help='"PATTERN BOUND… [replaced-by FILTER]", a bound being an age (30d), a count (1000), a size (10MB), or '
        "the word forever; "
        "the first rule that matches a stream counts, and what none matches is kept for ever",
    )
    parser.add_argument(
        "--bulk",
        metavar="HOST:PORT",
        nargs="?",
        const=_BULK,
        help=f"take packets over TCP as well (default: {_BULK}); each is verified",
    )
    parser.add_argument(
        "--bulk-read",
        metavar="HOST:PORT|PATH",
        nargs="?",
        const=_BULK_READ,
        help="let jobs on this machine read many streams at once, at a loopback address or the path of a Unix socket "
        f"(default: {_BULK_READ})",
    )
    listen_arguments(parser)
    parser.add_argument("--verbose", action="store_true", help="say when faces come and go, and what is repaired")
    add_json(parser, "what happens as lines of JSON: listening, keeps, ready, stopped")


def run(options: argparse.Namespace) -> int:
    """Run until a signal comes."""
    import asyncio

    from roost.host.keystore import KeyStore
    from roost.host.paths import home

    start_log(verbose=options.verbose)
    keys = KeyStore(home())
    keys.check()
    asyncio.run(_serve(options, keys, _duties(options, keys)))
    return 0


def _duties(options: argparse.Namespace, keys: KeyStore) -> list[Duty]:
    import time

    from roost.host.joining import group_file
    from roost.host.repo import duty_of
    from roost.pubsub.repos.repo import RepoSettings
    from roost.repo.retention_text import rule_of

    settings = RepoSettings(retention=tuple(rule_of(text) for text in options.retention))
    folder = options.store or keys.home / "store"
    now = time.time_ns()
    return [
        duty_of(keys, place, group_file(folder, place.name, "rocks"), settings, now) for place in _places(options, keys)
    ]


def _places(options: argparse.Namespace, keys: KeyStore) -> list[Repo]:
    """Who this repo is: in the groups that were named, or wherever it has a key."""
    from roost.errors import BadConfig, NoKey
    from roost.naming import Name
    from roost.naming.building import REPO, Group

    if options.name.startswith("/"):
        name = Name.parse(options.name)
        if len(name) <= 2 or str(name.at(-2)) != REPO:
            raise BadConfig(f"{name} is no repo's name: one is <group>/{REPO}/<id>")
        if options.group:
            raise BadConfig("a repo's whole name says its group: leave out --group, or give the last part of the name")
        return [Group.at(name.prefix(-2)).repo(str(name.at(-1)))]
    if options.group:
        return [Group.at(Name.parse(group)).repo(options.name) for group in options.group]
    ours = Name.of(REPO, options.name)
    held = dict.fromkeys(identity.name for identity in keys.keychain().identities)
    found = [Group.at(name.prefix(-2)).repo(options.name) for name in held if name.suffix(len(name) - 2) == ours]
    if not found:
        raise NoKey(
            f"there is no key of a repo {options.name} in {keys.home}; make one with: "
            f"roost key make <group>/{REPO}/{options.name}, or for a new home: roost init --repo {options.name}"
        )
    return found


async def _serve(options: argparse.Namespace, keys: KeyStore, duties: list[Duty]) -> None:
    import asyncio
    import signal
    import time

    from roost import __version__
    from roost.host.address import parse_listen
    from roost.host.bulk import PORT
    from roost.host.bulk_frames import listened
    from roost.host.enrol_noticing import noticing
    from roost.host.repo import running_repo

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    bulk = None if options.bulk is None else parse_listen(options.bulk, PORT)
    running = running_repo(
        duties,
        listen_of(options),
        keys.verifier(time.time_ns()),
        uplinks=options.uplink,
        bulk=bulk,
        bulk_read=None if options.bulk_read is None else listened(options.bulk_read),
        version=f"roost {__version__}",
    )
    async with running as repo, noticing(keys, repo):
        for uri in repo.listening.uris:
            say(options, f"listening on {uri}", event="listening", uri=uri)
        if repo.bulk_port:
            say(options, f"bulk insert on port {repo.bulk_port}", event="bulk", port=repo.bulk_port)
        if repo.reading_door is not None:
            door = str(repo.reading_door.address)
            say(options, f"bulk reading at {door}", event="bulk-read", address=door)
        for duty, machine in zip(duties, repo.repos, strict=True):
            streams = sum(not machine.peers.is_repo(stream) for stream, _ in machine.shelf.holdings)
            group, folder = str(duty.place.group.name), str(duty.folder)
            line = f"keeps {group} in {folder}; streams so far: {streams}"
            say(options, line, event="keeps", group=group, folder=folder, streams=streams)
        calm_collector()
        say(options, "ready; stop with Ctrl-C", event="ready")
        await stopped.wait()
    say(options, "stopped; all that was confirmed is on the disk", event="stopped")
