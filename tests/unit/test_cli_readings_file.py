"""Files of readings, JSON lines and CSV, and the spool that puts them in order."""

from __future__ import annotations

import math
from io import StringIO

import pytest

from roost.cli._readings_file import BEGIN, read_readings
from roost.cli._spool import Spool
from roost.errors import BadConfig
from roost.machine import SECOND
from roost.process.sample import Sample

MORNING = 1_777_622_400 * SECOND  # 2026-05-01T08:00Z


def read(text: str) -> list[Sample]:
    return list(read_readings(StringIO(text, newline="")))


# -- JSON lines


def test_a_value_is_taken_as_it_is_and_a_payload_is_read_as_a_message() -> None:
    assert read(
        '{"topic": "a", "time": "2026-05-01T08:00:00Z", "value": {"x": [1, "2"]}, "unit": "V", "quality": "bad"}\n'
        "\n"
        '{"topic": "a", "time": 1777622400000000001, "payload": "21.5"}\n'
        '{"topic": "a", "time": "2026-05-01T10:00:00.000002+02:00", "payload": "{\\"value\\":3,\\"unit\\":\\"W\\"}"}\n'
        '{"topic": "a", "time": "2026-05-01", "payload": "on"}\n'
    ) == [
        Sample("a", MORNING, {"x": [1, "2"]}, "V", "bad"),
        Sample("a", MORNING + 1, 21.5),
        Sample("a", MORNING + 2000, 3, "W"),
        Sample("a", MORNING - 8 * 3600 * SECOND, "on"),
    ]


def test_without_times_readings_come_a_second_apart() -> None:
    lines = '{"topic": "a", "value": 1}\n{"topic": "a", "value": 2}\n{"topic": "a", "value": 3, "time": 5}\n'
    assert [each.time for each in read(lines)] == [BEGIN, BEGIN + SECOND, 5]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"topic": "a", "value": 1', "line 2: it is no JSON"),
        ('["a", 1]', "line 2: write an object"),
        ('{"topic": "a"}', "line 2: a reading has a value, or a payload"),
        ('{"topic": "a", "value": 1, "payload": "1"}', "line 2: a reading has a value, or a payload"),
        ('{"topic": "a", "value": 1, "volume": 3}', "line 2: a reading has no 'volume'"),
        ('{"value": 1}', "line 2: .*topic"),
        ('{"topic": "a/#", "value": 1}', "line 2: .*wildcard"),
        ('{"topic": 7, "value": 1}', "line 2: topic is text, not 7"),
        ('{"topic": "a", "payload": 1}', "line 2: payload is text, not 1"),
        ('{"topic": "a", "value": 1, "time": "noon"}', "line 2: time 'noon' is none: write 2026"),
        ('{"topic": "a", "value": 1, "time": true}', "line 2: time True is none"),
        ('{"topic": "a", "value": 1, "time": -1}', "line 2: time -1 is before 1970"),
        ('{"topic": "a", "value": 1, "time": 9223372036854775808}', "line 2: .* too far ahead"),
    ],
)
def test_what_is_wrong_in_json_is_told_with_its_line(line: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        read(f'{{"topic": "a", "value": 1}}\n{line}\n')


# -- CSV


def test_csv_has_payloads_with_or_without_a_heading() -> None:
    wanted = [Sample("a/b", MORNING, 21.5), Sample("a/b", MORNING + SECOND, "x, y")]
    rows = 'a/b,2026-05-01T08:00:00Z,21.5\r\na/b,1777622401000000000,"x, y"\r\n'
    assert read(rows) == wanted
    assert read(f"\ufefftopic,time,value\r\n\r\n{rows}") == wanted


def test_columns_may_be_in_another_order_and_more() -> None:
    assert read("Topic,Value,Unit,Time\na,1,V,5\na,2,,6\n") == [Sample("a", 5, 1, "V"), Sample("a", 6, 2)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("topic,time,value\na,1\n", "line 2: it has 2 columns; write topic,time,value"),
        ("topic,time,value\na,1,2,3\n", "line 2: it has 4 columns"),
        ("topic,when,value\na,1,2\n", "line 1: the columns are topic, time and value"),
        ("\ntopic,when,value\na,1,2\n", "line 2: the columns are"),
        ("topic,time,value,value\n", "line 1: the columns"),
        ('topic,time,value\na,1,2\na,2,"x\n', "line 3: it is no CSV"),
        ("topic,time,value\na,yesterday,2\n", "line 2: time 'yesterday' is none"),
    ],
)
def test_what_is_wrong_in_csv_is_told_with_its_line(text: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        read(text)


def test_a_file_with_nothing_in_it_has_no_readings() -> None:
    assert read("") == read("\n \n") == []


# -- the spool


def test_readings_come_out_by_time_stream_and_number_each_once() -> None:
    samples = [
        Sample("t", 2, {"x": [None, True, b"\xff", math.inf]}, "V", "bad", b"b", 1),
        Sample("t", 2, 3, stream=b"a", number=10),
        Sample("t", 2, 4, stream=b"a", number=9),
        Sample("t", 1, 5, stream=b"c", number=7),
    ]
    with Spool() as spool:
        assert (spool.add(samples), spool.add(samples[:2]), len(spool)) == (4, 0, 4)
        wanted = [samples[3], samples[2], samples[1], samples[0]]
        assert list(spool) == wanted
        assert list(spool) == wanted


def test_readings_of_no_stream_stay_in_their_order_and_none_is_lost() -> None:
    samples = [Sample("t", 5, "one"), Sample("t", 5, "one"), Sample("s", 5, "two"), Sample("t", 4, "three")]
    with Spool() as spool:
        spool.add(samples)
        assert list(spool) == [samples[3], *samples[:3]]


def test_a_mistake_in_the_middle_leaves_the_spool_usable() -> None:
    with Spool() as spool:
        with pytest.raises(BadConfig):
            spool.add(read_readings(['{"topic": "a", "value": 1}', "oops"]))
        assert spool.add([Sample("t", 5, 1)]) == 1
