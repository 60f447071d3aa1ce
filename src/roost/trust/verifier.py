"""The verifier: is this packet signed by a key that the schema allows, up to an anchor? Pure.

`check` says `Accepted`, `Rejection`, or `Wanted(name)`: a certificate is missing. The driver fetches it (CanBePrefix)
and calls `learn`, or `missing` when it could not be had or was refused, then checks again:

    while isinstance(verdict := verifier.check(packet, now), Wanted):
        certificate = await fetch(verdict.name)
        if certificate is None or verifier.learn(certificate, now):
            verifier.missing(verdict.name, now)

so a slow network is the driver's business and every check is a plain function. What a verified chain of certificates
came to is remembered until the first of them ends: then the cost of a packet is one look at the schema's memory and one
signature. Certificates are believed only through their chain; what anyone sends cannot displace those that are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig, BadPacket
from roost.machine import SECOND
from roost.naming import Name
from roost.trust.certificates import CertificateStore
from roost.trust.chain import Believed, Chain, ChainWalk, prefer
from roost.trust.judgement import (
    judge_locator,
    not_signed_by_key,
    refuse_digest,
    refuse_hmac,
    refuse_type,
    refuse_unsigned,
)
from roost.trust.replay import ReplayGuard, ReplayRules
from roost.trust.schema import Schema
from roost.trust.secret import HmacKey, digest_matches
from roost.trust.verdict import Accepted, Rejection, Verdict, Wanted
from roost.wire import Data, Interest, SignatureInfo
from roost.wire.certificate import Certificate
from roost.wire.signature import DIGEST_SHA256, ED25519, HMAC_SHA256, SHA256_ECDSA, SHA256_RSA

MISSING_FOR: Final = 10 * SECOND  # how long an unsuccessful fetch is not asked for again
MAX_MISSING: Final = 1024


@dataclass(frozen=True, slots=True)
class Policy:
    """What the schema does not say: packets without a key pair, replay, and how much is remembered."""

    digest_under: tuple[Name, ...] = ()  # where a SHA-256 digest is enough; nowhere unless told
    secrets: tuple[tuple[Name, HmacKey], ...] = ()  # HMAC keys, each with the prefix it is good for
    replay: ReplayRules = ReplayRules()  # noqa: RUF009  frozen
    depth: int = 8  # certificates in a chain, the anchor's included
    certificates: int = 1024  # not yet verified
    chains: int = 4096  # verified

    def __post_init__(self) -> None:
        if min(self.depth, self.certificates, self.chains) < 1:
            raise BadConfig("verifier policy: depth, certificates and chains are at least 1")


@dataclass(slots=True)
class Counters:
    """How often what happened."""

    accepted: int = 0
    rejected: int = 0
    wanted: int = 0
    learned: int = 0
    chains_reused: int = 0
    chains_walked: int = 0
    chains_forgotten: int = 0


class Verifier:
    """Checks packets against a schema and anchors."""

    def __init__(self, schema: Schema, anchors: Iterable[Certificate], policy: Policy | None = None) -> None:
        self.schema: Final = schema
        self.policy: Final = policy or Policy()
        self.counters: Final = Counters()
        self._anchors: Final = {anchor.wire: anchor for anchor in anchors}
        for anchor in self._anchors.values():
            if not schema.is_anchor_name(anchor.name):
                rules = ", ".join(schema.anchors)
                raise BadConfig(f"anchor {anchor.name} is not named as the schema's anchor rule ({rules}) says")
        if not self._anchors:
            raise BadConfig("a verifier needs at least one trust anchor; `roost init` makes one")
        self._store: Final = CertificateStore(self.policy.certificates)
        self._believed: Final = Believed(self.policy.chains)
        self._chains: Final[OrderedDict[bytes, Chain]] = OrderedDict()  # by what the KeyLocator holds
        self._missing: Final[OrderedDict[bytes, int]] = OrderedDict()
        self.replay: Final = ReplayGuard(self.policy.replay)

    @property
    def anchors(self) -> tuple[Certificate, ...]:
        return tuple(self._anchors.values())

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:
        """Judge one packet; an Interest that may come again without harm (a state vector) is `repeatable`."""
        verdict = self._check(packet, now, None if repeatable else self.replay)
        counters = self.counters
        if isinstance(verdict, Accepted):
            counters.accepted += 1
        elif isinstance(verdict, Wanted):
            counters.wanted += 1
        else:
            counters.rejected += 1
        return verdict

    def check_all(self, packets: Iterable[Data | Interest], now: int) -> list[Verdict]:
        """Judge a batch; the same as one at a time."""
        return [self.check(packet, now) for packet in packets]

    def learn(self, packet: Data, now: int) -> Rejection | None:
        """Take a certificate that was fetched; a rejection says why it cannot be one."""
        try:
            certificate = Certificate.decode(packet)
        except BadPacket as error:
            return Rejection(str(error), key=packet.name, fix="its publisher must serve a certificate under this name")
        known = certificate in self._store
        self._store.put(certificate)
        if not certificate.valid_at(now):
            return Chain.out_of_date(certificate, now)
        for name in (certificate.name, certificate.key_name):
            if known:
                self.missing(name, now)  # there is no other to be had, so it is no use to ask on
            else:
                self._missing.pop(name.value, None)
        self.counters.learned += not known
        return None

    def vouchers(self, info: SignatureInfo) -> list[Certificate]:
        """The believed certificates by which packets of such a signature are, the signer's first; no anchor."""
        found: list[Certificate] = []
        step = info
        while len(found) < self.policy.depth:
            believed = [each for each in self._believed.find(step) if each.wire not in self._anchors]
            if not believed:
                break
            found.append(believed[0])
            step = believed[0].data.signature
        return found

    def missing(self, name: Name, now: int) -> None:
        """Take note that a wanted certificate could not be fetched, so that checks say so instead of asking again."""
        self._missing[name.value] = now + MISSING_FOR
        self._missing.move_to_end(name.value)
        if len(self._missing) > MAX_MISSING:
            self._missing.popitem(last=False)

    def _check(self, packet: Data | Interest, now: int, replay: ReplayGuard | None) -> Verdict:
        info = packet.signature
        if info is None:
            return refuse_unsigned(packet.name)
        chain = self._chains.get(_locator(info))
        if chain is not None and chain.low <= now <= chain.high and info.type == chain.key.signature_type:
            rule = self.schema.rule_for(packet.name, chain.certificate.name)
            if rule is not None and chain.key.verify(packet.signed_portion, packet.signature_value):
                self.counters.chains_reused += 1
                return _accept(packet, info, chain, rule, now, replay)
        if info.type == DIGEST_SHA256:
            return self._check_digest(packet)
        if info.type == HMAC_SHA256:
            return self._check_hmac(packet, info, now, replay)
        if info.type not in {SHA256_RSA, SHA256_ECDSA, ED25519}:
            return refuse_type(packet.name, info.type)
        if isinstance(packet, Data) and packet.wire in self._anchors:
            anchor = self._anchors[packet.wire]
            return Accepted("anchor", (anchor.name,)) if anchor.valid_at(now) else Chain.out_of_date(anchor, now)
        return self._check_slowly(packet, info, now, replay)

    def _check_slowly(
        self, packet: Data | Interest, info: SignatureInfo, now: int, replay: ReplayGuard | None
    ) -> Verdict:
        refusal = judge_locator(self.schema, packet.name, info)
        if refusal is not None:
            return refusal
        walk = ChainWalk(self.schema, self._anchors, self._believed, self._store, self._missing, self.policy.depth, now)
        self.counters.chains_walked += 1
        kept: Rejection | Wanted | None = None
        believed = False
        for certificate in walk.candidates(info):
            chain = walk.follow(certificate)
            if not isinstance(chain, Chain):
                kept = prefer(kept, chain)
                continue
            believed = True
            rule = self.schema.rule_for(packet.name, certificate.name)
            if rule is None:
                kept = kept or judge_locator(self.schema, packet.name, info, certificate.name)
            elif info.type != chain.key.signature_type or not chain.key.verify(
                packet.signed_portion, packet.signature_value
            ):
                kept = kept or not_signed_by_key(packet.name, rule, certificate.name, info.type, chain.key)
            else:
                self._remember(info, chain)
                return _accept(packet, info, chain, rule, now, replay)
        if isinstance(kept, Rejection) and not believed:
            return walk.another(info, kept)
        return kept or walk.absent(info)

    def _remember(self, info: SignatureInfo, chain: Chain) -> None:
        self._chains[_locator(info)] = chain
        if len(self._chains) > self.policy.chains:
            self._chains.popitem(last=False)
            self.counters.chains_forgotten += 1

    def _check_digest(self, packet: Data | Interest) -> Verdict:
        if not any(packet.name.starts_with(prefix) for prefix in self.policy.digest_under):
            return refuse_digest(self.schema, packet.name)
        if not digest_matches(packet.signed_portion, packet.signature_value):
            return Rejection(f"the SHA-256 digest of {packet.name} does not match: it was altered", "digest")
        return Accepted("digest", ())

    def _check_hmac(
        self, packet: Data | Interest, info: SignatureInfo, now: int, replay: ReplayGuard | None
    ) -> Verdict:
        named = [
            (prefix, key)
            for prefix, key in self.policy.secrets
            if packet.name.starts_with(prefix) and (info.key_name is None or info.key_name == key.name)
        ]
        for prefix, key in named:
            if key.verify(packet.signed_portion, packet.signature_value):
                refusal = replay.admit(key.name, info, now) if replay and isinstance(packet, Interest) else None
                return refusal or Accepted(f"hmac {prefix}", (key.name,))
        return refuse_hmac(packet.name, info.key_name, altered=bool(named))

    def __repr__(self) -> str:
        return f"<Verifier {self.schema!r}, {len(self._chains)} chains, {len(self._store)} certificates>"


def _accept(
    packet: Data | Interest, info: SignatureInfo, chain: Chain, rule: str, now: int, replay: ReplayGuard | None
) -> Verdict:
    refusal = replay.admit(chain.certificate.key_name, info, now) if replay and isinstance(packet, Interest) else None
    return refusal or chain.accepted(rule)


def _locator(info: SignatureInfo) -> bytes:
    return info.key_name.value if info.key_name is not None else info.key_digest or b""
