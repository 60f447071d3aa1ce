"""A node inside the process, for programs that find no other: one per event loop, as long as anybody uses it.

It listens nowhere; the faces of this event loop see each other through it and nobody else.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from typing import Final
from weakref import WeakKeyDictionary

from roost.errors import Disconnected
from roost.host.inprocess import in_process_pair
from roost.host.server import Server
from roost.host.transport import Owner, Transport
from roost.naming import Name
from roost.node import Node, NodeSettings

_nodes: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, EmbeddedNode]] = WeakKeyDictionary()


class EmbeddedNode:
    """The node and how many use it."""

    def __init__(self) -> None:
        randomness = random.Random(secrets.randbits(128))  # noqa: S311  nonces are no secrets
        self.node: Final = Node(NodeSettings(), randomness)
        self.server: Final = Server(self.node)
        self.server.start()
        self.users = 0

    def wait_apart(self, prefix: Name) -> None:
        """Hear that questions below a prefix wait for news; here everybody answers, or nobody."""

    async def dial(self, owner: Owner) -> Transport:
        """Open a face to it."""
        if self.users == 0:
            raise Disconnected("the node inside this process has been stopped")
        ours, theirs = in_process_pair(owner, self.server)
        self.server.attach(theirs)
        return ours


def use_embedded() -> EmbeddedNode:
    """Get this event loop's node, started if need be; `leave_embedded` when done."""
    loop = asyncio.get_running_loop()
    node = _nodes.get(loop)
    if node is None:
        node = _nodes[loop] = EmbeddedNode()
    node.users += 1
    return node


async def leave_embedded(node: EmbeddedNode) -> None:
    """Use it no longer; the last one stops it."""
    node.users -= 1
    if node.users == 0:
        loop = asyncio.get_running_loop()
        if _nodes.get(loop) is node:  # and not one that somebody has for himself
            del _nodes[loop]
        await node.server.stop()
