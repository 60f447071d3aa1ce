"""How a pipeline goes: rates, lag and completeness of each stage over its last batches.

Lag is how long ago the newest window ended that was published, or the newest reading handed on. Completeness is
received through expected, in raw readings; None while nothing was expected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from roost.machine import SECOND

BATCHES: Final = 20  # that are looked back on


@dataclass(frozen=True, slots=True)
class Batch:
    """What one stage did in one batch; `newest_ns` is up to what time its results are, 0 if it had none."""

    rows: int = 0
    results: int = 0
    expected: int = 0
    received: int = 0
    newest_ns: int = 0


class Measured:
    """The last batches of some stages."""

    def __init__(self, stages: list[str], now: int) -> None:
        self._stages: Final[dict[str, deque[tuple[int, Batch]]]] = {name: deque(maxlen=BATCHES) for name in stages}
        self._rows: Final = dict.fromkeys(stages, 0)
        self._since: Final = now
        self.batches = 0

    def note(self, now: int, done: Mapping[str, Batch]) -> None:
        """Take in what a batch did."""
        self.batches += 1
        for name, batch in done.items():
            self._stages[name].append((now, batch))
            self._rows[name] += batch.rows

    def status(self, now: int) -> dict[str, Any]:
        """What the page and `roost pipeline status` show, by stage."""
        return {name: self._status(name, now) for name in self._stages}

    def _status(self, name: str, now: int) -> dict[str, Any]:
        kept = self._stages[name]
        full = len(kept) == BATCHES
        seconds = max((now - (kept[0][0] if full else self._since)) / SECOND, 1e-3)
        counted = [batch for _, batch in kept][
            1 if full else 0 :
        ]  # what came before the first time is not of this time
        expected = sum(batch.expected for batch in counted)
        received = sum(batch.received for batch in counted)
        newest = max((batch.newest_ns for batch in counted), default=0)
        return {
            "rows": self._rows[name],
            "rows_per_s": round(sum(batch.rows for batch in counted) / seconds, 3),
            "results_per_s": round(sum(batch.results for batch in counted) / seconds, 3),
            "lag_s": round((now - newest) / SECOND, 3) if newest else None,
            "expected": expected,
            "received": received,
            "completeness": received / expected if expected else None,
            "last_batch_ns": kept[-1][0] if kept else None,
        }
