"""Sync groups as people use them: joined through faces of a real node, kept on a real disk, from the command line."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
import secrets
import time
from pathlib import Path

import pytest
from tests.loops import run

from roost.errors import BadConfig, Disconnected, InvalidInput, RoostError, Untrusted
from roost.forwarding.registrar import REFUSED, RegistrationChanged
from roost.host import ACCEPT_ANY, Connection, Listen, connect, keeping, running
from roost.host.joining import Joined
from roost.machine import Effect
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
    SvsSettings,
)
from roost.trust import Identity, certify, generate, self_sign

MEMBERS = [SVS3, SVS2, PSYNC, PSYNC_ADAPTIVE]
NAMES = ["svs3", "svs2", "psync", "psync-adaptive"]


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    return tmp_path / "roost"


@pytest.fixture
def building(own_home: Path) -> str:
    """A group of a building, whose keys are at home."""
    from roost.cli import main

    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0
    assert own_home.is_dir()
    return "/BigCompany/Building1/Electricity"


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


def test_a_member_with_a_bug_does_not_take_the_face_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: object, now: int) -> list[Effect]:
        raise AssertionError(f"a bug at {now}: {event}")

    async def test() -> None:
        async with (
            anyone() as a,
            anyone() as b,
            b.join("/g", durable=False) as theirs,
            b.serve("/x", lambda _: b"x"),
        ):
            monkeypatch.setattr(theirs.part, "receive", broken)
            async with a.join("/g", folder=tmp_path):
                while "a bug" not in caplog.text:  # noqa: ASYNC110  a log has no event
                    await asyncio.sleep(0)
                assert (await a.fetch("/x/1")).content == b"x"

    run(test)


def test_nothing_is_learnt_from_who_is_not_trusted_and_the_log_says_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
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
            for number in range(1, 6):
                await group.announce("/me", number)
                assert (await anext(open_)).high == number
            assert closed.latest() == {}

    run(test)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line.startswith(
        "refused a packet of /group: /group/v=3 cannot be verified: no trust is configured; run `roost init`"
    )


@pytest.mark.parametrize(
    ("protocol", "below"), [(SVS3, ""), (SVS2, ""), (PSYNC, "/32=sync")], ids=["svs3", "svs2", "psync"]
)
def test_a_group_of_the_building_is_joined_with_the_building_s_keys(
    building: str, tmp_path: Path, protocol: Protocol, below: str
) -> None:
    async def test() -> None:
        stream = f"{building}/Panel1/Heater/Voltage"
        async with (
            connect() as a,
            connect() as b,
            a.join(building + below, protocol, folder=tmp_path / "a") as ours,
            b.join(building + below, protocol, folder=tmp_path / "b") as theirs,
        ):
            await ours.produce(stream)
            await ours.announce(stream, 3)
            assert (await anext(theirs)).high == 3

    run(test)


def test_streams_of_the_building_are_followed_with_the_building_s_keys(building: str, tmp_path: Path) -> None:
    stream = f"{building}/Panel1/Heater/Voltage"

    async def test() -> None:
        async with (
            connect() as a,
            connect() as b,
            a.join(f"{building}/32=sync", PSYNC_PARTIAL, folder=tmp_path) as ours,
        ):
            await ours.announce(stream, await ours.produce(stream))
            for wanted in (NameList([Name.parse(stream)]), RangeList([Name.parse(building)])):
                async with b.follow(f"{building}/32=sync", wanted, durable=False) as theirs:
                    known = await anext(theirs)
                    await ours.announce(stream, known.high + 1)
                    assert (await anext(theirs)).high == known.high + 1

    run(test)


def test_a_group_nobody_gave_us_a_key_for_is_refused_with_the_reason_however_often(
    building: str, tmp_path: Path
) -> None:
    assert building

    async def test() -> None:
        async with connect() as face:
            for _ in range(2):
                with pytest.raises(Untrusted, match="/Elsewhere"):
                    await face.join("/Elsewhere", folder=tmp_path)

    run(test)


def test_protocols_and_subscriptions_are_taken_by_name_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with anyone() as a, anyone() as b, a.join("/p", "psync-partial", folder=tmp_path / "a") as producer:
            await producer.announce("/p/a", await producer.produce("/p/a"))
            async with b.follow("/p", ["/p/a"], folder=tmp_path / "b") as followed:
                assert (await anext(followed)).high == 1
            with pytest.raises(BadConfig, match="svs3, svs2, psync"):
                a.join("/p", "svs4")

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


def test_a_group_is_not_started_again_because_another_one_has_the_same_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        async with anyone() as face, face.join("/g", SVS3, folder=tmp_path) as three:
            starts: list[int] = []
            monkeypatch.setattr(three.part, "start", starts.append)
            async with face.join("/g", SVS2, folder=tmp_path):
                assert starts == []

    run(test)


def test_a_route_that_is_refused_later_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with anyone() as face, face.join("/g", folder=tmp_path) as group:
            group._registration(RegistrationChanged(Name.parse("/g"), REFUSED, "not you", 403))

    run(test)
    assert "/g is not heard any more, the forwarder refuses its route /g: 403 not you" in caplog.text


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


@pytest.mark.parametrize("protocol", MEMBERS, ids=NAMES)
def test_a_group_ends_with_its_face_and_whoever_waits_hears_of_it(tmp_path: Path, protocol: Protocol) -> None:
    async def test() -> None:
        face = await anyone()
        group = await face.join("/group", protocol, folder=tmp_path)
        await group.produce("/me")
        listening = asyncio.ensure_future(anext(group, None))
        announcing = asyncio.ensure_future(group.announce("/me", 1))
        await asyncio.sleep(0)
        assert not announcing.done()
        await face.close()
        assert await listening is None
        with pytest.raises(Disconnected, match="was left while this waited"):
            await announcing
        with pytest.raises(Disconnected, match="within its face's"):
            await group.announce("/me", 2)
        await group.close()
        async with anyone() as other, other.join("/group", protocol, folder=tmp_path) as again:
            assert await again.produce("/me") == 2, "what was under way is on the disk"

    run(test)


@pytest.mark.parametrize("protocol", MEMBERS, ids=NAMES)
def test_a_group_that_was_left_leaves_nothing_behind_on_its_face(tmp_path: Path, protocol: Protocol) -> None:
    async def test() -> None:
        async with anyone() as face:
            async with face.join("/group", protocol, folder=tmp_path) as group:
                await group.announce("/me", await group.produce("/me"))
            await asyncio.sleep(0)
            session = face._session
            assert (session._answers, session._watchers, face._residences) == ({}, {}, set())
            assert not face._desk.serves(group.member.prefix)
            assert {task for task in asyncio.all_tasks() if "Residence" in repr(task.get_coro())} == set()

    run(test)


def test_a_face_is_closed_while_its_groups_wait_for_certificates_replies_and_routes(
    building: str, tmp_path: Path
) -> None:
    async def test() -> None:
        key = generate(Name.parse(f"{building}/Panel7"), secrets.token_bytes)
        unknown = Identity(key, certify(self_sign(key, time.time_ns()), key.name, key.public.spki, time.time_ns()))
        async with connect(verifier=ACCEPT_ANY, signer=unknown.signer) as stranger, connect() as face:
            ours = await face.join(building, folder=tmp_path)
            await face.join(f"{building}/32=sync", PSYNC, folder=tmp_path)
            await face.follow(f"{building}/32=more", NameList([Name.parse("/x")]), durable=False)
            opening = asyncio.ensure_future(face.join(building, SVS2, folder=tmp_path).open())
            await stranger.join(building, durable=False)
            while not len(ours.part.vetting):  # noqa: ASYNC110  waiting for a certificate has no event
                await asyncio.sleep(0)
            await face.close()
            await asyncio.gather(opening, return_exceptions=True)
            for protocol in (SVS3, SVS2):
                async with connect() as other, other.join(building, protocol, folder=tmp_path):
                    pass

    run(test)


def test_who_joins_while_the_face_is_closing_is_left_behind_by_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        face = await anyone()
        await face.join("/a", folder=tmp_path)
        closing = asyncio.ensure_future(face.close())
        await asyncio.sleep(0)
        with contextlib.suppress(Disconnected):
            await face.join("/b", folder=tmp_path)
        await closing
        async with anyone() as other, other.join("/b", folder=tmp_path):
            pass

    run(test)


def test_a_consumer_that_stops_waiting_loses_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            anyone() as a,
            anyone() as b,
            a.join("/g", folder=tmp_path / "a") as ours,
            b.join("/g", folder=tmp_path / "b") as theirs,
        ):
            impatient = asyncio.ensure_future(anext(theirs))
            await asyncio.sleep(0)
            impatient.cancel()
            await ours.produce("/me")
            await ours.announce("/me", 1)
            assert (await anext(theirs)).high == 1
            assert impatient.cancelled()

    run(test)


@pytest.mark.parametrize("protocol", [SvsSettings(version=2, periodic_ms=300), PSYNC], ids=["svs2", "psync"])
def test_numbers_that_the_group_knows_and_our_disk_does_not_are_not_given_again(
    tmp_path: Path, protocol: Protocol
) -> None:
    async def test() -> None:
        async with anyone() as b, b.join("/group", protocol, folder=tmp_path / "b") as witness:
            async with anyone() as a, a.join("/group", protocol, folder=tmp_path / "a") as group:
                await group.produce("/me")
                await group.announce("/me", 7)
                assert (await anext(witness)).high == 7
            async with anyone() as a, a.join("/group", protocol, folder=tmp_path / "empty") as group:
                assert await group.produce("/me") == 1
                while high_of(group, "/me") < 7:  # noqa: ASYNC110  nobody is told before asking
                    await asyncio.sleep(0)
                for number in (1, 7, 8, 20):
                    with pytest.raises(InvalidInput, match="knows /me up to 7"):
                        await group.announce("/me", number)
                assert await group.produce("/me") == 8
                await group.announce("/me", 7)
                await group.announce("/me", 9)
                assert (await anext(witness)).low == 8

    run(test)


def test_what_is_announced_at_the_same_time_is_no_clash(tmp_path: Path) -> None:
    async def test() -> None:
        async with anyone() as face, face.join("/group", folder=tmp_path) as group:
            assert await group.produce("/me") == 1
            await asyncio.gather(*[group.announce("/me", number) for number in (1, 2, 3, 5)])
            assert await group.produce("/me") == 6

    run(test)


def test_the_first_word_of_a_member_goes_to_all_others(tmp_path: Path) -> None:
    async def test() -> None:
        uri = f"unix://{tmp_path / 'node.sock'}"
        heard: list[int] = []
        async with (
            running(Node(NodeSettings(), random.Random(1)), Listen(unix=tmp_path / "node.sock")),
            anyone(uri) as a,
            anyone(uri) as b,
            a.serve("/g", lambda _: heard.append(1)),  # they have routes, but chose no strategy
            b.serve("/g", lambda _: heard.append(2)),
            anyone(uri) as c,
            c.join("/g", folder=tmp_path),
        ):
            while len(heard) < 2:  # noqa: ASYNC110  hearing has no event of its own
                await asyncio.sleep(0)
            assert sorted(heard) == [1, 2]

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
                is_list = isinstance(subscriptions, NameList)  # with ranges it is only told of what is in them
                assert (Name.parse("/p/b") in followed.available()) == is_list
                followed.subscribe("/p/b")
                learned = await anext(followed)
                assert (learned.stream.name, learned.low, learned.high) == (Name.parse("/p/b"), 1, 2)
                followed.unsubscribe("/p/b")
                assert Stream(Name.parse("/p/b")) not in followed.latest()

    run(test)


def test_news_of_what_is_not_followed_any_more_are_dropped(tmp_path: Path) -> None:
    async def test() -> None:
        async with anyone() as a, anyone() as b, a.join("/p", PSYNC_PARTIAL, folder=tmp_path / "a") as producer:
            for stream in ("/p/a", "/p/b"):
                await producer.announce(stream, await producer.produce(stream))
            async with b.follow("/p", RangeList([Name.parse("/p/a"), Name.parse("/p/b")]), durable=False) as followed:
                while len(followed.latest()) < 2:  # noqa: ASYNC110  nobody takes the news
                    await asyncio.sleep(0)
                followed.unsubscribe("/p/a")
                assert (await anext(followed)).stream.name == Name.parse("/p/b")

    run(test)
