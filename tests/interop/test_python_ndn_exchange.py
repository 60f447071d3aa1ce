"""python-ndn as consumer and producer through our node, both of its application classes, over what it can speak.

Application class 1 registers with commands of the old format, class 2 with signed Interests of format v0.3; both check
the digest that everything here is signed with.
"""

from __future__ import annotations

import pytest
from tests.interop.processes import Node, Peer, opened

from roost.host import ACCEPT_ANY, FetchSettings, connect
from roost.naming import Name
from roost.wire import Data, DigestSigner, Interest, make_data

NO_ROUTE = 150
SPOKEN = ("unix", "tcp", "udp")
APPS = (1, 2)
CONTENT = bytes(number * 11 % 253 for number in range(100_000))

over_everything = pytest.mark.parametrize("transport", SPOKEN)
with_both_classes = pytest.mark.parametrize("app", APPS)


@over_everything
@with_both_classes
async def test_python_ndn_fetches_from_python_ndn(node: Node, python_ndn: Peer, transport: str, app: int) -> None:
    producer = await opened(python_ndn, node.uris[transport], app=app)
    consumer = await opened(python_ndn, node.uris[transport], app=3 - app)
    prefix = f"/python/{transport}/{app}"
    assert await python_ndn.ask("produce", face=producer, prefix=prefix, content=b"hello".hex())
    got = await python_ndn.ask("consume", face=consumer, interest=f"{prefix}/1", must_be_fresh=True)
    assert (got["name"], bytes.fromhex(got["content"])) == (f"{prefix}/1", b"hello")
    assert await python_ndn.ask("asked", face=producer, prefix=prefix) == 1
    assert await python_ndn.ask("withdraw", face=producer, prefix=prefix)
    assert await python_ndn.ask("consume", face=consumer, interest=f"{prefix}/2") == {"nack": NO_ROUTE}


@over_everything
@with_both_classes
async def test_our_client_fetches_from_python_ndn(node: Node, python_ndn: Peer, transport: str, app: int) -> None:
    producer = await opened(python_ndn, node.uris[transport], app=app)
    prefix = f"/from/python/{transport}/{app}"
    assert await python_ndn.ask("produce", face=producer, prefix=prefix, content=CONTENT[:8000].hex())
    async with connect(node.uris[transport], verifier=ACCEPT_ANY) as face:
        data = await face.fetch(f"{prefix}/x")
    assert (str(data.name), data.content) == (f"{prefix}/x", CONTENT[:8000])


@over_everything
@with_both_classes
async def test_python_ndn_fetches_from_our_client(node: Node, python_ndn: Peer, transport: str, app: int) -> None:
    made: list[Data] = []

    def answer(interest: Interest) -> Data:
        made.append(make_data(interest.name, CONTENT[:8000], DigestSigner(), freshness_ms=1234))
        return made[-1]

    consumer = await opened(python_ndn, node.uris[transport], app=app)
    prefix = f"/from/us/{transport}/{app}"
    async with connect(node.uris[transport], verifier=ACCEPT_ANY) as face, face.serve(prefix, answer):
        got = await python_ndn.ask("consume", face=consumer, interest=prefix, can_be_prefix=True)
    assert [got["digest"]] == [data.implicit_digest.hex() for data in made]
    assert got["freshness_ms"] == 1234


@over_everything
async def test_the_segment_fetcher_of_python_ndn_fetches_our_object(
    node: Node, python_ndn: Peer, transport: str
) -> None:
    consumer = await opened(python_ndn, node.uris[transport], app=1)
    name = f"/object/{transport}"
    async with (
        connect(node.uris[transport], verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.publish_object(name, CONTENT, segment_bytes=5000),
    ):
        got = await python_ndn.ask("fetch_object", face=consumer, object=name)
    assert (bytes.fromhex(got["content"]), got["segments"]) == (CONTENT, 20)


@with_both_classes
async def test_we_fetch_an_object_from_python_ndn(node: Node, python_ndn: Peer, app: int) -> None:
    producer = await opened(python_ndn, node.uris["unix"], app=app)
    name = f"/theirs/{app}"
    segment = {"segment_bytes": 5000, "version": 4}
    assert await python_ndn.ask("serve_object", face=producer, prefix=name, content=CONTENT.hex(), **segment)
    async with connect(node.uris["tcp"], verifier=ACCEPT_ANY) as face:
        segments = [data async for data in face.fetch_segments(name, FetchSettings(discovery="prefix"))]
    assert b"".join(data.content for data in segments) == CONTENT
    assert segments[0].name == Name.parse(f"{name}/v=4/seg=0")


@with_both_classes
async def test_what_python_ndn_does_not_answer_times_out(node: Node, python_ndn: Peer, app: int) -> None:
    consumer = await opened(python_ndn, node.uris["tcp"], app=app)
    async with (
        connect(node.uris["unix"], verifier=ACCEPT_ANY) as face,
        face.serve(f"/silent/{app}", lambda _: None),
    ):
        got = await python_ndn.ask("consume", face=consumer, interest=f"/silent/{app}/1", lifetime_ms=200)
    assert got == {"timed_out": True}
