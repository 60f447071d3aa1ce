"""Groups of blobs as people use them: `roost.join`, over a node inside this process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.loops import run

import roost
from roost.errors import BadConfig, BadPacket, InvalidInput, Nacked, TimedOut
from roost.host.blobs import MAX_UNTAKEN, BlobGroup, Receipt
from roost.host.client import GroupConnection
from roost.naming import Name
from roost.pubsub.blobs.items import Item
from roost.wire import DigestSigner

GROUP = "/campus/ops"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No node is running, so that one inside this process is used."""
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))


def join(node: str, folder: Path | None = None) -> GroupConnection:
    durable = folder is not None
    return roost.join(GROUP, node, verifier=roost.ACCEPT_ANY, signer=DigestSigner(), folder=folder, durable=durable)


async def taken(group: BlobGroup, topic: str, count: int) -> list[bytes]:
    """The next items of a topic, all of them dealt with."""
    blobs: list[bytes] = []
    feed = group.subscribe(topic)
    while len(blobs) < count:
        blobs.append((await anext(feed)).blob)
    feed.close()
    return blobs


def test_what_one_publishes_another_gets_with_who_made_it_and_when() -> None:
    async def test() -> None:
        async with join("/radar") as radar, join("/desk") as desk:
            receipt = await radar.publish("/position/radar/7", b"here")
            item = await anext(desk.subscribe("/position"))
            assert (receipt.number, receipt.producer) == (1, Name.parse("/radar"))
            assert (item.name, item.blob, item.number) == (Name.parse("/position/radar/7"), b"here", 1)
            assert (item.producer, item.stream, item.signer) == (radar.node, receipt.stream, None)
            assert item.published_us is not None
            assert 0 < item.published_us * 1000 <= item.arrived

    run(test)


def test_one_membership_has_several_topics_filters_and_producers() -> None:
    async def test() -> None:
        async with join("/radar") as radar, join("/desk") as desk:
            small = desk.subscribe("/image", max_size_bytes=100)
            sevens = desk.subscribe("/", pattern="/position/*/7")
            everything = desk.subscribe_to_producer("/radar", prefetch=2)
            nobody = desk.subscribe_to_producer("/sonar")
            for name, blob in (("/image/a", bytes(200_000)), ("/image/b", b"small"), ("/position/x/7", b"seven")):
                await radar.publish(name, blob)
            assert (await anext(small)).blob == b"small"
            assert (await anext(sevens)).blob == b"seven"
            assert [len((await anext(everything)).blob) for _ in range(3)] == [200_000, 5, 5]
            assert not nobody.waiting

    run(test)


def test_who_unsubscribes_gets_nothing_more_and_who_subscribes_later_gets_it_all() -> None:
    async def test() -> None:
        async with join("/radar") as radar, join("/desk") as desk:
            first = desk.subscribe("/position")
            await radar.publish("/position/1", b"1")
            assert (await anext(first)).blob == b"1"
            first.close()
            await radar.publish("/position/2", b"2")
            assert [item.blob async for item in first] == []
            assert await taken(desk, "/", 2) == [b"1", b"2"]

    run(test)


def test_a_callback_is_called_for_each_and_no_more_once_it_fails() -> None:
    async def test() -> None:
        came: asyncio.Queue[bytes] = asyncio.Queue()

        def take(item: Item) -> None:
            came.put_nowait(item.blob)
            if item.blob == b"bad":
                raise ValueError("no")

        async def wait(item: Item) -> None:
            await came.put(item.blob.upper())

        async with join("/radar") as radar, join("/desk") as desk:
            failing = desk.subscribe("/a", take)
            desk.subscribe("/b", wait)
            for name, blob in (("/a/1", b"good"), ("/a/2", b"bad"), ("/a/3", b"late"), ("/b/1", b"x")):
                await radar.publish(name, blob)
            assert [await came.get() for _ in range(3)] == [b"good", b"bad", b"X"]
            assert failing.closed
            assert came.empty()

    run(test)


