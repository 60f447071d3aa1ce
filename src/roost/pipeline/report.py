"""What became of rows, added up from tasks to batches; by itself, because Spark's committer needs nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from roost.errors import BadConfig

MAX_ALARMS: Final = 1000  # of one task, and of one batch
_SHOWN: Final = 20
_FIRST: Final = 3  # shown, of an error
_log: Final = logging.getLogger("roost.pipeline")


@dataclass(slots=True)
class Report:
    """What became of rows."""

    rows: int = 0
    kept: int = 0  # new, or there with the same bytes
    present: int = 0  # there already, signed by another key
    unchanged: int = 0  # the newest reading of the stream says the same
    conflicts: int = 0
    poison: int = 0
    alarms: list[str] = field(default_factory=list)  # the first so many

    def tell(self, alarms: Iterable[str]) -> None:
        """Add alarms, as far as there is room."""
        self.alarms += list(alarms)[: MAX_ALARMS - len(self.alarms)]

    def add(self, other: Report) -> None:
        """Add what became of others."""
        for name in ("rows", "kept", "present", "unchanged", "conflicts", "poison"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.tell(other.alarms)

    def check(self) -> None:
        """Raise `BadConfig` where there were rows, and none of them could be a reading."""
        if self.poison and self.poison >= self.rows:
            first = "; ".join(self.alarms[:_FIRST])
            raise BadConfig(
                f"none of {self.rows} rows can be a reading: {first}; empty markers have their numbers now: publish "
                "what you correct under others, or as another output"
            )

    def warn(self) -> None:
        """Say what is wrong, if something is."""
        if self.conflicts or self.poison:
            _log.error(
                "alarm: %d readings are published already with another content, %d rows cannot be readings: %s",
                self.conflicts,
                self.poison,
                "; ".join(self.alarms[:_SHOWN]),
            )
