"""What this user trusts and signs with, by default: what `roost init` made in `$ROOST_HOME`.

Who has not run it can still connect: they verify nothing successfully (`ACCEPT_NOTHING` says what to do) and sign with
the SHA-256 digest, which says that data is whole and not who made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.host.verification import ACCEPT_NOTHING, Verifier
from roost.naming import Name
from roost.wire import DigestSigner, Signer

Signers: TypeAlias = Callable[[Name, int], Signer]

_DIGEST: Final = DigestSigner()


def home_verifier() -> Verifier:
    """The verifier of this user's home."""
    return ACCEPT_NOTHING


def choose_signers(signer: Signer | Signers | None) -> tuple[Signers, Signer]:
    """Say who signs Data (by name and time), and who signs commands to the forwarder."""
    if signer is None:
        return (lambda name, now: _DIGEST), _DIGEST  # noqa: ARG005  one for all names
    if isinstance(signer, Callable):  # type: ignore[arg-type]
        return signer, _DIGEST  # type: ignore[return-value]
    return (lambda name, now: signer), signer  # type: ignore[return-value]  # noqa: ARG005


def is_initialised() -> bool:
    """Whether `roost init` has been run for this home."""
    return False
