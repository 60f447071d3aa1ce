"""A panel beside a repo (`tests.gateway_world`), whose large pieces somebody else signs when the test lets him."""

from __future__ import annotations

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, derive_private_key
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from tests.gateway_world import GROUP, Beside

from roost.broker.signing_effects import Sign
from roost.machine import Effect
from roost.naming import Name
from roost.trust.keys import EcdsaPrivate

_BY_DIGEST = ECDSA(Prehashed(SHA256()), deterministic_signing=True)


def key(number: int = 1) -> EcdsaPrivate:
    """A key that is always the same."""
    secret = int.from_bytes(sha256(bytes([number])).digest(), "big") >> 1
    return EcdsaPrivate(
        GROUP.panel("Gate1").name + Name.parse(f"/KEY/{number}"), derive_private_key(secret, SECP256R1())
    )


class Aside(Beside):
    """One node's part in the group; `signs` are the questions that nobody has answered."""

    def __init__(self, *, aside: bool = True) -> None:
        self.signs: list[Sign] = []
        self.key = key()
        super().__init__()
        self.insertion._minting.signer_for = lambda _, __: self.key
        self.insertion.signing.aside = aside

    def do(self, effects: list[Effect]) -> None:
        self.signs += [effect for effect in effects if isinstance(effect, Sign)]
        super().do(effects)

    def sign(self, at: int = 0) -> None:
        """Answer one of the questions."""
        asked = self.signs.pop(at)
        assert isinstance(asked.signer, EcdsaPrivate)
        signatures = [asked.signer.raw.sign(digest, _BY_DIGEST) for digest in asked.digests]
        self.do(self.insertion.signed(asked.ticket, signatures, self.now))

    def decline(self, at: int = 0) -> None:
        """Answer one of the questions with nothing."""
        self.do(self.insertion.signed(self.signs.pop(at).ticket, [], self.now))

    def finish(self) -> None:
        """Answer everything, and have everything on the disk."""
        while self.signs or self.writes or self.insertion.deadline() is not None:
            while self.signs:
                self.sign()
            self.save()
            self.wait(max(0, (self.insertion.deadline() or 0) - self.now))
