"""What is found when a lineage is checked (`roost.pipeline.ancestry`), level by level, and as a text for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from roost.naming import Name
from roost.wire.lineage import InputRange

_SHOWN: Final = 8  # of what is missing or refused, in a text


class Maker(NamedTuple):
    """What made a reading: the job as it is called, and the digest of its program."""

    job: str
    program: bytes


@dataclass(frozen=True, slots=True)
class Origin:
    """A stretch of a stream that something was made from, and what was found of it."""

    inputs: InputRange
    verified: int
    raw: int  # of these, name no inputs themselves
    signers: tuple[Name, ...]
    makers: tuple[Maker, ...]
    unnamed: int = 0  # inputs of these of which there is only a digest
    dropped: int = 0  # that retention has taken
    missing: tuple[int, ...] = ()
    refused: tuple[tuple[int, str], ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every reading is there, verified, and says where it comes from."""
        return not (self.unnamed or self.dropped or self.missing or self.refused)


@dataclass(frozen=True, slots=True)
class Ancestry:
    """Where a reading comes from, level by level; `is_cut` if the way back goes on behind the last one."""

    name: Name
    levels: tuple[tuple[Origin, ...], ...]
    is_cut: bool

    @property
    def raw(self) -> int:
        """How many raw readings it leads back to."""
        return sum(origin.raw for level in self.levels for origin in level)

    @property
    def is_whole(self) -> bool:
        """Whether everything it comes from is there and verified, back to raw readings."""
        return not self.is_cut and all(origin.is_whole for level in self.levels for origin in level)

    @property
    def is_sound(self) -> bool:
        """Whether nothing that was asked for is refused or unaccounted for; some may be dropped, or not named."""
        return not any(origin.refused or origin.missing for level in self.levels for origin in level)

    def text(self) -> str:
        """Show it to people."""
        lines = [line for depth, level in enumerate(self.levels) for origin in level for line in _lines(depth, origin)]
        end = f"it leads back to {self.raw} raw readings"
        if self.is_whole:
            end += ", and all that it comes from is there and verified"
        elif self.is_cut:
            end += " so far: there are more levels or readings than were asked for"
        else:
            end += ", but not all that it comes from is there and verified"
        return "\n".join([*lines, end])


def _lines(depth: int, origin: Origin) -> list[str]:
    low, high = origin.inputs.low, origin.inputs.high
    count = high - low + 1
    numbers = f"{low}" if count == 1 else f"{low}–{high}"
    signers = ", ".join(map(str, origin.signers)) or "nobody"
    lines = [f"{depth}  {origin.inputs.stream} {numbers}: {origin.verified} of {count} verified, signed by {signers}"]
    lines += [f"made by {maker.job or 'a program'}, SHA-256 {maker.program.hex()}" for maker in origin.makers]
    if origin.raw:
        lines.append(f"{origin.raw} raw")
    if origin.unnamed:
        lines.append(f"{origin.unnamed} inputs are too many to be named: their digest can be compared")
    if origin.dropped:
        lines.append(f"{origin.dropped} dropped by retention")
    if origin.missing:
        lines.append(f"{len(origin.missing)} missing: {_some(origin.missing)}")
    lines += [f"{number} refused: {reason}" for number, reason in origin.refused[:_SHOWN]]
    return [lines[0], *[f"   {line}" for line in lines[1:]]]


def _some(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers[:_SHOWN])) + (" …" if len(numbers) > _SHOWN else "")
