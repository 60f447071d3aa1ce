"""The sentences of refusal: what the verifier says about packets that no chain of certificates can save."""

from __future__ import annotations

from roost.errors import BadName
from roost.naming import Name
from roost.trust.keys import PublicKey
from roost.trust.schema import Schema
from roost.trust.verdict import Rejection
from roost.wire import SignatureInfo
from roost.wire.certificate import is_certificate_name, key_name_of
from roost.wire.signature import SIGNATURE_NAMES


def judge_locator(schema: Schema, name: Name, info: SignatureInfo, certificate: Name | None = None) -> Rejection | None:
    """Refuse, before anything is fetched, what no certificate of the named key could make good."""
    rules = schema.rules_of(name)
    wanted = schema.keys_for(name)
    if not wanted:
        fits = f"the name fits rule {', '.join(rules)}, which nobody may sign" if rules else schema.nearest(name)
        return Rejection(
            f"no rule lets anyone sign {name}: {fits}", "no rule", info.key_name, "correct the name or add a rule"
        )
    locator = certificate or info.key_name
    if locator is None:
        return None
    try:
        key = key_name_of(locator)
    except BadName as error:
        return Rejection(str(error), "chain", locator, "sign with a KeyLocator that names a key or a certificate")
    allowed = schema.rule_for(name, locator) if is_certificate_name(locator) else schema.rule_for_key(name, key)
    if allowed is not None:
        return None
    who = " or ".join(sorted({f"{wants.identity} ({wants.key_rule})" for wants in wanted}))
    return Rejection(
        f"the key of {key.prefix(-2)} may not sign {name}",
        ", ".join(sorted({wants.rule for wants in wanted})),
        locator,
        f"sign it with a key of {who}",
    )


def not_signed_by_key(name: Name, rule: str, certificate: Name, type_: int, key: PublicKey) -> Rejection:
    """The chain is right, the signature is not."""
    if type_ != key.signature_type:
        reason = f"{name} has an {_kind(type_)} signature, but the key is an {_kind(key.signature_type)} key"
    else:
        reason = f"the signature of {name} does not match: it was altered on the way, or signed by another key"
    return Rejection(reason, rule, certificate, "fetch it again from somewhere else; if it stays so, sign it anew")


def refuse_unsigned(name: Name) -> Rejection:
    """No signature at all."""
    return Rejection(f"{name} is not signed", "signature", fix="sign it: nothing unsigned is acted on")


def refuse_type(name: Name, type_: int) -> Rejection:
    """A signature that nobody can check, the null signature among them."""
    return Rejection(
        f"{name} has a signature of type {_kind(type_)}", "signature", fix="sign with Ed25519, ECDSA or RSA"
    )


def refuse_digest(schema: Schema, name: Name) -> Rejection:
    """A digest where the policy wants a signer."""
    wanted = schema.keys_for(name)
    who = " or ".join(sorted({wants.identity for wants in wanted}))
    return Rejection(
        f"{name} carries only a SHA-256 digest, which says nothing about who made it",
        ", ".join(sorted({wants.rule for wants in wanted})) or "no rule",
        fix=f"sign it with a key of {who}" if who else "sign it, or allow digests for this prefix in the policy",
    )


def refuse_hmac(name: Name, key: Name | None, *, altered: bool) -> Rejection:
    """A shared secret that is not ours, or not for this name."""
    if altered:
        return Rejection(
            f"the HMAC of {name} does not match", "hmac", key, "check that both sides hold the same secret"
        )
    return Rejection(
        f"no HMAC key {key or ''} is held for {name}".replace("  ", " "),
        "hmac",
        key,
        "give this node the shared secret for that prefix, or sign with a key pair",
    )


def _kind(type_: int) -> str:
    return SIGNATURE_NAMES.get(type_, str(type_))
