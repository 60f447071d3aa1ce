"""The round-trip time estimator and the retransmission time-out that follows from it [RFC 6298, with NDN's numbers].

Smoothed RTT and its variation as in TCP; samples of what was sent more than once are not taken (Karn), which is the
caller's duty. The default bounds are those of ndncatchunks: at least 200 ms, at most 4 s (the default lifetime).
It serves whoever asks again, Interests (`roost.pubsub.fetch`) and link packets (`roost.wire.reliability`), and knows
nothing of windows: those are in `roost.pubsub.congestion`.
"""

from __future__ import annotations

from typing import Final

from roost.machine.contract import MS

INITIAL_RTO: Final = 1000 * MS
MIN_RTO: Final = 200 * MS
MAX_RTO: Final = 4000 * MS

_GAIN: Final = 8  # of the smoothed RTT: 1/8
_VARIATION_GAIN: Final = 4
_VARIATIONS: Final = 4


class RttEstimator:
    """What a round trip takes, in nanoseconds; `smoothed` is 0 before the first sample."""

    __slots__ = ("_backoff", "_variation", "maximum", "minimum", "samples", "smoothed")

    def __init__(self, minimum: int = MIN_RTO, maximum: int = MAX_RTO) -> None:
        self.minimum: Final = minimum
        self.maximum: Final = maximum
        self.smoothed = 0
        self.samples = 0
        self._variation = 0
        self._backoff = 1

    def measured(self, sample: int) -> None:
        """Take in one round trip of something that was sent once."""
        self._backoff = 1
        self.samples += 1
        if self.samples == 1:
            self.smoothed = sample
            self._variation = sample // 2
            return
        self._variation += (abs(self.smoothed - sample) - self._variation) // _VARIATION_GAIN
        self.smoothed += (sample - self.smoothed) // _GAIN

    def backed_off(self) -> None:
        """Double the time-out after one that fired, until a sample says better."""
        if self.rto < self.maximum:
            self._backoff *= 2

    @property
    def rto(self) -> int:
        """How long to wait before something counts as lost."""
        base = self.smoothed + _VARIATIONS * self._variation if self.samples else INITIAL_RTO
        return min(self.maximum, max(self.minimum, base) * self._backoff)
