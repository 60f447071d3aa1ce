"""Receiving whoever comes with the code of an invitation: served under its identifier until it was used or is over.

    /localhop/roost/enrol/<identifier>/offer/v=…/seg=…       the offer, segmented, with RDR metadata
    /localhop/roost/enrol/<identifier>/claim/<parameters>    ApplicationParameters: the claim; answer: grant or refusal
    /localhop/roost/enrol/<identifier>/done/<parameters>     the last word of who enrolled, and its echo

Packets are signed with a SHA-256 digest: whose they are is said by the boxes inside (`roost.trust.enrolment_seal`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from roost.errors import RoostError
from roost.host.clock import Clock
from roost.host.face import Face
from roost.host.objects import ServedObject
from roost.machine import SECOND
from roost.naming import Component, Name
from roost.trust.enrolment import Claimed, Invitation, Reply
from roost.trust.enrolment_messages import Claim, Outcome, Refusal
from roost.wire import Data, DigestSigner, Interest

PREFIX: Final = Name.parse("/localhop/roost/enrol")
OFFER: Final = Component(b"offer")
CLAIM: Final = Component(b"claim")
DONE: Final = Component(b"done")

PARTING_S: Final = 15.0  # how long the last word is waited for, after the grant
_DIGEST: Final = DigestSigner()

End: TypeAlias = Literal["finished", "granted", "expired", "withdrawn"]
Settle: TypeAlias = Callable[[Claim], Outcome]


class Reception:
    """Answers for one invitation; `settle` has a claim done, and says what came of it."""

    def __init__(self, invitation: Invitation, settle: Settle, clock: Clock) -> None:
        self.ignored = 0
        self.last_ignored = ""  # why
        self.prefix: Final = PREFIX / Component(invitation.seal.identifier)
        self._invitation: Final = invitation
        self._settle: Final = settle
        self._clock: Final = clock
        self._offer: Final = ServedObject(self.prefix / OFFER, invitation.offer, lambda _: _DIGEST, clock)
        self._turned: Final = asyncio.Event()

    async def wait(self, face: Face, told: Callable[[int], None]) -> End:
        """Serve until the invitation was used or is over; `told` hears each second how many are left."""
        async with face.serve(self.prefix, self.answer):
            while not self._invitation.granted and not self._invitation.withdrawn:
                left = self._invitation.offered.until - self._clock()
                if left <= 0:
                    return "expired"
                told(-(-left // SECOND))
                await self._turn(min(1.0, left / SECOND))
            if self._invitation.withdrawn:
                return "withdrawn"
            try:
                async with asyncio.timeout(PARTING_S):
                    while not self._invitation.finished:
                        await self._turn(PARTING_S)
            except TimeoutError:
                return "granted"
            return "finished"

    def answer(self, interest: Interest) -> Data | bytes | None:
        """Answer one Interest."""
        asked = interest.name
        word = asked.at(len(self.prefix)) if len(asked) > len(self.prefix) else None
        if word == OFFER:
            return self._offer.answer(interest)
        box = interest.parameters
        if box is None or word not in {CLAIM, DONE}:
            return None
        invitation = self._invitation
        step = invitation.take(box, self._clock()) if word == CLAIM else invitation.finish(box)
        if isinstance(step, Claimed):
            step = Reply(invitation.settle(step, self._outcome(step.claim)))
        self._turned.set()
        if isinstance(step, Reply):
            return step.box
        self.ignored += 1
        self.last_ignored = step.reason
        return None

    def _outcome(self, claim: Claim) -> Outcome:
        try:
            return self._settle(claim)
        except RoostError as error:
            return Refusal(str(error))

    async def _turn(self, at_most_s: float) -> None:
        self._turned.clear()
        try:
            async with asyncio.timeout(at_most_s):
                await self._turned.wait()
        except TimeoutError:
            pass
