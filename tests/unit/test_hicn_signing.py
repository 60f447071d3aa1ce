"""Signatures of hICN packets: every kind of key, what is covered, what is not, and broken blocks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Literal

import pytest

from roost.errors import BadPacket
from roost.hicn import Data, Form, HicnName, Interest, decode, encode
from roost.hicn.label import relabelled
from roost.hicn.signature import ED25519, Signature
from roost.hicn.signing import key_id, sign, signed_portion, verify
from roost.naming import Name
from roost.trust.generate import KINDS, Kind, generate
from roost.trust.keys import PrivateKey, PublicKey
from roost.trust.secret import HmacKey

NAME = HicnName.parse("abcd::1|100")
AT_MS = 1_700_000_000_000
SECRET = HmacKey(Name.parse("/house/hicn"), bytes(range(32)))


@cache
def pair(kind: Kind | Literal["hmac"], salt: int = 0) -> tuple[PrivateKey | HmacKey, PublicKey | HmacKey]:
    if kind == "hmac":
        return (SECRET, SECRET) if not salt else (other := HmacKey(SECRET.name, bytes(32)), other)
    drawn = sha256(bytes([salt])).digest() * 2
    key = generate(Name.parse("/house"), lambda size: drawn[:size], kind)
    return key, key.public


ALL: list[Kind | Literal["hmac"]] = [*KINDS, "hmac"]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("form", list(Form))
def test_what_a_key_signs_it_verifies_after_the_wire_and_no_other_key_does(
    kind: Kind | Literal["hmac"], form: Form
) -> None:
    private, public = pair(kind)
    for packet in (
        sign(Data(NAME, b"21.5", form=form), private, AT_MS),
        sign(Interest(NAME, payload=b"home/temp", form=form), private, AT_MS),
    ):
        wire = encode(packet)
        read = decode(wire)
        assert read == packet
        assert verify(read, public)
        assert not verify(replace(read, payload=b"21.6"), public)
        assert not verify(replace(read, name=replace(NAME, suffix=101)), public)
        assert not verify(replace(read, name=HicnName.parse("abcd::2|100")), public)
        assert read.signature is not None
        assert not verify(replace(read, signature=replace(read.signature, time_ms=1)), public)
        for other in ALL:
            assert verify(read, pair(other)[1]) == (other == kind)
        assert not verify(read, pair(kind, 1)[1])


def test_the_way_may_change_lifetime_label_locator_and_flags() -> None:
    private, public = pair("ed25519")
    signed = sign(Data(NAME, b"21.5"), private, AT_MS)
    moved = decode(relabelled(encode(signed), 77, compact=False))
    assert isinstance(moved, Data)
    assert moved.path_label == 77
    assert verify(moved, public)
    assert verify(replace(signed, lifetime_ms=1, locator=NAME.prefix, hop_limit=3, last=True), public)


def test_the_block_stands_behind_the_header_and_the_rest_is_zero_when_it_is_signed() -> None:
    private, public = pair("ed25519")
    signed = sign(Data(NAME, b"21.5"), private, AT_MS)
    wire = encode(signed)
    assert len(wire) == 60 + 44 + 64 + 4
    assert wire[53] == 0x52
    assert wire[60:72] == bytes([0, 16, ED25519, 0]) + AT_MS.to_bytes(8, "big")
    assert wire[72:104] == key_id(public)
    cleared = bytearray(wire)
    for low, high in ((0, 8), (24, 44), (48, 60), (63, 64), (104, 168)):
        cleared[low:high] = bytes(high - low)
    assert signed_portion(signed) == bytes(cleared)


def test_a_shorter_ecdsa_signature_is_padded() -> None:
    private, public = pair("ecdsa")
    packet = sign(Data(NAME, b"x"), private, AT_MS)
    assert packet.signature is not None
    assert packet.signature.field_bytes == 72
    wire = encode(packet)
    assert wire[63] == 72 - len(packet.signature.value)
    assert verify(decode(wire), public)


def test_what_is_not_signed_does_not_verify() -> None:
    assert not verify(Data(NAME), pair("ed25519")[1])
    with pytest.raises(BadPacket):
        signed_portion(Data(NAME))


SIGNED = encode(sign(Data(NAME, b"21.5"), pair("ed25519")[0], AT_MS))


def resized(wire: bytes) -> bytes:
    return wire[:4] + (len(wire) - 40).to_bytes(2, "big") + wire[6:]


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (resized(SIGNED[:100]), "at least 44 bytes"),
        (resized(SIGNED[:150]), "64 bytes, this packet has 46"),
        (SIGNED[:60] + b"\1" + SIGNED[61:], "zero byte"),
        (SIGNED[:61] + b"\xff" + SIGNED[62:], "1020 bytes"),
        (SIGNED[:63] + b"\x41" + SIGNED[64:], "no room for 65"),
    ],
)
def test_a_broken_signature_block_is_refused(wire: bytes, why: str) -> None:
    with pytest.raises(BadPacket, match=why):
        decode(wire)


def test_a_signature_that_cannot_be_written_is_refused() -> None:
    for bad in (
        {"field_bytes": 63},
        {"field_bytes": 60},
        {"field_bytes": 1024},
        {"field_bytes": 400},
        {"key_id": b""},
        {"algorithm": 256},
        {"time_ms": -1},
    ):
        good = {"algorithm": 9, "time_ms": 1, "key_id": bytes(32), "value": bytes(64), "field_bytes": 64}
        with pytest.raises(BadPacket):
            Signature(**{**good, **bad})  # type: ignore[arg-type]
