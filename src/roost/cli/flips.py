"""`roost flips pub TOPIC VALUE`, `roost flips sub TOPIC`: topics without a broker, over hybrid ICN or NDN names.

`pub` prints one line per content, `published TOPIC NUMBER`, once it is on the disk, and goes on answering for all of it
until a signal comes. `sub` prints each content once, in order. `into` makes readings of a group of a topic's content,
signed by a panel of this machine, and `out` a topic of a stream (`roost.host.topics.bridge`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._flips_reach import add_reach, add_root, check_reach, topics_of
from roost.cli._output import say
from roost.cli._page import Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from roost.host.topics.feed import Item

SUMMARY = "Publish a topic without a broker, or subscribe to one (FLIPS)."
PAGE: Final = Page(
    examples=(
        ("roost flips pub home/temp 21.5", "publish, and go on answering until stopped"),
        ("roost flips sub home/temp -C 1 --json", "one content, for programs"),
        (
            "roost flips into home/temp /BigCompany/Building1/Electricity Panel1 Room/Temp --unit Cel",
            "a topic as a stream of a group",
        ),
        ("roost flips out /BigCompany/Building1/Electricity Panel1/Heater/Voltage home/voltage", "a stream as a topic"),
    ),
    text="Over hybrid ICN, where a forwarder runs (`roost hicn`), or with --ndn over the NDN node of this machine.",
    see=("hicn", "pub", "sub", "docs/flips.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what, and over which forwarder."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    pub = actions.add_parser("pub", help="register a topic and publish", description="Register a topic and publish.")
    pub.add_argument("topic", metavar="TOPIC", help="any text: home/temp")
    pub.add_argument("value", metavar="VALUE", nargs="?", help="the content; without it, lines of standard input")
    pub.add_argument("--every", metavar="S", type=float, help="publish it again every so many seconds")
    pub.add_argument(
        "--interval", metavar="S", type=float, help="say that content comes every so many seconds (default: as --every)"
    )
    pub.add_argument(
        "--folder", metavar="DIR", type=Path, help="where content is kept (default: by topic, in ROOST_HOME/flips)"
    )
    add_root(pub, verifying=False)
    add_reach(pub)
    sub = actions.add_parser("sub", help="subscribe to a topic", description="Subscribe to a topic.")
    sub.add_argument("topic", metavar="TOPIC", help="the topic, exactly as it is published")
    sub.add_argument("-C", "--count", metavar="N", type=int, help="leave after so many contents")
    sub.add_argument("--latest", action="store_true", help="pass over what was missed, instead of asking for all of it")
    sub.add_argument("--after", metavar="NUMBER", type=int, help="go on behind the content with this number")
    sub.add_argument("--patient", action="store_true", help="go on asking while nobody publishes")
    sub.add_argument("--events", action="store_true", help="say when a publisher is overdue, and when it is back")
    add_root(sub, verifying=True)
    add_reach(sub)
    into = actions.add_parser(
        "into", help="a topic into a group", description="Publish a topic as a stream of a group."
    )
    into.add_argument("topic", metavar="TOPIC", help="the topic, exactly as it is published")
    into.add_argument("group", metavar="GROUP", help="the group's name: /BigCompany/Building1/Electricity")
    into.add_argument("panel", metavar="PANEL", help="the panel, whose key has to be here: Panel1")
    into.add_argument("stream", metavar="STREAM", help="the stream, below the panel: Heater/Voltage")
    into.add_argument("--unit", default="", help="the unit, as SenML has it: V, Cel, %%RH")
    add_root(into, verifying=True)
    add_reach(into)
    out = actions.add_parser("out", help="a stream of a group as a topic", description="Publish a stream as a topic.")
    out.add_argument("group", metavar="GROUP", help="the group's name")
    out.add_argument("stream", metavar="STREAM", help="the stream, relative to the group: Panel1/Heater/Voltage")
    out.add_argument("topic", metavar="TOPIC", help="any text: home/temp")
    out.add_argument("--whole", action="store_true", help="publish signed readings as they are, not only their values")
    out.add_argument(
        "--interval",
        metavar="S",
        type=float,
        help="say that content comes every so many seconds (default: nobody knows)",
    )
    add_root(out, verifying=False)
    add_reach(out)


def run(options: argparse.Namespace) -> int:
    """Publish or show until a signal comes."""
    import asyncio

    from roost.errors import BadConfig

    check_reach(options)
    if options.action == "pub":
        for given, what in ((options.every, "--every"), (options.interval, "--interval")):
            if given is not None and not given > 0:
                raise BadConfig(f"{what} is more than 0")
        if options.every is not None and options.value is None:
            raise BadConfig("--every goes with VALUE")
        return asyncio.run(_until_stopped(_publish(options)))
    if options.action in {"into", "out"}:
        return asyncio.run(_until_stopped(_bridge_in(options) if options.action == "into" else _bridge_out(options)))
    if options.count is not None and options.count < 1:
        raise BadConfig("--count is at least 1")
    return asyncio.run(_until_stopped(_show(options)))


async def _until_stopped(work: Coroutine[None, None, None]) -> int:
    import asyncio
    import signal

    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return 0
    return 0


async def _publish(options: argparse.Namespace) -> None:
    import asyncio

    from roost.cli import note
    from roost.host.paths import home
    from roost.pubsub.flips.identifiers import topic_hash

    folder = options.folder or home() / "flips" / topic_hash(options.topic).hex()
    interval = options.interval or options.every or 0
    async with topics_of(options, folder) as topics:
        before = await topics.register(options.topic, round(interval * 1000))
        note(f"registered {options.topic}; {before} contents before")
        async for content in _contents(options):
            number = await topics.publish(options.topic, content)
            say(options, f"published {options.topic} {number}", topic=options.topic, number=number)
        note("nothing more to publish; answering until stopped with Ctrl-C")
        await asyncio.Event().wait()


async def _contents(options: argparse.Namespace) -> AsyncIterator[bytes]:
    import asyncio
    import sys

    if options.value is not None:
        yield options.value.encode()
        while options.every is not None:
            await asyncio.sleep(options.every)
            yield options.value.encode()
        return
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        yield line.rstrip(b"\r\n")


async def _show(options: argparse.Namespace) -> None:
    from roost.cli import note
    from roost.pubsub.flips.settings import Delivery, Following

    delivery = Delivery.LATEST if options.latest else Delivery.COMPLETE
    following = Following(delivery, options.after, patient=options.patient, pipeline=4, adaptive=True)
    async with topics_of(options, None) as topics:
        feed = topics.subscribe(options.topic, following=following, events=options.events)
        await feed.ready()
        note(f"subscribed to {options.topic}; stop with Ctrl-C")
        shown = 0
        async for item in feed:
            shown += _print(options, item)
            if shown == options.count:
                break


async def _bridge_in(options: argparse.Namespace) -> None:
    from roost.host import connect
    from roost.host.topics.bridge import into_group

    async with (
        topics_of(options, None) as topics,
        connect() as face,
        face.group(options.group).panel(options.panel) as panel,
    ):
        stream = str(panel.stream(options.stream))
        line = f"{options.topic} goes into {stream}; stop with Ctrl-C"
        say(options, line, event="ready", topic=options.topic, stream=stream)
        group = face.group(options.group)
        await into_group(topics, options.topic, group, panel, options.stream, unit=options.unit)


async def _bridge_out(options: argparse.Namespace) -> None:
    from roost.host import connect
    from roost.host.paths import home
    from roost.host.topics.bridge import out_of_group
    from roost.pubsub.flips.identifiers import topic_hash

    name = topic_hash(options.topic).hex()
    async with (
        topics_of(options, home() / "flips" / name) as topics,
        connect() as face,
        face.group(options.group).subscribe(options.stream, name=f"flips-{name}") as readings,
    ):
        line = f"{options.stream} of {options.group} goes out as {options.topic}; stop with Ctrl-C"
        say(options, line, event="ready", topic=options.topic, stream=f"{options.group}/{options.stream}")
        interval_ms = round((options.interval or 0) * 1000)
        await out_of_group(readings, topics, options.topic, interval_ms=interval_ms, whole=options.whole)


def _print(options: argparse.Namespace, item: Item) -> bool:
    """Whether it was content."""
    from roost.cli import note
    from roost.host.topics import Content
    from roost.pubsub.flips.port import BegunAnew, Missed, WentStale

    if isinstance(item, Content):
        content = item.content.decode(errors="backslashreplace")
        line = f"{item.topic} {item.number} {content}"
        say(options, line, topic=item.topic, number=item.number, content=content)
        return True
    if isinstance(item, WentStale):
        due = f"content {item.number} was due at {item.due_ms} ms" if item.due_ms else "nobody answers for it"
        note(f"{item.topic} is overdue: {due}")
    elif isinstance(item, Missed):
        note(f"{item.topic}: contents {item.low} to {item.high} are missed")
    elif isinstance(item, BegunAnew):
        note(f"{item.topic}: its publisher lost what it had and begins anew, with content {item.number}")
    else:
        note(f"{item.topic} is back with content {item.number}")
    return False
