"""PSync with NDNts, what only it has: tables too small for the difference, other sizes, who signs, and partial sync."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random

import pytest
from tests.interop.processes import Node, Peer
from tests.interop.sync_members import (
    SECRET,
    Ours,
    Theirs,
    ends,
    ndnts_program,
    new_group,
    refusal_by,
    shared_key,
    verifier_of,
)

from roost.naming import Name
from roost.sync.choice import PSYNC, PSYNC_PARTIAL
from roost.sync.dataset import Dataset
from roost.sync.presets import NDNTS_FULL
from roost.sync.sync_state import encode_state
from roost.trust import Policy

PROTOCOLS = {True: PSYNC, False: NDNTS_FULL}
MANY = 250


@pytest.fixture(scope="module")
def psync(folder: Path) -> Iterator[Peer]:
    with ndnts_program("ndnts-2024/psync.mjs", folder) as started:
        yield started


def joined(
    psync: Peer, node: Node, group: str, expected: int = 80, *, compressed: bool = True, secret: str = ""
) -> AbstractAsyncContextManager[Theirs]:
    return Theirs.join(psync, node.uris["unix"], group, expected=expected, compressed=compressed, secret=secret)


@pytest.mark.parametrize("compressed", [True, False])
async def test_differences_too_large_for_the_table_are_told_whole_and_in_segments(
    node: Node, psync: Peer, compressed: bool
) -> None:
    group = new_group()
    places = [f"building{number % 7}/floor{number % 11}/room{number}/temperature" for number in range(MANY)]
    async with Ours.join(node.uris["unix"], group, PROTOCOLS[compressed]) as ours:
        streams = await asyncio.gather(*(ours.publish(f"/ours/{place}", 1) for place in places))
        async with joined(psync, node, group, compressed=compressed) as theirs:
            streams += await asyncio.gather(*(theirs.publish(f"/theirs/{place}", 1) for place in places))
            known = dict.fromkeys(streams, 1)
            assert ends(await theirs.learned(known)) == dict.fromkeys(streams[:MANY], 1)
            assert ends(await ours.learned(known)) == dict.fromkeys(streams[MANY:], 1)


async def test_members_with_another_size_of_table_do_no_harm(node: Node, psync: Peer) -> None:
    group = new_group()
    async with (
        Ours.join(node.uris["unix"], group, PSYNC) as ours,
        joined(psync, node, group, expected=40) as odd,
        joined(psync, node, group) as theirs,
    ):
        lost = await odd.publish("/odd/voltage", 1)
        voltage, power = await theirs.publish("/their/voltage", 3), await ours.publish("/our/power", 2)
        assert ends(await ours.learned({voltage: 3, power: 2})) == {voltage: 3}
        assert ends(await theirs.learned({voltage: 3, power: 2})) == {power: 2}
        assert await odd.learned({lost: 1}) == []


@pytest.mark.parametrize("expected", [6, 40, 80])
def test_the_table_and_the_state_of_a_set_are_the_same_bytes(psync: Peer, expected: int) -> None:
    random = Random(expected)  # the same sets on every run
    for size in (0, 1, 2, 30, 300):
        streams = {
            f"/site/{random.getrandbits(64):x}": random.getrandbits(random.choice((7, 16, 33))) + 1 for _ in range(size)
        }
        dataset = Dataset(size + 1)
        for name, high in streams.items():
            dataset.set(Name.parse(name), high)
        told = [{"name": name, "high": high} for name, high in streams.items()]
        sketch = psync.call("sketch", streams=told, expected=expected)
        assert dataset.iblt(expected).encode().hex() == sketch["table"].lower()
        assert encode_state(dataset.items()).hex() == sketch["state"].lower()


# -- who signs the replies


async def test_ndnts_believes_what_we_sign_with_a_shared_secret(node: Node, psync: Peer) -> None:
    group = new_group()
    async with (
        Ours.join(node.uris["unix"], group, PSYNC, signer=shared_key()) as ours,
        joined(psync, node, group, secret=SECRET.hex()) as theirs,
    ):
        voltage, power = await theirs.publish("/their/voltage", 3), await ours.publish("/our/power", 2)
        assert ends(await ours.learned({voltage: 3, power: 2})) == {voltage: 3}
        assert ends(await theirs.learned({voltage: 3, power: 2})) == {power: 2}


async def test_we_refuse_the_replies_of_ndnts_unless_a_digest_is_enough(node: Node, psync: Peer) -> None:
    group = new_group()
    strict, easy = verifier_of(Policy()), verifier_of(Policy(digest_under=(Name.parse(group),)))
    async with (
        Ours.join(node.uris["unix"], group, PSYNC, verifier=strict) as suspicious,
        Ours.join(node.uris["tcp"], group, PSYNC, verifier=easy) as trusting,
        joined(psync, node, group) as theirs,
    ):
        voltage = await theirs.publish("/their/voltage", 3)
        await trusting.learned({voltage: 3})
        await refusal_by(strict)
        await suspicious.learned({})


# -- partial sync


def providing(psync: Peer, node: Node, group: str) -> AbstractAsyncContextManager[Theirs]:
    return Theirs.join(psync, node.uris["unix"], group, "provide", expected=40)


def subscribed(psync: Peer, node: Node, group: str, *streams: str) -> AbstractAsyncContextManager[Theirs]:
    return Theirs.join(psync, node.uris["unix"], group, "subscribe", expected=40, streams=streams)


async def test_a_subscriber_of_ndnts_meets_a_publisher_of_ndnts_through_our_node(node: Node, psync: Peer) -> None:
    group = new_group()
    async with providing(psync, node, group) as theirs:
        await follows_what_it_wants(theirs, lambda: subscribed(psync, node, group, "/a/voltage", "/a/current"))


async def test_we_follow_some_streams_of_a_publisher_of_ndnts(node: Node, psync: Peer) -> None:
    group = new_group()
    async with providing(psync, node, group) as theirs:
        await follows_what_it_wants(theirs, lambda: Ours.follow(node.uris["unix"], group, "/a/voltage", "/a/current"))


async def test_a_subscriber_of_ndnts_follows_some_streams_of_ours(node: Node, psync: Peer) -> None:
    group = new_group()
    async with Ours.join(node.uris["unix"], group, PSYNC_PARTIAL) as ours:
        await follows_what_it_wants(ours, lambda: subscribed(psync, node, group, "/a/voltage", "/a/current"))


async def follows_what_it_wants(
    publisher: Ours | Theirs, follow: Callable[[], AbstractAsyncContextManager[Ours | Theirs]]
) -> None:
    """Of three streams two are wanted, with news before, while and after the others have some."""
    voltage, current = await publisher.publish("/a/voltage", 3), await publisher.publish("/a/current", 1)
    await publisher.publish("/a/power", 1)
    async with follow() as follower:
        assert ends(await follower.learned({voltage: 3, current: 1})) == {voltage: 3, current: 1}
        await publisher.publish("/a/power", 2)
        await publisher.publish("/a/voltage", 5)
        await follower.learned({voltage: 5, current: 1})
        await publisher.publish("/a/current", 300)
        assert ends(await follower.learned({voltage: 5, current: 300})) == {voltage: 5, current: 300}


async def test_we_refuse_a_publisher_of_ndnts_where_a_digest_is_not_enough(node: Node, psync: Peer) -> None:
    group = new_group()
    strict = verifier_of(Policy())
    async with (
        providing(psync, node, group) as theirs,
        Ours.follow(node.uris["unix"], group, "/a/voltage", verifier=strict) as ours,
    ):
        await theirs.publish("/a/voltage", 3)
        await refusal_by(strict)
        await ours.learned({})
