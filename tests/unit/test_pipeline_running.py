"""What a running pipeline keeps on its driver: origins, windows that wait for each other, how it goes. No Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from roost.cli._supervised import summary
from roost.errors import BadConfig
from roost.pipeline.archive.folder import Folder
from roost.pipeline.graph import Pipeline
from roost.pipeline.measuring import BATCHES, Batch, Measured
from roost.pipeline.origins import Origins
from roost.pipeline.waiting import KEPT, Kept, Waiting

SECOND = 1_000_000_000
MINUTE = 60 * SECOND

PIPELINE = (
    Pipeline("hall")
    .stage("rooms")
    .read("/Campus/Hall/Env", window="1m", key="{device}/{metric}")
    .aggregate(mean="mean")
    .publish("/Campus/Hall/Rooms", "calc")
)


# -- origins


class Group:
    """A group's repos, and how often they were asked."""

    def __init__(self, held: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.held = dict(held or {})
        self.asked: list[tuple[str, list[str]]] = []

    def ask(self, group: str, streams: Sequence[str]) -> dict[str, tuple[int, int]]:
        self.asked.append((group, list(streams)))
        return {each: self.held[each] for each in streams if each in self.held}


def results(*rows: tuple[str, int, int | None]) -> pa.Table:
    """Outputs, windows and corrections."""
    columns = list(zip(*rows, strict=True))
    return pa.table(
        {
            "stage": ["rooms"] * len(rows),
            "output": list(columns[0]),
            "number": pa.array(columns[1], pa.int64()),
            "correction": pa.array(columns[2], pa.int64()),
        }
    )


def numbers(table: pa.Table) -> list[tuple[str, int]]:
    return list(zip(table["output"].to_pylist(), table["number"].to_pylist(), strict=True))


def test_a_stream_begins_with_its_first_window_and_is_asked_for_once() -> None:
    group = Group()
    origins = Origins(PIPELINE, group.ask)
    assert numbers(origins.numbered(results(("a/x", 12, None), ("a/x", 11, None), ("b/x", 20, None)))) == [
        ("a/x", 2),
        ("a/x", 1),
        ("b/x", 1),
    ]
    assert numbers(origins.numbered(results(("a/x", 15, None)))) == [("a/x", 5)]
    assert group.asked == [("/Campus/Hall/Rooms", ["calc/a/x", "calc/b/x"])]


def test_a_stream_that_is_there_goes_on() -> None:
    origins = Origins(PIPELINE, Group({"calc/a/x": (3, 12 * MINUTE)}).ask)
    assert numbers(origins.numbered(results(("a/x", 13, None), ("a/x", 11, 1)))) == [("a/x", 4), ("a/x", 2)]


def test_windows_before_the_first_have_no_number_and_are_counted() -> None:
    origins = Origins(PIPELINE, Group({"calc/a/x": (3, 12 * MINUTE)}).ask)
    assert numbers(origins.numbered(results(("a/x", 9, None), ("a/x", 10, None)))) == [("a/x", 1)]
    assert origins.before == 1


def test_a_correction_of_a_window_before_the_first_is_told_so_that_corrections_have_no_gap() -> None:
    origins = Origins(PIPELINE, Group({"calc/a/x": (3, 12 * MINUTE)}).ask)
    assert numbers(origins.numbered(results(("a/x", 8, 1), ("a/x", 10, 2)))) == [("a/x", 0), ("a/x", 1)]
    assert origins.before == 0


def test_a_correction_begins_no_stream() -> None:
    origins = Origins(PIPELINE, Group().ask)
    assert numbers(origins.numbered(results(("a/x", 9, 1)))) == [("a/x", 0)]
    assert numbers(origins.numbered(results(("a/x", 10, None)))) == [("a/x", 1)]


def test_origins_are_kept_beside_the_checkpoint(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    Origins(PIPELINE, Group().ask, folder).numbered(results(("a/x", 11, None)))
    group = Group({"calc/a/x": (1, 99 * MINUTE)})
    assert numbers(Origins(PIPELINE, group.ask, folder).numbered(results(("a/x", 12, None)))) == [("a/x", 2)]
    assert group.asked == []
    (tmp_path / "origins.json").write_text("[]")
    with pytest.raises(BadConfig, match=r"origins\.json beside the checkpoint cannot be read"):
        Origins(PIPELINE, group.ask, folder)


# -- windows that wait


def halves(*rows: tuple[str, str, int, float]) -> pa.Table:
    """Inputs, keys, windows and sums."""
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return pa.table(
        {
            "input": pa.array(columns[0], pa.string()),
            "key": pa.array(columns[1], pa.string()),
            "window": pa.array(columns[2], pa.int64()),
            "sum": pa.array(columns[3], pa.float64()),
            "correction": pa.array([None] * len(rows), pa.int64()),
        }
    )


def found(table: pa.Table) -> list[tuple[str, int, float, int | None]]:
    names = ("input", "window", "sum", "correction")
    return list(zip(*[table[name].to_pylist() for name in names], strict=True))


def test_a_window_waits_for_all_its_inputs() -> None:
    waiting = Waiting(["a", "b"])
    assert found(waiting.take(halves(("a", "k", 1, 1.0), ("a", "k", 1, 2.0)))) == []
    assert found(waiting.take(halves(("b", "other", 1, 9.0)))) == []
    assert found(waiting.take(halves(("b", "k", 1, 3.0)))) == [
        ("a", 1, 1.0, None),
        ("a", 1, 2.0, None),
        ("b", 1, 3.0, None),
    ]


def test_of_a_window_and_its_correction_in_one_read_only_the_correction_counts() -> None:
    rows = halves(("a", "k", 1, 1.0), ("a", "k", 1, 5.0), ("b", "k", 1, 2.0), ("a", "k", 1, 3.0))
    rows = rows.set_column(4, "correction", pa.array([None, 2, None, 1], pa.int64()))
    assert found(Waiting(["a", "b"]).take(rows)) == [("a", 1, 5.0, None), ("b", 1, 2.0, None)]


def test_a_window_that_was_given_is_given_again_as_a_correction() -> None:
    waiting = Waiting(["a", "b"])
    waiting.take(halves(("a", "k", 1, 1.0), ("b", "k", 1, 2.0), ("a", "k", 2, 1.0), ("b", "k", 2, 2.0)))
    assert found(waiting.take(halves(("b", "k", 1, 5.0)))) == [("a", 1, 1.0, 1), ("b", 1, 5.0, 1)]
    assert found(waiting.take(halves(("a", "k", 2, 6.0)))) == [("a", 2, 6.0, 2), ("b", 2, 2.0, 2)]


def test_what_never_matches_is_given_up_and_counted() -> None:
    waiting = Waiting(["a", "b"])
    waiting.take(halves(*[("a", "k", window, 0.0) for window in range(KEPT + 3)]))
    assert waiting.unmatched == 3
    assert found(waiting.take(halves(("b", "k", 2, 0.0)))) == []
    assert len(found(waiting.take(halves(("b", "k", 50, 0.0))))) == 2


def test_a_batch_that_is_done_again_gives_the_same(tmp_path: Path) -> None:
    batches = [
        halves(("a", "k", 1, 1.0)),
        halves(("b", "k", 1, 2.0)),
        halves(("a", "k", 1, 3.0)),
        halves(("b", "k", 1, 4.0)),
    ]
    straight = Kept(Folder(tmp_path / "one"), "s", ["a", "b"])
    expected = [found(straight.take(number, batch)) for number, batch in enumerate(batches)]
    for number, batch in enumerate(batches):
        for _ in range(3):
            kept = Kept(Folder(tmp_path / "two"), "s", ["a", "b"])  # a new driver each time
            assert found(kept.take(number, batch)) == expected[number]
    assert expected[3] == [("a", 1, 3.0, 2), ("b", 1, 4.0, 2)]
    assert sorted(path.name for path in (tmp_path / "two/joins/s").iterdir()) == ["2.parquet", "3.parquet"]


# -- how it goes


def test_rates_lag_and_completeness_are_of_the_last_batches() -> None:
    measured = Measured(["rooms", "floors"], 0)
    for at in range(1, BATCHES + 11):
        measured.note(at * SECOND, {"rooms": Batch(10, 5, 10, 9, (at - 2) * SECOND)})
    told = measured.status((BATCHES + 10) * SECOND)
    assert told["rooms"] == {
        "rows": 10 * (BATCHES + 10),
        "rows_per_s": 10.0,
        "results_per_s": 5.0,
        "lag_s": 2.0,
        "expected": 10 * (BATCHES - 1),
        "received": 9 * (BATCHES - 1),
        "completeness": 0.9,
        "last_batch_ns": (BATCHES + 10) * SECOND,
    }
    assert told["floors"]["lag_s"] is None
    assert told["floors"]["last_batch_ns"] is None
    assert told["floors"]["completeness"] is None


def test_the_line_about_how_it_goes_names_the_stage_that_lags_most() -> None:
    measured = Measured(["rooms", "floors"], 0)
    assert "nothing published yet" in summary({"stages": measured.status(SECOND)})
    measured.note(SECOND, {"rooms": Batch(20, 4, 4, 3, SECOND), "floors": Batch(2, 1, 4, 4, 0)})
    measured.note(2 * SECOND, {"floors": Batch(2, 1, 0, 0, SECOND // 2)})
    line = summary({"stages": measured.status(2 * SECOND)})
    assert line == "12 readings/s in, 3 results/s out, lag 1.5 s (floors), 87.50 % complete"
