"""Questions of one machine that does many things on one face: each with its own continuation, answers verified first.

    asking.ask(question, then)          then(Delivered | Failed, now)      as it came, not verified
    asking.fetch(question, then)        then(data, "", now)                believed
                                        then(None, why, now)               nothing came, or it is not believed
    asking.check(packet, then)          then("" | refusal, now)            for what came by itself

A continuation returns effects, as everything does. Sync members that share the face (`Membership`) count their tickets
by themselves; `settle` gives them tickets of ours and takes the answers back to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from roost.forwarding.endpoint_effects import NACKED, OVERFLOWED, TIMED_OUT, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected
from roost.naming import Name
from roost.pubsub.membership import CERTIFICATE_LIFETIME_MS, CERTIFICATE_TRIES, Ask, Cancel, Membership
from roost.pubsub.vetting import Then, Vetting
from roost.trust.acceptance import Checker
from roost.wire import Data, Interest

MAX_ASKED: Final = 8192
_SAMPLE_BYTES: Final = 64

Answer: TypeAlias = Callable[[Delivered | Failed, int], list[Effect]]
Fetched: TypeAlias = Callable[[Data | None, str, int], list[Effect]]
Certified: TypeAlias = Callable[[Data, int], list[Effect]]


class Asking:
    """What is asked, and who goes on with the answer; `whose` names the machine where something is refused.

    `certified` hears of every certificate that had to be fetched, believed or not. Who keeps certificates has one `at
    hand`, perhaps; and where nobody answers for one, `helpers` are asked, by forwarding hints.
    """

    def __init__(
        self,
        verifier: Checker,
        whose: Name,
        *,
        max_asked: int = MAX_ASKED,
        certified: Certified | None = None,
        at_hand: Callable[[Name], Data | None] | None = None,
        helpers: Callable[[int], tuple[Name, ...]] | None = None,
    ) -> None:
        self.vetting: Final = self.vet(verifier)
        self.max_asked: Final = max_asked
        self.overflowed = 0
        self._whose: Final = str(whose)
        self._certified: Final = certified
        self._at_hand: Final = at_hand
        self._helpers: Final = helpers
        self._next_ticket = 1
        self._answers: Final[dict[int, Answer]] = {}  # bound: max_asked
        self._theirs: Final[dict[tuple[int, int], int]] = {}  # (member, its ticket) → ours; bound: as above

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def room(self) -> int:
        """How many more questions there is room for."""
        return self.max_asked - len(self._answers)

    @property
    def last_ticket(self) -> int:
        """The ticket of what was asked last, to `cancel` it by."""
        return self._next_ticket - 1

    def ask(self, question: Question, then: Answer, now: int) -> list[Effect]:
        """Ask, and go on with whatever comes back."""
        if not self.room:
            self.overflowed += 1
            reason = f"{question.name} was not asked: {self.max_asked} questions are open, which is the limit"
            return then(Failed(0, OVERFLOWED, reason), now)
        ticket = self._next_ticket
        self._next_ticket += 1
        self._answers[ticket] = then
        return [Ask(ticket, question)]

    def vet(self, verifier: Checker) -> Vetting:
        """Verify by another one; its certificates are asked for in the same way."""

        def ask(name: Name, now: int) -> list[Effect]:
            return self._ask_certificate(vetting, name, now)

        vetting = Vetting(verifier, ask)
        return vetting

    def fetch(self, question: Question, then: Fetched, now: int, vetting: Vetting | None = None) -> list[Effect]:
        """Ask, and go on with what is believed."""
        judge = self.vetting if vetting is None else vetting

        def answered(event: Delivered | Failed, now: int) -> list[Effect]:
            if isinstance(event, Failed):
                return then(None, event.reason, now)
            data = event.data

            def checked(refusal: str, now: int) -> list[Effect]:
                if not refusal:
                    return then(data, "", now)
                return [self.rejected(data, refusal), *then(None, refusal, now)]

            return judge.check(data, checked, now)

        return self.ask(question, answered, now)

    def check(self, packet: Data | Interest, then: Then, now: int, *, repeatable: bool = True) -> list[Effect]:
        """Verify what came by itself; a command is not `repeatable`, so that it counts once only."""
        return self.vetting.check(packet, then, now, repeatable=repeatable)

    def cancel(self, ticket: int) -> list[Effect]:
        """Wait no longer; its continuation is forgotten."""
        return [Cancel(ticket)] if self._answers.pop(ticket, None) is not None else []

    def receive(self, event: Delivered | Failed, now: int) -> list[Effect]:
        """Take in an answer."""
        then = self._answers.pop(event.ticket, None)
        return [] if then is None else then(event, now)

    def rejected(self, packet: Data | Interest, refusal: str) -> Rejected:
        """Refuse in our own name: who is refused can choose any other, a new one each time."""
        return Rejected(self._whose, refusal, packet.wire[:_SAMPLE_BYTES])

    # -- members that share the face

    def settle(self, membership: Membership[Any], effects: list[Effect], now: int) -> list[Effect]:
        """Give what a member asks tickets of ours; the rest passes."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Ask):
                passed += self._ask_for(membership, effect, now)
            elif isinstance(effect, Cancel):
                passed += self.cancel(self._theirs.pop((id(membership), effect.ticket), 0))
            else:
                passed.append(effect)
        return passed

    def _ask_for(self, membership: Membership[Any], effect: Ask, now: int) -> list[Effect]:
        key = (id(membership), effect.ticket)

        def answered(event: Delivered | Failed, now: int) -> list[Effect]:
            self._theirs.pop(key, None)
            theirs: Delivered | Failed
            if isinstance(event, Delivered):
                theirs = Delivered(effect.ticket, event.data, event.congested)
            else:
                theirs = Failed(effect.ticket, event.kind, event.reason, event.nack)
            return self.settle(membership, membership.receive(theirs, now), now)

        self._theirs[key] = self._next_ticket
        return self.ask(effect.question, answered, now)

    # -- certificates

    def _ask_certificate(self, vetting: Vetting, name: Name, now: int) -> list[Effect]:
        """Look at hand; ask whoever the name leads to; if that sleeps, the helpers in turn, and it once more."""
        kept = None if self._at_hand is None else self._at_hand(name)
        useful = None if kept is None else vetting.offered(name, kept, now)
        if useful is not None:
            return useful
        helpers = () if self._helpers is None else self._helpers(now)
        turns: list[tuple[tuple[Name, ...], int]] = [((), CERTIFICATE_TRIES)]  # hints, tries
        if helpers:
            turns = [((), 1), *[((helper,), 1) for helper in helpers], ((), CERTIFICATE_TRIES - 1)]

        def ask(now: int) -> list[Effect]:
            hints, tries = turns.pop(0)
            question = Question(name, can_be_prefix=True, lifetime_ms=CERTIFICATE_LIFETIME_MS, tries=tries, hints=hints)
            return self.ask(question, answered, now)

        def answered(event: Delivered | Failed, now: int) -> list[Effect]:
            if isinstance(event, Delivered):
                effects = vetting.arrived(name, event.data, now)
                return effects + self._certified(event.data, now) if self._certified is not None else effects
            if event.kind not in {TIMED_OUT, NACKED}:
                return vetting.unasked(name, event.reason, now)
            return ask(now) if turns else vetting.missed(name, now)

        return ask(now)
