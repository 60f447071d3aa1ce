"""What a stage of macros leaves when a batch is done, for the next one: a file for each of the last batches.

The file of a batch is written before its results are published: a batch that is done again begins with what the one
before it left. In place of the first batch's predecessor stands what all begins with (`BEGIN`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import cbor2

from roost.pipeline.archive.folder import Folder
from roost.pipeline.macros_past import Left

BEGIN: Final = -1
_BATCHES: Final = 2  # whose leavings are kept: the last one, and that which it began with


class Leavings:
    """What the batches of one stage leave; in a folder beside the checkpoint."""

    def __init__(self, folder: Folder, stage: str) -> None:
        self._folder: Final = folder
        self._path: Final = f"macros/{stage}"

    def last(self) -> tuple[int, Left, bool]:
        """The last batch that left something, what that was, and whether all macros go together."""
        at = max(self._numbers(), default=BEGIN)
        return at, *self._read(at)

    def before(
        self, batch: int, topics: Sequence[str], ask: Callable[[Sequence[str]], dict[str, int]]
    ) -> tuple[Left, bool]:
        """What a batch begins with, and whether all macros go together."""
        at = max((number for number in self._numbers() if number < batch), default=BEGIN)
        left, together = self._read(at)
        unknown = [topic for topic in topics if topic not in left.numbers]
        if unknown:  # and it has to be the same when this batch is done again
            left = replace(left, numbers={**left.numbers, **ask(unknown)})
            self.keep(at, left, together=together)
        return left, together

    def keep(self, batch: int, left: Left, *, together: bool) -> None:
        """Keep what a batch leaves."""
        self._folder.write(f"{self._path}/{batch}.cbor", cbor2.dumps([together, left.encode()]))
        for number in self._numbers()[:-_BATCHES]:
            self._folder.remove(f"{self._path}/{number}.cbor")

    def _read(self, batch: int) -> tuple[Left, bool]:
        content = self._folder.read(f"{self._path}/{batch}.cbor")
        together, said = (False, b"") if content is None else cbor2.loads(content)
        return Left.decode(said) if said else Left(), together

    def _numbers(self) -> list[int]:
        names = [file.rpartition("/")[2].removesuffix(".cbor") for file in self._folder.files(self._path)]
        return sorted(int(name) for name in names if name.lstrip("-").isdigit())
