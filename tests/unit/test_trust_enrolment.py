"""Enrolment, as those who play by the rules do it and as others try: the machines of `roost.trust.enrolment`."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.trust_world import BUILDING1, NOW, SCHEMA, World

from roost.errors import BadConfig, BadPacket, Refused, Untrusted
from roost.machine import SECOND
from roost.naming import Name
from roost.trust import certify, certify_request, generate
from roost.trust.enrolment import MAX_TRIES, Claimed, Enrolment, Ignored, Invitation, Reply
from roost.trust.enrolment_checking import check_grant, check_offer
from roost.trust.enrolment_code import SECRET_BYTES, Code
from roost.trust.enrolment_messages import Claim, Grant, KeyOffer, Refusal, UserOffer, decode_offer
from roost.trust.enrolment_seal import Seal
from roost.trust.identity import request
from roost.trust.keys import PrivateKey

SECRET = bytes(range(SECRET_BYTES))
SEAL = Seal(SECRET)
UNTIL = NOW + 600 * SECOND
PANEL = Name.parse(f"{BUILDING1}/Electricity/Panel9")
WORLD = World()
OFFER = KeyOffer("panel", PANEL, UNTIL, SCHEMA.text, WORLD.anchor.certificate, (WORLD[BUILDING1].certificate,))


class Two:
    """Both sides, and what goes between them."""

    def __init__(self, offer: KeyOffer | UserOffer = OFFER, theirs: Seal = SEAL, seed: int = 1) -> None:
        self.entropy = random.Random(seed).randbytes
        self.inviter = Invitation(SEAL, offer, self.entropy)
        self.joiner = Enrolment(theirs, self.entropy)
        self.key = generate(PANEL, self.entropy)

    def claim(self, key: PrivateKey | None = None, time: int = NOW) -> bytes:
        return self.joiner.claim(Claim(time, request(key or self.key, time)))

    def issue(self, step: object) -> bytes:
        """What the inviter's driver does with a claim."""
        assert isinstance(step, Claimed)
        assert step.claim.request is not None
        return self.inviter.settle(step, Grant(certify_request(WORLD[BUILDING1], step.claim.request, NOW)))


def refusal(two: Two, box: bytes, now: int = NOW) -> str:
    step = two.inviter.take(box, now)
    assert isinstance(step, Reply)
    with pytest.raises(Refused) as raised:
        two.joiner.open_outcome(step.box)
    return str(raised.value)


def test_a_panel_comes_in_with_a_key_that_never_left_it() -> None:
    two = Two()
    offer = two.joiner.open_offer(two.inviter.offer, NOW)
    assert isinstance(offer, KeyOffer)
    assert (offer.name, offer.schema, offer.anchor.wire) == (PANEL, SCHEMA.text, WORLD.anchor.certificate.wire)
    schema = check_offer(offer, NOW)
    grant = two.joiner.open_outcome(two.issue(two.inviter.take(two.claim(), NOW)))
    check_grant(offer, grant.certificate, two.key, schema, NOW)
    assert not two.inviter.finished
    assert isinstance(two.inviter.finish(two.joiner.done()), Reply)
    assert two.inviter.finished


def test_a_user_of_a_broker_comes_in_with_the_hash_of_a_password() -> None:
    offer = UserOffer("pump-7", UNTIL, "mqtts://hall:8883", b"a certificate")
    two = Two(offer)
    assert two.joiner.open_offer(two.inviter.offer, NOW) == offer
    step = two.inviter.take(two.joiner.claim(Claim(NOW, None, "$scrypt$…")), NOW)
    assert isinstance(step, Claimed)
    assert step.claim.password_hash == "$scrypt$…"
    assert two.joiner.open_outcome(two.inviter.settle(step, Grant())).certificate is None


def test_neither_offer_nor_claim_can_be_read_without_the_code() -> None:
    two = Two(UserOffer("pump-7", UNTIL, "mqtts://hall:8883"))
    claim = two.joiner.claim(Claim(NOW, None, "$scrypt$secret"))
    assert b"pump-7" not in two.inviter.offer
    assert b"scrypt" not in claim
    with pytest.raises(Untrusted, match="not made with this code"):
        Enrolment(Seal(bytes(SECRET_BYTES)), two.entropy).open_offer(two.inviter.offer, NOW)


