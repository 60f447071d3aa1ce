"""What an invitation offers, made from what is here, and what is done when it is claimed.

For a key: the certificate that its issuer's key here signs, kept here too, for whoever asks this machine. For a user
of an MQTT broker: a line in the users file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, NoKey
from roost.host.clock import Clock
from roost.host.keystore import KeyStore
from roost.host.mqtt.passwords import PasswordHash
from roost.host.mqtt.users import Users, change_users, encoded_name, with_user
from roost.naming import Component, Name
from roost.naming.building import REPO, RESERVED
from roost.naming.conventions import KEY, version
from roost.trust import Identity, KeyChain, certify_request
from roost.trust.enrolment_messages import Claim, Grant, KeyOffer, Outcome, UserOffer
from roost.wire.certificate import Certificate

RULES: Final = {
    "panel": frozenset({"#panel", "#campus_panel"}),
    "repo": frozenset({"#repo", "#campus_repo"}),
    "user": frozenset({"#user", "#user_device"}),
}


def full_name(store: KeyStore, kind: str, name: str, group: str | None) -> Name:
    """The whole name of a panel or a repo: its group is the one that was said, or the only one known here."""
    if name.startswith("/"):
        return Name.parse(name)
    if "/" in name:
        raise BadConfig(f"{name} is neither a word nor a whole name; a whole name begins with '/'")
    if kind == "user":
        raise BadConfig(f"a user's whole name is needed, as in /BigCompany/DepartmentA/{name}")
    if group is not None:
        groups = [Name.parse(group)]
    else:
        held = (certificate.identity for certificate in store.certificates())
        groups = sorted({each.prefix(-2) for each in held if len(each) > 2 and str(each.at(-2)) == REPO})
    if len(groups) != 1:
        known = ", ".join(map(str, groups)) or "none is known here"
        raise BadConfig(f"which group is {name} of: {known}? Say so with --group, or give the whole name")
    return groups[0] / REPO / name if kind == "repo" else groups[0] / name


def key_offer(store: KeyStore, kind: str, name: Name, until: int, now: int, *, again: bool = False) -> KeyOffer:
    """The offer of a certificate for a key of this name; refused if nobody here may issue it."""
    keychain = store.keychain()
    wanted = _certificate_name(name)
    rules = keychain.schema.rules_of(wanted)
    if not RULES[kind] & set(rules) or (name and str(name.at(-1)) in RESERVED):
        what = f"as {rules[0]} has it" if rules else f"because {keychain.schema.nearest(wanted)}"
        raise BadConfig(f"{name} is not the name of a {kind}, {what}; other keys: roost key make")
    issuer = _issuer(keychain, name, now)
    if not again and (held := [each for each in store.certificates() if each.identity == name and each.valid_at(now)]):
        raise BadConfig(
            f"{name} has a certificate already, {held[0].name}. Each name runs once: choose another, or, if that one "
            "is lost for good or its invitation came to nothing, give --again"
        )
    above = store.chain_of(issuer.certificate)
    anchor, own = _anchor_of(store, above)
    return KeyOffer(kind, name, until, store.schema().text, anchor, own)


def certifying(store: KeyStore, offer: KeyOffer, clock: Clock) -> Callable[[Claim], Outcome]:
    """What is done with a claim: its request is certified, and the certificate kept."""

    def settle(claim: Claim) -> Outcome:
        if claim.request is None:
            raise BadConfig("a request for a certificate was to be claimed with")
        now = clock()
        certificate = certify_request(_issuer(store.keychain(), offer.name, now), claim.request, now)
        store.save_certificate(certificate)
        return Grant(certificate)

    return settle


def refuse_user(users: Users, name: str, file: Path, *, again: bool) -> None:
    """Refuse to invite who is a user already, unless that is meant."""
    if encoded_name(name) in users and not again:
        raise BadConfig(f"{name} is in {file} already; to give that user another password: --again")


def adding(file: Path, offer: UserOffer, *, again: bool) -> Callable[[Claim], Outcome]:
    """What is done with a claim: the hash of the new password goes into the users file."""

    def settle(claim: Claim) -> Outcome:
        kept = PasswordHash.parse(claim.password_hash)

        def change(users: Users, text: str) -> str:
            refuse_user(users, offer.user, file, again=again)
            return with_user(text, offer.user, kept)

        change_users(file, change)
        return Grant()

    return settle


def _issuer(keychain: KeyChain, name: Name, now: int) -> Identity:
    try:
        return keychain.identity_for(_certificate_name(name), now)
    except NoKey as error:
        raise NoKey(f"{error}. Invite from the machine that has such a key") from None


def _certificate_name(name: Name) -> Name:
    """A name that every certificate of this identity is like: the schema looks at no more of it."""
    return name / KEY / Component(b"any") / Component(b"NA") / version(0)


def _anchor_of(store: KeyStore, chain: list[Certificate]) -> tuple[Certificate, tuple[Certificate, ...]]:
    """The anchor above a chain, and the chain without it."""
    anchors = store.anchors()
    for anchor in anchors:
        if chain[0].wire == anchor.wire:
            return anchor, ()
        if chain[-1].issued_by == anchor.key_name:
            return anchor, tuple(chain)
    raise NoKey(
        f"the certificates above {chain[0].name} do not lead to an anchor that is here: import them (roost key import)"
    )
