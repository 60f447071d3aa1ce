"""How far a campaign has come: a bar that is drawn over and over on a terminal, a plain line per tenth elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final, TextIO

from roost.sim.campaign import MAX_FAILURES, Results

_WIDTH: Final = 30


class Progress:
    """Draws on a stream; hand `show` to `campaign.run`."""

    def __init__(self, stream: TextIO, runs: int, clock: Callable[[], float] = perf_counter) -> None:
        self._stream: Final = stream
        self._runs: Final = runs
        self._terminal: Final = stream.isatty()
        self._scenario = ""
        self._clock: Final = clock
        self._began: Final = clock()
        self._tenths = 0
        self._drawing = False  # a bar that is to be drawn over

    def show(self, scenario: str, results: Results) -> None:
        """Say how many seeds of a scenario are through."""
        if scenario != self._scenario:
            self._scenario = scenario
            self._tenths = 0
        failed = f", {len(results.failures)} failed" if results.failures else ""
        seconds = self._clock() - self._began
        line = f"{scenario} {results.runs}/{self._runs}{failed}, {seconds:.0f} s"
        if self._terminal:
            filled = _WIDTH * results.runs // self._runs
            self._drawing = True
            self._stream.write(f"\r\x1b[K[{'█' * filled}{'·' * (_WIDTH - filled)}] {line}")
            if results.runs >= self._runs or len(results.failures) >= MAX_FAILURES:
                self.end()
            self._stream.flush()
        elif 10 * results.runs // self._runs > self._tenths:
            self._tenths = 10 * results.runs // self._runs
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def end(self) -> None:
        """Leave the bar as it is: what follows stands below it."""
        if self._drawing:
            self._drawing = False
            self._stream.write("\n")
