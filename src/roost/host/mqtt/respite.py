"""How long the broker leaves its subscribers alone after one message went to many of them.

Acknowledgements come one by one. A broker that wakes up for each of them takes the processor from the very clients that
are about to read their copies, where they share one, and spends more on waking up than on the acknowledgements. So it
sleeps about as long as it has just written, and takes them together; once more, if only a part of them has come then.
Nothing waits for an acknowledgement but the next message of a client with a full window. Whoever else speaks meanwhile
is heard that much later, so it is short, and there is none after a wake-up that brought much, or something from many.
"""

from __future__ import annotations

from time import sleep
from typing import Final

MANY: Final = 8  # links that are to acknowledge something; fewer are not worth it
_PER_LINK_S: Final = 5e-6  # what a write takes
_LONGEST_S: Final = 250e-6
_FAN: Final = 4  # at least so many are written to for each that was read from
_MUCH_BYTES: Final = 2048


class Respite:
    """Sleeps, when it is worth it."""

    def __init__(self) -> None:
        self._owing = 0  # links whose acknowledgements may be waited for once more

    def take(self, owing: int, arrived: list[tuple[int, bytes]]) -> None:
        """Sleep, or not, after a wake-up that brought this and sent to so many links that have to acknowledge."""
        rest_s = self.due_s(owing, arrived)
        if rest_s > 0:
            sleep(rest_s)

    def due_s(self, owing: int, arrived: list[tuple[int, bytes]]) -> float:
        """For how long to read nothing."""
        before, self._owing = self._owing, 0
        if owing < MANY:
            owing = before - len(arrived)
            return _length_s(owing) if before and owing >= MANY else 0.0
        size = 0
        for _, data in arrived:
            size += len(data)
        if owing < _FAN * len(arrived) or size > _MUCH_BYTES:
            return 0.0
        self._owing = owing
        return _length_s(owing)


def _length_s(owing: int) -> float:
    return min(owing * _PER_LINK_S, _LONGEST_S)
