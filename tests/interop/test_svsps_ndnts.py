"""SVS-PS with NDNts, live, both ways, with the names of version 2: single packets and objects of 200 kB [SVS-PS §8]."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from tests.interop.processes import Node, Peer
from tests.interop.sync_members import ndnts_program, new_group

from roost.host import ACCEPT_ANY, BlobGroup, join
from roost.host.client import GroupConnection
from roost.naming import Name
from roost.sync.svs_settings import SvsSettings
from roost.wire import DigestSigner

SETTINGS = SvsSettings(version=2, signed=False, large_vectors=False)
SIZES = (5, 8000, 200_000)

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def svsps(folder: Path) -> Iterator[Peer]:
    with ndnts_program("ndnts/svsps.mjs", folder) as started:
        yield started


@pytest.fixture
def group() -> str:
    return new_group()


def ours(node: Node, group: str) -> GroupConnection:
    return join(
        group, "/ours", SETTINGS, uri=node.uris["unix"], verifier=ACCEPT_ANY, signer=DigestSigner(), durable=False
    )


@contextlib.asynccontextmanager
async def theirs(svsps: Peer, node: Node, group: str, **wanted: str) -> AsyncIterator[str]:
    name = f"svsps{next(_numbers)}"
    await svsps.ask("join", member=name, uri=node.uris["unix"], group=group, node="/theirs", **wanted)
    yield name
    assert await svsps.ask("leave", member=name) == []


@pytest.mark.parametrize("wanted", [{"topic": "/position"}, {"producer": "/ours"}])
async def test_ndnts_gets_what_we_publish(node: Node, svsps: Peer, group: str, wanted: dict[str, str]) -> None:
    async with ours(node, group) as us, theirs(svsps, node, group, **wanted) as them:
        for number, size in enumerate(SIZES, 1):
            blob = bytes([number]) * size
            await us.publish(f"/position/{number}", blob)
            assert await svsps.ask("next", member=them) == {
                "name": f"/position/{number}",
                "publisher": "/ours",
                "number": number,
                "size": size,
                "sha256": sha256(blob).hexdigest(),
            }


async def test_ndnts_does_not_fetch_what_it_did_not_ask_for(node: Node, svsps: Peer, group: str) -> None:
    async with ours(node, group) as us, theirs(svsps, node, group, topic="/position") as them:
        await us.publish("/image/1", bytes(200_000))
        await us.publish("/position/2", b"here")
        assert (await svsps.ask("next", member=them))["name"] == "/position/2"


@pytest.mark.parametrize("by_producer", [False, True])
async def test_we_get_what_ndnts_publishes(node: Node, svsps: Peer, group: str, *, by_producer: bool) -> None:
    us: BlobGroup
    async with ours(node, group) as us, theirs(svsps, node, group) as them:
        feed = us.subscribe_to_producer("/theirs", prefetch=1) if by_producer else us.subscribe("/position")
        for number, size in enumerate(SIZES, 1):
            await svsps.ask("publish", member=them, name=f"/position/{number}", size=size, seed=number)
            item = await anext(feed)
            assert item.name == Name.parse(f"/position/{number}")
            assert (item.producer, item.number) == (Name.parse("/theirs"), number)
            assert item.blob == bytes([number]) * size
