"""Small forms of the API: values for people, buckets of charts, tables, and what a client of /live may say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from roost.host.http.answers import Problem
from roost.machine import SECOND
from roost.web.api import live_client
from roost.web.api.buckets import told
from roost.web.api.curves import EMPTY, Curve, joined
from roost.web.api.live_client import MAX_NAMES, Wish, wish_of
from roost.web.api.tables import arrow, csv
from roost.web.api.wording import MAX_TEXT, wording

START = 1_790_000_000 * SECOND


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (21.5, "Cel", "21.5 °C"),
        (1234567, "W", "1,234,567 W"),
        (0.1 + 0.2, "", "0.3"),
        (45, "%", "45%"),
        (45, "%RH", "45 % RH"),
        (True, "", "yes"),
        (None, "V", "–"),
        (b"\x00\x01", "", "2 bytes"),
        ("two\nlines", "", "two lines"),
        ({"a": 1}, "", '{"a": 1}'),
        ({"value": 21.12, "expected": 55}, "Cel", "21.12 °C"),
        ({"value": "on"}, "", '{"value": "on"}'),
    ],
)
def test_a_value_is_short_and_has_its_unit(value: object, unit: str, text: str) -> None:
    assert wording(value, unit) == text


def test_a_long_value_is_cut() -> None:
    assert len(wording("x" * 1000, "")) == MAX_TEXT


def curve(values: list[float], step_s: float = 10) -> Curve:
    numbers = np.arange(1, len(values) + 1)
    times = START // 1000 + np.arange(len(values)) * round(step_s * 1_000_000)
    return Curve(numbers, times.astype(np.int64), np.array(values), "Cel")


def test_few_points_are_told_as_they_are() -> None:
    assert told(curve([1.0, 2.0]), 0, START + 100 * SECOND, 2) == {
        "points": [[START, 1.0, 1], [START + 10 * SECOND, 2.0, 2]]
    }


def test_buckets_have_every_reading_once_and_lose_no_peak() -> None:
    values = [float(at % 7) for at in range(1000)]
    values[500] = 99.0
    found: Any = told(curve(values), 0, START + 10**6 * SECOND, 20)["buckets"]
    assert len(found) == 20
    assert sum(bucket[4] for bucket in found) == 1000
    assert max(bucket[3] for bucket in found) == 99.0
    assert sum(bucket[2] * bucket[4] for bucket in found) == pytest.approx(sum(values))
    middles = [bucket[0] for bucket in found]
    assert middles == sorted(middles)
    assert START <= middles[0] < middles[-1] <= START + 10_000 * SECOND


def test_buckets_of_readings_that_came_out_of_order_or_at_one_time() -> None:
    late = curve([1.0, 2.0, 3.0, 4.0])
    late = late._replace(times_us=late.times_us[::-1].copy())
    found: Any = told(late, 0, START + 10**6 * SECOND, 2)["buckets"]
    assert [(bucket[1], bucket[3], bucket[4]) for bucket in found] == [(3.0, 4.0, 2), (1.0, 2.0, 2)]
    at_once = curve([1.0, 2.0, 3.0], step_s=0)
    assert told(at_once, 0, START + SECOND, 2) == {"buckets": [[START, 1.0, 2.0, 3.0, 3]]}


def test_what_is_no_number_or_cannot_be_read_has_no_point() -> None:
    odd = curve([1.0, float("nan"), 3.0, 4.0])
    odd = odd._replace(times_us=np.where(odd.numbers == 4, -1, odd.times_us))
    inside = odd.between(1, 0, START + 10**6 * SECOND)
    assert inside.numbers.tolist() == [1, 2, 3], "the second is a reading"
    assert told(inside, 0, START + SECOND, 5) == {"points": [[START, 1.0, 1], [START + 20 * SECOND, 3.0, 3]]}


def test_a_curve_between_times_and_from_a_number_on() -> None:
    whole = curve([1.0, 2.0, 3.0, 4.0])
    inside = whole.between(2, START, START + 20 * SECOND)
    assert inside.values.tolist() == [2.0, 3.0]
    assert joined([]) is EMPTY
    both = joined([whole, inside])
    assert (len(both.values), both.unit) == (6, "Cel")


ROWS: list[dict[str, object]] = [
    {"stream": "/a", "number": 1, "time": START, "value": 1.5, "unit": "Cel", "quality": "good"},
    {"stream": "/a", "number": 2, "time": START + 1, "value": '=cmd|" /C calc"!A0', "unit": "", "quality": "good"},
    {"stream": "/a", "number": 3, "time": START + 2, "value": {"a": 1}, "unit": "", "quality": "good"},
    {"stream": "/a", "number": 4, "time": None, "value": None, "unit": "", "quality": "sealed"},
    {"stream": "/a", "number": 5, "time": START + 4, "value": True, "unit": "", "quality": "good"},
    {"stream": "/a", "number": 6, "time": START + 5, "value": 10**320, "unit": "", "quality": "good"},
]


def test_csv_has_a_line_for_each_reading_and_nothing_that_a_spreadsheet_would_carry_out() -> None:
    lines = (csv(ROWS, "temp").text or "").split("\r\n")
    assert lines[0] == "stream,number,time,value,unit,quality"
    assert lines[1] == f"/a,1,{START},1.5,Cel,good"
    assert lines[2].startswith(f"/a,2,{START + 1},\"'=cmd")
    assert lines[3] == f'/a,3,{START + 2},"{{""a"": 1}}",,good'
    assert lines[4] == "/a,4,,,,sealed"
    assert lines[5:] == [f"/a,5,{START + 4},true,,good", f"/a,6,{START + 5},1{'0' * 320},,good", ""]


def test_arrow_has_numbers_as_numbers_and_the_rest_as_text() -> None:
    body = arrow(ROWS, "temp").body
    assert isinstance(body, bytes)
    table = pa.ipc.open_stream(body).read_all()
    assert table.column("value").to_pylist() == [1.5, None, None, None, 1.0, None]
    assert table.column("time").cast("int64").to_pylist() == [START, START + 1, START + 2, None, START + 4, START + 5]
    assert table.column("text").to_pylist()[2:] == ['{"a": 1}', None, None, f"1{'0' * 320}"]


def test_half_a_character_of_a_sensor_spoils_no_table() -> None:
    halves: list[dict[str, object]] = [ROWS[1] | {"value": value, "unit": "\ud83d"} for value in ("\ud800", ["\ud800"])]
    assert (csv(halves, "temp").text or "").splitlines()[1] == f"/a,2,{START + 1},?,?,good"
    body = arrow(halves, "temp").body
    assert isinstance(body, bytes)
    table = pa.ipc.open_stream(body).read_all()
    assert table.column("text").to_pylist() == ["?", '["?"]']
    assert table.column("unit").to_pylist() == ["?", "?"]


def test_a_table_is_a_file_whose_name_nobody_can_break_out_of() -> None:
    headers = csv(ROWS, 'te"mp\r\nSet-Cookie: ä').headers
    assert headers["Content-Disposition"] == 'attachment; filename="te_mp__Set-Cookie___.csv"'


def test_a_wish_is_what_was_said() -> None:
    assert wish_of({"streams": ["/a", "/a"], "topics": ["#"], "latest": True, "every_ms": 500}) == Wish(
        ("/a",), ("#",), all=False, latest=True, every_ms=500
    )
    assert wish_of({}) == Wish()


def test_of_many_streams_whose_newest_is_wanted_each_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_client, "MAX_SENT", 2)
    client: Any = live_client.Client(b"")
    client.wish = Wish(all=True, latest=True)
    rows = ["a", "b", "c"]
    for number, row in enumerate([*rows, "c", "a"], 1):
        client.hear(row, number)
    assert client.next() == [("a", 5), ("b", 2)]
    assert client.arrived.is_set()
    client.hear(rows[0], 6)
    assert client.next() == [("c", 4), ("a", 6)]
    assert not client.arrived.is_set()
    client.hear(rows[2], 3)
    client.hear(rows[2], 1)
    assert client.next() == [("c", 3)], "and what comes late does not take its place"


def test_of_large_readings_of_topics_fewer_wait_for_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_client, "MAX_WAITING_BYTES", 2000)
    client = live_client.Client(b"")
    for number in range(5):
        client.take({"topic": "a", "value": f"{number}" * 900})
    assert [json.loads(item)["value"][0] for item in client.next() if isinstance(item, bytes)] == ["3", "4"]
    assert client.dropped == 3
    client.take({"topic": "a", "value": "x" * 9000})
    client.take({"topic": "a", "value": "y"})
    assert len(client.next()) == 1, "one that is larger than all may wait, alone"
    client.take({"topic": "a", "value": "z"})
    client.take({"topic": "a", "value": "z"})
    assert len(client.next()) == 2


@pytest.mark.parametrize(
    "said",
    [
        [],
        None,
        {"stream": ["/a"]},
        {"streams": "/a"},
        {"streams": [1]},
        {"topics": ["a"] * (MAX_NAMES + 1)},
        {"all": 1},
        {"latest": "yes"},
        {"every_ms": 10},
        {"every_ms": True},
        {"every_ms": 1e9},
    ],
)
def test_a_wish_that_is_none_is_refused_with_what_to_say(said: object) -> None:
    with pytest.raises(Problem) as caught:
        wish_of(said)
    assert caught.value.status == 400
