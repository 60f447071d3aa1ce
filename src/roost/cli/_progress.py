"""How far something long has come, on the error output: drawn over and over on a terminal, a line per tenth elsewhere.

What is quick is not told.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from time import perf_counter
from typing import Final, TextIO, TypeVar

_WIDTH: Final = 24
_QUICK_S: Final = 1.0
_PAUSE_S: Final = 0.2
_LOOK: Final = 256  # items between two looks at the clock

Item = TypeVar("Item")


class Progress:
    """Tells on a stream."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = perf_counter, *, with_bar: bool = False) -> None:
        self._stream: Final = stream
        self._with_bar: Final = with_bar
        self._clock: Final = clock
        self._is_terminal: Final = stream.isatty()
        self._next = clock() + _QUICK_S
        self._tenths = 0
        self._is_drawn = False

    def say(self, done: int, what: str, total: int = 0) -> None:
        """So many are done, of a total if that is known."""
        if self._clock() < self._next:
            return
        line = f"{done:,} of {total:,} {what}" if total else f"{done:,} {what}"
        if self._is_terminal:
            self._next = self._clock() + _PAUSE_S
            self._is_drawn = True
            self._stream.write(f"\r\x1b[K{_bar(done, total) if self._with_bar else ''}{line}")
            self._stream.flush()
        elif total and 10 * done // total > self._tenths:
            self._tenths = 10 * done // total
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def over(self, items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
        """Hand items on, and tell how many there were."""
        for number, item in enumerate(items):
            if not number % _LOOK:
                self.say(number, what, total)
            yield item
        self.end()

    def end(self) -> None:
        """Wipe what was drawn: the output follows."""
        if self._is_drawn:
            self._is_drawn = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _bar(done: int, total: int) -> str:
    if not total:
        return ""
    filled = min(_WIDTH, _WIDTH * done // total)
    return f"[{'█' * filled}{'·' * (_WIDTH - filled)}] "


def progress_of(options: argparse.Namespace, output: TextIO | None = None) -> Progress:
    """On a terminal's error output only; nothing is told with `--json`, or while the output goes to a terminal, too."""
    silent = not sys.stderr.isatty() or getattr(options, "json", False) or (output is not None and output.isatty())
    return Progress(nowhere() if silent else sys.stderr, with_bar=True)


def nowhere() -> TextIO:
    """A stream that nobody reads, and that is no terminal."""
    return _Nowhere()


class _Nowhere(StringIO):
    """Keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)
