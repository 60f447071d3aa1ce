"""The samples that wait for their turn: what a call had no time for is processed by the next ones, in order.

Whoever hands samples in is held back while many of them wait (`is_long`). What comes all the same when there is no room
is left out and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from roost.process.sample import Plain, Sample

MAX_SAMPLES: Final = 100_000
MAX_BYTES: Final = 64 << 20
LONG: Final = 10_000  # samples from which on no more should come
LONG_BYTES: Final = 16 << 20
_SAMPLE_BYTES: Final = 300  # that one takes besides its value
_NODE_BYTES: Final = 100  # that each part of a JSON value takes


class Backlog:
    """A queue; the time is that of the call that brought a sample."""

    def __init__(self, max_samples: int = MAX_SAMPLES, max_bytes: int = MAX_BYTES) -> None:
        self.max_samples: Final = max_samples
        self.left_out = 0  # samples beyond max_samples or max_bytes
        self._max_bytes: Final = max_bytes
        self._bytes = 0
        self._waiting: Final[deque[tuple[Sample, int, int]]] = deque()  # with its size and time; bound: max_samples

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_long(self) -> bool:
        """Whether so many wait that no more should come."""
        return len(self._waiting) >= LONG or self._bytes >= LONG_BYTES

    @property
    def since(self) -> int:
        """When the first one came; there is one."""
        return self._waiting[0][2]

    def add(self, samples: Sequence[Sample], now: int) -> None:
        """Have samples wait, as far as there is room."""
        for sample in samples:
            size = _size_of(sample)
            if len(self._waiting) >= self.max_samples or self._bytes + size > self._max_bytes:
                self.left_out += 1
                continue
            self._waiting.append((sample, size, now))
            self._bytes += size

    def first(self) -> Sample:
        """The one whose turn it is; there is one."""
        return self._waiting[0][0]

    def drop_first(self) -> None:
        """It had its turn."""
        self._bytes -= self._waiting.popleft()[1]

    def samples(self) -> list[Sample]:
        """All of them, in order."""
        return [sample for sample, _, _ in self._waiting]


def _size_of(sample: Sample) -> int:
    """About how many bytes of memory one takes."""
    size = _SAMPLE_BYTES
    parts: list[Plain] = [sample.value]
    while parts:
        part = parts.pop()
        if isinstance(part, (str, bytes)):
            size += len(part)
        elif isinstance(part, (list, dict)):
            size += _NODE_BYTES * len(part)
            parts += part if isinstance(part, list) else [*part, *part.values()]
    return size
