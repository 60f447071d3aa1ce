"""Segmented objects and RDR metadata: ours fetched by NDNts, those of NDNts fetched by us."""

from __future__ import annotations

import pytest
from tests.interop.processes import TRANSPORTS, Node, Peer, opened

from roost.host import ACCEPT_ANY, FetchSettings, connect
from roost.naming import Name
from roost.wire import DigestSigner
from roost.wire.rdr import decode_metadata, discovery_name

CONTENT = bytes(number * 7 % 251 for number in range(200_000))
SEGMENT_BYTES = 4000
SEGMENTS = 50


@pytest.mark.parametrize("discover", ["rdr", "prefix"])
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_ndnts_fetches_our_object(node: Node, ndnts: Peer, transport: str, discover: str) -> None:
    consumer = await opened(ndnts, node.uris[transport])
    name = f"/ours/{transport}/{discover}"
    async with (
        connect(node.uris[transport], verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.publish_object(name, CONTENT, version=7, segment_bytes=SEGMENT_BYTES),
    ):
        got = await ndnts.ask("fetch_object", face=consumer, object=name, discover=discover)
    assert bytes.fromhex(got["content"]) == CONTENT
    assert (str(Name.parse(got["versioned"])), got["segments"]) == (f"{name}/v=7", SEGMENTS)


@pytest.mark.parametrize("discover", ["metadata", "prefix"])
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_we_fetch_the_object_of_ndnts(node: Node, ndnts: Peer, transport: str, discover: str) -> None:
    producer = await opened(ndnts, node.uris[transport])
    name = f"/theirs/{transport}/{discover}"
    segment = {"segment_bytes": SEGMENT_BYTES, "version": 9}
    await ndnts.ask("serve_object", face=producer, prefix=name, content=CONTENT.hex(), **segment)
    async with connect(node.uris[transport], verifier=ACCEPT_ANY) as face:
        segments = [data async for data in face.fetch_segments(name, FetchSettings(discovery=discover))]
    assert b"".join(data.content for data in segments) == CONTENT
    assert [str(data.name) for data in segments] == [f"{name}/v=9/seg={number}" for number in range(SEGMENTS)]


async def test_metadata_of_ndnts_is_read_as_it_was_meant(node: Node, ndnts: Peer) -> None:
    producer = await opened(ndnts, node.uris["unix"])
    await ndnts.ask("serve_object", face=producer, prefix="/rdr/theirs", content="00", segment_bytes=10, version=3)
    async with connect(node.uris["unix"], verifier=ACCEPT_ANY) as face:
        asked = discovery_name(Name.parse("/rdr/theirs"))
        data = await face.fetch(asked, can_be_prefix=True, must_be_fresh=True)
    assert str(decode_metadata(data).name) == "/rdr/theirs/v=3"


async def test_an_object_served_by_ndnts_is_found_whichever_way_it_allows(node: Node, ndnts: Peer) -> None:
    producer = await opened(ndnts, node.uris["tcp"])
    await ndnts.ask("serve_object", face=producer, prefix="/auto", content="c0de", segment_bytes=1, version=1)
    async with connect(node.uris["ws"], verifier=ACCEPT_ANY) as face:
        assert await face.fetch_object("/auto") == b"\xc0\xde"
        assert await face.fetch_object("/auto/v=1") == b"\xc0\xde"
