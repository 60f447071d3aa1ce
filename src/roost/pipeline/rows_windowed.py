"""Rows with the columns of windows: which input and key they are for, which window, and which correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from roost.columns.decoding_rows import texts
from roost.columns.readings import READINGS, WINDOWED
from roost.naming import Name
from roost.pipeline.input import Input
from roost.pipeline.units import Unit
from roost.pipeline.windowing import Numbers, assigned, silences

Done = Sequence[tuple[Unit, int]]  # with how many rows each


def in_windows(inputs: Mapping[str, Input], done: Done, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Add the columns to the rows of some units, which stand one after the other, and rows that stand for silence."""
    times: Numbers = rows.column("event_time").cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    windows, starts = np.array(rows.column("seq")), np.maximum(times, 0)
    owners = np.repeat(np.arange(len(done)), [count for _, count in done])
    silent: list[tuple[int, int, str]] = []  # unit, window, what it says
    at = 0
    for index, (unit, count) in enumerate(done):
        part = slice(at, at + count)
        at += count
        length = inputs[unit.input].window_ns // 1000
        if length:  # else each reading is a window of its own
            windows[part] = assigned(unit, times[part], length)
            starts[part] = windows[part] * length
            silent += [(index, window, quality) for window, quality in silences(unit, windows[part])]
    keep = windows >= np.array([unit.first for unit, _ in done], np.int64)[owners]  # the rest was before the beginning
    if not keep.all():
        rows, windows, starts, owners = rows.filter(pa.array(keep)), windows[keep], starts[keep], owners[keep]
    if silent:
        rows = pa.concat_batches([rows, _silent(inputs, done, silent, rows)])
        owners = np.concatenate([owners, np.array([index for index, _, _ in silent])])
        windows = np.concatenate([windows, np.array([window for _, window, _ in silent])])
        lengths = [inputs[done[index][0].input].window_ns // 1000 for index, _, _ in silent]
        starts = np.concatenate([starts, windows[-len(silent) :] * np.array(lengths)])
    return _with_columns(rows, [unit for unit, _ in done], owners, windows, starts)


def _with_columns(
    rows: pa.RecordBatch, units: Sequence[Unit], owners: Numbers, windows: Numbers, starts: Numbers
) -> pa.RecordBatch:
    whose = pa.array(owners, pa.int64())
    added = [
        pa.array([unit.input for unit in units], pa.string()).take(whose),
        pa.array([unit.key or unit.stream for unit in units], pa.string()).take(whose),
        pa.array(windows, pa.int64()),
        pa.array(starts, pa.int64()).cast(WINDOWED.field("window_start").type),
        pa.array([unit.correction or None for unit in units], pa.int64()).take(whose),
    ]
    return pa.RecordBatch.from_arrays([*rows.columns, *added], schema=WINDOWED)


def _silent(
    inputs: Mapping[str, Input], done: Done, silent: Sequence[tuple[int, int, str]], rows: pa.RecordBatch
) -> pa.RecordBatch:
    """A row for each window in which a stream has nothing: no number, nothing expected, nothing received."""
    count = len(silent)
    units = [done[index][0] for index, _, _ in silent]
    named = [texts(Name.parse(f"{inputs[unit.input].group}/{unit.stream}")) for unit in units]
    arrival = rows.column("arrival_time")[0].value if len(rows) else 0
    cells: dict[str, list[object]] = {
        "stream": [name for name, *_ in named],
        "panel": [panel for _, panel, _, _ in named],
        "device": [device for _, _, device, _ in named],
        "metric": [metric for *_, metric in named],
        "quality": [quality for _, _, quality in silent],
        "arrival_time": [arrival] * count,
        "verified": [False] * count,
        **{name: [0] * count for name in ("seq", "expected", "received")},
    }
    arrays = [pa.array(cells.get(field.name, [None] * count), field.type) for field in READINGS]
    return pa.RecordBatch.from_arrays(arrays, schema=READINGS)
