"""What one query of a job of macros does (`roost.pipeline.macros_job`): with which macros, and from where on.

It is one file of the checkpoint, replaced whole: the query that it tells of is the one that counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from roost.errors import BadConfig
from roost.naming import Name
from roost.pipeline import offsets
from roost.pipeline.place import Place
from roost.process.definition import Definition, definition_of

FILE: Final = "job.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """A macro as the node has it."""

    definition: Definition
    version: int


@dataclass(frozen=True, slots=True)
class Generation:
    """What one query does: from where on, with which macros."""

    number: int = 0
    macros: tuple[Asked, ...] = ()
    start: Mapping[str, Place] | None = None

    def encode(self) -> bytes:
        """Write it."""
        macros = [{"definition": each.definition.mapping(), "version": each.version} for each in self.macros]
        start = None if self.start is None else offsets.to_json(self.start)
        return json.dumps({"generation": self.number, "macros": macros, "start": start}).encode()

    @staticmethod
    def decode(content: bytes) -> Generation:
        """Read it; raises `BadConfig`."""
        try:
            said = json.loads(content)
            macros = [Asked(definition_of(each["definition"]), int(each["version"])) for each in said["macros"]]
            start = None if said["start"] is None else offsets.from_json(said["start"])
            return Generation(int(said["generation"]), tuple(macros), start)
        except (ValueError, KeyError, TypeError) as error:
            raise BadConfig(f"{FILE} in the checkpoint cannot be read ({error!r}): begin another checkpoint") from None


def lowered(place: Place, group: str, behind: Mapping[bytes, int]) -> Place:
    """A place in a group that is not ahead of what some macros have behind them, by stream."""
    numbers: dict[str, int] = {}
    for stream, number in place.numbers.items():
        least = min(number, behind.get(Name.parse(f"{group}/{stream}").value, number))
        if least:
            numbers[stream] = least
    same = {stream: runs for stream, runs in place.holes.items() if numbers.get(stream) == place.number(stream)}
    return replace(place, numbers=numbers, holes=same)
