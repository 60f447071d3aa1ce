"""A node inside the process that is linked to several others: for a face that goes on when one of them is gone.

Everything is asked over the first link that answers (strategy `fail-over`, `roost.forwarding.strategy_failover`), and
what the application registers is registered at the far end of every link, so that all of them can ask it. Links are
dialled until they answer, and again when they drop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.host.embedded import EmbeddedNode
from roost.host.session import Session, Watcher, heedless
from roost.host.uplink import Uplink
from roost.naming import Name
from roost.wire import Signer

FIRST_S: Final = 2.0  # how long the first link is waited for
_FAIL_OVER: Final = STRATEGY_PREFIX / "fail-over"


class LinkedNode(EmbeddedNode):
    """A node of one face alone; the first URI is preferred as long as it answers. Raises `BadConfig`."""

    def __init__(self, uris: Sequence[str], signer: Signer) -> None:
        super().__init__()
        self.users = 1
        self.node.forwarder.strategies.set(Name(), _FAIL_OVER)
        self.uplinks: Final = [
            Uplink(self.server, uri, routes=[Name()], cost=cost, signer=signer) for cost, uri in enumerate(uris)
        ]
        for uplink in self.uplinks:
            uplink.start()

    def wait_apart(self, prefix: Name) -> None:
        """Judge the links by a prefix of its own: below it questions wait for news, and rightly get no answer."""
        self.node.forwarder.strategies.set(prefix, _FAIL_OVER)

    async def first(self) -> bool:
        """Wait until a link is up, or for `FIRST_S`; whether one is."""
        return await _any([uplink.up for uplink in self.uplinks], FIRST_S)


class LinkedSession(Session):
    """A face to a `LinkedNode`."""

    def __init__(self, node: LinkedNode, signer: Signer) -> None:
        super().__init__(node.dial, signer)
        self._uplinks: Final = node.uplinks

    @property
    def where(self) -> str:
        """The preferred one of the far ends that are up; while none is, all of them."""
        up = [uplink.uri for uplink in self._uplinks if uplink.up.is_set()]
        return up[0] if up else ", ".join([uplink.uri for uplink in self._uplinks])

    def register(self, prefix: Name, watcher: Watcher = heedless) -> None:
        """Keep a prefix registered, here and at the far ends."""
        is_new = prefix not in self._watchers
        super().register(prefix, watcher)
        for uplink in self._uplinks if is_new else ():
            uplink.register(prefix)

    def unregister(self, prefix: Name, watcher: Watcher = heedless) -> None:
        """Keep it no longer, unless others want it."""
        super().unregister(prefix, watcher)
        if prefix not in self._watchers and not self._ended:
            for uplink in self._uplinks:
                uplink.unregister(prefix)

    async def registered(self, prefix: Name, timeout_s: float) -> None:
        """Wait until a prefix is registered here, and the far ends that are there have said yes or no."""
        await super().registered(prefix, timeout_s)
        for uplink in [uplink for uplink in self._uplinks if uplink.up.is_set()]:
            await _any([uplink.settled], timeout_s)


async def _any(events: Sequence[asyncio.Event], timeout_s: float) -> bool:
    """Wait for the first of some events, so long at most; whether it came."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    done, _ = await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    return bool(done)
