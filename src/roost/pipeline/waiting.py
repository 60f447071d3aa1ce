"""Windows of several inputs, which come one by one: each waits until all inputs have released it.

What waits is partial rows (`roost.pipeline.sums`), kept beside the checkpoint under the number of the batch
that left them: a batch that is done again finds what the batch before it left, and gives the same. When an input is
corrected after a window was given, the window is given again as a correction, with what the other inputs had; so the
last `KEPT` windows of each key are kept. Corrections are numbered here, because each input has numbers of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from roost.pipeline.archive.folder import Folder

KEPT: Final = 128  # windows of a key
_BATCHES: Final = 2  # whose leavings are kept: the last one, and that which it began with
_META: Final = b"roost"

Row = dict[str, Any]


@dataclass(slots=True)
class Held:
    """One window of one key: partial rows by input, and whether all were there once."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    given: bool = False


class Waiting:
    """The windows of one stage."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self._inputs: Final = tuple(inputs)
        self._held: Final[dict[str, dict[int, Held]]] = {}  # by key, window; bound: KEPT each
        self._corrections: Final[dict[str, int]] = {}
        self.unmatched = 0  # windows that an input never had, and that were given up

    def take(self, rows: pa.Table) -> pa.Table:
        """Take partial rows; those of all windows that are whole now come back, numbered if they are corrections."""
        touched: dict[tuple[str, int], set[str]] = {}
        taken = rows.to_pylist()
        newest: dict[tuple[str, int, str], int] = {}  # a long read may have a window and its correction
        for row in taken:
            place = (row["key"], row["window"], row["input"])
            newest[place] = max(newest.get(place, 0), row["correction"] or 0)
        for row in taken:
            if (row["correction"] or 0) < newest[row["key"], row["window"], row["input"]]:
                continue
            held = self._held.setdefault(row["key"], {}).setdefault(row["window"], Held())
            before = touched.setdefault((row["key"], row["window"]), set())
            if row["input"] not in before:  # what this input had before is replaced
                held.rows[row["input"]] = []
                before.add(row["input"])
            held.rows[row["input"]].append(row)
        found: list[Row] = []
        for key, window in sorted(touched):
            held = self._held[key][window]
            if len(held.rows) < len(self._inputs):
                continue
            correction = None
            if held.given:
                correction = self._corrections[key] = self._corrections.get(key, 0) + 1
            held.given = True
            found += [{**row, "correction": correction} for name in self._inputs for row in held.rows[name]]
        for key in sorted({key for key, _ in touched}):
            self._forget(self._held[key])
        return pa.Table.from_pylist(found, schema=rows.schema)

    def _forget(self, windows: dict[int, Held]) -> None:
        for window in sorted(windows)[: max(0, len(windows) - KEPT)]:
            self.unmatched += not windows.pop(window).given

    # -- on the disk

    def table(self, schema: pa.Schema) -> pa.Table:
        """All that is held, as rows."""
        kept = [
            (row, held.given)
            for windows in self._held.values()
            for held in windows.values()
            for rows in held.rows.values()
            for row in rows
        ]
        table = pa.Table.from_pylist([row for row, _ in kept], schema=schema.remove_metadata())
        table = table.append_column("given", pa.array([given for _, given in kept], pa.bool_()))
        told = {"corrections": self._corrections, "unmatched": self.unmatched}
        return table.replace_schema_metadata({_META: json.dumps(told, sort_keys=True).encode()})

    @staticmethod
    def of(inputs: Sequence[str], table: pa.Table | None) -> Waiting:
        """What a table says; nothing if there is none."""
        waiting = Waiting(inputs)
        if table is not None:
            told = json.loads(table.schema.metadata[_META])
            waiting._corrections.update(told["corrections"])
            waiting.unmatched = told["unmatched"]
            for row in table.to_pylist():
                given = row.pop("given")
                held = waiting._held.setdefault(row["key"], {}).setdefault(row["window"], Held())
                held.given = given
                held.rows.setdefault(row["input"], []).append(row)
        return waiting


class Kept:
    """What the batches of one stage leave, beside the checkpoint."""

    def __init__(self, folder: Folder, stage: str, inputs: Sequence[str]) -> None:
        self._folder: Final = folder
        self._path: Final = f"joins/{stage}"
        self._inputs: Final = tuple(inputs)

    def take(self, batch: int, rows: pa.Table) -> pa.Table:
        """Take the partial rows of a batch; the same batch gives the same, however often it is tried."""
        waiting = Waiting.of(self._inputs, self._before(batch))
        found = waiting.take(rows)
        buffer = pa.BufferOutputStream()
        pq.write_table(waiting.table(rows.schema), buffer)
        self._folder.write(f"{self._path}/{batch}.parquet", buffer.getvalue().to_pybytes())
        for number in self._numbers()[:-_BATCHES]:
            self._folder.remove(f"{self._path}/{number}.parquet")
        return found

    def _before(self, batch: int) -> pa.Table | None:
        earlier = [number for number in self._numbers() if number < batch]
        content = self._folder.read(f"{self._path}/{earlier[-1]}.parquet") if earlier else None
        return None if content is None else pq.read_table(pa.BufferReader(content))

    def _numbers(self) -> list[int]:
        names = [file.rpartition("/")[2].removesuffix(".parquet") for file in self._folder.files(self._path)]
        return sorted(int(name) for name in names if name.isdigit())
