"""Following certificates from a signer to an anchor [ndn-packets.md §7].

One `ChainWalk` belongs to one check: no certificate is looked at twice in it, so loops end and the work is bounded by
the store's bound. Where none of a key's certificates is believed another one is asked for, so that whoever slips us a
false one, or an old one, keeps out the true one for no longer than it takes to fetch that.

A KeyLocator that names one certificate is content with any other of the same key: data outlives the certificate that
was current when it was signed, and a renewed one vouches for the same key.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, TypeAlias

from roost.errors import BadName, BadPacket
from roost.naming import Component, Name
from roost.naming.conventions import version
from roost.trust.certificates import CertificateStore
from roost.trust.keys import PublicKey, load_public
from roost.trust.schema import Schema
from roost.trust.verdict import Accepted, Rejection, Wanted
from roost.wire import SignatureInfo
from roost.wire.certificate import SELF, Certificate, is_certificate_name, key_name_of, told_of

VALIDITY: Final = "validity"

_SOMEBODY: Final = Component(b"issuer")


class Chain:
    """A certificate that is believed: its key, from when to when, and the certificates up to the anchor."""

    __slots__ = ("_accepted", "certificate", "high", "key", "low", "names")

    def __init__(self, certificate: Certificate, key: PublicKey, issuer: Chain | None = None) -> None:
        self.certificate: Final = certificate
        self.key: Final = key
        self.low: Final[int] = max(certificate.not_before, issuer.low if issuer else certificate.not_before)
        self.high: Final[int] = min(certificate.not_after, issuer.high if issuer else certificate.not_after)
        self.names: Final[tuple[Name, ...]] = (certificate.name, *(issuer.names if issuer else ()))
        self._accepted: Final[dict[str, Accepted]] = {}

    def accepted(self, rule: str) -> Accepted:
        """The verdict by this rule, made once: a schema has few rules."""
        verdict = self._accepted.get(rule)
        if verdict is None:
            verdict = self._accepted[rule] = Accepted(rule, self.names)
        return verdict

    @staticmethod
    def out_of_date(certificate: Certificate, now: int) -> Rejection:
        """The rejection of a certificate that is not valid now."""
        if now > certificate.not_after:
            reason = f"the certificate ended at {told_of(certificate.not_after)}"
            return Rejection(reason, VALIDITY, certificate.name, "have the key certified anew by its issuer")
        reason = f"the certificate begins at {told_of(certificate.not_before)}"
        return Rejection(reason, VALIDITY, certificate.name, "wait until then, or set this machine's clock")


Step: TypeAlias = Chain | Rejection | Wanted


def prefer(kept: Rejection | Wanted | None, other: Rejection | Wanted) -> Rejection | Wanted:
    """Of two reasons not to believe, the one that can still be mended."""
    return other if kept is None or (isinstance(other, Wanted) and not isinstance(kept, Wanted)) else kept


class Believed:
    """Chains that have been verified, at most `limit`, the least recently used forgotten first."""

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._chains: Final[OrderedDict[bytes, Chain]] = OrderedDict()
        self._certificates: Final = CertificateStore(limit)
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._chains)

    def chain(self, certificate: Certificate, now: int) -> Chain | None:
        """The chain of a certificate, while all of it is valid."""
        chain = self._chains.get(certificate.wire)
        if chain is None or not chain.low <= now <= chain.high:
            return None
        self._chains.move_to_end(certificate.wire)
        return chain

    def put(self, chain: Chain) -> None:
        self._chains[chain.certificate.wire] = chain
        self._certificates.put(chain.certificate)
        if len(self._chains) > self._limit:
            _, oldest = self._chains.popitem(last=False)
            self._certificates.drop(oldest.certificate)
            self.forgotten += 1

    def find(self, info: SignatureInfo) -> list[Certificate]:
        """The believed certificates that a KeyLocator may mean."""
        return self._certificates.find(info)


class ChainWalk:
    """One walk up the chains, at one moment."""

    def __init__(
        self,
        schema: Schema,
        anchors: Mapping[bytes, Certificate],
        believed: Believed,
        store: CertificateStore,
        missing: Mapping[bytes, int],
        depth: int,
        now: int,
    ) -> None:
        self._schema: Final = schema
        self._anchors: Final = anchors
        self._believed: Final = believed
        self._store: Final = store
        self._missing: Final = missing
        self._depth: Final = depth
        self._now: Final = now
        self._steps: Final[dict[bytes, Step]] = {}

    def candidates(self, info: SignatureInfo) -> list[Certificate]:
        """The certificates that a KeyLocator may mean: anchors, then those believed before, then hearsay."""
        found = [anchor for anchor in self._anchors.values() if _means(info, anchor)]
        for held in (*self._believed.find(info), *self._store.find(info)):
            if all(held.wire != other.wire for other in found):
                found.append(held)
        return found

    def absent(self, info: SignatureInfo) -> Rejection | Wanted:
        """What to say when there is no candidate at all."""
        locator = info.key_name
        if locator is None:
            return Rejection(
                "the signer is given by KeyDigest and its certificate is not at hand; a digest cannot be asked for",
                "chain",
                fix="sign with a KeyLocator that names the certificate, or give this node the certificate",
            )
        foreign = self._foreign_anchor(locator)
        if foreign is not None:
            return foreign
        if not self._is_missing(locator):
            return Wanted(locator)
        try:
            key = key_name_of(locator)
        except BadName:
            key = locator
        if self._is_missing(key):
            return Rejection(
                "the signer's certificate could not be fetched",
                "chain",
                locator,
                f"make sure that someone serves {locator} (its producer or a repo) and that a route leads there",
                for_now=True,
            )
        return Wanted(key)

    def _foreign_anchor(self, locator: Name) -> Rejection | None:
        """Refuse a signer that could only be an anchor, and is none of ours: whatever were fetched would not mend it.

        That a KeyLocator names a self-signed certificate says nothing by itself, the key may have another one too.
        """
        try:
            key = key_name_of(locator)
        except BadName:
            return None
        if not self._schema.is_anchor_name(key / SELF / version(1)):
            return None
        if self._schema.keys_for(key / _SOMEBODY / version(1)):  # a schema may let others certify keys of this name
            return None
        ours = sorted(str(anchor.key_name) for anchor in self._anchors.values())
        if str(key) in ours:
            return None
        return Rejection(
            f"it is signed by another trust anchor than ours ({', '.join(ours)})",
            "anchor",
            locator,
            "both sides must have the same one, see `roost init --join`",
        )

    def _is_missing(self, name: Name) -> bool:
        return self._missing.get(name.value, 0) > self._now

    def another(self, info: SignatureInfo, kept: Rejection) -> Rejection | Wanted:
        """Ask for a certificate besides those that are not believed; `kept`, the reason, if that was tried."""
        locator = info.key_name
        if locator is None:
            return kept
        foreign = self._foreign_anchor(locator)
        if foreign is not None:
            return foreign
        found = {certificate.name for certificate in self.candidates(info)}
        if is_certificate_name(locator) and not self._is_missing(locator) and locator not in found:
            return Wanted(locator, kept)
        try:
            key = key_name_of(locator)
        except BadName:
            return kept
        return kept if self._is_missing(key) else Wanted(key, kept)

    def follow(self, certificate: Certificate, depth: int = 1) -> Step:
        """Find out whether a certificate is believed."""
        step = self._believed.chain(certificate, self._now) or self._steps.get(certificate.wire)
        if step is None:
            self._steps[certificate.wire] = Rejection(
                "the certificates sign each other in a circle",
                "chain",
                certificate.name,
                "have one of them certified anew",
            )
            step = self._steps[certificate.wire] = self._follow(certificate, depth)
            if isinstance(step, Chain):
                self._believed.put(step)
        return step

    def _follow(self, certificate: Certificate, depth: int) -> Step:
        if not certificate.valid_at(self._now):
            return Chain.out_of_date(certificate, self._now)
        try:
            key = load_public(certificate.public_key)
        except BadPacket as error:
            return Rejection(str(error), "chain", certificate.name, "have a key of a known kind certified")
        if certificate.wire in self._anchors:
            return Chain(certificate, key)
        if depth >= self._depth:
            return Rejection(
                f"the chain of certificates is longer than {self._depth}",
                "chain",
                certificate.name,
                "certify it nearer the anchor",
            )
        if certificate.is_self_signed:
            return Rejection(
                "the certificate is self-signed and is not one of our anchors",
                "anchor",
                certificate.name,
                "if you know its owner and trust it, add it as an anchor; otherwise it is someone else's",
            )
        return self._issued(certificate, key, depth)

    def _issued(self, certificate: Certificate, key: PublicKey, depth: int) -> Step:
        data, info = certificate.data, certificate.data.signature
        kept: Rejection | Wanted | None = None
        for issuer in self.candidates(info):
            rule = self._schema.rule_for_issuer(certificate.name, issuer.name)
            if rule is None:
                kept = kept or self._may_not_issue(certificate, issuer.name)
                continue
            above = self.follow(issuer, depth + 1)
            if not isinstance(above, Chain):
                kept = prefer(kept, above)
                continue
            if info.type == above.key.signature_type and above.key.verify(data.signed_portion, data.signature_value):
                return Chain(certificate, key, above)
            return Rejection(
                f"the certificate is not signed by its issuer {issuer.name}: it was altered or forged",
                rule,
                certificate.name,
                "fetch it again; if it stays so, have it issued anew",
            )
        if isinstance(kept, Rejection):
            return self.another(info, kept)
        return kept or self._absent_issuer(certificate)

    def _absent_issuer(self, certificate: Certificate) -> Step:
        info = certificate.data.signature
        if info.key_name is not None:
            try:
                issuer = key_name_of(info.key_name)
            except BadName as error:
                return Rejection(str(error), "chain", certificate.name, "have the certificate issued anew")
            if self._schema.rule_for_key(certificate.name, issuer) is None:
                return self._may_not_issue(certificate, info.key_name)
        return self.absent(info)

    def _may_not_issue(self, certificate: Certificate, issuer: Name) -> Rejection:
        wanted = self._schema.keys_for(certificate.name)
        rules = ", ".join(sorted({allowed.rule for allowed in wanted}))
        who = " or ".join(sorted({allowed.identity for allowed in wanted})) or "nobody"
        return Rejection(
            f"{issuer} may not certify {certificate.key_name}",
            rules or "no rule",
            certificate.name,
            f"have it certified by {who}",
        )


def _means(info: SignatureInfo, certificate: Certificate) -> bool:
    if info.key_digest is not None:
        return load_public(certificate.public_key).digest == info.key_digest
    return info.key_name is not None and info.key_name.starts_with(certificate.key_name)
