"""The scenarios that throughput and latency share: how many publish, how many subscribe, what is sent and how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

SIZES_BYTES: Final = (16, 1350)
QOS: Final = (0, 1, 2)


class Pattern(NamedTuple):
    """As many of both are pairs; else every subscriber gets everything."""

    publishers: int
    subscribers: int
    window: int  # messages of 16 bytes in flight, over all publishers, with QoS 0 and 1
    rates: tuple[int, int, int]  # messages published per second, by QoS, when latency is measured
    light_rate: int  # the same when hardly anything is to be done


# mosquitto does hardly better with more in flight, and with QoS 2 worse. A moderate rate is about a quarter of what it
# does at most, and 10,000 at most: more, one by one and in time, is too much for the load generator.
PATTERNS: Final = (
    Pattern(1, 1, 2000, (10_000, 10_000, 4000), 2000),
    Pattern(1, 20, 500, (1000, 1000, 500), 200),
    Pattern(100, 1, 4000, (10_000, 10_000, 4000), 2000),
    Pattern(100, 100, 4000, (10_000, 10_000, 4000), 2000),
)


class Scenario(NamedTuple):
    """One row of the table."""

    pattern: Pattern
    qos: int
    payload_bytes: int

    @property
    def name(self) -> str:
        return f"{self.pattern.publishers}to{self.pattern.subscribers}.q{self.qos}.{self.payload_bytes}B"

    @property
    def window(self) -> int:
        """Smaller for what takes more steps or more room, but ten messages of every publisher."""
        smaller = self.pattern.window // (4 if self.qos == 2 else 1) // (2 if self.payload_bytes > 1000 else 1)
        return max(smaller, 10 * self.pattern.publishers)

    def load(self) -> dict[str, int]:
        """As the load generator takes it."""
        return {
            "publishers": self.pattern.publishers,
            "subscribers": self.pattern.subscribers,
            "qos": self.qos,
            "payload_bytes": self.payload_bytes,
        }


def scenarios() -> Iterator[Scenario]:
    """All of them."""
    for pattern in PATTERNS:
        for qos in QOS:
            for size in SIZES_BYTES:
                yield Scenario(pattern, qos, size)
