"""Congestion windows: how many Interests may be unanswered at once. AIMD and CUBIC [RFC 9438] behind one port.

Both start slowly (one more per Data) up to a threshold, shrink by a factor on a sign of congestion (loss, a congestion
mark, a congestion Nack) and differ in how they grow again: AIMD by one per round trip, CUBIC along a cubic curve of the
time since the last shrinking, never slower than AIMD would. Shrinking at most once per window is the caller's duty.
Round-trip times come from `roost.machine.rtt`.
"""

from __future__ import annotations

from typing import Final, Protocol

from roost.errors import BadConfig
from roost.machine import SECOND

INITIAL_WINDOW: Final = 4.0
MIN_WINDOW: Final = 2.0
MAX_WINDOW: Final = 65536.0

_AIMD_BETA: Final = 0.5
_CUBIC_BETA: Final = 0.7
_CUBIC_C: Final = 0.4
_FRIENDLY: Final = 3 * (1 - _CUBIC_BETA) / (1 + _CUBIC_BETA)
_FASTEST: Final = 1.5  # RFC 9438 §4.4: the target is at most 1.5 windows


class Window(Protocol):
    """The port: `size` Interests may be unanswered; it grows with Data and shrinks with congestion."""

    @property
    def size(self) -> int: ...
    def grow(self, now: int, rtt: int) -> None: ...
    def shrink(self, now: int) -> None: ...


def _checked(initial: float) -> float:
    if not 1 <= initial <= MAX_WINDOW:
        raise BadConfig(f"a congestion window of {initial:g} Interests cannot be: it begins with 1 to {MAX_WINDOW:g}")
    return initial


class Aimd:
    """Additive increase, multiplicative decrease."""

    __slots__ = ("_threshold", "_window")

    def __init__(self, initial: float = INITIAL_WINDOW) -> None:
        self._window = _checked(initial)
        self._threshold = MAX_WINDOW

    @property
    def size(self) -> int:
        """Whole Interests."""
        return int(self._window)

    def grow(self, now: int, rtt: int) -> None:  # noqa: ARG002  the port's shape: AIMD needs neither
        """One Data came."""
        step = 1.0 if self._window < self._threshold else 1.0 / self._window
        self._window = min(MAX_WINDOW, self._window + step)

    def shrink(self, now: int) -> None:  # noqa: ARG002  as grow
        """Congestion was seen."""
        self._threshold = max(MIN_WINDOW, self._window * _AIMD_BETA)
        self._window = self._threshold


class Cubic:
    """The cubic curve of RFC 9438, with fast convergence and the AIMD-friendly region."""

    __slots__ = ("_epoch", "_highest", "_plateau_s", "_threshold", "_window")

    def __init__(self, initial: float = INITIAL_WINDOW) -> None:
        self._window = _checked(initial)
        self._threshold = MAX_WINDOW
        self._highest = 0.0  # the window before the last shrinking
        self._epoch = 0  # when that was
        self._plateau_s = 0.0  # how long after it the curve is back at `_highest`

    @property
    def size(self) -> int:
        """Whole Interests."""
        return int(self._window)

    def grow(self, now: int, rtt: int) -> None:
        """One Data came; `rtt` is the smoothed round-trip time, 0 if unknown."""
        window = self._window
        if window < self._threshold:
            self._window = min(MAX_WINDOW, window + 1.0)
            return
        passed_s = (now - self._epoch) / SECOND
        target = _CUBIC_C * (passed_s - self._plateau_s) ** 3 + self._highest
        if rtt > 0:
            target = max(target, self._highest * _CUBIC_BETA + _FRIENDLY * passed_s * SECOND / rtt)
        target = min(target, window * _FASTEST)
        if target > window:
            self._window = min(MAX_WINDOW, window + (target - window) / window)

    def shrink(self, now: int) -> None:
        """Congestion was seen."""
        window = self._window
        # Fast convergence [§4.7]: a window that shrinks before it was back leaves room for whoever took the rest.
        self._highest = window * (1 + _CUBIC_BETA) / 2 if window < self._highest else window
        self._epoch = now
        self._threshold = max(MIN_WINDOW, window * _CUBIC_BETA)
        self._window = self._threshold
        self._plateau_s = float((max(0.0, self._highest - self._window) / _CUBIC_C) ** (1 / 3))


ALGORITHMS: Final[dict[str, type[Aimd | Cubic]]] = {"aimd": Aimd, "cubic": Cubic}


def make_window(algorithm: str) -> Window:
    """Make the window called `aimd` or `cubic`."""
    if algorithm not in ALGORITHMS:
        raise BadConfig(f"there is no congestion window called {algorithm!r}: use one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[algorithm]()
