"""Enrolment under generated input: codes with slips of the pen, boxes that were altered or cut."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trust_world import BUILDING1, NOW, SCHEMA, World

from roost.errors import BadConfig, InvalidInput, Untrusted
from roost.machine import SECOND
from roost.naming import Name
from roost.trust import generate
from roost.trust.enrolment import Enrolment, Ignored, Invitation
from roost.trust.enrolment_code import SECRET_BYTES, Code
from roost.trust.enrolment_messages import (
    Claim,
    Grant,
    KeyOffer,
    Refusal,
    UserOffer,
    decode_claim,
    decode_offer,
    decode_outcome,
)
from roost.trust.enrolment_seal import Seal
from roost.trust.identity import request

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SECRETS = st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES)
HOSTS = st.one_of(st.just(""), st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(str))
SEAL = Seal(bytes(SECRET_BYTES))
WORLD = World()
PANEL = Name.parse(f"{BUILDING1}/Electricity/Panel9")
OFFER = KeyOffer("panel", PANEL, NOW + SECOND, SCHEMA.text, WORLD.anchor.certificate, (WORLD[BUILDING1].certificate,))
CLAIM = Claim(NOW, request(generate(PANEL, random.Random(1).randbytes), NOW))
MESSAGES = [
    OFFER.encode(),
    UserOffer("pump-7", NOW, "mqtts://hall:8883", b"pem").encode(),
    CLAIM.encode(),
    Grant(WORLD[BUILDING1].certificate).encode(),
    Refusal("no").encode(),
]


@given(SECRETS, HOSTS, st.integers(1, 65_535))
def test_a_code_says_what_it_was_made_of(secret: bytes, host: str, port: int) -> None:
    code = Code(secret, host, port if host else 6363)
    assert Code.read(code.text) == code


@given(SECRETS, HOSTS, st.data())
def test_three_letters_in_a_row_that_are_wrong_are_noticed(secret: bytes, host: str, data: st.DataObject) -> None:
    letters = Code(secret, host).text.replace("-", "")
    at = data.draw(st.integers(0, len(letters) - 3))
    wrong = data.draw(st.text(LETTERS, min_size=3, max_size=3).filter(lambda text: text != letters[at : at + 3]))
    with pytest.raises(BadConfig):
        Code.read(letters[:at] + wrong + letters[at + 3 :])


@given(st.text(max_size=80))
def test_no_text_is_read_as_a_code_by_accident_or_breaks_the_reader(text: str) -> None:
    try:
        code = Code.read(text)
    except BadConfig:
        return
    assert Code.read(code.text) == code


@settings(deadline=None)
@given(st.data())
def test_a_claim_that_was_altered_anywhere_counts_for_nothing(data: st.DataObject) -> None:
    entropy = random.Random(1).randbytes
    inviter, joiner = Invitation(SEAL, OFFER, entropy), Enrolment(SEAL, entropy)
    box = joiner.claim(CLAIM)
    at, flip = data.draw(st.integers(0, len(box) - 1)), data.draw(st.integers(1, 255))
    for forged in (box[:at], box[:at] + bytes((box[at] ^ flip,)) + box[at + 1 :], box + bytes((flip,))):
        assert isinstance(inviter.take(forged, NOW), Ignored)
    assert not inviter.granted


@settings(deadline=None)
@given(st.sampled_from(["offer", "claim", "grant", "done"]), st.sampled_from(["offer", "claim", "grant", "done"]))
def test_a_box_opens_as_what_it_was_made_and_as_nothing_else(made: str, read: str) -> None:
    box = SEAL.close(made, b"content", random.Random(1).randbytes, b"question")  # type: ignore[arg-type]
    if made == read:
        assert SEAL.open(read, box, b"question") == b"content"  # type: ignore[arg-type]
    for label, answers in ((read, b"another"), (read, b"")) if made == read else ((read, b"question"),):
        with pytest.raises(Untrusted):
            SEAL.open(label, box, answers)  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.sampled_from(MESSAGES), st.data())
def test_messages_that_are_cut_or_altered_are_read_or_refused_and_never_break_the_reader(
    message: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(message) - 1))
    altered = message[:at] + data.draw(st.binary(max_size=4)) + message[at + 1 :]
    for wire in (message[:at], altered):
        for decode in (decode_offer, decode_claim, decode_outcome):
            try:
                decode(wire)
            except InvalidInput:
                continue


def test_messages_are_read_as_they_were_written() -> None:
    offer, user, claim, grant, no = MESSAGES
    assert decode_offer(offer).encode() == offer
    assert decode_offer(user).encode() == user
    assert decode_claim(claim).encode() == claim
    assert decode_outcome(grant).encode() == grant
    assert decode_outcome(no).encode() == no
