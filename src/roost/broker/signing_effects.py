"""What an insertion asks of who can sign for it (`roost.broker.signing`)."""

from __future__ import annotations

from dataclasses import dataclass

from roost.machine import Effect
from roost.wire.signature import Signer


@dataclass(frozen=True, slots=True)
class Sign(Effect):
    """Sign SHA-256 digests with the key of a signer, if it is an ECDSA one.

    Answered by `signed`, without signatures if it cannot be done, and never before the effect is carried out.
    """

    ticket: int
    signer: Signer
    digests: list[bytes]
