"""NDNts and python-ndn through our node, each producing for the other."""

from __future__ import annotations

import pytest
from tests.interop.processes import Node, Peer, opened

NO_ROUTE = 150
CONTENT = bytes(number * 5 % 241 for number in range(60_000))
PAIRS = [("unix", "tcp"), ("tcp", "udp"), ("udp", "unix"), ("ws", "udp"), ("ws", "tcp")]

over_pairs = pytest.mark.parametrize(("ndnts_over", "python_over"), PAIRS)
with_both_classes = pytest.mark.parametrize("app", [1, 2])


@over_pairs
@with_both_classes
async def test_python_ndn_fetches_from_ndnts(
    node: Node, ndnts: Peer, python_ndn: Peer, ndnts_over: str, python_over: str, app: int
) -> None:
    producer = await opened(ndnts, node.uris[ndnts_over])
    consumer = await opened(python_ndn, node.uris[python_over], app=app)
    prefix = f"/cross/a/{ndnts_over}/{python_over}/{app}"
    await ndnts.ask("produce", face=producer, prefix=prefix, content=CONTENT[:7000].hex())
    got = await python_ndn.ask("consume", face=consumer, interest=f"{prefix}/1", must_be_fresh=True)
    assert (got["name"], bytes.fromhex(got["content"])) == (f"{prefix}/1", CONTENT[:7000])
    again = await ndnts.ask("consume", face=producer, interest=f"{prefix}/1")
    assert again["digest"] == got["digest"]


@over_pairs
@with_both_classes
async def test_ndnts_fetches_from_python_ndn(
    node: Node, ndnts: Peer, python_ndn: Peer, ndnts_over: str, python_over: str, app: int
) -> None:
    producer = await opened(python_ndn, node.uris[python_over], app=app)
    consumer = await opened(ndnts, node.uris[ndnts_over])
    prefix = f"/cross/b/{ndnts_over}/{python_over}/{app}"
    assert await python_ndn.ask("produce", face=producer, prefix=prefix, content=CONTENT[:7000].hex())
    got = await ndnts.ask("consume", face=consumer, interest=f"{prefix}/1", must_be_fresh=True)
    assert bytes.fromhex(got["content"]) == CONTENT[:7000]
    assert await python_ndn.ask("withdraw", face=producer, prefix=prefix)
    assert await ndnts.ask("consume", face=consumer, interest=f"{prefix}/2") == {"nack": NO_ROUTE}


async def test_python_ndn_fetches_an_object_from_ndnts(node: Node, ndnts: Peer, python_ndn: Peer) -> None:
    producer = await opened(ndnts, node.uris["ws"])
    consumer = await opened(python_ndn, node.uris["unix"], app=1)
    segment = {"segment_bytes": 5000, "version": 2}
    await ndnts.ask("serve_object", face=producer, prefix="/cross/object", content=CONTENT.hex(), **segment)
    got = await python_ndn.ask("fetch_object", face=consumer, object="/cross/object")
    assert (bytes.fromhex(got["content"]), got["segments"]) == (CONTENT, 12)


async def test_ndnts_fetches_an_object_from_python_ndn(node: Node, ndnts: Peer, python_ndn: Peer) -> None:
    producer = await opened(python_ndn, node.uris["tcp"], app=2)
    consumer = await opened(ndnts, node.uris["udp"])
    segment = {"segment_bytes": 5000, "version": 2}
    assert await python_ndn.ask(
        "serve_object", face=producer, prefix="/cross/object2", content=CONTENT.hex(), **segment
    )
    got = await ndnts.ask("fetch_object", face=consumer, object="/cross/object2", discover="prefix")
    assert (bytes.fromhex(got["content"]), got["segments"]) == (CONTENT, 12)
