"""Rows to packets: names and bytes are a function of the row, markers, windows, corrections, and poison rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.trust_world import NOW, PANEL1, SCHEMA, World, settle

from roost.columns.decoding_exact import read_packet
from roost.errors import InvalidInput, NoKey
from roost.naming import Name
from roost.naming.building import Group
from roost.pipeline.place import CORRECTIONS
from roost.pipeline.virtual import MAX_MISSING_NAMES, VirtualPanel
from roost.pipeline.virtual_rows import PoisonRow, VirtualRow
from roost.trust import Accepted, KeyChain
from roost.wire import Data
from roost.wire.lineage import InputDigest, InputRange, Lineage
from roost.wire.reading import OCTET_STREAM, SENML_CBOR, Reading
from roost.wire.senml import Quality, Value, decode_values

WORLD = World()
KEYS = KeyChain(SCHEMA, [WORLD[PANEL1]])
NAME = Name.parse(PANEL1)
PLACE = Group.at(NAME.prefix(-1)).panel("Panel1")
RAW = Name.parse("/BigCompany/Building1/Electricity/Panel2/Heater/Power")
INPUTS = (InputRange(RAW, 601, 660),)
PROGRAM = bytes(range(32))
TIME = 1_700_000_000_123_456_000


def panel() -> VirtualPanel:
    return VirtualPanel(PLACE, lambda name: KEYS.signer_for(name, NOW), job="energy/mean@2", program=PROGRAM)


def row(value: object = 229.5, **columns: object) -> VirtualRow:
    cells: Any = {"output": "Heater/Mean", "number": 7, "event_time_ns": TIME, "inputs": INPUTS, "value": value}
    return VirtualRow(**cells | columns)


def opened(data: Data) -> tuple[Reading, list[Value]]:
    reading = Reading.decode(data.content)
    return reading, decode_values(reading.payload) if reading.payload else []


def test_a_value_has_its_name_time_unit_quality_and_lineage() -> None:
    data = panel().packet(row(unit="V", quality="uncertain"))
    reading, values = opened(data)
    assert str(data.name) == f"{PANEL1}/Heater/Mean/seq=7"
    assert (reading.time, reading.format) == (TIME, SENML_CBOR)
    assert values == [Value(229.5, "V", Quality.UNCERTAIN)]
    assert reading.lineage == Lineage((), PROGRAM, INPUTS, "energy/mean@2")
    assert isinstance(settle(WORLD.verifier(), data, WORLD.certificates()), Accepted)


def test_the_same_row_gives_the_same_packet() -> None:
    assert panel().packet(row()).wire == panel().packet(row()).wire


def test_a_window_says_what_it_counted() -> None:
    data = panel().packet(
        row(12, expected=60, received=58, missing=2, open=0, window_s=60, missing_names="Panel2/Heater/Power 601-602")
    )
    _, values = opened(data)
    assert values == [
        Value(12),
        Value(60, name="expected"),
        Value(58, name="received"),
        Value(2, name="missing"),
        Value(60, name="window_s"),
        Value("Panel2/Heater/Power 601-602", name="missing_names"),
    ]
    meaning = read_packet(NAME / "Heater" / "Mean", 7, data.wire).meaning
    assert (meaning.value, meaning.expected, meaning.received) == (12.0, 60, 58)
    _, late = opened(panel().packet(row(12, expected=60, received=0, open=3)))
    assert late[-1] == Value(3, name="open")


def test_without_a_value_it_is_a_marker_or_a_window_that_only_counts() -> None:
    marker, _ = opened(panel().packet(row(None, quality="missing", unit="V")))
    assert (marker.format, marker.payload) == (OCTET_STREAM, b"")
    assert marker.lineage is not None
    counted = panel().packet(row(None, expected=60, received=0, missing=60))
    assert [value.name for value in opened(counted)[1]] == ["expected", "received", "missing"]
    meaning = read_packet(NAME / "Heater" / "Mean", 7, counted.wire).meaning
    assert (meaning.value, meaning.quality, meaning.expected, meaning.received) == (None, "empty", 60, 0)


def test_a_correction_is_a_reading_of_the_stream_beside_it() -> None:
    data = panel().packet(row(13.5, correction=2, expected=60, received=60, missing=0))
    assert str(data.name) == f"{PANEL1}/Heater/Mean{CORRECTIONS}/seq=2"
    assert opened(data)[1][-1] == Value(7, name="corrects")
    assert isinstance(settle(WORLD.verifier(), data, WORLD.certificates()), Accepted)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (2**63 - 1, 2**63 - 1),
        (-5, -5),
        (0.1, 0.1),
        (-0.0, -0.0),
        (True, True),
        ("open", "open"),
        (Decimal(12345678901234567890), 12345678901234567890),
        (Decimal("230.00"), 230),
        (Decimal("-0.1"), -0.1),
        (Decimal("1e30"), 1e30),
    ],
    ids=repr,
)
def test_numbers_are_as_exact_as_they_can_be(given: object, written: object) -> None:
    _, (value,) = opened(panel().packet(row(given)))
    assert repr(value.value) == repr(written)


def test_very_many_missing_names_are_cut_off() -> None:
    _, values = opened(panel().packet(row(1, missing_names="x" * 5000)))
    assert len(str(values[-1].value)) == MAX_MISSING_NAMES + 2


@pytest.mark.parametrize(
    ("columns", "column", "reason"),
    [
        ({"value": float("nan")}, "value", "empty marker"),
        ({"value": float("inf")}, "value", "empty marker"),
        ({"value": Decimal("nan")}, "value", "empty marker"),
        ({"value": Decimal("1e999999999")}, "value", "empty marker"),
        ({"value": 2**64}, "value", "too large"),
        ({"value": b"bytes"}, "value", "cast it"),
        ({"value": "\ud800"}, "value", "surrogate"),
        ({"value": "x" * 9000}, "value", "shorter text"),
        ({"unit": "x" * 256}, "unit", "shorter one"),
        ({"quality": "excellent"}, "quality", "good, uncertain, bad"),
        ({"output": "Heater"}, "output", "device/metric"),
        ({"output": "Heater/Mean/x"}, "output", "device/metric"),
        ({"output": "/Mean"}, "output", "names no stream"),
        ({"output": "Heater/Repo"}, "output", "names no stream"),
        ({"output": "Heater/+"}, "output", "wildcard"),
        ({"output": "Heater/a\0b"}, "output", "names no stream"),
        ({"output": "Heater/\ud800"}, "output", "names no stream"),
        ({"output": "Heater/Mean.corrections"}, "output", "call it otherwise"),
        ({"number": 0}, "number", "count from 1"),
        ({"number": 2**63}, "number", "count from 1"),
        ({"correction": 0}, "correction", "count from 1"),
        ({"correction": 1, "value": None}, "expected", "a correction has a value"),
        ({"event_time_ns": -1}, "event_time", "1970"),
        ({"inputs": ()}, "inputs", "made of"),
        ({"expected": -1}, "expected", "no count"),
        ({"window_s": float("nan")}, "window_s", "no value"),
    ],
    ids=range(26),
)
def test_poison_says_which_column_and_what_to_do(columns: dict[str, Any], column: str, reason: str) -> None:
    with pytest.raises(PoisonRow, match=reason) as poison:
        panel().packet(row(**columns))
    assert poison.value.column == column


def test_who_has_no_key_for_the_panel_is_told_so() -> None:
    other = VirtualPanel(
        Group.at(NAME.prefix(-1)).panel("Panel2"), lambda name: KEYS.signer_for(name, NOW), job="j", program=PROGRAM
    )
    with pytest.raises(NoKey):
        other.packet(row())


INPUT_TYPE = pa.list_(pa.struct([("stream", pa.string()), ("low", pa.int64()), ("high", pa.int64())]))
SCHEMA_OF_ROWS = pa.schema(
    [
        ("output", pa.string()),
        ("number", pa.int64()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("value", pa.decimal128(20, 3)),
        ("inputs", INPUT_TYPE),
        ("unit", pa.string()),
        ("quality", pa.string()),
        ("expected", pa.int64()),
        ("extra", pa.string()),
    ]
)


def batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    whole = {
        "output": "Heater/Mean",
        "number": 7,
        "event_time": TIME // 1000,
        "value": Decimal("229.5"),
        "inputs": [{"stream": str(RAW), "low": 601, "high": 660}],
        "unit": "V",
    }
    return pa.RecordBatch.from_pylist([whole | each for each in rows], schema=SCHEMA_OF_ROWS)


def test_arrow_rows_become_the_packets_of_their_rows() -> None:
    made = panel().packets(batch({}, {"number": 8, "value": None}, {"number": 9, "expected": 60, "quality": "bad"}))
    assert [data.wire for data in made] == [
        panel().packet(each).wire
        for each in (
            row(unit="V"),
            row(None, number=8),
            row(number=9, unit="V", expected=60, quality="bad"),
        )
    ]


def test_poison_rows_are_set_aside_and_do_not_stop_the_others() -> None:
    mixed = batch(
        {},
        {"number": 0},
        {"output": None},
        {"event_time": None},
        {"inputs": None},
        {"inputs": [{"stream": "no name", "low": 1, "high": 2}]},
        {"inputs": [{"stream": str(RAW), "low": 0, "high": 2}]},
        {"inputs": [{"stream": str(RAW), "low": None, "high": 2}]},
        {"inputs": [None]},
        {"number": 8},
    )
    sifted = panel().sift(mixed)
    assert [str(data.name.at(-1)) for data in sifted.packets] == ["seq=7", "seq=8"]
    found = [(index, poison.column) for index, poison in sifted.poison]
    assert found == [(1, "number"), (2, "output"), (3, "event_time"), *[(index, "inputs") for index in range(4, 9)]]
    assert str(sifted.poison[0][1]).startswith("row 1 (Heater/Mean 0), column number: 0 is no number")
    with pytest.raises(PoisonRow, match=r"row 1 .*column number"):
        panel().packets(mixed)


def test_rows_without_a_column_inputs_are_of_no_group_and_say_so() -> None:
    (data,) = panel().packets(batch({}).drop_columns(["inputs"]))
    lineage = opened(data)[0].lineage
    assert lineage == Lineage((), PROGRAM, (), "energy/mean@2", InputDigest.of([], []))
    assert lineage.digest is not None
    assert lineage.digest.count == 0
    assert isinstance(settle(WORLD.verifier(), data, WORLD.certificates()), Accepted)


@pytest.mark.parametrize("column", ["output", "number", "event_time", "value", "inputs"])
def test_a_column_that_is_absent_or_of_a_wrong_type_is_named(column: str) -> None:
    whole = batch({})
    if column != "inputs":
        with pytest.raises(InvalidInput, match=f"no column {column}"):
            panel().packets(whole.drop_columns([column]))
    place = whole.schema.names.index(column)
    wrong = whole.set_column(place, column, pa.array([b"x"], pa.binary()))
    with pytest.raises(InvalidInput, match=rf"column {column} is .* not binary: cast it"):
        panel().packets(wrong)
    nothing = whole.set_column(place, column, pa.nulls(1))
    assert len(panel().sift(nothing).poison) == (column != "value")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_any_unit_are_nanoseconds(unit: str) -> None:
    whole = batch({})
    column = pa.array([1_700_000_000], pa.timestamp("s", tz="UTC")).cast(pa.timestamp(unit, tz="UTC"))
    (data,) = panel().packets(whole.set_column(2, "event_time", column))
    assert opened(data)[0].time == 1_700_000_000 * 10**9
