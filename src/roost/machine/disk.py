"""What a machine keeps on disk: an append-only file per machine, and the promise that what is `Saved` is there.

The driver appends `data` to `file`, or replaces the whole file by it in one step, forces it to the disk and then, in
the order of the effects, hands back `Saved`. After a crash the file holds all that was `Saved`, and of what was not any
part of it or nothing; bits may have flipped. It is the machine's business to notice, so what it writes has checksums.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.machine.contract import Effect


@dataclass(frozen=True, slots=True)
class Save(Effect):
    """Append to a file, or replace it, and force it to the disk; answer with `Saved` of the same file and ticket."""

    file: str
    ticket: int
    data: bytes
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Saved:
    """Event: what was to be saved under this ticket, and all before it, is on the disk."""

    file: str
    ticket: int
