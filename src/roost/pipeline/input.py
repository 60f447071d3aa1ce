"""What a stage reads: streams of a group as they come, or whole windows of them by key.

A key says which streams are looked at together: `{panel}` takes the streams of a panel as one, `{stream}` each on its
own. It is a template of the parts of a stream's name (`panel`, `device`, `metric`, and `stream` for all of it); a part
may be looked up in a table: `{floor:panel}` is what the table `floor` has for the panel, and a stream that the table
does not have belongs to no key, so it is not read at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from roost.errors import BadConfig
from roost.machine import SECOND

DEADLINE: Final = 10 * SECOND
EACH: Final = "{stream}"  # the key by which each stream is looked at on its own
_FIELD: Final = re.compile(r"\{(?:(\w+):)?(\w+)\}")
_PARTS: Final = ("panel", "device", "metric")


@dataclass(frozen=True, slots=True)
class Sums:
    """What is summed up of a stream's window where it is read (`roost.pipeline.sums`), in SQL of DuckDB's."""

    usable: str  # whose values count
    conditions: tuple[str, ...] = ()  # what is counted where it holds
    names: bool = False  # whether to say which numbers are absent
    rows: bool = False  # whether the rows are wanted too


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a stage; without a window, readings are handed out as they come.

    `step_ns` is how much time each reading stands for, from its event time on: the results of windows of a minute close
    a minute each, while a plain reading says only that the time before it is over. With `packets`, the payload of a row
    is the whole packet, for whoever has to read it exactly.
    """

    group: str
    wishes: tuple[str, ...] = ("#",)
    name: str = "readings"
    window_ns: int = 0
    step_ns: int = 0
    deadline_ns: int = DEADLINE
    key: str = EACH
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sums: Sums | None = None
    packets: bool = False

    def __post_init__(self) -> None:
        for name, value in (("window", self.window_ns), ("step", self.step_ns), ("deadline", self.deadline_ns)):
            if value < 0:
                raise BadConfig(f"input {self.name!r}: its {name} cannot be negative")
        if self.window_ns and self.step_ns and self.window_ns % self.step_ns:
            raise BadConfig(
                f"input {self.name!r}: a window of {self.window_ns} ns is no multiple of the {self.step_ns} ns that "
                "each reading of its group stands for"
            )
        for table, part in _FIELD.findall(self.key):
            if part not in (*_PARTS, "stream") or (table and table not in self.tables):
                raise BadConfig(
                    f"input {self.name!r}: the key {self.key!r} uses {table + ':' if table else ''}{part}; there are "
                    f"{', '.join(_PARTS)} and stream, and the tables {', '.join(sorted(self.tables)) or '(none)'}"
                )

    def key_of(self, stream: str) -> str | None:
        """The key of a stream, None if a table does not have it."""
        if self.key == EACH:
            return stream
        parts = dict(zip(reversed(_PARTS), reversed(stream.split("/")), strict=False))
        parts["stream"] = stream
        missing = False

        def found(match: re.Match[str]) -> str:
            nonlocal missing
            table, part = match.groups()
            text = parts.get(part)
            text = self.tables[table].get(text) if table and text is not None else text
            missing |= text is None
            return text or ""

        key = _FIELD.sub(found, self.key)
        return None if missing else key

    def to_json(self) -> str:
        """Write it, for an option of Spark's."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Input:
        """Read what `to_json` wrote."""
        written: dict[str, Any] = json.loads(text)
        sums = written.get("sums")
        made = sums and Sums(**{**sums, "conditions": tuple(sums["conditions"])})
        return Input(**{**written, "wishes": tuple(written["wishes"]), "sums": made})
