"""Past readings in the order in which macros are replayed over them: by time, stream and number; sorted on the disk.

Readings come in any order: by stream from repos, by day from an archive, as somebody wrote them in a file. They are put
into a temporary file, which takes as much room as they do, and can then be read as often as wanted. A reading of a
group that comes twice is there once. Readings of no stream that have the same time stay in the order in which they
came.
"""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, Self

from roost.process.sample import Sample

_AT_ONCE: Final = 1000
_TABLE: Final = """CREATE TABLE samples
    (time INTEGER, stream BLOB, number INTEGER, rest BLOB, PRIMARY KEY (time, stream, number)) WITHOUT ROWID"""


class Spool:
    """Samples on the disk; use it with `with`."""

    def __init__(self) -> None:
        self._rows: Final = sqlite3.connect("", isolation_level=None)  # a file of its own, gone when it is closed
        self._rows.execute("PRAGMA journal_mode=OFF")
        self._rows.execute(_TABLE)
        self._came = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()

    def __len__(self) -> int:
        found = self._rows.execute("SELECT count(*) FROM samples").fetchone()
        return int(found[0])

    def add(self, samples: Iterable[Sample]) -> int:
        """Put samples in; how many were new."""
        before = self._rows.total_changes
        self._rows.execute("BEGIN")
        try:
            self._rows.executemany("INSERT OR IGNORE INTO samples VALUES (?, ?, ?, ?)", map(self._row, samples))
        finally:
            self._rows.execute("COMMIT")
        return self._rows.total_changes - before

    def __iter__(self) -> Iterator[Sample]:
        rows = self._rows.execute("SELECT time, stream, number, rest FROM samples ORDER BY time, stream, number")
        while several := rows.fetchmany(_AT_ONCE):
            for time, stream, number, rest in several:
                topic, value, unit, quality = marshal.loads(rest)  # noqa: S302  this process wrote it
                yield Sample(topic, time, value, unit, quality, stream, number if stream else 0)

    def _row(self, sample: Sample) -> tuple[int, bytes, int, bytes]:
        self._came += 1
        rest = marshal.dumps((sample.topic, sample.value, sample.unit, sample.quality))
        return sample.time, sample.stream, sample.number if sample.stream else self._came, rest
