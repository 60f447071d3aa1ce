"""A mule that is a file: what is written can be brought elsewhere, merging twice is merging once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loops import run

import roost
from roost.errors import BadConfig, Untrusted
from roost.host.blobs import BlobGroup
from roost.host.client import GroupConnection
from roost.host.mule import Verifying, read_cargo
from roost.naming import Name
from roost.trust.acceptance import ACCEPT_NOTHING
from roost.wire import Data, DigestSigner


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No node is running, so that one inside this process is used."""
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))


def join(node: str, group: str = "/campus/ops") -> GroupConnection:
    return roost.join(group, node, verifier=roost.ACCEPT_ANY, signer=DigestSigner(), durable=False)


async def believe(_: Data) -> None:
    pass


async def export(path: Path, *names: str, node: str = "/radar") -> None:
    """Publish something, and write what a mule got of it."""
    async with join(node) as radar, join("/mule") as mule:
        for name in names:
            await radar.publish(name, name.encode() * 2000)
        feed = mule.subscribe("/")
        for _ in names:
            await anext(feed)
        await mule.unload(path)


async def blobs(group: BlobGroup, count: int) -> dict[str, int]:
    feed = group.subscribe("/", in_order=False)
    items = [await anext(feed) for _ in range(count)]
    feed.close()
    return {str(item.name): len(item.blob) for item in items}


