"""A false fire alarm in the name of pi1, signed in three ways that are wrong.

pi1 has no smoke detector. So nobody could mistake a true reading of pi1, with the same number, for the forged one.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli.demo.keys import Keys
from roost.naming import Name
from roost.sim import deployment
from roost.trust import generate, self_sign

if TYPE_CHECKING:
    from roost.host.home_trust import Signers
    from roost.wire import Signer

_LIAR: Final = deployment.panel("pi2").name
_ELSEWHERE: Final = Name.parse("/Elsewhere/BMS")
_VICTIM: Final = deployment.panel("pi1").name
ALARM: Final = deployment.GROUP.stream("pi1", "room1", "smoke").name


class Lie(NamedTuple):
    """One way."""

    told: str
    signers: Signers


class Spoiled:
    """Signs as somebody does who has the name of a key and not the key: the signature fits nothing."""

    def __init__(self, signer: Signer) -> None:
        self._signer: Final = signer

    @property
    def signature_type(self) -> int:
        """As the true one's."""
        return self._signer.signature_type

    @property
    def key_locator(self) -> bytes:
        """As the true one's."""
        return self._signer.key_locator

    def sign(self, portion: bytes) -> bytes:
        """A signature of something else."""
        return self._signer.sign(portion[::-1])


def lies(keys: Keys) -> tuple[Lie, ...]:
    """All of them."""
    mine, spoiled = keys.identities[_LIAR].signer, Spoiled(keys.identities[_VICTIM].signer)
    stranger = self_sign(generate(_ELSEWHERE, secrets.token_bytes, "ecdsa"), time.time_ns()).signer
    return (
        Lie("with the key of pi2", _signers(mine, mine)),
        Lie("with the name of pi1's key and a signature that does not fit", _signers(spoiled, mine)),
        Lie("with the key of another campus's anchor", _signers(stranger, mine)),
    )


def _signers(lie: Signer, mine: Signer) -> Signers:
    """Readings are signed with the lie; what repos are asked with is signed as pi2 may, or they would not listen."""

    def signer_of(name: Name, _now: int) -> Signer:
        return lie if name.prefix(-1) == ALARM else mine

    return signer_of
