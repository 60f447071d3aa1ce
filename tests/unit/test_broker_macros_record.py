"""Records of macros and documents that another node has written badly: refused, and never an exception."""

from __future__ import annotations

import zlib
from typing import Any

import cbor2
import pytest

from roost.broker.macros.record import Parts, Record, decode_record, parts_of
from roost.broker.roles.document_record import DocumentRecord, decode_document_record
from roost.errors import BadPacket

GOOD = Record("a", None, 1, effective={b"\x08\x01s": 3}, runner=b"\x08\x01p", results={b"\x08\x01r": 7})
INFINITE = float("inf")
MANY = 1 << 45  # zeros, if bytes were made of it


def with_(wire: bytes, **changes: object) -> bytes:
    said: dict[str, Any] = cbor2.loads(zlib.decompress(wire))
    return zlib.compress(cbor2.dumps({**said, **changes}))


def test_a_record_is_read_as_it_was_written() -> None:
    assert decode_record(GOOD.encode()) == GOOD


@pytest.mark.parametrize(
    "changes",
    [
        {"changed": INFINITE},
        {"claimed": 1 << 70},
        {"version": True},
        {"name": ["a"]},
        {"runner": MANY},
        {"runner": b"\x08"},
        {"effective": {b"\x01": 3}},
        {"results": {b"\x08\x01r": INFINITE}},
        {"standing": [1, MANY, [], [], 0]},
        {"standing": [1, b"", [[b"\x08\x01s", INFINITE]], [], 0]},
        {"standing": [1, b"", [], [["a", [MANY, 1, 1]]], 0]},
        {"standing": [1, b"", [], [], INFINITE]},
    ],
)
def test_what_is_no_record_of_a_macro_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BadPacket):
        decode_record(with_(GOOD.encode(), **changes))


@pytest.mark.parametrize("changes", [{"changed": INFINITE}, {"topic": 5}, {"document": 5}])
def test_what_is_no_record_of_a_document_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BadPacket):
        decode_document_record(with_(DocumentRecord("a", 1, None).encode(), **changes))


@pytest.mark.parametrize("part", [[MANY, 0, 1, b""], [b"", INFINITE, 1, b""], [b"", 0, 1, 1 << 70], [b"", 0, 1, MANY]])
def test_what_is_no_part_of_a_record_is_refused(part: list[object]) -> None:
    with pytest.raises(BadPacket):
        Parts().take(b"s", cbor2.dumps(part))


def test_parts_make_a_record() -> None:
    assert [Parts().take(b"s", each) for each in parts_of(GOOD.encode())] == [GOOD]
