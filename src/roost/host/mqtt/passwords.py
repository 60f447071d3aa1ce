"""Passwords as they are kept: salted and hashed with scrypt [RFC 7914], parameters beside the hash.

    $scrypt$ln=15,r=8,p=3$<salt>$<hash>         base64 without padding; 2^ln · r · 128 bytes of memory, p times over

The default takes 32 MiB and about 0.3 s of one core, which is one of the settings that OWASP's guidance holds equal to
its first choice (128 MiB once). `LIGHT` is for passwords that nobody chose: who has to guess 128 random bits gains
nothing from a quick hash, and a thousand devices that come back at once are let in within seconds.

Parameters of a stored hash are bounded before anything is computed: a file cannot make the broker run out of memory.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig

SALT_BYTES: Final = 16
HASH_BYTES: Final = 32
MIN_MEMORY_BYTES: Final = 1 << 20
MAX_MEMORY_BYTES: Final = 128 << 20
MAX_WORK_BYTES: Final = 256 << 20  # memory times p: about a second

_FORM: Final = re.compile(
    r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43,86})", re.ASCII
)
_NOT_THE_FORM: Final = "the hash is not of the form $scrypt$ln=15,r=8,p=3$salt$hash"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one check takes: N = 2^ln, block size r, p times."""

    ln: int = 15
    r: int = 8
    p: int = 3

    def __post_init__(self) -> None:
        if not (self.p >= 1 and MIN_MEMORY_BYTES <= self.memory_bytes <= MAX_MEMORY_BYTES):
            raise BadConfig(
                f"scrypt with ln={self.ln},r={self.r},p={self.p} takes {self.memory_bytes >> 20} MiB, "
                f"allowed are {MIN_MEMORY_BYTES >> 20} to {MAX_MEMORY_BYTES >> 20}"
            )
        if self.memory_bytes * self.p > MAX_WORK_BYTES:
            raise BadConfig(
                f"scrypt with ln={self.ln},r={self.r},p={self.p} takes too long: p is at most "
                f"{MAX_WORK_BYTES // self.memory_bytes} here"
            )

    @property
    def memory_bytes(self) -> int:
        """What it fills."""
        return 128 * self.r << self.ln


STRONG: Final = Cost()
LIGHT: Final = Cost(ln=10, r=8, p=1)


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """One password, as far as it is known."""

    cost: Cost
    salt: bytes
    digest: bytes

    @staticmethod
    def make(password: bytes, cost: Cost = STRONG) -> PasswordHash:
        """Hash a password with fresh salt."""
        salt = os.urandom(SALT_BYTES)
        return PasswordHash(cost, salt, _scrypt(password, salt, cost, HASH_BYTES))

    @staticmethod
    def parse(text: str) -> PasswordHash:
        """Read the form above; the error never repeats what was read."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise BadConfig(_NOT_THE_FORM)
        try:
            salt, digest = _unbase64(found[4]), _unbase64(found[5])
        except ValueError:
            raise BadConfig(_NOT_THE_FORM) from None
        return PasswordHash(Cost(int(found[1]), int(found[2]), int(found[3])), salt, digest)

    def matches(self, password: bytes) -> bool:
        """Whether this is the password; takes as long whether it is or not."""
        return hmac.compare_digest(_scrypt(password, self.salt, self.cost, len(self.digest)), self.digest)

    def __str__(self) -> str:
        cost = self.cost
        return f"$scrypt$ln={cost.ln},r={cost.r},p={cost.p}${_base64(self.salt)}${_base64(self.digest)}"

    def __repr__(self) -> str:
        return f"<PasswordHash {self.cost}>"  # neither salt nor hash belongs into a log


def _scrypt(password: bytes, salt: bytes, cost: Cost, size_bytes: int) -> bytes:
    room = 2 * cost.memory_bytes  # OpenSSL counts a little beside the memory itself
    return hashlib.scrypt(password, salt=salt, n=1 << cost.ln, r=cost.r, p=cost.p, maxmem=room, dklen=size_bytes)


def _base64(value: bytes) -> str:
    return b64encode(value).decode().rstrip("=")


def _unbase64(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