def test_what_a_mule_wrote_is_had_where_it_is_brought(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        await export(path, "/position/1", "/position/2")
        async with join("/mule") as mule, join("/desk") as desk:  # another network: the first one is gone
            loaded = await mule.load(path)
            assert (loaded.packets, loaded.streams) == (6, 1)
            assert await blobs(desk, 2) == {"/position/1": 22_000, "/position/2": 22_000}
            assert mule.part.answered > 0

    run(test)


def test_writing_into_a_file_merges_and_twice_is_once(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        await export(path, "/a/1")
        await export(path, "/b/1", node="/sonar")
        before = path.read_bytes()
        async with join("/mule") as mule:
            await mule.load(path)
            await mule.load(path)
            again = await mule.unload(path)
        assert (again.packets, again.streams, again.fresh) == (2, 2, 0)
        assert path.read_bytes() == before
        cargo, _ = await read_cargo(path, Verifying.by(believe))
        assert sorted(str(stream.name) for stream in cargo.highs) == ["/radar", "/sonar"]

    run(test)


def test_what_is_written_again_is_not_verified_again_unless_somebody_else_wrote(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        async with join("/radar") as radar, join("/mule") as mule:
            verified = 0

            async def count(_: Data) -> None:
                nonlocal verified
                verified += 1

            mule._mule._verify = Verifying.by(count)  # type: ignore[misc]
            feed = mule.subscribe("/")
            for number in range(3):
                await radar.publish(f"/a/{number}", b"x" * 20_000)
                await anext(feed)
                written = await mule.unload(path)
                assert (written.packets, written.fresh, verified) == (3 * number + 3, 3, 0)
            assert (await mule.unload(path)).fresh == 0
            cargo, _ = await read_cargo(path, Verifying.by(believe))
            assert cargo.packets == mule.part.cargo().packets
            path.write_bytes(path.read_bytes())
            path.touch()
            await mule.unload(path)
            assert verified > 9

    run(test)


def test_what_we_published_ourselves_is_in_the_file_too(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        async with join("/radar") as radar:
            await radar.publish("/a/1", b"1" * 20_000)
            await radar.publish("/a/2", b"2")
            assert (await radar.unload(path)).packets == 4
        async with join("/mule") as mule, join("/desk") as desk:
            await mule.load(path)
            assert await blobs(desk, 2) == {"/a/1": 20_000, "/a/2": 1}

    run(test)


def test_what_is_taken_in_pieces_is_carried_whole_or_counted_as_lacking(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        async with join("/radar") as radar, join("/mule") as mule:
            await radar.publish("/film/1", bytes(50_000))
            item = await anext(mule.subscribe("/", in_pieces=True))
            assert (mule.part.carried, mule.part.lacking()) == (1, 1)
            assert sum([len(piece) async for piece in mule.pieces(item)]) == 50_000
            assert (mule.part.carried, mule.part.lacking()) == (7, 0)
            await mule.unload(path)
        async with join("/mule") as mule, join("/desk") as desk:
            await mule.load(path)
            item = await anext(mule.subscribe("/", in_pieces=True))  # from what it carries itself
            assert sum([len(piece) async for piece in mule.pieces(item)]) == 50_000
            assert await blobs(desk, 1) == {"/film/1": 50_000}

    run(test)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty"), (b"nothing", "no mule's file"), (b"\x06\x04\x07\x02\x08\x00", "no mule's file")],
)
def test_what_is_no_mules_file_is_told(tmp_path: Path, content: bytes, reason: str) -> None:
    async def test() -> None:
        path = tmp_path / "x"
        path.write_bytes(content)
        with pytest.raises(BadConfig, match=reason):
            await read_cargo(path, Verifying.by(believe))

    run(test)


def test_what_is_inside_the_packets_is_believed_by_its_own_key_or_passed_over(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        await export(path, "/a/1")

        async def doubt(data: Data) -> None:
            if data.name.starts_with(Name.parse("/a/1")):
                raise Untrusted("no rule lets this key speak for /a")

        await export(path, "/b/1", node="/sonar")
        cargo, loaded = await read_cargo(path, Verifying.by(doubt))
        assert {stream.name for stream, _, _ in cargo.packets} == {Name.parse("/sonar")}
        assert (loaded.packets, loaded.refused) == (1, 1)
        assert "speak for /a" in loaded.reason

    run(test)


def test_where_what_the_mule_told_is_not_believed_packets_tell_of_their_streams(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        await export(path, "/position/1", "/position/2")

        async def doubt(data: Data) -> None:
            raise Untrusted(f"the certificate ended by which {data.name} was signed")

        whole, _ = await read_cargo(path, Verifying.by(believe))
        cargo, loaded = await read_cargo(path, Verifying(doubt, believe, believe))
        assert (loaded.packets, loaded.refused) == (6, 1)
        assert (cargo.highs, cargo.packets) == (whole.highs, whole.packets)
        assert {each.name for entries in cargo.entries.values() for each in entries.values()} == {
            Name.parse("/position/1"),
            Name.parse("/position/2"),
        }

    run(test)


def test_of_a_file_that_was_cut_off_what_is_whole_is_taken_and_what_is_new_put_behind_that(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        await export(path, "/position/1")
        path.write_bytes(path.read_bytes()[:-5])
        async with join("/mule") as mule:
            loaded = await mule.load(path)
            assert (loaded.packets, loaded.refused) == (2, 0)
            assert loaded.cut_bytes > 1000
            assert "cut off" in loaded.trouble
        await export(path, "/position/2", node="/sonar")
        _, loaded = await read_cargo(path, Verifying.by(believe))
        assert (loaded.packets, loaded.trouble) == (5, "")

    run(test)


def test_another_group_and_what_nobody_believes_are_refused_whole(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ops.mule"
        await export(path, "/a/1")
        async with join("/mule") as mule:
            with pytest.raises(BadConfig, match="give the file"):
                await mule.load(tmp_path / "none")
            assert mule.part.carried == 0
        async with join("/mule", "/campus/other") as mule:
            with pytest.raises(BadConfig, match="/campus/ops, version 3"):
                await mule.load(path)
            with pytest.raises(BadConfig, match="give another file"):
                await mule.unload(path)
        doubting = roost.join("/campus/ops", "/d", verifier=ACCEPT_NOTHING, signer=DigestSigner(), durable=False)
        async with doubting as mule:
            with pytest.raises(Untrusted, match="Nothing of the file was taken"):
                await mule.load(path)

    run(test)
