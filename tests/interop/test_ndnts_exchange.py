"""NDNts as consumer and producer through our node, over every transport, with prefix registration by @ndn/nfdmgmt."""

from __future__ import annotations

import pytest
from tests.interop.processes import TRANSPORTS, Node, Peer, opened

from roost.host import ACCEPT_ANY, connect
from roost.naming import Name
from roost.wire import Data, DigestSigner, Interest, make_data

NO_ROUTE = 150


@pytest.mark.parametrize("producing", TRANSPORTS)
@pytest.mark.parametrize("consuming", TRANSPORTS)
async def test_ndnts_fetches_from_ndnts(node: Node, ndnts: Peer, producing: str, consuming: str) -> None:
    producer = await opened(ndnts, node.uris[producing])
    consumer = await opened(ndnts, node.uris[consuming])
    prefix = f"/ndnts/{producing}/{consuming}"
    await ndnts.ask("produce", face=producer, prefix=prefix, content=b"hello".hex())
    got = await ndnts.ask("consume", face=consumer, interest=f"{prefix}/1")
    assert (str(Name.parse(got["name"])), bytes.fromhex(got["content"])) == (f"{prefix}/1", b"hello")
    assert await ndnts.ask("asked", face=producer, prefix=prefix) == 1
    await ndnts.ask("withdraw", face=producer, prefix=prefix)
    assert await ndnts.ask("consume", face=consumer, interest=f"{prefix}/2") == {"nack": NO_ROUTE}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_our_client_fetches_from_ndnts(node: Node, ndnts: Peer, transport: str) -> None:
    producer = await opened(ndnts, node.uris[transport])
    prefix = f"/from/ndnts/{transport}"
    content = bytes(range(256)) * 31  # nearly as much as a packet can hold
    await ndnts.ask("produce", face=producer, prefix=prefix, content=content.hex(), freshness_ms=2500)
    async with connect(node.uris[transport], verifier=ACCEPT_ANY) as face:
        data = await face.fetch(f"{prefix}/x", must_be_fresh=True)
    assert (str(data.name), data.content, data.freshness_ms) == (f"{prefix}/x", content, 2500)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_ndnts_fetches_from_our_client(node: Node, ndnts: Peer, transport: str) -> None:
    made: list[Data] = []

    def answer(interest: Interest) -> Data:
        made.append(make_data(interest.name, b"\x00\xff" * 4000, DigestSigner(), freshness_ms=1234))
        return made[-1]

    consumer = await opened(ndnts, node.uris[transport])
    async with connect(node.uris[transport], verifier=ACCEPT_ANY) as face, face.serve(f"/from/us/{transport}", answer):
        got = await ndnts.ask("consume", face=consumer, interest=f"/from/us/{transport}/y", must_be_fresh=True)
    assert [got["digest"]] == [data.implicit_digest.hex() for data in made]
    assert got["freshness_ms"] == 1234


async def test_parameters_reach_the_producer_whole(node: Node, ndnts: Peer) -> None:
    async with (
        connect(node.uris["tcp"], verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.serve("/echo", lambda interest: interest.parameters),
    ):
        consumer = await opened(ndnts, node.uris["ws"])
        got = await ndnts.ask("consume", face=consumer, interest="/echo", parameters="c0ffee")
    assert got["content"] == "c0ffee"
    assert "/params-sha256=" in got["name"] or "/2=" in got["name"]


async def test_a_second_consumer_is_served_from_the_cache(node: Node, ndnts: Peer) -> None:
    producer, first, second = [await opened(ndnts, node.uris[transport]) for transport in ("unix", "tcp", "ws")]
    await ndnts.ask("produce", face=producer, prefix="/cached", content="aa", freshness_ms=60_000)
    one = await ndnts.ask("consume", face=first, interest="/cached/1", must_be_fresh=True)
    two = await ndnts.ask("consume", face=second, interest="/cached/1", must_be_fresh=True)
    assert one["digest"] == two["digest"]
    assert await ndnts.ask("asked", face=producer, prefix="/cached") == 1


async def test_a_prefix_announcement_makes_a_route(node: Node, ndnts: Peer) -> None:
    producer = await opened(ndnts, node.uris["unix"], announce=True)
    consumer = await opened(ndnts, node.uris["tcp"])
    await ndnts.ask("produce", face=producer, prefix="/announced", content="ab", announce_ms=600_000)
    assert (await ndnts.ask("consume", face=consumer, interest="/announced/1"))["content"] == "ab"
    (entry,) = [
        entry
        for entry in await ndnts.ask("dataset", face=consumer, dataset="rib/list")
        if entry["name"] == "/8=announced"
    ]
    assert [route["origin"] for route in entry["route"]] == [129]


async def test_what_ndnts_does_not_answer_times_out_and_is_not_nacked(node: Node, ndnts: Peer) -> None:
    async with (
        connect(node.uris["unix"], verifier=ACCEPT_ANY) as face,
        face.serve("/silent", lambda _: None),
    ):
        consumer = await opened(ndnts, node.uris["udp"])
        got = await ndnts.ask("consume", face=consumer, interest="/silent/1", lifetime_ms=200)
    assert got == {"timed_out": True}


async def test_an_interest_goes_as_far_as_its_hop_limit(node: Node, ndnts: Peer) -> None:
    producer, consumer = await opened(ndnts, node.uris["unix"]), await opened(ndnts, node.uris["ws"])
    await ndnts.ask("produce", face=producer, prefix="/hops", content="01")
    got = await ndnts.ask("consume", face=consumer, interest="/hops/1", hop_limit=1)
    assert got["content"] == "01"
    assert await ndnts.ask("consume", face=consumer, interest="/hops/2", hop_limit=0, lifetime_ms=200) == {
        "timed_out": True
    }
