"""Delivery policies: which readings of a stream a consumer gets, and where it begins [NDN-PS §III-D]. Pure.

| policy       | delivered                                       | begins, without `since`                          |
| ------------ | ----------------------------------------------- | ------------------------------------------------ |
| sequential() | every reading, in order                         | with the first reading after subscribing         |
| sample(n)    | one of every n numbers, in order                | the same                                         |
| latest()     | the newest there is whenever there is room,     | with the newest reading there is: whoever shows  |
|              | in order; those in between are passed over      | the state of a room wants to see it at once      |

`since(number=…)` begins every stream with that number, `since(time_ns=…)` with the first number whose event time is not
before that time; both look back into history and go on live, without a gap. History is never delivered unasked: a new
subscriber to a year of readings would drown in them. Streams that come to be after subscribing, as far as the repo
that was asked first knew them, are delivered from their first reading. All this is about the first start alone: after a
restart a consumer goes on where it stopped.

Which number of its block a sample takes is a hash of stream and block, so that all runs of all consumers agree, and no
rhythm of the sensor is met by accident (a sample of every 60th reading would see the top of each hour only).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from roost.errors import BadConfig
from roost.naming import Name

SEQUENTIAL: Final = "sequential"
LATEST: Final = "latest"
SAMPLE: Final = "sample"


@dataclass(frozen=True, slots=True)
class Policy:
    """What to deliver and where to begin; made by the functions below."""

    kind: str
    every: int = 1  # of a sample
    from_time: int = 0  # ns since 1970; 0: no look-back by time
    from_number: int = 0  # 0: no look-back by number

    def since(self, *, time_ns: int = 0, number: int = 0) -> Policy:
        """Begin in the past: with this event time, or with this number."""
        if (time_ns > 0) == (number > 0) or min(time_ns, number) < 0:
            raise BadConfig(f"since takes a time or a number above 0, not time_ns={time_ns} and number={number}")
        return replace(self, from_time=time_ns, from_number=number)

    @property
    def live(self) -> bool:
        """Whether it begins with what comes after subscribing."""
        return not self.from_time and not self.from_number

    @property
    def dense(self) -> bool:
        """Whether all numbers are delivered, so that many can be asked for at once."""
        return self.kind == SEQUENTIAL

    def first(self, high: int) -> int:
        """The number a live subscription begins with, to a stream that has come to `high`."""
        return high if self.kind == LATEST else high + 1

    def next(self, stream: Name, low: int, high: int) -> int:
        """The number to deliver next out of low to high, 0 if there is none."""
        if low > high:
            return 0
        if self.kind == SEQUENTIAL:
            return low
        if self.kind == LATEST:
            return high
        block = (low - 1) // self.every
        number = self._picked(stream, block)
        if number < low:
            number = self._picked(stream, block + 1)
        return number if number <= high else 0

    def _picked(self, stream: Name, block: int) -> int:
        digest = sha256(block.to_bytes(8, "big") + stream.value).digest()
        return block * self.every + 1 + int.from_bytes(digest[:8], "big") % self.every


def sequential() -> Policy:
    """Every reading, once and in order."""
    return Policy(SEQUENTIAL)


def latest() -> Policy:
    """The newest reading, whenever there is room for one."""
    return Policy(LATEST)


def sample(n: int) -> Policy:
    """One reading of every n."""
    if n < 1:
        raise BadConfig(f"sample({n}) cannot be: one reading of every 1 or more")
    return Policy(SAMPLE, n)
