"""The constants of State Vector Sync, and the times that are drawn from them [SVS v2 and v3, timers].

All but the timers belong to the group: its members must agree on `version`, `signed` and `large_vectors`. Two groups of
different versions can share a name; they do not hear each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1
from typing import Final

from roost.errors import BadConfig
from roost.machine import MS, Randomness

_DECAY: Final = 10  # f in the formula of the suppression timeout
_AT_LEAST: Final = (
    ("periodic_ms", 1),
    ("suppression_ms", 1),
    ("max_skew_s", 0),
    ("lifetime_ms", 1),
    ("max_vector_bytes", 256),
    ("max_streams", 1),
    ("recovery_ms", 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SvsSettings:
    """How a group is kept in sync; the defaults are those of the specification, and ours where it says nothing."""

    version: int = 3
    periodic_ms: int = 30_000
    jitter: float = 0.1  # of the periodic time, to either side
    suppression_ms: int = 200
    max_skew_s: int = 86_400  # version 3: a vector with a boot time further ahead is ignored
    lifetime_ms: int = 1000
    signed: bool = True  # version 2: Sync Interests are signed Interests; the Data of version 3 always is
    register_group: bool = True  # as other implementations do; off where data is served right below the group's name
    large_vectors: bool = True  # ours: windows for what does not fit an Interest; off where a peer is not Roost
    max_vector_bytes: int = 8000  # less if the group's name and the signature leave less of an Interest
    max_streams: int = 100_000
    recovery_ms: int = 5000  # version 2: how long a member that lost its numbers waits for others to tell them

    def __post_init__(self) -> None:
        if self.version not in {2, 3}:
            raise BadConfig(f"version={self.version}: State Vector Sync is spoken in version 2 or 3")
        for field, least in _AT_LEAST:
            value = getattr(self, field)
            if value < least:
                raise BadConfig(f"{field}={value} cannot be: it is at least {least}")
        if not 0 <= self.jitter < 1:
            raise BadConfig(f"jitter={self.jitter:g} cannot be: it is a share of the periodic time, from 0 to below 1")

    @property
    def suppression_ns(self) -> int:
        """The suppression period."""
        return self.suppression_ms * MS

    def draw_periodic(self, randomness: Randomness) -> int:
        """How long to be silent in Steady, in ns: uniform around `periodic_ms`."""
        return int(self.periodic_ms * MS * (1 + self.jitter * (2 * randomness.random() - 1)))

    def draw_suppression(self, randomness: Randomness) -> int:
        """How long to wait in Suppression, in ns."""
        return int(suppression_timeout_ms(randomness.random() * self.suppression_ms, self.suppression_ms) * MS)


def suppression_timeout_ms(drawn: float, period: float) -> float:
    """The formula c · (1 − e^((v − c) / (c / 10))): most wait nearly the whole period, a few answer early."""
    return -period * expm1((drawn - period) / (period / _DECAY))
