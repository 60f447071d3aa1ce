"""Files of one's own, row by row, and what is said of those that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from roost.cli._replay_rows import Columns, Row, read_rows
from roost.errors import BadConfig

EIGHT = 1_777_622_400 * 10**9  # 2026-05-01T08:00Z


def rows(path: Path, text: str, columns: Columns | None = None) -> list[Row]:
    file = path / "readings.csv"
    file.write_text(text)
    return list(read_rows(file, columns or Columns()))


def test_the_usual_columns(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        "time,stream,value,unit\n"
        "2026-05-01T08:00:00Z,hall/room1/temp,21.5,Cel\n"
        "2026-05-01T10:00:00.25+02:00,/hall/room1/state,open,\n"
        f"{EIGHT + 1},hall/room1/count,3,1\n"
        "2026-05-01 08:00:00,hall/room1/busy,true,\n",
    )
    assert found == [
        Row(EIGHT, "hall/room1/temp", 21.5, "Cel"),
        Row(EIGHT + 250_000_000, "hall/room1/state", "open", ""),
        Row(EIGHT + 1, "hall/room1/count", 3, "1"),
        Row(EIGHT, "hall/room1/busy", True, ""),
    ]
    assert isinstance(found[2].value, int)


def test_columns_of_another_name_and_a_file_of_one_stream(tmp_path: Path) -> None:
    columns = Columns(time="ts", value="watts", all_of="Heater/Power", only_unit="W", time_unit="s")
    assert rows(tmp_path, f"ts,watts\n{EIGHT // 10**9},71\n", columns) == [Row(EIGHT, "Heater/Power", 71, "W")]


def test_a_column_called_topic_is_as_good_as_one_called_stream(tmp_path: Path) -> None:
    assert rows(tmp_path, f"topic,time,value\na/b,{EIGHT},1\n") == [Row(EIGHT, "a/b", 1, "")]


def test_times_may_have_fractions_to_the_nanosecond(tmp_path: Path) -> None:
    times = ("1777622400.25", "1777622400.000000001", "1.7776224e9", "1777622400.")
    text = "time,stream,value\n" + "".join(f"{time},a/b,1\n" for time in times)
    found = [row.time - EIGHT for row in rows(tmp_path, text, Columns(time_unit="s"))]
    assert found == [250_000_000, 1, 0, 0]
    file = tmp_path / "readings.parquet"
    parquet.write_table(pa.table({"time": [1777622400.5], "stream": ["a/b"], "value": [1.5]}), file)
    assert [row.time - EIGHT for row in read_rows(file, Columns(time_unit="s"))] == [500_000_000]


def test_rows_without_a_value_are_passed_over_and_counted(tmp_path: Path) -> None:
    empty: list[None] = []
    file = tmp_path / "readings.csv"
    file.write_text(f"time,stream,value\n{EIGHT},a/b,\n{EIGHT},a/b,1\n,a/b, \n")
    assert [row.value for row in read_rows(file, Columns(), lambda: empty.append(None))] == [1]
    assert len(empty) == 2
    file = tmp_path / "readings.parquet"
    values = pa.array([None, float("nan"), 2.5])
    parquet.write_table(pa.table({"time": [EIGHT] * 3, "stream": ["a/b"] * 3, "value": values}), file)
    assert [row.value for row in read_rows(file, Columns(), lambda: empty.append(None))] == [2.5]
    assert len(empty) == 4


def test_parquet_with_its_own_types(tmp_path: Path) -> None:
    file = tmp_path / "readings.parquet"
    when = pa.array([EIGHT, EIGHT + 1_000], pa.timestamp("ns", "UTC"))
    parquet.write_table(pa.table({"time": when, "stream": ["a/b", "a/c"], "value": [1.5, 2.5]}), file)
    assert list(read_rows(file, Columns())) == [Row(EIGHT, "a/b", 1.5, ""), Row(EIGHT + 1_000, "a/c", 2.5, "")]
    naive = [datetime(2026, 5, 1, 8, tzinfo=UTC).replace(tzinfo=None)]
    parquet.write_table(pa.table({"time": naive, "topic": ["a/b"], "value": ["on"], "unit": ["x"]}), file)
    assert list(read_rows(file, Columns())) == [Row(EIGHT, "a/b", "on", "x")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "when,stream,value\n1,a/b,2\n",
            "no column 'time', it has when, stream, value; say which one it is with --time",
        ),
        ("time,value\n1,2\n", "no column says which stream"),
        (f"time,stream,value\n{EIGHT},a/b,\n1.2.3,a/b,1\n", "row 3: time '1.2.3' is none"),
        ("time,stream,value\nsoon,a/b,1\n", "row 2: time 'soon' is none"),
        ("time,stream,value\n-5,a/b,1\n", "row 2: time '-5' is before 1970"),
        (f"time,stream,value\n{EIGHT},,1\n", "row 2: stream is empty"),
        (f"time,stream,value\n{EIGHT},a/b\n", "row 2: it has not as many columns as the header"),
        (f'time,stream,value\n{EIGHT},"a/b,1\n', "it is no CSV"),
    ],
)
def test_what_is_wrong_is_told_with_its_row(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadConfig) as raised:
        rows(tmp_path, text)
    assert said in str(raised.value)


def test_files_that_are_not_there_or_not_what_they_are_called(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="cannot be read: No such file"):
        list(read_rows(tmp_path / "none.csv", Columns()))
    (tmp_path / "fake.parquet").write_text("time,stream,value\n")
    with pytest.raises(BadConfig, match="cannot be read as Parquet"):
        list(read_rows(tmp_path / "fake.parquet", Columns()))
    (tmp_path / "latin.csv").write_bytes(b"time,stream,value\n1,a/b,\xe9\n")
    with pytest.raises(BadConfig, match="not UTF-8"):
        list(read_rows(tmp_path / "latin.csv", Columns()))


def test_a_file_with_semicolons_is_told_to_have_commas(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="separated by semicolons; write commas"):
        rows(tmp_path, "time;stream;value\n2026-05-01T08:00:00Z;hall/room1/temp;21,5\n")
