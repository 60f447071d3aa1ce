"""Packets on their way to be believed: checked, held while a certificate is fetched, checked again. Pure.

A verifier says `Accepted`, `Rejection` or `Wanted(name)` (`roost.trust`). What it wants is asked for once, however many
packets wait for it, and each packet goes on with its own continuation: `then(refusal, now)`, empty if it is believed.
`roost.host.verification` does the same for those who can await.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.machine import Effect
from roost.naming import Name
from roost.trust.acceptance import Checker
from roost.trust.verdict import Accepted, Rejection
from roost.wire import Data, Interest

MAX_HELD: Final = 256
MAX_CERTIFICATES: Final = 16  # to fetch for one packet; chains are shorter, loops are not

Then: TypeAlias = Callable[[str, int], list[Effect]]


class Unjudged(str):
    """A refusal for now: a certificate could not be had, or too many packets wait; another time it may be believed."""

    __slots__ = ()


@dataclass(slots=True)
class _Held:
    packet: Data | Interest
    then: Then
    repeatable: bool
    fetched: int = 0


class Vetting:
    """Runs a verifier; `ask` asks for a certificate by (a prefix of) its name, and `arrived` or `missed` ends that."""

    def __init__(self, verifier: Checker, ask: Callable[[Name, int], list[Effect]]) -> None:
        self.refused = 0
        self.overflowed = 0
        self._verifier: Final = verifier
        self._ask: Final = ask
        self._held: Final[dict[Name, list[_Held]]] = {}  # by the certificate they wait for; bound: MAX_HELD packets
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def check(self, packet: Data | Interest, then: Then, now: int, *, repeatable: bool = True) -> list[Effect]:
        """Check a packet and go on with `then`, at once or when the certificates are here."""
        return self._check(_Held(packet, then, repeatable), now)

    def arrived(self, name: Name, certificate: Data, now: int) -> list[Effect]:
        """Take a certificate that was asked for."""
        if self._verifier.learn(certificate, now) is not None:
            self._verifier.missing(name, now)
        return self._check_again(name, now)

    def offered(self, name: Name, certificate: Data, now: int) -> list[Effect] | None:
        """Take a certificate that was kept from earlier; None if it is not valid now, so that another is needed."""
        return self._check_again(name, now) if self._verifier.learn(certificate, now) is None else None

    def missed(self, name: Name, now: int) -> list[Effect]:
        """Take in that nobody answered for a certificate; for a while it is not asked for again."""
        self._verifier.missing(name, now)
        return self._check_again(name, now)

    def unasked(self, name: Name, reason: str, now: int) -> list[Effect]:
        """Take in that we could not ask, which says nothing about the certificate: who waits for it is refused."""
        effects: list[Effect] = []
        for held in self._take(name):
            effects += self._turn_away(held, reason, now)
        return effects

    def _check_again(self, name: Name, now: int) -> list[Effect]:
        effects: list[Effect] = []
        for held in self._take(name):
            held.fetched += 1
            effects += self._check(held, now)
        return effects

    def _take(self, name: Name) -> list[_Held]:
        waiting = self._held.pop(name, [])
        self._count -= len(waiting)
        return waiting

    def _check(self, held: _Held, now: int) -> list[Effect]:
        verdict = self._verifier.check(held.packet, now, repeatable=held.repeatable)
        if isinstance(verdict, Accepted):
            return held.then("", now)
        if isinstance(verdict, Rejection):
            return self._refuse(held, Unjudged(verdict) if verdict.for_now else str(verdict), now)
        if held.fetched >= MAX_CERTIFICATES:
            reason = f"{held.packet.name}: more than {MAX_CERTIFICATES} certificates are wanted to verify it"
            return self._refuse(held, reason, now)
        if self._count >= MAX_HELD:
            return self._turn_away(held, f"{MAX_HELD} packets wait for certificates, which is the limit", now)
        self._count += 1
        waiting = self._held.get(verdict.name)
        if waiting is not None:
            waiting.append(held)
            return []
        self._held[verdict.name] = [held]
        return self._ask(verdict.name, now)

    def _refuse(self, held: _Held, reason: str, now: int) -> list[Effect]:
        self.refused += 1
        return held.then(reason, now)

    def _turn_away(self, held: _Held, reason: str, now: int) -> list[Effect]:
        self.overflowed += 1
        return held.then(Unjudged(f"{held.packet.name} was not checked: {reason}"), now)
