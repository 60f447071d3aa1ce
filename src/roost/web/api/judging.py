"""Whether a packet is believed, and why: the verdict of this node's verifier, and each certificate on the way.

Certificates are looked for in the repos of this node first, then asked for. What is missing leaves a packet unverified,
which is not refused: somebody may have it yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from roost.errors import BadName, BadPacket, TimedOut, Untrusted
from roost.forwarding.pending import Question
from roost.host.clock import Clock
from roost.host.verification import Verification
from roost.naming import Name
from roost.pubsub.repos.repo import Repo
from roost.repo.store import Damaged
from roost.trust.acceptance import Checker
from roost.trust.keys import load_public
from roost.trust.verdict import Rejection
from roost.trust.verifier import Verifier
from roost.wire import Data
from roost.wire.certificate import Certificate, key_name_of
from roost.wire.data import decode_data

TRUSTED: Final = "trusted"
REFUSED: Final = "refused"
UNVERIFIED: Final = "unverified"
CERTIFICATE_MS: Final = 1000
MAX_LINKS: Final = 8  # certificates from a signer to its anchor


class Asks(Protocol):
    """Who asks the network (`roost.web.api.inquiry`)."""

    async def ask(self, question: Question) -> Data | None: ...


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found about a packet."""

    verdict: str
    rule: str = ""
    reason: str = ""


class Judging:
    """Judges with the verifier of this node."""

    def __init__(self, verifier: Checker, repos: list[Repo], asks: Asks, clock: Clock) -> None:
        self._verifier: Final = verifier
        self._repos: Final = repos
        self._asks: Final = asks
        self._clock: Final = clock
        self._verification: Final = Verification(verifier, clock, self._fetch)

    async def judge(self, data: Data) -> Judged:
        """Check a packet, with the certificates that it takes."""
        try:
            accepted = await self._verification.check(data)
        except Untrusted as error:
            verdict = self._verifier.check(data, self._clock())
            if isinstance(verdict, Rejection) and not verdict.for_now:
                fix = f"; {verdict.fix}" if verdict.fix else ""
                return Judged(REFUSED, verdict.rule, verdict.reason + fix)
            return Judged(UNVERIFIED, "", str(error))
        return Judged(TRUSTED, accepted.rule)

    async def chain(self, data: Data) -> list[dict[str, object]]:
        """The certificates from the one that a packet names to an anchor, each with what is to be said of it."""
        links: list[dict[str, object]] = []
        locator, seen = data.signature.key_name, set[Name]()
        while locator is not None and locator not in seen and len(links) < MAX_LINKS:
            seen.add(locator)
            certificate = await self.certificate(locator)
            if certificate is None:
                links.append(_link(str(locator), REFUSED, "this certificate is not here, and nobody answers for it"))
                break
            judged = await self.judge(certificate.data)
            issuer = certificate.data.signature.key_name
            link = _link(str(certificate.name), TRUSTED if judged.verdict == TRUSTED else REFUSED, judged.reason)
            link |= {"issuer": None if issuer is None else _key(issuer)}
            links.append(link | {"not_before": certificate.not_before, "not_after": certificate.not_after})
            if issuer is None or _key(issuer) == str(certificate.key_name):
                break
            locator = issuer
        return links

    async def is_signed(self, data: Data) -> bool | None:
        """Whether the signature is that of the key that it names, whoever that may sign for; None if it is not here."""
        locator = data.signature.key_name
        certificate = None if locator is None else await self.certificate(locator)
        if certificate is None:
            return None
        try:
            key = load_public(certificate.public_key)
        except BadPacket:
            return None
        is_of_kind = key.signature_type == data.signature.type
        return is_of_kind and key.verify(data.signed_portion, data.signature_value)

    async def certificate(self, name: Name) -> Certificate | None:
        """A certificate by (a prefix of) its name, from here or from elsewhere; not believed yet."""
        if isinstance(self._verifier, Verifier):
            for anchor in self._verifier.anchors:
                if anchor.name.starts_with(name):
                    return anchor
        try:
            return Certificate.decode(await self._fetch(name))
        except (TimedOut, BadPacket):
            return None

    async def _fetch(self, name: Name) -> Data:
        for repo in self._repos:
            found = _kept(repo, name)
            if found is not None:
                return found
        data = await self._asks.ask(Question(name, can_be_prefix=True, lifetime_ms=CERTIFICATE_MS))
        if data is None:
            raise TimedOut(f"{name}: nobody has answered")
        return data


def _kept(repo: Repo, name: Name) -> Data | None:
    """A certificate that a repo shows, or keeps."""
    shown = repo.credentials.named(name)
    if shown is not None:
        return shown
    try:
        wire = repo.store.find(name)
        return None if wire is None else decode_data(wire)
    except (Damaged, BadPacket):
        return None


def _key(locator: Name) -> str:
    try:
        return str(key_name_of(locator))
    except BadName:
        return str(locator)


def _link(name: str, verdict: str, reason: str) -> dict[str, object]:
    told: dict[str, object] = {"name": name, "issuer": None, "not_before": None, "not_after": None}
    return told | {"verdict": verdict, "reason": reason}