def test_who_guesses_gets_no_answer_and_ends_the_invitation_after_some_tries() -> None:
    two = Two(theirs=Seal(b"\xff" * SECRET_BYTES))
    for _ in range(MAX_TRIES):
        assert not two.inviter.withdrawn
        assert isinstance(two.inviter.take(two.claim(), NOW), Ignored)
    assert two.inviter.withdrawn
    honest = Enrolment(SEAL, two.entropy)
    step = two.inviter.take(honest.claim(Claim(NOW, request(two.key, NOW))), NOW)
    assert step == Ignored("the invitation is withdrawn: too many tries without its code")


def test_an_invitation_is_for_one() -> None:
    two = Two()
    granted = two.issue(two.inviter.take(two.claim(), NOW))
    second = Enrolment(SEAL, two.entropy)
    step = two.inviter.take(second.claim(Claim(NOW, request(generate(PANEL, two.entropy), NOW))), NOW)
    assert isinstance(step, Reply)
    with pytest.raises(Refused, match="used already"):
        second.open_outcome(step.box)
    assert two.joiner.open_outcome(granted).certificate is not None


def test_a_second_claim_while_the_first_is_settled_is_refused() -> None:
    two = Two()
    first = two.claim()
    assert isinstance(two.inviter.take(first, NOW), Claimed)
    assert isinstance(two.inviter.take(first, NOW), Ignored)
    assert "used already" in refusal(two, two.claim())


def test_a_claim_that_comes_again_gets_the_answer_that_was_lost() -> None:
    two = Two()
    claim = two.claim()
    granted = two.issue(two.inviter.take(claim, NOW))
    assert two.inviter.take(claim, UNTIL + SECOND) == Reply(granted)


def test_a_claim_that_was_overheard_is_of_no_use_with_another_invitation() -> None:
    two, other = Two(), Invitation(Seal(b"\x01" * SECRET_BYTES), OFFER, random.Random(2).randbytes)
    assert isinstance(other.take(two.claim(), NOW), Ignored)


def test_a_grant_answers_one_claim_only() -> None:
    two = Two()
    earlier = two.issue(two.inviter.take(two.claim(), NOW))
    two.claim()  # another one is under way now, and somebody replays what answered the first
    with pytest.raises(Untrusted, match="not made with this code"):
        two.joiner.open_outcome(earlier)


def test_who_comes_late_is_told_so() -> None:
    two = Two()
    late = UNTIL + SECOND
    assert "ended at" in refusal(two, two.claim(time=late), late)
    with pytest.raises(Refused, match="ended at"):
        two.joiner.open_offer(two.inviter.offer, UNTIL + 100 * SECOND)


def test_clocks_that_are_apart_are_told_so_and_the_invitation_stays_open() -> None:
    two = Two()
    assert "3600 s apart" in refusal(two, two.claim(time=NOW - 3600 * SECOND))
    assert two.joiner.open_outcome(two.issue(two.inviter.take(two.claim(), NOW))).certificate


def test_a_claim_for_somebody_else_or_something_else_is_refused() -> None:
    two = Two()
    building = generate(Name.parse(BUILDING1), two.entropy)
    assert "a key of /BigCompany/Building1 was made" in refusal(two, two.claim(building))
    assert "something else" in refusal(two, two.joiner.claim(Claim(NOW, None, "$scrypt$…")))


def test_a_request_that_its_key_has_not_signed_is_refused_and_another_may_follow() -> None:
    two = Two()
    stolen = request(generate(PANEL, two.entropy), NOW)
    wire = stolen.wire[:-1] + bytes((stolen.wire[-1] ^ 1,))
    step = two.inviter.take(two.joiner.claim(Claim(NOW, type(stolen).decode(wire))), NOW)
    assert isinstance(step, Claimed)
    assert step.claim.request is not None
    with pytest.raises(BadPacket, match="not signed by the key it holds"):
        certify_request(WORLD[BUILDING1], step.claim.request, NOW)
    answer = two.inviter.settle(step, Refusal("it is not signed"))
    with pytest.raises(Refused, match="not signed"):
        two.joiner.open_outcome(answer)
    assert two.joiner.open_outcome(two.issue(two.inviter.take(two.claim(), NOW))).certificate


