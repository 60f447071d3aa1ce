"""A node, and members of a group around it, in processes of their own, with Unix sockets in between."""

from __future__ import annotations

import asyncio
import random
import resource
import time
from collections.abc import AsyncIterator
from pathlib import Path

import roost
from bench.repo._child import END, Boss
from roost.host.client import GroupConnection
from roost.host.listening import Listen, running
from roost.node import Node, NodeSettings
from roost.wire import DigestSigner

GROUP = "/campus/ops"
PIECE = bytes(range(256)) * 4096


def join(socket: Path, node: str) -> GroupConnection:
    """A member that keeps nothing, and believes everybody; packets have digests."""
    uri = f"unix://{socket}"
    return roost.join(GROUP, node, uri=uri, verifier=roost.ACCEPT_ANY, signer=DigestSigner(), durable=False)


async def node(boss: Boss, socket: Path) -> None:
    """Run a forwarder."""
    async with running(Node(NodeSettings(), random.Random()), Listen(unix=socket)):
        boss.say("ready")
        while await boss.hear() != END:
            pass


async def pieces(size_bytes: int) -> AsyncIterator[bytes]:
    """So many bytes."""
    for _ in range(size_bytes // len(PIECE)):
        yield PIECE
    yield PIECE[: size_bytes % len(PIECE)]


async def source(boss: Boss, socket: Path, size_bytes: int) -> None:
    """Publish one large blob, from an iterator, and answer for it."""
    async with join(socket, "/source") as group:
        await group.publish("/large", pieces(size_bytes))
        boss.say("ready")
        while await boss.hear() != END:
            pass


async def sink(boss: Boss, socket: Path, in_pieces: bool) -> None:  # noqa: FBT001  of a child
    """Get that blob when told to; says the bytes, the seconds and how much memory was used at most."""
    async with join(socket, "/sink") as group:
        boss.say("ready")
        while await boss.hear() != END:
            began = time.perf_counter()
            feed = group.subscribe("/large", in_pieces=in_pieces)
            item = await anext(feed)
            size = 0
            async for piece in group.pieces(item):
                size += len(piece)
            took = time.perf_counter() - began
            feed.close()
            boss.say((size, took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
            await asyncio.sleep(0)
