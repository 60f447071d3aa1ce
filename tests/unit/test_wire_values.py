"""Payloads of ordinary devices, read as SenML."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.columns.decoding_exact import read_payload
from roost.errors import BadPacket
from roost.wire.reading import JSON, OCTET_STREAM, SENML_CBOR, SENML_JSON, TEXT
from roost.wire.senml import Quality, Value, encode_values
from roost.wire.values import format_of, values_of


@pytest.mark.parametrize(
    ("format_", "payload", "values"),
    [
        (SENML_CBOR, encode_values([Value(1.5, "V")]), [Value(1.5, "V")]),
        (SENML_JSON, b'[{"bn":"a","u":"Cel","n":"x","v":21}]', [Value(21, "Cel", name="ax")]),
        (TEXT, b" 21.5\n", [Value(21.5)]),
        (TEXT, b"-7", [Value(-7)]),
        (TEXT, b"1e999", []),
        (TEXT, b"9" * 100, []),
        (TEXT, b"offen", [Value("offen")]),
        (OCTET_STREAM, b"12", [Value(12)]),
        (OCTET_STREAM, b"on", []),
        (OCTET_STREAM, b"", []),
        (JSON, b"true", [Value(True)]),
        (JSON, b'"on"', [Value("on")]),
        (JSON, b'{"value": 3, "unit": "W", "quality": "bad"}', [Value(3, "W", Quality.BAD)]),
        (JSON, b'{"value": 3, "unit": 5, "quality": 5}', [Value(3)]),
        (
            JSON,
            b'{"t": 1.5, "on": false, "x": null, "more": {"y": 1}}',
            [Value(1.5, name="t"), Value(False, name="on")],
        ),
        (JSON, b'[{"n": "a", "v": 2}]', [Value(2, name="a")]),
        (JSON, b'[{"n": "a"}]', []),
        (JSON, b"[1, 2]", []),
        (JSON, b"1" + b"0" * 30, []),
        (60, b"1", []),
    ],
)
def test_values(format_: int, payload: bytes, values: list[Value]) -> None:
    assert values_of(format_, payload) == values


@pytest.mark.parametrize(
    ("format_", "payload"),
    [
        (TEXT, b"\xff"),
        (JSON, b"{"),
        (JSON, b"NaN"),
        (JSON, b"[" * 100_000),
        (JSON, b'{"value": 1, "unit": "\\ud800"}'),  # half a surrogate pair has no UTF-8 form
        (JSON, b'"\xed\xa0\x80"'),
        (SENML_JSON, b'[{"n": "\\ud800", "v": 1}]'),
        (SENML_JSON, b"{}"),
        (SENML_JSON, b"[1]"),
    ],
)
def test_what_is_not_of_its_format_is_refused(format_: int, payload: bytes) -> None:
    with pytest.raises(BadPacket):
        values_of(format_, payload)


@given(
    st.sampled_from([TEXT, OCTET_STREAM, JSON, SENML_JSON, SENML_CBOR]),
    st.binary(max_size=64) | st.text().map(str.encode),
)
def test_any_bytes_have_values_or_are_refused(format_: int, payload: bytes) -> None:
    try:
        values_of(format_, payload)
    except BadPacket:
        return


@pytest.mark.parametrize(
    ("payload", "media_type", "format_"),
    [
        (b"21.5", b"", TEXT),
        (b"", b"", OCTET_STREAM),
        (b"\xff\xfe", b"", OCTET_STREAM),
        (b'{"a": 1}', b"", JSON),
        (b"1", b"application/json; charset=utf-8", JSON),
        (b"[]", b"application/senml+json", SENML_JSON),
        (b"x", b"image/png", TEXT),
    ],
)
def test_the_format_of_what_comes_without_one(payload: bytes, media_type: bytes, format_: int) -> None:
    assert format_of(payload, media_type) == format_


def test_a_pipeline_reads_the_first_number_of_json() -> None:
    assert read_payload(JSON, json.dumps({"value": 21.5, "unit": "Cel"}).encode())[:3] == (21.5, "Cel", "good")
    assert read_payload(JSON, b'{"name": "x"}').value is None


@given(
    st.binary(max_size=12) | st.text(max_size=12).map(str.encode) | st.text(max_size=6).map(lambda s: s.encode()[:-1])
)
def test_text_is_what_can_be_read_as_such(payload: bytes) -> None:
    try:
        payload.decode()
        is_text = payload != b"" and payload[:1] not in {b"{", b"["}
    except UnicodeDecodeError:
        is_text = False
    assert (format_of(payload) == TEXT) == is_text
