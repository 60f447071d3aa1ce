"""Our node is killed and started again: clients stay up, come back by themselves, and what they serve is served again.

Not over UDP: there nobody notices that the other end has gone until a registration is renewed (every 15 s, which
`tests/e2e/test_host_client.py` makes quicker). Not NDNts: on Node 20 it opens the connection again and
then sends nothing over it, to a bare TCP server as little as to us.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.processes import Node, Peer, opened, until

from roost.host import ACCEPT_ANY, connect
from roost.wire import DigestSigner

CONNECTED = ("unix", "tcp", "ws")


class Mortal:
    """A node that dies and comes back at the same addresses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.node = Node(folder)

    async def die(self) -> None:
        await asyncio.to_thread(self.node.kill)

    async def come_back(self) -> None:
        self.node = await asyncio.to_thread(Node, self._folder, self.node.uris)


@pytest.fixture
def mortal(folder: Path) -> Iterator[Mortal]:
    one = Mortal(folder)
    yield one
    one.node.stop()


@pytest.mark.parametrize("transport", CONNECTED)
async def test_our_client_registers_again_and_serves_again(mortal: Mortal, ndnts: Peer, transport: str) -> None:
    uri = mortal.node.uris[transport]
    async with (
        connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.serve("/survivor", lambda interest: interest.name.at(-1).value) as serving,
        face.serve("/second", lambda _: b"second") as other,
    ):
        consumer = await opened(ndnts, uri)
        assert (await ndnts.ask("consume", face=consumer, interest="/survivor/before"))["content"] == b"before".hex()
        await ndnts.ask("disconnect", face=consumer)
        await mortal.die()
        await until(lambda: not face.is_up)
        await mortal.come_back()
        await serving.ready()
        await other.ready()
        consumer = await opened(ndnts, uri)
        assert (await ndnts.ask("consume", face=consumer, interest="/survivor/after"))["content"] == b"after".hex()
        assert (await ndnts.ask("consume", face=consumer, interest="/second/1"))["content"] == b"second".hex()
        await ndnts.ask("disconnect", face=consumer)


async def test_what_was_asked_while_the_node_was_gone_is_answered_when_it_is_back(mortal: Mortal) -> None:
    uri = mortal.node.uris["unix"]
    async with (
        connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.serve("/patient", lambda _: b"at last") as serving,
        connect(mortal.node.uris["tcp"], verifier=ACCEPT_ANY) as consumer,
    ):
        await mortal.die()
        await until(lambda: not face.is_up and not consumer.is_up)
        early = asyncio.create_task(face.fetch("/localhost/nfd/status/general", can_be_prefix=True, must_be_fresh=True))
        await mortal.come_back()
        assert (await early).content
        await serving.ready()
        assert (await consumer.fetch("/patient/1")).content == b"at last"
