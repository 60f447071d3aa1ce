"""The many small files of a day made few: what is written once a minute is read for years.

New file, manifest replaced, old files removed: `Writer.replace`, which may be stopped anywhere. Files of half the bound
and more are left as they are, the others are put together as far as they fit, so all but one file of a day have at
least half of it, and compacting again changes nothing.
"""

from __future__ import annotations

from typing import Final

from roost.pipeline.archive.layout import day_of
from roost.pipeline.archive.writing import Writer

MAX_ROWS: Final = 1_000_000  # of a compacted file; about 0.5 GB of memory while it is written


def compact(writer: Writer, *, at_least: int = 2, before: str = "", max_rows: int = MAX_ROWS) -> int:
    """Compact the days, all or those before one, that have so many small files; how many files are gone."""
    days: dict[str, list[str]] = {}
    for path, rows in sorted(writer.manifest.files.items()):
        if rows < max_rows // 2 and (not before or day_of(path) < before):
            days.setdefault(day_of(path), []).append(path)
    gone = 0
    for day, small in days.items():
        if len(small) < at_least:
            continue
        for chosen in _packed(writer, small, max_rows):
            writer.replace(day, chosen)
            gone += len(chosen) - 1
    return gone


def _packed(writer: Writer, small: list[str], max_rows: int) -> list[list[str]]:
    """The files that go together, in order; one alone stays."""
    packs: list[list[str]] = [[]]
    room = max_rows
    for path in small:
        rows = writer.manifest.files[path]
        if rows > room:
            packs.append([])
            room = max_rows
        packs[-1].append(path)
        room -= rows
    return [pack for pack in packs if len(pack) > 1]
