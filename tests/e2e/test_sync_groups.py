"""Sync groups as people use them: joined through faces of a real node, kept on a real disk, from the command line."""

from __future__ import annotations

import asyncio
import errno
import os
import random
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from roost.errors import BadConfig, Disconnected, InvalidInput, RoostError, Untrusted
from roost.host import ACCEPT_ANY, Connection, Listen, connect, keeping, running
from roost.host.joining import Joined
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.sync import (
    PSYNC,
    PSYNC_ADAPTIVE,
    PSYNC_PARTIAL,
    SVS2,
    SVS3,
    Learned,
    NameList,
    Protocol,
    RangeList,
    Stream,
)

MEMBERS = [SVS3, SVS2, PSYNC, PSYNC_ADAPTIVE]
NAMES = ["svs3", "svs2", "psync", "psync-adaptive"]


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    return tmp_path / "roost"


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(main())


def anyone(uri: str | None = None) -> Connection:
    return connect(uri, verifier=ACCEPT_ANY)


def high_of(group: Joined, name: str) -> int:
    return max([number for stream, number in group.latest().items() if stream.name == Name.parse(name)], default=0)


@pytest.mark.parametrize("protocol", MEMBERS, ids=NAMES)
def test_what_one_announces_the_other_learns_before_and_after_joining(tmp_path: Path, protocol: Protocol) -> None:
    async def test() -> None:
        async with anyone() as a, anyone() as b, a.join("/group", protocol, folder=tmp_path / "a") as ours:
            assert await ours.produce("/me") == 1
            await ours.announce("/me", 2)
            async with b.join("/group", protocol, folder=tmp_path / "b") as theirs:
                first = await anext(theirs)
                assert (first.stream.name, first.low, first.high) == (Name.parse("/me"), 1, 2)
                await ours.announce("/me", 5)
                assert await anext(theirs) == Learned(first.stream, 3, 5)
                assert await theirs.produce("/you") == 1
                await theirs.announce("/you", 1)
                assert (await anext(ours)).high == 1
                assert ours.latest() == theirs.latest()

    run(test)


@pytest.mark.parametrize("protocol", MEMBERS, ids=NAMES)
def test_a_restarted_member_goes_on_with_its_numbers(tmp_path: Path, protocol: Protocol) -> None:
    async def test() -> None:
        streams: set[Stream] = set()
        for number in (1, 2, 3):
            async with anyone() as face, face.join("/group", protocol, folder=tmp_path) as group:
                assert await group.produce("/me") == number
                await group.announce("/me", number)
                streams |= group.latest().keys()
        assert len(streams) == 1, "with version 3 the boot time stays the same"

    run(test)


@pytest.mark.parametrize("protocol", MEMBERS, ids=NAMES)
def test_a_member_whose_disk_flipped_a_bit_gives_no_number_twice(tmp_path: Path, protocol: Protocol) -> None:
    async def test() -> None:
        async with anyone() as b, b.join("/group", protocol, folder=tmp_path / "b") as witness:
            async with anyone() as a, a.join("/group", protocol, folder=tmp_path / "a") as group:
                await group.produce("/me")
                await group.announce("/me", 7)
                before = (await anext(witness)).stream
            (file,) = [path for path in (tmp_path / "a").iterdir() if path.suffix.startswith((".svs", ".psync"))]
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 4
            file.write_bytes(content)
            async with anyone() as a, a.join("/group", protocol, folder=tmp_path / "a") as group:
                number = await group.produce("/me")
                await group.announce("/me", number)
                learned = await anext(witness)
                assert (learned.stream, learned.low) == (before, 8) or learned.stream.boot > before.boot > 0

    run(test)


def test_a_group_is_joined_again_after_the_node_was_away(tmp_path: Path) -> None:
    async def test() -> None:
        uri = f"unix://{tmp_path / 'node.sock'}"

        def node() -> Node:
            return Node(NodeSettings(), random.Random(1))

        listen = Listen(unix=tmp_path / "node.sock")
        first = running(node(), listen)
        await first.__aenter__()
        async with (
            anyone(uri) as a,
            anyone(uri) as b,
            a.join("/g", folder=tmp_path / "a") as ours,
            b.join("/g", folder=tmp_path / "b") as theirs,
        ):
            await ours.produce("/me")
            await first.__aexit__(None, None, None)
            while a.is_up or b.is_up:  # noqa: ASYNC110  a drop has no event of its own
                await asyncio.sleep(0)
            await ours.announce("/me", 1)  # it is on the disk, and nobody hears
            async with running(node(), listen):
                assert (await anext(theirs)).high == 1

    run(test)


def test_nothing_is_learnt_from_who_is_not_trusted(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            anyone() as stranger,
            connect() as strict,
            anyone() as anybody,
            strict.join("/group", durable=False) as closed,
            anybody.join("/group", durable=False) as open_,
            stranger.join("/group", folder=tmp_path) as group,
        ):
            await group.produce("/me")
            await group.announce("/me", 1)
            assert (await anext(open_)).high == 1
            assert closed.latest() == {}

    run(test)


