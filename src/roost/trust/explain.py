"""Why a packet is or is not trusted, in words: the rule, the key, the fix.

For a name: the rules it fits, the keys that may sign it, and which of them we hold. For a packet: the verdict of a
verifier, with the chain it followed. Pure; `roost trust explain` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.naming import Name
from roost.trust.keychain import KeyChain
from roost.trust.verdict import Accepted, Rejection, Wanted
from roost.trust.verifier import Verifier
from roost.wire import Data, Interest, SignatureInfo
from roost.wire.certificate import is_certificate_name, text_of
from roost.wire.signature import SIGNATURE_NAMES


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer, and whether it is yes: the packet is trusted, or we hold a key for the name."""

    good: bool
    text: str


def explain_name(name: Name, keychain: KeyChain, now: int) -> Explanation:
    """Say who may sign a name, by which rule, and whether one of our keys may."""
    lines = [str(name)]
    allowed = keychain.schema.keys_for(name)
    if not allowed:
        rules = keychain.schema.rules_of(name)
        reason = f"rule {', '.join(rules)} lets nobody sign it" if rules else keychain.schema.nearest(name)
        if any(rule in keychain.schema.anchors for rule in rules) and is_certificate_name(name):
            reason = (
                f"it is the name of an anchor (rule {', '.join(rules)}): it signs itself and is trusted by being given"
            )
        return Explanation(good=False, text="\n".join([*lines, _line("rule", "none"), _line("reason", reason)]))
    for key in allowed:
        lines.append(_line("rule", key.rule))
        lines.append(_line("key", f"{key.pattern} (rule {key.key_rule})"))
    held = keychain.holding(name)
    for identity in held:
        certificate = identity.certificate
        state = "until" if certificate.valid_at(now) else "NOT VALID NOW:"
        period = f"{text_of(certificate.not_before)} to {text_of(certificate.not_after)}"
        lines.append(_line("held", f"{certificate.name}, {state} {period if state != 'until' else period[-15:]} UTC"))
    good = any(identity.certificate.valid_at(now) for identity in held)
    if good:
        signs = keychain.identity_for(name, now).certificate.key_name
        lines.append(_line("signs", str(signs)))
    else:
        identities = " or ".join(sorted({key.identity for key in allowed}))
        lines.append(_line("held", "none of these keys is valid here" if held else "none of these keys is here"))
        lines.append(_line("fix", f"roost keys make {identities}, or roost keys import a SafeBag of it"))
    return Explanation(good, "\n".join(lines))


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
            f"fetch {verdict.name} and give it with --certificate, or roost keys import it",
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
