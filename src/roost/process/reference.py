"""A topic reference: which values of which topic a macro wants, `Noctua.topic(name, {cutoff, required, limit})`.

| option   | default | meaning                                                                             |
| -------- | ------- | ----------------------------------------------------------------------------------- |
| cutoff   | 0       | seconds that a value is acceptable for, counted back from the activation; 0 for ever |
| required | 1       | with fewer acceptable values the macro is not triggered; 0 makes the topic optional |
| limit    | 1       | at most so many values, and never fewer than required                               |

One value is given as itself, when neither required nor limit is above 1; else an array, the newest first. A filter
with wildcards stands for all topics it matches together, and gives pairs of topic and value.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Final

from roost.errors import BadMacro
from roost.machine import SECOND
from roost.naming.topic import TopicFilter

MAX_VALUES: Final = 100_000  # that one reference can ask for


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """What is asked for; raises `BadMacro` if it cannot be."""

    topic: str
    cutoff_s: float = 0.0
    required: int = 1
    limit: int = 1

    def __post_init__(self) -> None:
        TopicFilter(self.topic)
        if not (isfinite(self.cutoff_s * SECOND) and self.cutoff_s >= 0):  # it is counted in ns
            raise BadMacro(f"{self.topic}: a cutoff is a number of seconds, 0 for none, not {self.cutoff_s}")
        if not (0 <= self.required <= MAX_VALUES and 1 <= self.limit <= MAX_VALUES):
            raise BadMacro(
                f"{self.topic}: required is 0 to {MAX_VALUES:,} and limit 1 to {MAX_VALUES:,}, "
                f"not {self.required} and {self.limit}"
            )

    @property
    def count(self) -> int:
        """How many values it takes at most."""
        return max(self.required, self.limit)

    @property
    def is_array(self) -> bool:
        """Whether it gives an array."""
        return self.count > 1

    @property
    def is_wild(self) -> bool:
        """Whether it stands for several topics."""
        return "+" in self.topic.split("/") or self.topic.split("/")[-1] == "#"