def test_a_certificate_of_a_key_that_was_put_in_its_place_is_refused() -> None:
    two = Two()
    theirs = generate(PANEL, two.entropy)
    swapped = certify(WORLD[BUILDING1], theirs.name, theirs.public.spki, NOW)
    with pytest.raises(Untrusted, match="of another key"):
        check_grant(OFFER, swapped, two.key, SCHEMA, NOW)
    same_name = certify(WORLD[BUILDING1], two.key.name, theirs.public.spki, NOW)
    with pytest.raises(Untrusted, match="of another key"):
        check_grant(OFFER, same_name, two.key, SCHEMA, NOW)
    with pytest.raises(Untrusted, match="no certificate"):
        check_grant(OFFER, None, two.key, SCHEMA, NOW)


@pytest.mark.parametrize("issuer", ["/BigCompany/Building2", f"{BUILDING1}/Electricity"])
def test_a_certificate_from_who_may_not_issue_it_is_refused(issuer: str) -> None:
    two = Two()
    offer = replace(OFFER, above=(WORLD[issuer].certificate, WORLD[BUILDING1].certificate))
    certificate = certify(WORLD[issuer], two.key.name, two.key.public.spki, NOW)
    with pytest.raises(Untrusted, match="cannot be believed"):
        check_grant(offer, certificate, two.key, SCHEMA, NOW)


def test_a_certificate_with_a_gap_above_it_is_refused() -> None:
    two = Two()
    certificate = certify(WORLD[BUILDING1], two.key.name, two.key.public.spki, NOW)
    with pytest.raises(Untrusted, match="is missing"):
        check_grant(replace(OFFER, above=()), certificate, two.key, SCHEMA, NOW)


def test_an_offer_that_does_not_fit_together_is_refused() -> None:
    other = World(seed=2)
    forged = other.anchor.certificate.wire
    altered = type(OFFER.anchor).decode(forged[:-1] + bytes((forged[-1] ^ 1,)))
    with pytest.raises(Untrusted, match="not signed by its own key"):
        check_offer(replace(OFFER, anchor=altered), NOW)
    with pytest.raises(Untrusted, match="not named as the anchors"):
        check_offer(replace(OFFER, anchor=WORLD[BUILDING1].certificate), NOW)
    with pytest.raises(Untrusted, match="no rule of the schema knows"):
        check_offer(replace(OFFER, name=Name.parse("/Elsewhere/Panel1")), NOW)
    with pytest.raises(Untrusted, match="set the clock"):
        check_offer(OFFER, NOW - 365 * 86_400 * SECOND)


def test_the_last_word_is_believed_from_who_got_the_grant_only() -> None:
    two = Two()
    two.joiner.open_outcome(two.issue(two.inviter.take(two.claim(), NOW)))
    assert isinstance(two.inviter.finish(SEAL.close("done", b"", two.entropy)), Ignored)
    assert isinstance(two.inviter.finish(b""), Ignored)
    assert not two.inviter.finished


def test_a_schema_that_unpacks_without_end_is_refused() -> None:
    bomb = replace(OFFER, schema="// " + "x" * (2 << 20))
    assert len(bomb.encode()) < 10_000
    with pytest.raises(BadPacket, match="larger than"):
        decode_offer(bomb.encode())


@pytest.mark.parametrize(
    ("host", "port", "letters"), [("", 6363, 21), ("10.0.0.7", 6363, 28), ("10.0.0.7", 7000, 31), ("fe80::1", 6363, 50)]
)
def test_a_code_is_short_and_leads_to_the_node(host: str, port: int, letters: int) -> None:
    code = Code(SECRET, host, port)
    assert len(code.text.replace("-", "")) == letters
    assert Code.read(f"  {code.text.lower().replace('0', 'o').replace('1', 'l')}\n") == code
    assert "secret" not in repr(code)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no code"),
        ("-- -", "there is no code"),
        ("ABCD-EFGH", "too short"),
        ("ABCU-EFGH", "'U' is in none"),
        ("A" * 300, "300 letters"),
        (Code(SECRET).text[:-1], "mistake|too short"),
        (Code(SECRET).text + "0000", "mistake"),
    ],
)
def test_what_is_no_code_is_told_so_and_not_repeated(text: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why) as raised:
        Code.read(text)
    assert len(text) < 5 or text not in str(raised.value)


def test_a_code_has_room_for_numeric_addresses_only() -> None:
    with pytest.raises(BadConfig, match="numeric"):
        Code(SECRET, "hall.example")
    with pytest.raises(BadConfig, match="10 bytes"):
        Code(b"short")
    with pytest.raises(BadConfig, match="port"):
        Code(SECRET, "10.0.0.7", 0)
