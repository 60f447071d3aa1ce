"""Topics for people: over the forwarder inside the process, over UDP, over NDN names."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import roost
from roost.errors import BadConfig, InvalidInput, Refused, TimedOut
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.host.hicn import HicnServer
from roost.host.topics import Content, TopicFeed, Topics
from roost.pubsub.flips.port import Revived, WentStale
from roost.pubsub.flips.publishing import MAX_UNSAVED
from roost.pubsub.flips.settings import FlipsSettings, Following
from roost.wire import DigestSigner

QUICK = FlipsSettings(probe_lifetime_ms=20, probe_timeout_ms=60, lifetime_ms=200, lead_ms=50)
LIMIT_S = 90
WAYS = ["inside", "udp", "peers", "ndn"]


@asynccontextmanager
async def two(way: str, folder: Path, settings: FlipsSettings = QUICK) -> AsyncIterator[tuple[Topics, Topics]]:
    """A publisher's and a subscriber's topics that reach each other in some way."""
    if way == "ndn":
        async with (
            roost.connect(verifier=roost.ACCEPT_ANY, signer=DigestSigner()) as there,
            roost.connect(verifier=roost.ACCEPT_ANY, signer=DigestSigner()) as here,
            there.flips(settings=settings, folder=folder) as ours,
            here.flips(settings=settings, durable=False) as theirs,
        ):
            yield ours, theirs
        return
    if way == "inside":
        async with (
            roost.flips(settings=settings, folder=folder) as ours,
            roost.flips(settings=settings, durable=False) as theirs,
        ):
            yield ours, theirs
        return
    async with HicnServer(HicnForwarder(HicnSettings(), random.Random(1))) as server:
        at = server.listen("127.0.0.1", 0).removeprefix("udp4://")
        if way == "udp":
            async with (
                roost.flips(at, settings=settings, folder=folder) as ours,
                roost.flips(at, settings=settings, durable=False) as theirs,
            ):
                yield ours, theirs
        else:
            async with (
                roost.flips(server, settings=settings, folder=folder) as ours,
                roost.flips(peers=[at], settings=settings, durable=False) as theirs,
            ):
                yield ours, theirs


@pytest.mark.parametrize("way", WAYS)
def test_content_comes_whole_and_in_order_by_every_way(way: str, tmp_path: Path) -> None:
    contents = [b"21.5", random.Random(3).randbytes(20_000), b"", b"21.6"]

    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), two(way, tmp_path) as (ours, theirs):
            assert await ours.register("home/temp") == 0
            feed = theirs.subscribe("home/temp", following=Following(pipeline=4))
            await feed.ready()
            numbers = [await ours.publish("home/temp", content) for content in contents]
            for number, content in zip(numbers, contents, strict=True):
                item = await anext(feed)
                assert isinstance(item, Content)
                assert (item.number, item.content) == (number, content)

    asyncio.run(main())


@pytest.mark.parametrize("way", WAYS)
def test_topic_of_another_is_refused(way: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), two(way, tmp_path) as (ours, theirs):
            await ours.register("home/temp")
            with pytest.raises(Refused, match="another publisher has this topic"):
                await theirs.register("home/temp")
            ours.unregister("home/temp")
            assert await theirs.register("home/temp") == 0

    asyncio.run(main())


def test_what_was_published_is_there_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S):
            async with two("inside", tmp_path) as (ours, _):
                await ours.register("home/temp")
                first = await ours.publish("home/temp", b"before")
            async with two("inside", tmp_path) as (ours, theirs):
                assert await ours.register("home/temp") == 1
                feed = theirs.subscribe("home/temp", following=Following(after=first - 1))
                await ours.publish("home/temp", b"after")
                assert [(await anext(feed)).content for _ in range(2)] == [b"before", b"after"]  # type: ignore[union-attr]

    asyncio.run(main())


def test_store_is_of_one_process_at_a_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with roost.flips(settings=QUICK, folder=tmp_path) as ours, roost.flips(folder=tmp_path) as others:
            await ours.register("a")
            with pytest.raises(BadConfig, match="in use"):
                await others.register("b")

    asyncio.run(main())


def test_overdue_publisher_is_told_of(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), two("inside", tmp_path) as (ours, theirs):
            await ours.register("home/temp", interval_ms=50)
            await ours.publish("home/temp", b"1")
            told: asyncio.Queue[object] = asyncio.Queue()
            theirs.subscribe("home/temp", told.put_nowait, events=True)
            assert isinstance(await told.get(), Content)
            assert isinstance(await told.get(), WentStale)
            await ours.publish("home/temp", b"2")
            assert isinstance(await told.get(), Revived)
            assert isinstance(await told.get(), Content)

    asyncio.run(main())


def test_nobody_publishes(tmp_path: Path) -> None:
    async def main() -> None:
        settings = FlipsSettings(lifetime_ms=20, lead_ms=10, sub_tries=2)
        async with asyncio.timeout(LIMIT_S), two("inside", tmp_path, settings) as (ours, theirs):
            feed = theirs.subscribe("home/temp")
            with pytest.raises(TimedOut, match="nobody answered 2 requests"):
                await anext(feed)
            feed.close()
            with pytest.raises(InvalidInput, match="not registered"):
                await ours.publish("home/temp", b"1")

    asyncio.run(main())


def test_who_takes_nothing_is_sent_no_more_and_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), two("inside", tmp_path) as (ours, theirs):
            await ours.register("home/temp")
            feed = theirs.subscribe("home/temp", following=Following(pipeline=16))
            await feed.ready()
            for number in range(400):
                await ours.publish("home/temp", b"%d" % number)
            assert len(feed.waiting) < 300
            got = [(await anext(feed)).content for _ in range(400)]  # type: ignore[union-attr]
            assert got == [b"%d" % number for number in range(400)]

    asyncio.run(main())


def test_who_takes_nothing_is_sent_no_more_whoever_else_takes_and_who_closes_lets_the_others_go_on(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), two("inside", tmp_path) as (ours, theirs):
            await ours.register("home/temp")
            idle = theirs.subscribe("home/temp", following=Following(pipeline=16))
            busy = theirs.subscribe("home/temp")
            await busy.ready()
            for number in range(400):
                await ours.publish("home/temp", b"%d" % number)
            got = []
            while busy.waiting:
                got.append((await anext(busy)).content)  # type: ignore[union-attr]
                await asyncio.sleep(0)
            assert len(got) == len(idle.waiting) < 300
            idle.close()
            got += [(await anext(busy)).content for _ in range(400 - len(got))]  # type: ignore[union-attr]
            assert got == [b"%d" % number for number in range(400)]

    asyncio.run(main())


def test_forwarder_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), roost.flips("127.0.0.1:1", settings=QUICK, folder=tmp_path) as topics:
            with pytest.raises(roost.RoostError, match="does not answer: start a forwarder"):
                await topics.register("home/temp")

    asyncio.run(main())


@pytest.mark.parametrize("durable", [True, False])
def test_however_many_are_published_at_once_all_are_and_in_order(tmp_path: Path, *, durable: bool) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT_S), roost.flips(settings=QUICK, folder=tmp_path, durable=durable) as topics:
            await topics.register("a")
            count = 2 * MAX_UNSAVED + 1
            numbers = await asyncio.gather(*[topics.publish("a", b"%d" % number) for number in range(count)])
            assert numbers == list(range(100, 100 + count))
            feed = topics.subscribe("a", following=Following(after=99))
            contents = [await anext(feed) for _ in range(count)]
            assert [each.content for each in contents if isinstance(each, Content)] == [b"%d" % n for n in range(count)]
            with pytest.raises(InvalidInput):
                await topics.publish("b", b"x")

    asyncio.run(main())


def test_who_waits_for_room_is_before_who_comes_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with roost.flips(settings=QUICK, folder=tmp_path) as topics:
            await topics.register("a")
            full = [asyncio.ensure_future(topics.publish("a", b"x")) for _ in range(MAX_UNSAVED)]
            waiting = asyncio.ensure_future(topics.publish("a", b"waited"))
            later: list[asyncio.Future[int]] = []
            wake = topics.wake

            def come_when_there_is_room() -> None:
                if not later and len(topics._publishing.get("a", ())) < MAX_UNSAVED:
                    later.append(asyncio.ensure_future(topics.publish("a", b"came")))
                wake()

            await asyncio.sleep(0)
            assert len(topics._publishing["a"]) == MAX_UNSAVED
            monkeypatch.setattr(topics, "wake", come_when_there_is_room)
            await asyncio.gather(*full)
            assert await waiting < await later[0]

    asyncio.run(within(main()))


def test_routes_come_back_after_the_forwarder_was_started_again() -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(HicnServer(HicnForwarder(HicnSettings(), random.Random(1))))
            at = first.listen("127.0.0.1", 0).removeprefix("udp4://")
            ours = await stack.enter_async_context(roost.flips(at, settings=QUICK, durable=False))
            theirs = await stack.enter_async_context(roost.flips(at, settings=QUICK, durable=False))
            await ours.register("a", 200)
            feed = theirs.subscribe("a", following=Following(patient=True, adaptive=True))
            await feed.ready()
            await ours.publish("a", b"before")
            assert await one(feed) == b"before"
            await first.__aexit__(None, None, None)
            await ours.publish("a", b"while it was away")
            again = await stack.enter_async_context(HicnServer(HicnForwarder(HicnSettings(), random.Random(1))))
            again.listen("127.0.0.1", int(at.rpartition(":")[2]))
            await ours.publish("a", b"after")
            assert [await one(feed) for _ in range(2)] == [b"while it was away", b"after"]
            await ours.register("b")  # what was wrong is over

    asyncio.run(within(main()))


@pytest.mark.parametrize("way", ["inside", "ndn"])
def test_who_stops_waiting_for_a_topic_does_not_have_it(way: str, tmp_path: Path) -> None:
    async def main() -> None:
        wrong: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
        async with two(way, tmp_path) as (ours, _):
            waiting = asyncio.ensure_future(ours.register("a"))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert await ours.register("a") == 0
            assert not wrong

    asyncio.run(within(main()))


def test_who_waits_for_the_disk_is_told_that_the_topic_is_unregistered(tmp_path: Path) -> None:
    async def main() -> None:
        async with roost.flips(settings=QUICK, folder=tmp_path) as topics:
            await topics.register("a")
            waiting = asyncio.ensure_future(topics.publish("a", b"x"))
            await asyncio.sleep(0)
            topics.unregister("a")
            with pytest.raises(roost.RoostError, match="was unregistered before its content was on the disk"):
                await waiting
            await topics.register("a")
            assert await topics.publish("a", b"y") >= 100
            assert not topics._publishing

    asyncio.run(within(main()))


async def within(work: Awaitable[None]) -> None:
    async with asyncio.timeout(LIMIT_S):
        await work


async def one(feed: TopicFeed) -> bytes:
    item = await anext(feed)
    assert isinstance(item, Content)
    return item.content