def test_a_group_of_the_building_is_joined_with_the_building_s_keys(own_home: Path, tmp_path: Path) -> None:
    from roost.cli import main

    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0
    assert own_home.is_dir()

    async def test() -> None:
        group = "/BigCompany/Building1/Electricity"
        async with connect() as a, connect() as b:
            async with a.join(group, folder=tmp_path / "a") as ours, b.join(group, folder=tmp_path / "b") as theirs:
                await ours.produce(f"{group}/Panel1/Heater/Voltage")
                await ours.announce(f"{group}/Panel1/Heater/Voltage", 3)
                assert (await anext(theirs)).high == 3
            sync = f"{group}/32=sync"
            async with a.join(sync, PSYNC, folder=tmp_path / "a") as ours:
                await ours.produce(f"{group}/Panel1/Heater/Current")
                await ours.announce(f"{group}/Panel1/Heater/Current", 1)
                async with b.join(sync, PSYNC, folder=tmp_path / "b") as theirs:
                    assert (await anext(theirs)).high == 1

    run(test)


def test_a_group_nobody_gave_us_a_key_for_is_refused_with_the_reason(tmp_path: Path) -> None:
    from roost.cli import main

    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0

    async def test() -> None:
        async with connect() as face:
            with pytest.raises(Untrusted, match="/Elsewhere"):
                await face.join("/Elsewhere", folder=tmp_path)

    run(test)


def test_two_cannot_count_in_one_file(tmp_path: Path) -> None:
    async def test() -> None:
        async with anyone() as a, anyone() as b, a.join("/group", folder=tmp_path):
            with pytest.raises(BadConfig, match="in use"):
                await b.join("/group", folder=tmp_path)
        async with anyone() as b, b.join("/group", folder=tmp_path) as group:
            assert await group.produce("/me") == 1

    run(test)


def test_versions_two_and_three_share_a_face_and_leave_one_by_one(tmp_path: Path) -> None:
    async def test() -> None:
        async with anyone() as a, anyone() as b, a.join("/g", SVS3, folder=tmp_path / "a") as three:
            async with a.join("/g", SVS2, folder=tmp_path / "a") as two:
                assert await two.produce("/two") == 1
            async with b.join("/g", SVS3, folder=tmp_path / "b") as other:
                await other.produce("/me")
                await other.announce("/me", 1)
                assert (await anext(three)).high == 1

    run(test)


def test_a_disk_that_fails_stops_the_announcing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with anyone() as face, face.join("/group", folder=tmp_path) as group:
            await group.produce("/me")

            def full(path: Path, data: bytes) -> None:  # noqa: ARG001  as the real one
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            monkeypatch.setattr(keeping, "_append", full)
            with pytest.raises(RoostError, match="No space left"):
                await group.announce("/me", 1)
            assert high_of(group, "/me") == 0

    run(test)


def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    async def test() -> None:
        async with anyone() as face:
            with pytest.raises(BadConfig, match="give another folder"):
                await face.join("/group", folder=tmp_path / "file")

    run(test)


def test_what_is_not_produced_cannot_be_announced_and_what_was_left_cannot_be_used(tmp_path: Path) -> None:
    async def test() -> None:
        async with anyone() as face:
            async with face.join("/group", folder=tmp_path) as group:
                with pytest.raises(InvalidInput, match="produce"):
                    await group.announce("/me", 1)
            assert [learned async for learned in group] == []
            with pytest.raises(Disconnected):
                await group.produce("/me")

    run(test)


def test_news_that_nobody_takes_are_joined(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            anyone() as a,
            anyone() as b,
            a.join("/g", folder=tmp_path / "a") as ours,
            b.join("/g", folder=tmp_path / "b") as theirs,
        ):
            await ours.produce("/me")
            for number in range(1, 6):
                await ours.announce("/me", number)
            while high_of(theirs, "/me") < 5:  # noqa: ASYNC110  learning has no event of its own
                await asyncio.sleep(0)
            learned = await anext(theirs)
            assert (learned.low, learned.high) == (1, 5)

    run(test)


@pytest.mark.parametrize(
    "subscriptions",
    [NameList([Name.parse("/p/a"), Name.parse("/p/c")]), RangeList([Name.parse("/p/a"), Name.parse("/p/c")])],
    ids=["names", "ranges"],
)
def test_a_consumer_follows_what_it_subscribed_to(tmp_path: Path, subscriptions: NameList | RangeList) -> None:
    async def test() -> None:
        async with anyone() as a, anyone() as b, a.join("/p", PSYNC_PARTIAL, folder=tmp_path / "a") as producer:
            for stream in ("/p/a", "/p/b", "/p/c"):
                await producer.produce(stream)
                await producer.announce(stream, 1)
            async with b.follow("/p", subscriptions, folder=tmp_path / "b") as followed:
                assert {(await anext(followed)).stream.name for _ in range(2)} == {
                    Name.parse("/p/a"),
                    Name.parse("/p/c"),
                }
                await producer.announce("/p/b", 2)
                await producer.announce("/p/c", 2)
                assert await anext(followed) == Learned(Stream(Name.parse("/p/c")), 2, 2)
                assert followed.available().keys() >= {Name.parse("/p/b")}
                followed.subscribe("/p/b")
                learned = await anext(followed)
                assert (learned.stream.name, learned.low, learned.high) == (Name.parse("/p/b"), 1, 2)
                followed.unsubscribe("/p/b")
                assert Stream(Name.parse("/p/b")) not in followed.latest()

    run(test)
