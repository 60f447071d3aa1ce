"""Blobs that are in files of their own: written piece by piece, mapped into memory, and never whole in it.

A blob of a durable member is a file in a folder beside its log, on the disk before it is published; of any other, a
file that is gone when the member leaves. What the log does not name is what a crash left behind, and is removed.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import secrets
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import BadConfig, InvalidInput

PIECE_BYTES: Final = 1 << 20

Source: TypeAlias = Path | AsyncIterable[bytes]


class BlobFiles:
    """The files of one member; without a folder they are for this run only."""

    def __init__(self, folder: Path | None) -> None:
        self._temporary: Final = tempfile.TemporaryDirectory(prefix="roost-blobs-") if folder is None else None
        self._folder: Final = Path(self._temporary.name) if self._temporary is not None else folder or Path()
        self._opened: Final[set[str]] = set()  # bound: what is kept

    def open(self, file: str) -> memoryview | None:
        """What a file holds; None if it is not there, or not ours."""
        path = self._folder / file
        if path.parent != self._folder or not path.is_file():
            return None
        self._opened.add(file)
        with path.open("rb") as opened:
            if not path.stat().st_size:
                return memoryview(b"")
            return memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))

    def sweep(self) -> None:
        """Remove what was not opened."""
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                if path.name not in self._opened:
                    path.unlink(missing_ok=True)

    async def take(self, source: Source) -> str:
        """Write a source into a file of its own; returns its name when it is on the disk."""
        file = f"{secrets.token_hex(8)}.blob"
        path = self._folder / file
        try:
            await asyncio.to_thread(self._folder.mkdir, mode=0o700, parents=True, exist_ok=True)
            with path.open("xb") as out:
                async for piece in _pieces(source):
                    await asyncio.to_thread(out.write, piece)
                out.flush()
                await asyncio.to_thread(os.fsync, out.fileno())
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                where = error.filename or self._folder
                raise BadConfig(f"{where}: {error.strerror or error}; nothing was published") from None
            raise
        return file

    def drop(self, file: str) -> None:
        """It is not needed any more; who has it mapped still has it."""
        self._opened.discard(file)
        (self._folder / file).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of what is for this run only."""
        if self._temporary is not None:
            self._temporary.cleanup()


async def _pieces(source: Source) -> AsyncIterator[bytes]:
    if not isinstance(source, Path):
        async for piece in source:
            if not isinstance(piece, (bytes, bytearray, memoryview)):
                raise InvalidInput(f"a blob comes in pieces of bytes, this one is of {type(piece).__name__}")
            yield bytes(piece)
        return
    with source.open("rb") as opened:
        while piece := await asyncio.to_thread(opened.read, PIECE_BYTES):
            yield piece
