"""An invitation that is used once: who invites, and who enrols, as machines over sealed boxes.

    who enrols                                            who invites
      asks for the offer                     ─────────▶   `Invitation.offer`: who you will be, anchor, schema, chain
      checks it, makes a key or a password
      sends a claim: request, or hash        ─────────▶   `Invitation.take` → `Claimed`; the driver has it done
      checks the grant, stores everything    ◀─────────   `Invitation.settle`: a grant, or a refusal with its reason
      says so                                ─────────▶   `Invitation.finish`: the invitation is over

An invitation serves one claim. The same claim again (its answer was lost) gets the same answer, another one a refusal,
and so does one that comes too late. What does not open gets no answer and counts: after `MAX_TRIES` of them the
invitation is withdrawn, whoever sent them. Nothing here signs or stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from roost.errors import BadPacket, InvalidInput, Refused, Untrusted
from roost.machine import SECOND
from roost.trust.enrolment_messages import (
    Claim,
    Grant,
    KeyOffer,
    Offer,
    Outcome,
    Refusal,
    decode_claim,
    decode_offer,
    decode_outcome,
)
from roost.trust.enrolment_seal import Seal
from roost.trust.generate import Entropy
from roost.trust.identity import SKEW
from roost.wire.certificate import told_of

MAX_TRIES: Final = 10
MAX_BOX_BYTES: Final = 8000  # of a claim, which is one Interest


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim to be settled: have it done, then say what came of it."""

    claim: Claim
    box: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """Send this box."""

    box: bytes


@dataclass(frozen=True, slots=True)
class Ignored:
    """Send nothing; why, for the log."""

    reason: str


Step: TypeAlias = Claimed | Reply | Ignored


class Invitation:
    """The inviter's side."""

    def __init__(self, seal: Seal, offer: Offer, entropy: Entropy) -> None:
        self.seal: Final = seal
        self.offered: Final = offer
        self.tries = 0
        self.granted = False
        self.finished = False
        self.offer: Final = seal.close("offer", offer.encode(), entropy)
        self._entropy: Final = entropy
        self._taken = b""  # the claim that is being settled, or was granted
        self._answer = b""

    @property
    def withdrawn(self) -> bool:
        """Whether too many have tried without the code."""
        return self.tries >= MAX_TRIES and not self.granted

    def take(self, box: bytes, now: int) -> Step:
        """Open what somebody claims."""
        if self._taken and box == self._taken:
            return Reply(self._answer) if self._answer else Ignored("it is being settled")
        if self.withdrawn:
            return Ignored("the invitation is withdrawn: too many tries without its code")
        try:
            claim = decode_claim(self.seal.open("claim", box))
        except (Untrusted, InvalidInput) as error:
            self.tries += 1
            return Ignored(str(error))
        reason = self._objection(claim, now)
        if reason:
            return Reply(self._close(Refusal(reason), box))
        self._taken = box
        return Claimed(claim, box)

    def settle(self, claimed: Claimed, outcome: Outcome) -> bytes:
        """What came of a claim, as the box to send; after a refusal somebody may claim again."""
        answer = self._close(outcome, claimed.box)
        if isinstance(outcome, Grant):
            self.granted = True
            self._answer = answer
        else:
            self._taken = b""
            self.tries += 1
        return answer

    def finish(self, box: bytes) -> Step:
        """Hear that everything arrived; the same box is the answer."""
        try:
            self.seal.open("done", box, digest(self._answer))
        except Untrusted as error:
            return Ignored(str(error))
        self.finished = True
        return Reply(box)

    def _objection(self, claim: Claim, now: int) -> str:
        if self._taken:
            return "this invitation has been used already, and each is for one: ask for another"
        if now > self.offered.until:
            return f"this invitation ended at {told_of(self.offered.until)}: ask for another"
        apart = abs(claim.time - now)
        if apart > SKEW:
            return f"the clocks of the two machines are {apart // SECOND} s apart: set them, then enrol again"
        if isinstance(self.offered, KeyOffer) != (claim.request is not None):
            return "this invitation is for something else than was claimed: use the same version of Roost on both sides"
        if isinstance(self.offered, KeyOffer) and claim.request and claim.request.identity != self.offered.name:
            return f"this invitation is for {self.offered.name}, a key of {claim.request.identity} was made"
        return ""

    def _close(self, outcome: Outcome, box: bytes) -> bytes:
        return self.seal.close("grant", outcome.encode(), self._entropy, digest(box))


class Enrolment:
    """The side of who enrols."""

    def __init__(self, seal: Seal, entropy: Entropy) -> None:
        self.seal: Final = seal
        self._entropy: Final = entropy
        self._claimed = b""
        self._granted = b""

    def open_offer(self, box: bytes, now: int) -> Offer:
        """Read the offer; `Untrusted` if it is not of who made the code."""
        offer = decode_offer(self.seal.open("offer", box))
        if now > offer.until + SKEW:
            raise Refused(f"the invitation ended at {told_of(offer.until)}: ask for another", 410)
        return offer

    def claim(self, claim: Claim) -> bytes:
        """The box that claims what was offered."""
        box = self.seal.close("claim", claim.encode(), self._entropy)
        if len(box) > MAX_BOX_BYTES:
            raise BadPacket(f"the claim has {len(box)} bytes, {MAX_BOX_BYTES} are the limit: make a smaller key")
        self._claimed = box
        return box

    def open_outcome(self, box: bytes) -> Grant:
        """Read what came of the claim; `Refused` with the inviter's reason."""
        outcome = decode_outcome(self.seal.open("grant", box, digest(self._claimed)))
        if isinstance(outcome, Refusal):
            raise Refused(outcome.reason, 403)
        self._granted = box
        return outcome

    def done(self) -> bytes:
        """The box that says that everything is stored."""
        return self.seal.close("done", b"", self._entropy, digest(self._granted))


def digest(box: bytes) -> bytes:
    """What the answer to a box is bound to."""
    return sha256(box).digest()
