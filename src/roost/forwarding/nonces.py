"""The dead nonce list: nonces of Interests whose PIT entries are gone [nfd-management §7].

Kept for about 6 s, so that a copy which took a long way round is recognised as a loop. What is kept is a 64-bit hash of
name and nonce.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

DEAD_NONCE_NS: Final = 6_000_000_000


class DeadNonces:
    """A bounded set with expiry; the oldest yields."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.evicted = 0
        self._expiry: OrderedDict[int, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._expiry)

    def add(self, value: bytes, nonce: bytes, now: int) -> None:
        """Remember one."""
        key = hash(value + nonce)
        if key in self._expiry:
            self._expiry.move_to_end(key)
        elif len(self._expiry) >= self.limit:
            self._expiry.popitem(last=False)
            self.evicted += 1
        self._expiry[key] = now + DEAD_NONCE_NS

    def has(self, value: bytes, nonce: bytes, now: int) -> bool:
        """Whether this name was asked with this nonce lately."""
        if not self._expiry:
            return False
        return self._expiry.get(hash(value + nonce), 0) > now

    def expire(self, now: int) -> None:
        """Forget what is old."""
        while self._expiry and next(iter(self._expiry.values())) <= now:
            self._expiry.popitem(last=False)
