"""Readings as samples."""

from __future__ import annotations

import pytest

from roost.process.parsing import sample_of
from roost.process.sample import Plain, Sample
from roost.wire.reading import JSON, OCTET_STREAM, SENML_CBOR, SENML_JSON, TEXT
from roost.wire.senml import Quality, Value, encode_values


@pytest.mark.parametrize(
    ("format_", "payload", "value"),
    [
        (TEXT, b"72.5", 72.5),
        (TEXT, b" +5 ", 5),
        (TEXT, b"on", "on"),
        (TEXT, b"\xff", b"\xff"),
        (TEXT, b"9" * 500, "9" * 500),
        (TEXT, b"", ""),
        (OCTET_STREAM, b"1e3", 1000.0),
        (OCTET_STREAM, b"\x00\x01", b"\x00\x01"),
        (JSON, b'[1, {"a": null}]', [1, {"a": None}]),
        (JSON, b"{", "{"),
        (JSON, b"NaN", "NaN"),
        (JSON, b"[" * 100_000, "[" * 100_000),
        (JSON, b"\xff", b"\xff"),
        (SENML_CBOR, b"no cbor", "no cbor"),
        (SENML_JSON, b'[{"n":"a","v":1},{"n":"b","vs":"x"}]', {"a": 1, "b": "x"}),
        (JSON, b'[{"n":"a","v":21.5}]', 21.5),
        (JSON, b'[{"n":"a"}]', [{"n": "a"}]),
        (JSON, b'[{"x":1}]', [{"x": 1}]),
        (JSON, b'[{"n":"\\ud800","v":1}]', [{"n": "\ud800", "v": 1}]),
        (SENML_JSON, b'[{"\\ud800":"a","v":1}]', '[{"\\ud800":"a","v":1}]'),
        (9999, b"x", "x"),
    ],
)
def test_a_payload_is_what_its_format_says_or_text_or_bytes(format_: int, payload: bytes, value: Plain) -> None:
    assert sample_of("t", 5, format_, payload) == Sample("t", 5, value)


def test_units_and_quality_go_with_the_value() -> None:
    payload = encode_values([Value(21.5, "Cel", Quality.UNCERTAIN)])
    assert sample_of("t", 5, SENML_CBOR, payload, b"s", 7) == Sample("t", 5, 21.5, "Cel", "uncertain", b"s", 7)
    both = encode_values([Value(1, name="a", quality=Quality.BAD), Value(2, name="b")])
    assert sample_of("t", 5, SENML_CBOR, both) == Sample("t", 5, {"a": 1, "b": 2}, "", "bad")
    pack = sample_of("t", 5, JSON, b'[{"n":"a","u":"Cel","v":21.5}]')
    assert (pack.value, pack.unit) == (21.5, "Cel")


def test_a_record_that_has_a_sum_only_is_its_sum() -> None:
    assert sample_of("t", 5, SENML_CBOR, encode_values([Value(None, total=8.5)])).value == 8.5


@pytest.mark.parametrize(
    ("payload", "value", "unit", "quality"),
    [
        (b'{"value": 3, "unit": "V", "quality": "bad"}', 3, "V", "bad"),
        (b'{"value": 22.5, "unit": "Cel", "quality": "good", "time": 1.5, "topic": "a/b"}', 22.5, "Cel", "good"),
        (b'{"value": true, "quality": "uncertain"}', True, "", "uncertain"),
        (b'{"unit": "V", "value": "on", "quality": "fine"}', "on", "V", "good"),
        (b'{"value": 3}', {"value": 3}, "", "good"),
        (b'{"value": 3, "time": 5}', {"value": 3, "time": 5}, "", "good"),
        (b'{"value": 3, "unit": "V", "more": 1}', {"value": 3, "unit": "V", "more": 1}, "V", "good"),
        (b'{"value": [3], "unit": "V"}', {"value": [3], "unit": "V"}, "V", "good"),
        (b'{"value": null, "quality": "bad"}', {"value": None, "quality": "bad"}, "", "bad"),
        (b'{"unit": "V", "quality": "bad"}', {"unit": "V", "quality": "bad"}, "", "good"),
    ],
)
def test_an_object_that_is_one_value_with_its_unit_is_that_value(
    payload: bytes, value: Plain, unit: str, quality: str
) -> None:
    assert sample_of("t", 5, JSON, payload) == Sample("t", 5, value, unit, quality)
