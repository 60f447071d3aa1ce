"""Blobs that only some may read: readers open them, others are told, keys rotate and travel as publications do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.loops import run

import roost
from roost.errors import InvalidInput, NoKey
from roost.host.client import GroupConnection
from roost.naming import Name
from roost.trust.generate import generate
from roost.trust.wrapping import Receiver, Recipient
from roost.wire import DigestSigner


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No node is running, so that one inside this process is used."""
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))


def pair(seed: int) -> tuple[Recipient, Receiver]:
    key = generate(Name.parse(f"/reader{seed}"), random.Random(seed).randbytes)
    return Recipient(key.public.spki), Receiver.of(key)


def join(
    node: str,
    *,
    readers: list[Recipient] | None = None,
    receivers: list[Receiver] | None = None,
    folder: Path | None = None,
) -> GroupConnection:
    return roost.join(
        "/campus/ops",
        node,
        verifier=roost.ACCEPT_ANY,
        signer=DigestSigner(),
        readers=readers,
        receivers=receivers or [],
        folder=folder,
        durable=folder is not None,
    )


SECRET = b"where the treasure is: " * 1000


def test_readers_read_and_others_do_not() -> None:
    async def test() -> None:
        recipient, receiver = pair(1)
        _, other = pair(2)
        async with (
            join("/radar", readers=[recipient]) as radar,
            join("/friend", receivers=[receiver]) as friend,
            join("/foe", receivers=[other]) as foe,
            join("/nobody") as nobody,
        ):
            receipts = [await radar.publish(f"/position/{number}", blob) for number, blob in enumerate((b"x", SECRET))]
            assert [receipt.number for receipt in receipts] == [2, 3]  # the key is number 1
            feed = friend.subscribe("/")
            assert [(await anext(feed)).blob for _ in range(2)] == [b"x", SECRET]
            streamed = await anext(friend.subscribe("/position/1", in_pieces=True))
            assert b"".join([piece async for piece in friend.pieces(streamed)]) == SECRET
            closed = await anext(foe.subscribe("/position"))
            assert (closed.sealed, closed.blob, closed.name) == (True, b"", Name.parse("/position/0"))
            blind = nobody.subscribe("/position")
            for _ in range(2):
                assert b"treasure" not in (await anext(blind)).blob

    run(test)


def test_a_reader_that_is_revoked_reads_what_was_and_not_what_comes_and_a_new_one_reads_both() -> None:
    async def test() -> None:
        (first, one), (second, two) = pair(1), pair(2)
        async with join("/radar", readers=[first]) as radar, join("/one", receivers=[one]) as desk:
            feed = desk.subscribe("/")
            await radar.publish("/a", b"before")
            assert (await anext(feed)).blob == b"before"
            radar.authorise(second)
            assert radar.revoke(first.digest)
            assert not radar.revoke(first.digest)
            await radar.publish("/b", b"after")
            item = await anext(feed)
            assert (item.name, item.sealed) == (Name.parse("/b"), True)
            async with join("/two", receivers=[two]) as late:
                later = late.subscribe("/")
                assert [(await anext(later)).blob for _ in range(2)] == [b"before", b"after"]

    run(test)


def test_after_a_restart_what_was_sealed_is_sealed_again_for_the_readers(tmp_path: Path) -> None:
    async def test() -> None:
        recipient, receiver = pair(1)
        async with join("/radar", readers=[recipient], folder=tmp_path) as radar:
            await radar.publish("/a", SECRET)
        async with (
            join("/radar", readers=[recipient], folder=tmp_path),
            join("/desk", receivers=[receiver]) as desk,
        ):
            assert (await anext(desk.subscribe("/"))).blob == SECRET

    run(test)


def test_keys_are_carried_to_where_the_producer_is_not() -> None:
    async def test() -> None:
        recipient, receiver = pair(1)
        _, other = pair(2)
        async with join("/mule", receivers=[other]) as mule:
            async with join("/radar", readers=[recipient]) as radar:
                await radar.publish("/a", SECRET)
                assert (await anext(mule.subscribe("/"))).sealed
            async with join("/desk", receivers=[receiver]) as desk:
                assert (await anext(desk.subscribe("/"))).blob == SECRET

    run(test)


def test_who_seals_nothing_has_no_readers() -> None:
    async def test() -> None:
        async with join("/radar") as radar:
            with pytest.raises(InvalidInput, match="readers="):
                radar.authorise(pair(1)[0])

    run(test)


@pytest.mark.parametrize("size", [10, 20_000])
def test_a_sealed_blob_is_had_by_its_name_by_who_knows_its_number(size: int) -> None:
    async def test() -> None:
        recipient, receiver = pair(1)
        async with (
            join("/radar", readers=[recipient]) as radar,
            join("/friend", receivers=[receiver]) as friend,
            join("/foe") as foe,
        ):
            await radar.publish("/position/1", SECRET[:size])
            assert (await anext(friend.subscribe("/position"))).blob == SECRET[:size]
            assert (await friend.fetch("/position/1")).blob == SECRET[:size]
            with pytest.raises(NoKey, match="its content key or its number is not known here"):
                await foe.fetch("/position/1")

    run(test)