def test_more_than_is_taken_is_not_fetched() -> None:
    async def test() -> None:
        count = 2 * MAX_UNTAKEN
        async with join("/radar") as radar, join("/desk") as desk:
            slow = desk.subscribe("/")
            for number in range(count):
                await radar.publish(f"/n/{number}", b"%d" % number)
            assert (await anext(slow)).blob == b"0"
            await desk.until(lambda: len(slow.waiting) >= MAX_UNTAKEN - 1)
            blobs = [(await anext(slow)).blob for _ in range(count - 1)]
            assert blobs == [b"%d" % number for number in range(1, count)]

    run(test)


def test_who_starts_again_still_has_what_it_published_and_goes_on_behind_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar", tmp_path) as radar:
            await radar.publish("/position/1", b"one")
            before = await radar.publish("/position/2", bytes(100_000))
        async with join("/radar", tmp_path) as radar, join("/desk") as desk:
            receipt = await radar.publish("/position/3", b"three")
            assert (receipt.number, receipt.stream) == (3, before.stream)
            assert await taken(desk, "/position", 3) == [b"one", bytes(100_000), b"three"]

    run(test)


def test_who_subscribes_again_gets_neither_twice_nor_too_little(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            for number in range(3):
                await radar.publish(f"/position/{number}", b"%d" % number)
            async with join("/desk", tmp_path) as desk:
                assert await taken(desk, "/position", 2) == [b"0", b"1"]
            with contextlib.suppress(ZeroDivisionError):
                async with join("/desk", tmp_path) as desk:
                    assert (await anext(desk.subscribe("/position"))).blob == b"2"
                    raise ZeroDivisionError  # before it was dealt with
            await radar.publish("/position/3", b"3")
            async with join("/desk", tmp_path) as desk:
                assert await taken(desk, "/position", 2) == [b"2", b"3"]
                assert await taken(desk, "/", 4) == [b"0", b"1", b"2", b"3"]  # another subscription

    run(test)


def test_of_two_that_want_the_same_the_slow_one_gets_the_rest_after_a_restart(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            for number in range(6):
                await radar.publish(f"/position/{number}", b"%d" % number)
            async with join("/desk", tmp_path) as desk:
                fast, slow = desk.subscribe("/position"), desk.subscribe("/position")
                assert [(await anext(fast)).blob for _ in range(6)] == [b"%d" % number for number in range(6)]
                assert (await anext(slow)).blob == b"0"
            async with join("/desk", tmp_path) as desk:
                fast, slow = desk.subscribe("/position"), desk.subscribe("/position")
                assert [(await anext(slow)).blob for _ in range(5)] == [b"%d" % number for number in range(1, 6)]
                assert not fast.waiting
                again = desk.subscribe("/position", replay=True)
                assert [(await anext(again)).blob for _ in range(6)] == [b"%d" % number for number in range(6)]

    run(test)


def test_what_was_dealt_with_comes_again_to_who_replays_and_only_then(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            for number in range(3):
                await radar.publish(f"/position/{number}", b"%d" % number)
            async with join("/desk", tmp_path) as desk:
                assert await taken(desk, "/position", 3) == [b"0", b"1", b"2"]
            async with join("/desk", tmp_path) as desk:
                feed = desk.subscribe("/position", since="1h")
                await radar.publish("/position/3", b"3")
                assert (await anext(feed)).blob == b"3"
            async with join("/desk", tmp_path) as desk:
                feed = desk.subscribe("/position", since="1h", replay=True)
                assert [(await anext(feed)).blob for _ in range(4)] == [b"0", b"1", b"2", b"3"]
            async with join("/desk", tmp_path) as desk:
                feed = desk.subscribe("/position")
                await radar.publish("/position/4", b"4")
                assert (await anext(feed)).blob == b"4"

    run(test)


def test_two_programs_are_not_the_same_member(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar", tmp_path), join("/desk", tmp_path):
            with pytest.raises(BadConfig, match="in use"):
                async with join("/radar", tmp_path):
                    pass

    run(test)


def test_what_cannot_be_published_is_refused_and_the_next_is_not() -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            with pytest.raises(InvalidInput, match="has a name"):
                await radar.publish("/", b"")
            with pytest.raises(BadPacket, match="no room"):
                await radar.publish("/" + "x" * 9000, b"")
            assert (await radar.publish("/x", b"")).number == 1

    run(test)


# -- the past


def test_what_cannot_be_published_takes_the_receipt_of_nobody_who_publishes_at_the_same_time(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar", tmp_path) as radar, asyncio.timeout(10):
            good, bad, last = await asyncio.gather(
                radar.publish("/good", b"1"),
                radar.publish("/" + "x" * 9000, b"2"),
                radar.publish("/last", b"3"),
                return_exceptions=True,
            )
            assert isinstance(bad, BadPacket)
            assert [each.name for each in (good, last) if isinstance(each, Receipt)] == [
                Name.parse("/good"),
                Name.parse("/last"),
            ]
            assert (await radar.publish("/after", b"4")).name == Name.parse("/after")

    run(test)


def test_who_joins_late_gets_the_latest_of_each_name_or_what_is_not_too_old() -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            for number in range(6):
                await radar.publish(f"/position/{number % 2}", b"%d" % number)
            async with join("/desk") as desk:
                latest = desk.subscribe("/position", latest=True)
                assert [(await anext(latest)).blob for _ in range(2)] == [b"4", b"5"]
                hour = desk.subscribe("/position", since="1h")
                assert [(await anext(hour)).blob for _ in range(6)] == [b"%d" % number for number in range(6)]
                future = desk.subscribe("/position", since=datetime.now(UTC) + timedelta(hours=1))
                await radar.publish("/position/0", b"new")
                assert (await anext(future)).blob == b"new"
                with pytest.raises(BadConfig, match="24h"):
                    desk.subscribe("/position", since="yesterday")

    run(test)


def test_what_the_producer_is_not_here_for_is_had_from_another_member() -> None:
    async def test() -> None:
        async with join("/mule") as mule:
            async with join("/radar") as radar:
                await radar.publish("/position/1", b"one")
                await radar.publish("/position/2", bytes(50_000))
                assert await taken(mule, "/position", 2) == [b"one", bytes(50_000)]
            async with join("/desk") as desk:  # the radar has left
                assert await taken(desk, "/position", 2) == [b"one", bytes(50_000)]

    run(test)


# -- blobs that are not to be in memory


async def pieces(count: int, size: int) -> AsyncIterator[bytes]:
    for number in range(count):
        yield bytes([number]) * size


def test_a_file_and_an_iterator_are_published_and_taken_in_pieces(tmp_path: Path) -> None:
    async def test() -> None:
        whole = b"".join([piece async for piece in pieces(5, 30_000)])
        (tmp_path / "large").write_bytes(whole)
        async with join("/radar", tmp_path / "r") as radar, join("/desk") as desk:
            await radar.publish("/image/1", tmp_path / "large")
            (tmp_path / "large").write_bytes(b"changed")
            await radar.publish("/image/2", pieces(5, 30_000))
            await radar.publish("/image/3", b"small")
            feed = desk.subscribe("/image", in_pieces=True)
            for expected in (whole, whole, b"small"):
                item = await anext(feed)
                assert item.size_bytes == len(expected)
                assert item.blob == (b"" if len(expected) > 8000 else expected)
                got = [piece async for piece in desk.pieces(item)]
                assert b"".join(got) == expected
                assert max(map(len, got)) <= 8000
            assert await taken(desk, "/image", 3) == [whole, whole, b"small"]

    run(test)


def test_published_files_outlive_a_restart_and_what_is_left_over_does_not(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar", tmp_path) as radar:
            await radar.publish("/image/1", pieces(3, 30_000))
        (folder,) = tmp_path.glob("*-blobs")  # noqa: ASYNC240  nobody waits
        (folder / "left.blob").write_bytes(b"by a crash")
        async with join("/radar", tmp_path), join("/desk") as desk:
            assert len(list(folder.iterdir())) == 1
            assert [len(blob) for blob in await taken(desk, "/image", 1)] == [90_000]

    run(test)


def test_a_file_that_is_not_there_is_not_published(tmp_path: Path) -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            with pytest.raises(BadConfig, match="nothing was published"):
                await radar.publish("/image/1", tmp_path / "none")
            assert (await radar.publish("/x", b"")).number == 1

    run(test)


def test_what_was_published_too_long_ago_is_removed_from_the_disk() -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            radar.part.publisher.kept.max_filed_bytes = 100_000
            files = radar._files
            for number in range(4):
                await radar.publish(f"/image/{number}", pieces(1, 40_000))
            assert len(files._opened) == 2

    run(test)


# -- by number


@pytest.mark.parametrize("size", [5, 200_000])
def test_a_blob_is_had_by_its_producer_and_number(size: int) -> None:
    async def test() -> None:
        async with join("/desk") as desk, join("/late") as late:
            async with join("/radar") as radar:
                blob = bytes([7]) * size
                for number in (1, 2, 3):
                    await radar.publish(f"/image/{number}", blob if number == 2 else b"")
                feed = desk.subscribe_to_producer("/radar")
                for _ in range(3):
                    await anext(feed)
                found = await late.fetch(producer="/radar", number=2)
                assert (found.name, found.blob) == (Name.parse("/image/2"), blob)
                assert (await radar.fetch(producer="/radar", number=2)).blob == blob
            async with join("/third") as third:
                await anext(third.subscribe("/"))
                assert (await third.fetch(producer="/radar", number=2)).blob == blob  # from the desk
                with pytest.raises(TimedOut, match="number 9 of /radar is not to be had"):
                    await third.fetch(producer="/radar", number=9)
            with pytest.raises(InvalidInput, match="nothing was heard of /sonar"):
                await desk.fetch(producer="/sonar", number=1)
            with pytest.raises(InvalidInput, match="a producer and a number"):
                await desk.fetch(producer="/sonar")

    run(test)


# -- by application name


@pytest.mark.parametrize("size", [0, 5, 8000, 200_000])
@pytest.mark.parametrize("producer", [None, "/radar"])
def test_a_blob_is_had_by_its_application_name_alone(size: int, producer: str | None) -> None:
    async def test() -> None:
        async with join("/radar") as radar, join("/desk") as desk:
            blob = bytes(range(250)) * 800
            await radar.publish("/image/radar/7", blob[:size])
            found = await desk.fetch("/image/radar/7", producer=producer)
            assert (found.name, found.blob) == (Name.parse("/image/radar/7"), blob[:size])
            assert (await radar.fetch("/image/radar/7")).blob == blob[:size]

    run(test)


def test_who_carries_a_blob_gives_it_by_its_name_when_its_producer_is_gone() -> None:
    async def test() -> None:
        async with join("/desk") as desk, join("/late") as late:
            async with join("/radar") as radar:
                blobs = {f"/image/{size}": bytes([1]) * size for size in (3, 30_000)}
                for name, blob in blobs.items():
                    await radar.publish(name, blob)
                assert await taken(desk, "/image", 2) == list(blobs.values())
            for name, blob in blobs.items():
                assert (await late.fetch(name)).blob == blob

    run(test)


@pytest.mark.parametrize("carry_for", [(), ("/radar",)])
def test_who_sets_no_hints_gets_of_a_carrier_what_it_carries_for_a_name(carry_for: tuple[str, ...]) -> None:
    async def test() -> None:
        carrier = roost.join(
            GROUP, "/mule", verifier=roost.ACCEPT_ANY, signer=DigestSigner(), durable=False, carry_for=carry_for
        )
        async with carrier as mule, roost.connect(verifier=roost.ACCEPT_ANY) as face:
            async with join("/radar") as radar:
                receipt = await radar.publish("/position/1", b"here")
                assert await taken(mule, "/", 1) == [b"here"]
            name = mule.part.seat.naming.query(receipt.stream, 1, 1)  # which nobody asked before
            if carry_for:
                assert Name.parse("/position/1").value in (await face.fetch(name)).content
            else:
                with pytest.raises((TimedOut, Nacked)):
                    await face.fetch(name)

    run(test)


def test_of_a_name_that_was_used_again_the_last_blob_comes() -> None:
    async def test() -> None:
        async with join("/radar") as radar, join("/desk") as desk:
            for blob in (b"first", bytes(20_000), b"last"):
                await radar.publish("/position", blob)
            assert (await desk.fetch("/position")).blob == b"last"

    run(test)
