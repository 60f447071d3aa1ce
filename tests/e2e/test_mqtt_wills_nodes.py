"""Wills over two real nodes: one is killed, clients go to the other, it comes back; and one that does not come back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import aiomqtt
import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.live_nodes import Home, LiveNode
from tests.loops import run

LIMIT_S = 100


@asynccontextmanager
async def device(node: LiveNode, name: str, *, lasts: bool) -> AsyncIterator[asyncio.StreamReader]:
    """A device that says that it is online, and leaves the will that it is not; gives what comes from the node."""
    reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
    topic = f"hall/{name}".encode()
    properties = props(session_expiry=3600) if lasts else b""
    leaves = partial(packets.connect, will=topic, will_payload=b"offline", will_qos=1, will_retain=True)
    writer.write(leaves(name.encode(), version=5, clean=not lasts, properties=properties))
    assert (await reader.readexactly(1))[0] == 0x20
    await reader.readexactly((await reader.readexactly(1))[0])
    writer.write(packets.publish(topic, b"online", version=5, qos=1, packet_id=1, retain=True))
    assert (await reader.readexactly(1))[0] == 0x40
    await reader.readexactly((await reader.readexactly(1))[0])
    try:
        yield reader
    finally:
        writer.close()


class Display:
    """What a client sees of all devices."""

    def __init__(self, link: aiomqtt.Client) -> None:
        self._messages = aiter(link.messages)
        self.seen: dict[str, list[str]] = {}

    async def until(self, name: str, *said: str) -> None:
        """Wait until a device has said these, in this order, last."""
        while self.seen.get(name, [])[-len(said) :] != list(said):
            message = await anext(self._messages)
            assert isinstance(message.payload, bytes)
            self.seen.setdefault(message.topic.value.partition("/")[2], []).append(message.payload.decode())


@asynccontextmanager
async def display(node: LiveNode) -> AsyncIterator[Display]:
    async with aiomqtt.Client("127.0.0.1", node.port) as link:
        await link.subscribe("hall/+", qos=1)
        yield Display(link)


async def knows(node: LiveNode, *, wills: int) -> None:
    """Wait until a node has heard of so many wills at others."""
    async with aiomqtt.Client("127.0.0.1", node.port) as link:
        await link.subscribe("$SYS/broker/roaming/wills")
        async for message in link.messages:
            if message.payload == b"%d" % wills:
                return


@pytest.mark.parametrize("lasts", [False, True])
def test_a_device_that_moved_is_online_and_one_that_did_not_is_offline(tmp_path: Path, lasts: bool) -> None:
    home = Home(tmp_path, "Gate1", "Gate2")
    one, two = home.node(1, 2, features={"sys_interval": "1s"}), home.node(2, 1)

    async def test() -> None:
        async with asyncio.timeout(LIMIT_S), AsyncExitStack() as stack:
            near = await stack.enter_async_context(display(one))
            for name in ("moves", "stays"):
                await stack.enter_async_context(device(two, name, lasts=lasts))
                await near.until(name, "online")
            assert await asyncio.to_thread(two.end, signal.SIGKILL) == -signal.SIGKILL
            await stack.enter_async_context(device(one, "moves", lasts=lasts))
            await near.until("moves", "online", "online")
            await asyncio.to_thread(two.start)
            await near.until("stays", "online", "offline")  # so it has made up its mind
            async with display(two) as far:
                await far.until("stays", "offline")
                await far.until("moves", "online")
            assert near.seen["moves"] == ["online", "online"]
            assert near.seen["stays"] == ["online", "offline"]

            # A connection that is half open is taken over.
            await knows(one, wills=0)
            old = await stack.enter_async_context(device(two, "half", lasts=lasts))
            await near.until("half", "online")
            await knows(one, wills=1)
            await stack.enter_async_context(device(one, "half", lasts=lasts))
            await old.read()
            await near.until("half", "online", "offline", "online")
            async with display(two) as far:
                await far.until("half", "online")

            # A node that does not come back: the other one speaks for its clients.
            await knows(one, wills=0)
            await stack.enter_async_context(device(two, "lost", lasts=lasts))
            await near.until("lost", "online")
            await knows(one, wills=1)
            assert await asyncio.to_thread(two.end, signal.SIGKILL) == -signal.SIGKILL
            await near.until("lost", "online", "offline")
            assert near.seen["half"] == ["online", "offline", "online"]

    with ExitStack() as stack:
        for node in (one, two):
            stack.enter_context(node.running())
        run(test, LIMIT_S)
