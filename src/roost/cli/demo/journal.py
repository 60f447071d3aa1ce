"""What happened, for the terminal and for the page."""

from __future__ import annotations

import time
from collections import deque
from typing import Final, TextIO

KEPT: Final = 200


class Journal:
    """Lines, of which the last are kept."""

    def __init__(self, output: TextIO) -> None:
        self.steps: Final[deque[dict[str, object]]] = deque(maxlen=KEPT)
        self._output: Final = output

    def say(self, what: str, text: str) -> None:
        """Tell both."""
        self.steps.append({"time": time.time_ns(), "what": what, "text": text})
        print(f"{what:<10}{text}", file=self._output, flush=True)
