"""What `roost doctor` finds: one line each, how bad it is, and what to do."""

from __future__ import annotations

from typing import Final, NamedTuple

FINE: Final = "fine"
HINT: Final = "hint"  # works, but could be better, or is only needed for something else
WRONG: Final = "wrong"  # a node would not start, or not do what it should

MARKS: Final = {FINE: "ok", HINT: "--", WRONG: "!!"}


class Finding(NamedTuple):
    """One thing that was looked at; `area` is the heading that it stands under."""

    area: str
    level: str
    text: str
    remedy: str = ""

    def lines(self) -> list[str]:
        """For people."""
        first = f"  {MARKS[self.level]}  {self.text}"
        return [first, f"      {self.remedy}"] if self.remedy else [first]

    def told(self) -> dict[str, str]:
        """For programs."""
        return {"area": self.area, "level": self.level, "text": self.text, "remedy": self.remedy}
