"""Why a packet is or is not trusted, in words: the rule, the key, the fix.

For a name: the rules it fits, the keys that may sign it, and which of them we hold. Nobody signs the bare name of an
object or a stream: there it is about the segments and metadata, or the readings, that are published under it. For a
packet: the verdict of a verifier, with the chain it followed. A no has a `rule` and a `reason`, and a `fix` where
there is one. Pure; `roost trust explain` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.naming import Name
from roost.naming.component import VERSION
from roost.naming.conventions import METADATA, segment, sequence, version
from roost.trust.keychain import KeyChain
from roost.trust.schema import Schema
from roost.trust.verdict import Accepted, Rejection, Wanted
from roost.trust.verifier import Verifier
from roost.wire import Data, Interest, SignatureInfo
from roost.wire.certificate import is_certificate_name, told_of
from roost.wire.signature import SIGNATURE_NAMES


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer, and whether it is yes: the packet is trusted, or we hold a key for the name."""

    good: bool
    text: str


def explain_name(name: Name, keychain: KeyChain, now: int) -> Explanation:
    """Say who may sign a name, or what is published under it, by which rule, and whether one of our keys may."""
    schema = keychain.schema
    shapes = [("", name)] if schema.keys_for(name) else [s for s in _published_under(name) if schema.keys_for(s[1])]
    if not shapes:
        return _unsignable(name, schema)
    lines = [str(name), *[_line("as", shape) for shape, _ in shapes if shape]]
    signed = [below for _, below in shapes]
    allowed = list(dict.fromkeys(key for each in signed for key in schema.keys_for(each)))
    for key in allowed:
        lines.append(_line("rule", key.rule))
        lines.append(_line("key", f"{key.pattern} (rule {key.key_rule})"))
    held = {identity.certificate.name: identity for each in signed for identity in keychain.holding(each)}
    for identity in held.values():
        certificate = identity.certificate
        period = f"until {told_of(certificate.not_after)}"
        if not certificate.valid_at(now):
            period = f"NOT VALID NOW: {told_of(certificate.not_before)} to {told_of(certificate.not_after)}"
        lines.append(_line("held", f"{certificate.name}, {period}"))
    usable = [each for each in signed if any(held.certificate.valid_at(now) for held in keychain.holding(each))]
    signs = dict.fromkeys(str(keychain.identity_for(each, now).certificate.key_name) for each in usable)
    lines += [_line("signs", key_name) for key_name in signs]
    if not usable:
        identities = " or ".join(sorted({key.identity for key in allowed}))
        lines.append(_line("reason", "none of these keys is valid here" if held else "none of these keys is here"))
        lines.append(_line("fix", f"roost key make {identities}, or roost key import a SafeBag of it"))
    return Explanation(bool(usable), "\n".join(lines))


def _published_under(name: Name) -> list[tuple[str, Name]]:
    """What may be published under a name that nobody signs itself: what to call it, and a name of that shape."""
    last = name.at(-1) if name else None
    if last is None or is_certificate_name(name):
        return []
    if last.type == VERSION:
        return [("a version of an object: its segments …/seg=<n>", name / segment(0))]
    if last == METADATA:
        return [("the metadata of an object: …/v=<version>/seg=0", name / version(0) / segment(0))]
    return [
        ("a stream: its readings …/seq=<n>", name / sequence(0)),
        ("an object: its segments …/v=<version>/seg=<n>", name / version(0) / segment(0)),
        ("an object: its metadata …/32=metadata/v=<version>/seg=0", name / METADATA / version(0) / segment(0)),
    ]


def _unsignable(name: Name, schema: Schema) -> Explanation:
    rules = schema.rules_of(name)
    reason = f"rule {', '.join(rules)} lets nobody sign it" if rules else schema.nearest(name)
    if any(rule in schema.anchors for rule in rules) and is_certificate_name(name):
        reason = f"it is the name of an anchor (rule {', '.join(rules)}): it signs itself and is trusted by being given"
    return Explanation(good=False, text="\n".join([str(name), _line("reason", reason), _line("rule", "none")]))


def explain_packet(packet: Data | Interest, verifier: Verifier, now: int) -> Explanation:
    """Say why a packet is or is not trusted, with the certificates at hand."""
    lines = [f"{'Data' if isinstance(packet, Data) else 'Interest'} {packet.name}"]
    if packet.signature is not None:
        lines.append(_line("signed", _signer(packet.signature)))
    verdict = verifier.check(packet, now)
    if isinstance(verdict, Accepted):
        lines.append(_line("trusted", "yes"))
        lines.append(_line("rule", verdict.rule))
        for position, name in enumerate(verdict.chain):
            last = position == len(verdict.chain) - 1
            label = "key" if position == 0 else "issuer"
            lines.append(_line(label, f"{name}{' (anchor)' if last and is_certificate_name(name) else ''}"))
        return Explanation(good=True, text="\n".join(lines))
    if isinstance(verdict, Wanted) and verdict.otherwise is not None:
        verdict = verdict.otherwise  # what is wrong with the certificates that are here says more
    lines.append(_line("trusted", "no" if isinstance(verdict, Rejection) else "not yet"))
    if isinstance(verdict, Wanted):
        verdict = Rejection(
            "a certificate of the chain is not here",
            "chain",
            verdict.name,
            f"fetch {verdict.name} and give it with --certificate, or roost key import it",
        )
    lines.append(_line("reason", verdict.reason))
    lines.append(_line("rule", verdict.rule or "none"))
    if verdict.key is not None:
        lines.append(_line("key", str(verdict.key)))
    if verdict.fix:
        lines.append(_line("fix", verdict.fix))
    return Explanation(good=False, text="\n".join(lines))


def _signer(info: SignatureInfo) -> str:
    kind = SIGNATURE_NAMES.get(info.type, f"signature type {info.type}")
    if info.key_name is not None:
        return f"{kind}, by {info.key_name}"
    return (
        f"{kind}, by the key with digest {info.key_digest.hex()}"
        if info.key_digest
        else f"{kind}, by nobody in particular"
    )


def _line(label: str, text: str) -> str:
    return f"  {label:<8}{text}"
