"""Into the archive, exactly once: readings become files, then the manifest lists them, and only then do they count.

    files of new readings written   →   manifest replaced   →   files that it no longer lists removed

Stopped between any two steps, the next writer finds files that the manifest does not list. It looks into them: readings
that the archive has already make the file superfluous, new ones are taken in. So nothing is double, nothing that lies
here is fetched again, and a manifest that was lost is made anew from the files. A reading counts by its number: handed
in again, it is not written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from roost.pipeline.archive.layout import ARCHIVED, LOCK, MANIFEST, by_day, encoded, path_of, runs_of, sorted_rows
from roost.pipeline.archive.manifest import GroupArchive

KEYS: Final = ["stream", "seq"]


class Writer:
    """Writes the archive of a group; made by `open_writer`, which holds its lock."""

    def __init__(self, archive: GroupArchive) -> None:
        self.archive: Final = archive
        self.manifest: Final = archive.manifest()
        self.mended = 0  # files that a stopped writer had left
        self._mend()

    def add(self, rows: pa.Table, dropped: Iterable[tuple[str, int, int]] = ()) -> int:
        """Archive readings, those that are not yet; how many that were."""
        new = self._new(sorted_rows(rows.select(ARCHIVED.names).cast(ARCHIVED)))
        gone = [(stream, low, high) for stream, low, high in dropped if self.manifest.dropped.lacks(stream, low, high)]
        if not new.num_rows and not gone:
            return 0
        for day, each in by_day(new):
            self._write(day, each)
        self.manifest.dropped.add_all(gone)
        self._save()
        count: int = new.num_rows
        return count

    def replace(self, day: str, old: list[str]) -> None:
        """Put the readings of some files of a day into one file."""
        tables = [self.read(path) for path in old]
        rows = sorted_rows(pa.concat_tables(tables))
        for path in old:
            del self.manifest.files[path]
        self._write(day, rows)
        self._save()
        for path in old:
            if path not in self.manifest.files:
                self.archive.folder.remove(f"{self.archive.path}/{path}")

    def read(self, path: str, columns: list[str] | None = None) -> pa.Table:
        """The rows of a file, as they are sorted."""
        folder = self.archive.folder
        return pq.read_table(
            folder.inside(f"{self.archive.path}/{path}"),
            columns=columns,
            filesystem=folder.filesystem,
            partitioning=None,
        )

    def _rows(self, path: str) -> int:
        folder = self.archive.folder
        rows: int = pq.read_metadata(
            folder.inside(f"{self.archive.path}/{path}"), filesystem=folder.filesystem
        ).num_rows
        return rows

    def _write(self, day: str, rows: pa.Table) -> None:
        runs = runs_of(rows)
        path = path_of(self.archive.group, day, runs)
        self.archive.folder.write(f"{self.archive.path}/{path}", encoded(rows))
        self.manifest.files[path] = rows.num_rows
        self.manifest.covered.add_all(runs)

    def _save(self) -> None:
        self.archive.folder.write(f"{self.archive.path}/{MANIFEST}", self.manifest.encode(self.archive.group))

    def _new(self, rows: pa.Table) -> pa.Table:
        """Those of sorted rows that are not in the archive."""
        chosen = np.zeros(rows.num_rows, bool)
        at = 0
        for stream, low, high in runs_of(rows):
            for begin, end in self.manifest.covered.lacks(stream, low, high):
                chosen[at + begin - low : at + end - low + 1] = True
            at += high - low + 1
        return rows if chosen.all() else rows.filter(pa.array(chosen))

    # -- what a stopped writer left

    def _mend(self) -> None:
        """Take in, or remove, the files that the manifest does not list; the largest first, as it may hold others."""
        below = len(self.archive.path) + 1
        found = [path[below:] for path in self.archive.folder.files(self.archive.path)]
        left = [path for path in found if path not in self.manifest.files and path.startswith("day=")]
        whole = [path for path in left if path.endswith(".parquet") and not path.rpartition("/")[2].startswith(".")]
        for path in sorted(whole, key=lambda path: (-self._rows(path), path)):
            keys = self.read(path, KEYS)
            new = self._new(keys)
            if new.num_rows == keys.num_rows:
                self.manifest.files[path] = new.num_rows
                self.manifest.covered.add_all(runs_of(new))
            elif new.num_rows:
                self.add(self.read(path))
        self.mended = len(left)
        if left:
            self._save()
        for path in left:
            if path not in self.manifest.files:
                self.archive.folder.remove(f"{self.archive.path}/{path}")


@contextmanager
def open_writer(archive: GroupArchive) -> Iterator[Writer]:
    """Write a group's archive; one process at a time."""
    with archive.folder.locked(f"{archive.path}/{LOCK}"):
        yield Writer(archive)
