"""What this user trusts and signs with, by default: what `roost init` made in `$ROOST_HOME`.

Who has not run it can still connect: they verify nothing successfully (`ACCEPT_NOTHING` says what to do) and sign with
the SHA-256 digest, which says that data is whole and not who made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.host.keystore import KeyStore
from roost.host.paths import home
from roost.naming import Name
from roost.trust import KeyChain, PrivateKey, Receiver
from roost.trust.acceptance import ACCEPT_NOTHING, Checker
from roost.trust.wrapping import receiving
from roost.wire import Data, DigestSigner, Signer

Signers: TypeAlias = Callable[[Name, int], Signer]
SignerLike: TypeAlias = Signer | KeyChain | Signers

_DIGEST: Final = DigestSigner()


@dataclass(frozen=True, slots=True)
class Trust:
    """Who is believed, who signs Data and commands, the certificates others need to believe us, and what opens."""

    verifier: Checker
    signers: Signers
    commands: Signer = _DIGEST
    certificates: tuple[Data, ...] = ()
    receivers: tuple[Receiver, ...] = ()  # for which content keys may have been wrapped
    keychain: KeyChain | None = None  # where `signers` is its


def is_initialised() -> bool:
    """Whether `roost init` has been run for this home."""
    return KeyStore(home()).exists


def choose_trust(verifier: Checker | None, signer: SignerLike | None, now: int) -> Trust:
    """Take what was given, and the rest from this user's home."""
    store = KeyStore(home())
    at_home = store.exists
    if verifier is None:
        verifier = store.verifier(now) if at_home else ACCEPT_NOTHING
    if signer is None and at_home:
        certificates = tuple(certificate.data for certificate in (*store.anchors(), *store.certificates()))
        return _trust_of(verifier, store.keychain(), certificates, store.private_keys(), now)
    if isinstance(signer, KeyChain):
        shown = tuple(held.certificate.data for held in signer.identities)
        return _trust_of(verifier, signer, shown, [held.key for held in signer.identities], now)
    if signer is not None and callable(signer):
        return Trust(verifier, signer)
    single = signer or _DIGEST
    return Trust(verifier, lambda name, now: single, single)  # noqa: ARG005  one for all names and times


def _trust_of(
    verifier: Checker, keychain: KeyChain, certificates: tuple[Data, ...], keys: Sequence[PrivateKey], now: int
) -> Trust:
    # Commands are signed with our least powerful key: a forwarder outside may want to know who asks.
    commands = next((held.signer for held in keychain.identities if held.certificate.valid_at(now)), _DIGEST)
    receivers = tuple([Receiver.of(key) for key in receiving(keys)])
    return Trust(verifier, keychain.signer_for, commands, certificates, receivers, keychain)
