"""NDNLPv2 with NDNts over UDP: fragments in both directions, and nothing larger than the link allows."""

from __future__ import annotations

import pytest
from tests.interop.processes import Node, Peer, opened

from roost.host import ACCEPT_ANY, connect
from roost.wire import DigestSigner

MTU = 300
CONTENT = bytes(range(250)) * 30
OK = 200


@pytest.mark.parametrize("size", [300, 1000, 7500])
async def test_fragments_of_ndnts_are_put_together(node: Node, ndnts: Peer, size: int) -> None:
    producer = await opened(ndnts, node.uris["udp"], mtu=MTU)
    await ndnts.ask("produce", face=producer, prefix=f"/pieces/{size}", content=CONTENT[:size].hex())
    async with connect(node.uris["unix"], verifier=ACCEPT_ANY) as face:
        data = await face.fetch(f"/pieces/{size}/1")
    assert data.content == CONTENT[:size]
    told = await ndnts.ask("link", face=producer)
    assert told["errors"] == []
    assert MTU - 20 <= told["largest"]["sent"] <= MTU


@pytest.mark.parametrize("size", [300, 1000, 7500])
async def test_ndnts_puts_our_fragments_together(node: Node, ndnts: Peer, size: int) -> None:
    consumer = await opened(ndnts, node.uris["udp"])
    updated = await ndnts.ask("command", face=consumer, command="faces/update", mtu=MTU)
    assert (updated["code"], updated["body"]["mtu"]) == (OK, MTU)
    async with (
        connect(node.uris["unix"], verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.serve(f"/ours/{size}", lambda _: CONTENT[:size]),
    ):
        got = await ndnts.ask("consume", face=consumer, interest=f"/ours/{size}/1")
    assert bytes.fromhex(got["content"]) == CONTENT[:size]
    told = await ndnts.ask("link", face=consumer)
    assert told["errors"] == []
    assert MTU - 60 <= told["largest"]["received"] <= MTU


async def test_an_object_goes_in_fragments_both_ways(node: Node, ndnts: Peer) -> None:
    producer = await opened(ndnts, node.uris["udp"], mtu=MTU)
    consumer = await opened(ndnts, node.uris["udp"], mtu=MTU)
    await ndnts.ask("command", face=consumer, command="faces/update", mtu=MTU)
    content = CONTENT * 8
    await ndnts.ask("serve_object", face=producer, prefix="/both", content=content.hex(), segment_bytes=4000, version=1)
    got = await ndnts.ask("fetch_object", face=consumer, object="/both", discover="rdr")
    assert bytes.fromhex(got["content"]) == content
    sent, received = await ndnts.ask("link", face=producer), await ndnts.ask("link", face=consumer)
    assert sent["errors"] == received["errors"] == []
    assert sent["largest"]["sent"] <= MTU
    assert received["largest"]["received"] <= MTU
