"""`roost group list|show|create`: the groups that can be reached, what is in one, and the keys of a new one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from roost.cli._face import add_face, face_of
from roost.cli._output import add_json, counted, show
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.host import Face
    from roost.host.streams import StreamGroup
    from roost.naming import Name

SUMMARY = "See which groups there are and what is in one; make the keys of a new one."
PAGE: Final = Page(
    examples=(
        ("roost group list", "the groups whose repos the node here leads to"),
        (
            "roost group show /BigCompany/Building1/Electricity",
            "panels, streams, readings, and how far behind each repo is",
        ),
        (
            "roost group create /BigCompany/Building1/Water --repo Repo1 --panel Meter",
            "the keys of a new group, of a repo and of a panel, as far as their issuers' keys are here",
        ),
    ),
    text="A group is a set of streams that repos keep together. It comes into being when a repo keeps it: `create` "
    "makes the keys that this takes and says what to run next.",
    see=("stream", "repo", "key", "docs/repos.md"),
)

_FIB: Final = "fib/list"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the groups whose repos a node leads to")
    looking = actions.add_parser("show", help="what is in a group: panels, streams, readings, repos and their lag")
    looking.add_argument("group", metavar="GROUP", help="the group's name: /BigCompany/Building1/Electricity")
    for verb in (listing, looking):
        add_face(verb)
        add_json(verb)
    create = actions.add_parser("create", help="make the keys of a new group, and say what to run")
    create.add_argument("group", metavar="GROUP", help="its name, below a building's: /BigCompany/Building1/Water")
    create.add_argument(
        "--repo", metavar="ID", action="append", default=[], help="a repo that is to keep it; repeatable"
    )
    create.add_argument(
        "--panel", metavar="ID", action="append", default=[], help="a panel that is to publish into it; repeatable"
    )
    add_json(create)


def run(options: argparse.Namespace) -> int:
    """Run one action."""
    import asyncio

    if options.action == "create":
        return _create(options)
    return asyncio.run(_list(options) if options.action == "list" else _show(options))


async def _list(options: argparse.Namespace) -> int:
    async with face_of(options, accept_any=True) as face:  # nobody has a chain for a forwarder's key
        names = await group_names(face)
    async with face_of(options) as face:
        found: list[dict[str, Any]] = [{"group": str(name), **await _counts(face.group(name))} for name in names]
    lines = [f"{each['group']}  {_told(each)}" for each in found]
    return show(options, found, lines or ["the node leads to no repo: run one with `roost repo`, or ask another node"])


async def _counts(group: StreamGroup) -> dict[str, Any]:
    from roost.errors import Unreachable

    try:
        streams = await measured(group)
    except Unreachable as error:
        return {"answers": False, "streams": None, "readings": None, "why": str(error)}
    return {"answers": True, "streams": len(streams), "readings": sum(streams.values())}


def _told(group: dict[str, Any]) -> str:
    if not group["answers"]:
        return f"no repo answers: {group['why']}"
    return _counted(group)


def _counted(told: dict[str, Any]) -> str:
    return f"{counted(told['streams'], 'stream')}, {counted(told['readings'], 'reading')}"


async def measured(group: StreamGroup) -> dict[Name, int]:
    """The streams of a group with their highest numbers, without the catalogues in which panels describe them."""
    from roost.repo.catalogue import catalogue_of

    return {
        stream: number
        for stream, number in (await group.streams()).items()
        if stream != catalogue_of(stream.prefix(-2))
    }


async def group_names(face: Face) -> list[Name]:
    """The groups whose repos have announced themselves at the forwarder; raises `Unreachable` if it does not say."""
    from roost.errors import Unreachable
    from roost.naming.building import SERVICE

    try:
        routes = await _routes(face)
    except Unreachable as error:
        raise Unreachable(
            f"the forwarder at {face.where} does not say where it leads ({error}); name it: roost group show GROUP"
        ) from None
    return sorted({name.prefix(-1) for name in routes if len(name) > 1 and name.at(-1) == SERVICE})


async def _routes(face: Face) -> list[Name]:
    """Where the forwarder leads."""
    from roost.cli.status import fetch_dataset
    from roost.forwarding.requests import read_dataset
    from roost.forwarding.status import FibEntry

    found = read_dataset(_FIB, await fetch_dataset(face, _FIB))
    return [entry.name for entry in found if isinstance(entry, FibEntry)]


async def _show(options: argparse.Namespace) -> int:
    from contextlib import suppress

    from roost.errors import Unreachable

    routes: list[Name] = []
    async with face_of(options, accept_any=True) as face:
        with suppress(Unreachable):  # a forwarder elsewhere need not say
            routes = await _routes(face)
    async with face_of(options) as face:
        group = face.group(options.group)
        streams = await measured(group)
        repos = [await _repo(group, name, streams) for name in await _repos(group, routes)]
    panels: dict[str, dict[str, Any]] = {}
    for stream, readings in streams.items():
        panel = str(stream.at(len(group.name)))
        counts = panels.setdefault(panel, {"panel": panel, "streams": 0, "readings": 0})
        counts["streams"] += 1
        counts["readings"] += readings
    told = {
        "group": str(group.name),
        "streams": len(streams),
        "readings": sum(streams.values()),
        "panels": list(panels.values()),
        "repos": repos,
    }
    lines = [f"{group.name}: {_counted(told)}"]
    lines += [f"  panel {each['panel']}: {_counted(each)}" for each in panels.values()]
    return show(options, told, [*lines, *[f"  repo {each['repo']}: {_health(each)}" for each in repos]])


async def _repos(group: StreamGroup, routes: list[Name]) -> list[str]:
    """The repos of which there are records in the group, and those, fresh perhaps, to which the forwarder leads."""
    from roost.naming.building import REPO

    begin = group.name / REPO
    names = [*await group.streams(REPO), *routes]
    return sorted({str(each.at(len(begin))) for each in names if len(each) > len(begin) and each.starts_with(begin)})


async def _repo(group: StreamGroup, repo: str, streams: dict[Name, int]) -> dict[str, Any]:
    """How far one repo is, measured by what the nearest one says; a repo that is ahead lags by nothing."""
    from roost.errors import Unreachable

    try:
        its = await group.streams(repo=repo)
    except Unreachable:
        return {"repo": repo, "answers": False, "readings": None, "lag": None}
    lag = sum(max(0, number - its.get(stream, 0)) for stream, number in streams.items())
    return {"repo": repo, "answers": True, "readings": sum(its.values()), "lag": lag}


def _health(repo: dict[str, Any]) -> str:
    if not repo["answers"]:
        return "does not answer"
    return "has heard of everything" if not repo["lag"] else f"{counted(repo['lag'], 'reading')} behind"


def _create(options: argparse.Namespace) -> int:
    from roost.cli._key_making import made, made_lines
    from roost.errors import BadConfig
    from roost.host.keystore import KeyStore
    from roost.host.paths import home
    from roost.naming import Name
    from roost.naming.building import Group

    store = KeyStore(home())
    store.check()
    group = Group.at(Name.parse(options.group))
    if not options.repo and not options.panel:
        raise BadConfig("a group needs a repo that keeps it: give --repo, and --panel for who is to publish into it")
    wanted = [group.name, *(group.repo(each).name for each in options.repo)]
    wanted += [group.panel(each).name for each in options.panel]
    held = {key.name.prefix(-2) for key in store.private_keys()}
    keys = [made(store, name) for name in wanted if name not in held]
    lines = [line for each in keys for line in made_lines(each)]
    following = [f"roost repo {repo} --group {group.name}" for repo in options.repo]
    following += [f"roost pub {group.name} {panel} Device/Metric VALUE" for panel in options.panel]
    lines += ["next, when all of them are certified:", *[f"  {command}" for command in following]]
    return show(options, {"group": str(group.name), "keys": keys, "next": following}, lines)
