"""What the processor asks its driver to do, and where a macro stands.

`Publish` carries a result, with its lineage: the readings it was made of, and the digest of the program. The `Keep…`
effects make a macro durable; what a driver kept it hands back with `Processor.restore`.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.machine import Effect
from roost.process.definition import Definition
from roost.process.engine import Inputs
from roost.process.sample import Sample


@dataclass(slots=True)
class Publish(Effect):
    """Publish a result on its topic, as the reading of this stream and number if it has them.

    Not frozen, as effects are, for it is made with every result, and freezing would cost more than making it.
    """

    name: str
    topic: str
    payload: bytes
    format: int
    time: int  # event time
    cause: Sample  # what activated the macro
    given: Inputs  # what the run was given
    program: bytes  # the digest
    version: int  # of the definition, on this node
    stream: bytes = b""
    number: int = 0

    @property
    def inputs(self) -> tuple[tuple[bytes, int], ...]:
        """Stream and number of every reading of a group that was used, each once."""
        given = self.given.values()
        return tuple(
            dict.fromkeys([(each.stream, each.number) for samples in given for each in samples if each.stream])
        )


@dataclass(frozen=True, slots=True)
class KeepState(Effect):
    """Keep what a macro wants to find the next time; it holds from behind the sample that activated it."""

    name: str
    state: bytes
    version: int
    cause: Sample


@dataclass(frozen=True, slots=True)
class KeepDefinition(Effect):
    """Keep a definition; this version runs for everything behind the position, the one before for all up to it."""

    definition: Definition
    version: int
    position: tuple[tuple[bytes, int], ...]  # stream and number of the last reading of each that activated it


@dataclass(frozen=True, slots=True)
class ForgetDefinition(Effect):
    """Forget a definition and the state; it ran for everything up to the position."""

    name: str
    version: int
    position: tuple[tuple[bytes, int], ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a macro stands: all that it needs to go on, after a restart or on another node, as if nothing had been."""

    version: int = 1
    state: bytes = b""
    position: tuple[tuple[bytes, int], ...] = ()
    used: tuple[tuple[str, tuple[bytes, int, int]], ...] = ()  # by its trigger: filter, and mark of the newest sample
    due: int = 0  # when it is to run next, if it runs every n seconds and something is new
