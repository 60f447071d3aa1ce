"""What happened, for the terminal and for the page; and for programs a line of JSON per step, the verdict as fields.

Of a run with a check, what is told as kept, broken or unchecked begins with the names of what was promised, then `: `.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Final, TextIO

from roost.cli._macro_show import iso
from roost.cli._output import document

KEPT: Final = 200
VERDICTS: Final[dict[str, bool | None]] = {"kept": True, "BROKEN": False, "unchecked": None}


class Journal:
    """Steps, of which the last are kept, and what became of each promise."""

    def __init__(self, output: TextIO, *, as_json: bool = False) -> None:
        self.steps: Final[deque[dict[str, object]]] = deque(maxlen=KEPT)
        self._output: Final = output
        self._as_json: Final = as_json
        self._verdicts: Final[dict[str, bool | None]] = {}  # bound: what is promised, and what can be broken

    def say(self, what: str, text: str) -> None:
        """Tell both."""
        now = time.time_ns()
        self.steps.append({"time": now, "what": what, "text": text})
        if not self._as_json:
            self._print(f"{what:<10}{text}")
            return
        told: dict[str, object] = {"time": iso(now), "time_ns": now, "what": what, "text": text}
        if what in VERDICTS:
            promises = text.partition(": ")[0].split(", ")
            self._verdicts.update(dict.fromkeys(promises, VERDICTS[what]))
            told |= {"promises": promises, "kept": VERDICTS[what]}
        self._print(document(told))

    def conclude(self, *, kept: bool) -> None:
        """Tell programs how it ended, after a check: each promise is kept, broken, or null where nobody could look."""
        if self._verdicts:
            self._print(document({"what": "verdict", "kept": kept, "promises": self._verdicts}))

    def _print(self, line: str) -> None:
        print(line, file=self._output, flush=True)
