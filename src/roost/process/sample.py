"""A sample: one reading as macros see it, with its value, its unit and where it came from.

A number, JSON or text is itself; SenML of one record is its value, of several an object by their names; what is none
of these is bytes. What is not of the format it claims to be is text or bytes as well: a macro decides what it takes.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

Plain: TypeAlias = "bool | int | float | str | bytes | list[Plain] | dict[str, Plain] | None"

GOOD: Final = "good"


class Sample(NamedTuple):
    """One reading of a topic; `stream` and `number` are empty for what belongs to no group.

    A result of a macro has the `root` that set it off, through however many macros: stream and number of a reading that
    is no result. Wherever and as often as the same is worked out, it is the same.
    """

    topic: str
    time: int  # event time, nanoseconds since 1970
    value: Plain
    unit: str = ""
    quality: str = GOOD
    stream: bytes = b""  # the name of the stream, as bytes
    number: int = 0
    root: tuple[bytes, int] = (b"", 0)

    @property
    def origin(self) -> tuple[bytes, int]:
        """The reading that it comes from in the end, which may be itself; nothing if that belongs to no group."""
        return self.root if self.root[0] else (self.stream, self.number)
