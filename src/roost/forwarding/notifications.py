"""The stream of face events: `/localhost/nfd/faces/events/seq=<n>`, n from 0 [nfd-management §4, §5].

A subscriber's Interest for the next event waits in the PIT; publishing the event answers it. The latest events are kept
for a subscriber that asks a little late. One who asks by prefix gets the latest event if it is still fresh, otherwise
the next one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from roost.forwarding.shelf import FRESHNESS_MS
from roost.forwarding.status import FaceEvent
from roost.machine import MS
from roost.naming import Name
from roost.naming.conventions import sequence
from roost.wire import Interest, Signer, encode_data

KEPT_EVENTS: Final = 64


class FaceEvents:
    """The publisher of the stream."""

    def __init__(self, prefix: Name, signer: Signer, keep: int = KEPT_EVENTS) -> None:
        self.prefix: Final = prefix
        self._signer = signer
        self._keep = keep
        self._next = 0
        self._events: OrderedDict[bytes, bytes] = OrderedDict()  # the name's bytes → the Data
        self._latest = b""
        self._fresh_until = 0

    def publish(self, event: FaceEvent, now: int) -> bytes:
        """Make the Data of the next event."""
        name = self.prefix / sequence(self._next)
        self._next += 1
        self._latest = encode_data(name, event.encode(), self._signer, freshness_ms=FRESHNESS_MS)
        self._fresh_until = now + FRESHNESS_MS * MS
        self._events[name.value] = self._latest
        if len(self._events) > self._keep:
            self._events.popitem(last=False)
        return self._latest

    def find(self, interest: Interest, now: int) -> bytes | None:
        """Return the event an Interest asks for, None where it has to wait for it."""
        kept = self._events.get(interest.name.value)
        if kept is not None:
            return kept
        asks_any = interest.can_be_prefix and interest.name == self.prefix
        if asks_any and self._latest and (now < self._fresh_until or not interest.must_be_fresh):
            return self._latest
        return None
