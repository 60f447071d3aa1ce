"""Forwarding hints, and what else a forwarder changes in an Interest on its way [nfd-management §7].

Inside the region that a hint names, the hint has done its work: it is stripped, and the name itself decides.
"""

from __future__ import annotations

from roost.forwarding.fib import Fib
from roost.naming.name import Name
from roost.wire.interest import Interest, decode_interest


class Hints:
    """The regions of one forwarder."""

    def __init__(self, fib: Fib, regions: list[Name]) -> None:
        self._fib = fib
        self._regions = regions

    def rewritten(self, interest: Interest, nonce: bytes) -> bytes:
        """Return the wire to send on: one hop less, with a Nonce, and without the hint in its own region."""
        wire = interest.wire
        if interest.hop_limit > 0:
            wire = interest.with_hop_limit(interest.hop_limit - 1)
        if not interest.nonce:
            wire = _again(interest, wire).with_nonce(nonce)
        if interest.has_hint and self._at_home(interest.hints):
            wire = _again(interest, wire).without_hint()
        return wire

    def hops(self, interest: Interest, own: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the next hops of the first hint that has any; in the hint's own region, the name's `own`."""
        hints = interest.hints
        if self._at_home(hints):
            return own
        for hint in hints:
            found = self._fib.lookup(hint.value, hint.cuts)
            if found:
                return found
        return []

    def _at_home(self, hints: list[Name]) -> bool:
        return any(region.starts_with(hint) for region in self._regions for hint in hints)


def _again(interest: Interest, wire: bytes) -> Interest:
    """Open an Interest whose bytes were spliced once already."""
    return interest if wire is interest.wire else decode_interest(wire)
