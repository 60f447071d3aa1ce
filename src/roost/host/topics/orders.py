"""Orders to a forwarder: routes to be added and removed, repeated until they are answered, and given again in between.

The newest order for a prefix counts; one before it is repeated no longer. Who wants a route removed that is not there
has what they want. A forwarder that is started again knows no routes, and UDP does not tell: so the routes that shall
stand are ordered anew in turn, a fifth of them every `TURN_S`, and all of them soon after its port refused a packet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import Final

from roost.hicn.control import Control, Verb, read_reply
from roost.hicn.name import Prefix

REPEAT_S: Final = 1.0
TRIES: Final = 3
TURN_S: Final = 2.0
TURNS: Final = 5


class _Order:
    __slots__ = ("handle", "prefix", "sequence", "tries", "verb", "wire")

    def __init__(self, verb: Verb, prefix: Prefix, sequence: int) -> None:
        self.verb: Final = verb
        self.prefix: Final = prefix
        self.sequence: Final = sequence
        self.wire: Final = Control(verb, sequence, prefix).encode()
        self.tries = 0
        self.handle: asyncio.TimerHandle | None = None


class Orders:
    """What was ordered and not yet answered, and what shall stand."""

    def __init__(self, write: Callable[[list[bytes]], None], refused: Callable[[str], None]) -> None:
        self.refusal = ""  # why a route does not stand; empty once an order is obeyed
        self._write: Final = write
        self._refused: Final = refused
        self._loop: Final = asyncio.get_running_loop()
        self._open: Final[dict[Prefix, _Order]] = {}  # bound: the topics of the machine
        self._standing: Final[dict[Prefix, None]] = {}  # routes, the next to be ordered first; bound: as above
        self._all_at_once = False
        self._sequence = 0
        self._refresh: asyncio.TimerHandle | None = None

    @property
    def pending(self) -> bool:
        """Whether something was not answered yet."""
        return bool(self._open)

    def give(self, verb: Verb, prefix: Prefix) -> None:
        """Order something, now."""
        if verb is Verb.ADD_ROUTE:
            self._standing[prefix] = None
            self.refusal = ""  # what was before says nothing of this one
            if self._refresh is None:
                self._refresh = self._loop.call_later(TURN_S, self._order_anew)
        else:
            self._standing.pop(prefix, None)
        self._order(verb, prefix)

    def answered(self, wire: bytes) -> None:
        """Take in a reply; raises `BadPacket`."""
        sequence, done = read_reply(wire)
        for order in list(self._open.values()):
            if order.sequence == sequence:
                self._forget(order.prefix)
                if done:
                    self.refusal = ""
                elif order.verb is Verb.ADD_ROUTE:
                    self._fail(f"refused a route for {order.prefix}: it obeys its own machine only, within its limits")

    def lost(self) -> None:
        """Nobody has the forwarder's port: order all anew when somebody may have it."""
        self._all_at_once = True

    def close(self) -> None:
        """Repeat nothing any more."""
        for prefix in list(self._open):
            self._forget(prefix)
        self._standing.clear()
        if self._refresh is not None:
            self._refresh.cancel()
            self._refresh = None

    def _order(self, verb: Verb, prefix: Prefix) -> None:
        self._forget(prefix)
        self._sequence += 1
        order = self._open[prefix] = _Order(verb, prefix, self._sequence)
        self._send(order)

    def _send(self, order: _Order) -> None:
        if order.tries == TRIES:
            self._forget(order.prefix)
            if order.verb is Verb.ADD_ROUTE:
                self._fail("does not answer: start a forwarder there with `roost hicn`, or name another one")
            return
        order.tries += 1
        order.handle = self._loop.call_later(REPEAT_S, self._send, order)
        self._write([order.wire])

    def _fail(self, text: str) -> None:
        """Say it once, until an order is obeyed again."""
        if self.refusal != text:
            self.refusal = text
            self._refused(text)

    def _order_anew(self) -> None:
        self._refresh = None
        count = len(self._standing)
        turn = list(islice(self._standing, count if self._all_at_once else -(-count // TURNS)))
        self._all_at_once = False
        for prefix in turn:
            self._standing[prefix] = self._standing.pop(prefix)  # to the end
            if prefix not in self._open:
                self._order(Verb.ADD_ROUTE, prefix)
        if count:
            self._refresh = self._loop.call_later(TURN_S, self._order_anew)

    def _forget(self, prefix: Prefix) -> None:
        order = self._open.pop(prefix, None)
        if order is not None and order.handle is not None:
            order.handle.cancel()
