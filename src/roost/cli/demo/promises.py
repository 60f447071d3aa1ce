"""What the campus promises, each with the numbers that somebody measured, and whether it holds at this moment.

While something is broken, what was acknowledged may be late; it is a promise that it comes. So a promise is broken at
once where something came that must not come, or came out of order, and where something is missing if nothing of it has
come for so long although nothing is broken (`PATIENCE_S`), or at the end of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

PATIENCE_S: Final = 60.0


class Measured(NamedTuple):
    """What one promise is worth right now."""

    wrong: int  # what can never be made good again
    missing: int  # what has yet to come
    stuck_s: float  # for how long nothing of it came
    detail: str


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise, and who measures it."""

    id: str
    text: str
    measure: Callable[[], Measured]

    def told(self, *, is_calm: bool = True) -> dict[str, object]:
        """As the page gets it; `is_calm` while nothing is broken."""
        found = self.measure()
        stuck = is_calm and found.missing > 0 and found.stuck_s > PATIENCE_S
        return {"id": self.id, "text": self.text, "kept": not found.wrong and not stuck, "detail": found.detail}

    def verdict(self) -> tuple[bool, str]:
        """At the end, when all of it should be there."""
        found = self.measure()
        return not found.wrong and not found.missing, found.detail
