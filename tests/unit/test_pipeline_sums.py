"""What a stream has in a window, summed up where it is read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from roost.columns.readings import WINDOWED
from roost.errors import BadConfig
from roost.pipeline.input import Input, Sums
from roost.pipeline.sums import check_sums, handed_out, summed_up

GROUP = "/Campus/Hall/Env"
PLAIN = Sums("quality <> 'bad'", names=True)
Row = dict[str, Any]


def row(seq: int, value: float | None, quality: str = "good", **more: object) -> Row:
    counts = {"expected": 0 if quality in ("open", "quiet") else 1, "received": int(value is not None)}
    made: Row = {
        "stream": f"{GROUP}/pi1/room1/temp",
        "seq": seq,
        "arrival_time": 0,
        "value": value,
        "unit": "Cel" if value is not None else None,
        "quality": quality,
        "panel": "pi1",
        "device": "room1",
        "metric": "temp",
        "verified": True,
        "input": "rooms.readings",
        "key": "room1",
        "window": 10,
        "window_start": 600_000_000,
        "correction": None,
    }
    return made | counts | more


def batch(*rows: Row) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=WINDOWED)


def summed(*rows: Row, sums: Sums = PLAIN) -> list[Row]:
    found: list[Row] = summed_up(batch(*rows), sums).to_pylist()
    return found


def test_a_window_is_one_row_that_says_what_is_there_and_what_is_not() -> None:
    rows = [row(7, 0.1), row(8, 0.2, "uncertain"), row(9, 99.0, "bad"), row(10, None, "missing"), row(0, None, "open")]
    (found,) = summed(*rows)
    assert (found["sum"], found["count"], found["min"], found["max"]) == (Decimal("0.3"), 2, 0.1, 0.2)
    assert (found["low"], found["high"], found["readings"]) == (7, 10, 4)
    assert (found["expected"], found["received"], found["lost"], found["open"]) == (4, 3, 1, 1)
    assert (found["doubtful"], found["absent"], found["quality"]) == (1, [10], "summed")
    assert (found["unit_low"], found["unit_high"]) == ("Cel", "Cel")


def test_a_value_becomes_a_decimal_by_its_text_and_what_is_none_does_not_count() -> None:
    values = (1e12 + 0.1, 0.1, 5e-10, 1e19, 1.2345678901234567e25, float("nan"), -float("inf"))
    (found,) = summed(*[row(number, value) for number, value in enumerate(values, 1)])
    assert found["sum"] == Decimal("1000000000000.200000001")
    assert (found["count"], found["received"]) == (3, 7)


def test_windows_streams_and_corrections_are_apart_and_each_reading_of_a_stream_of_corrections_too() -> None:
    corrected = {"stream": f"{GROUP}/pi1/room1/temp.corrections"}
    rows = [
        row(1, 1.0),
        row(2, 2.0, window=11),
        row(2, 3.0, window=11, correction=1),
        row(4, 4.0, **corrected),
        row(6, 5.0, **corrected),
    ]
    told = [(each["window"], each["correction"], each["low"], each["high"], each["sum"]) for each in summed(*rows)]
    assert sorted(told, key=str) == sorted(
        [(10, None, 1, 1, 1), (11, None, 2, 2, 2), (11, 1, 2, 2, 3), (10, None, 4, 4, 4), (10, None, 6, 6, 5)], key=str
    )


def test_conditions_count_usable_readings_that_meet_them() -> None:
    sums = Sums("quality = 'good'", ("value > 20", "metric = 'temp' and unit = 'Cel'"))
    (found,) = summed(row(1, 19.0), row(2, 21.0), row(3, 22.0, "bad"), sums=sums)
    assert found["matches"] == [1, 2]
    assert found["absent"] == []


def test_a_condition_that_fails_on_a_reading_does_not_hold_for_it() -> None:
    sums = Sums("value::int > 1", ("unit::double > 1", "value > 2"))
    (found,) = summed(row(1, 1e18), row(2, 5.0), row(3, 2.0), sums=sums)
    assert (found["sum"], found["count"], found["matches"]) == (7, 2, [0, 1])


def test_each_input_gets_sums_or_rows_or_both() -> None:
    inputs = {
        "sums": Input(GROUP, name="sums", window_ns=1, sums=PLAIN),
        "both": Input(GROUP, name="both", window_ns=1, sums=Sums("true", rows=True)),
        "rows": Input(GROUP, name="rows"),
    }
    read = batch(*[row(number, 1.0, input=name) for name in inputs for number in (1, 2)])
    found = [each for part in handed_out([read], inputs) for each in part.to_pylist()]
    told = [(each["input"], each["quality"], each["seq"], each["count"]) for each in found]
    assert told == [
        *[(name, "good", number, None) for name in ("both", "rows") for number in (1, 2)],
        ("sums", "summed", 1, 2),
        ("both", "summed", 1, 2),
    ]
    assert list(handed_out([], inputs)) == []


def test_a_condition_that_cannot_be_asked_is_refused_before_anything_runs() -> None:
    check_sums(PLAIN)
    with pytest.raises(BadConfig, match=r"a condition over readings \(true, valeu > 3\) cannot be asked: .*valeu"):
        check_sums(Sums("true", ("valeu > 3",)))


def test_what_an_input_wishes_summed_up_comes_back_from_its_text() -> None:
    wanted = Input(GROUP, window_ns=1, sums=Sums("true", ("value > 1",), names=True, rows=True))
    assert Input.from_json(wanted.to_json()) == wanted
