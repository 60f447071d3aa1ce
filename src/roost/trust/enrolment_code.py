"""The code that a person carries from who invites to who enrols: a secret, and where to ask.

    code     = header (1 byte) || address || secret (10 bytes) || check (2 bytes)
    header   = version (4 bits, 1) || kind of address (4 bits)
    address  = 0 none · 1 IPv4, port 6363 · 2 IPv4 and port · 3 IPv6 and port
    check    = CRC-16/XMODEM of all before

It is written in base 32 with the letters of Crockford (no I, L, O and U; who writes O or I means 0 or 1), in groups of
four. The check tells a slip of the pen from a code that is over: three letters in a row may be wrong or have changed
places, and it is noticed. It protects nothing.
"""

from __future__ import annotations

import ipaddress
from binascii import crc_hqx
from dataclasses import dataclass, field
from typing import Final

from roost.errors import BadConfig

SECRET_BYTES: Final = 10  # 80 random bits, and each guess costs a scrypt (`enrolment_seal`)
MAX_LETTERS: Final = 200  # of what somebody typed
USUAL_PORT: Final = 6363

_VERSION: Final = 1
_CHECK_BYTES: Final = 2
_NOWHERE, _IPV4_USUAL, _IPV4, _IPV6 = range(4)
_ADDRESS_BYTES: Final = (0, 4, 6, 18)
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES: Final = {letter: value for value, letter in enumerate(_LETTERS)} | {"O": 0, "I": 1, "L": 1}
_GROUP: Final = 4


@dataclass(frozen=True, slots=True)
class Code:
    """A secret, and the numeric address of a node behind which the inviter waits; no host, no address."""

    secret: bytes = field(repr=False)
    host: str = ""
    port: int = USUAL_PORT

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES:
            raise BadConfig(f"the secret of a code has {SECRET_BYTES} bytes, this one has {len(self.secret)}")
        if self.host and not 0 < self.port < 65_536:
            raise BadConfig(f"{self.port} is no port; one is between 1 and 65535")
        _packed(self.host)

    @property
    def uri(self) -> str | None:
        """The address as the URI of a face."""
        if not self.host:
            return None
        return f"tcp6://[{self.host}]:{self.port}" if ":" in self.host else f"tcp4://{self.host}:{self.port}"

    @property
    def text(self) -> str:
        """The code as people write it."""
        address = _packed(self.host)
        if len(address) == 16:
            kind = _IPV6
        elif address:
            kind = _IPV4_USUAL if self.port == USUAL_PORT else _IPV4
        else:
            kind = _NOWHERE
        port = self.port.to_bytes(2) if kind in {_IPV4, _IPV6} else b""
        body = bytes((_VERSION << 4 | kind,)) + address + port + self.secret
        letters = _spell(body + _check(body))
        return "-".join([letters[at : at + _GROUP] for at in range(0, len(letters), _GROUP)])

    @staticmethod
    def read(text: str) -> Code:
        """Read a code; the error says what is wrong with it, and never repeats it."""
        body = _unspell(text)
        if len(body) < 1 + SECRET_BYTES + _CHECK_BYTES:
            raise BadConfig("the code is too short: a part of it is missing; copy it whole")
        body, check = body[:-_CHECK_BYTES], body[-_CHECK_BYTES:]
        if _check(body) != check:
            raise BadConfig("the code has a mistake in it (its last letters do not fit the others): copy it once more")
        version, kind = body[0] >> 4, body[0] & 15
        if version != _VERSION or kind >= len(_ADDRESS_BYTES):
            raise BadConfig("the code is of a later version of Roost than this one: use the same version here")
        if len(body) != 1 + _ADDRESS_BYTES[kind] + SECRET_BYTES:
            raise BadConfig("the code has a mistake in it (its length does not fit): copy it once more")
        address, secret = body[1 : 1 + _ADDRESS_BYTES[kind]], body[1 + _ADDRESS_BYTES[kind] :]
        if kind == _NOWHERE:
            return Code(secret)
        port = USUAL_PORT if kind == _IPV4_USUAL else int.from_bytes(address[-2:])
        return Code(secret, str(ipaddress.ip_address(address[: 16 if kind == _IPV6 else 4])), port)


def _check(body: bytes) -> bytes:
    return crc_hqx(body, 0).to_bytes(_CHECK_BYTES)


def _packed(host: str) -> bytes:
    if not host:
        return b""
    try:
        return ipaddress.ip_address(host).packed
    except ValueError:
        raise BadConfig(f"{host!r} is no numeric address, which is what a code has room for") from None


def _spell(value: bytes) -> str:
    letters = -(-len(value) * 8 // 5)
    number = int.from_bytes(value) << (letters * 5 - len(value) * 8)
    return "".join([_LETTERS[number >> (5 * at) & 31] for at in reversed(range(letters))])


def _unspell(text: str) -> bytes:
    letters = "".join(text.upper().replace("-", "").split())
    if not letters:
        raise BadConfig("there is no code; `roost invite` shows one on the machine that invites")
    if len(letters) > MAX_LETTERS:
        raise BadConfig(f"this is no code: it has {len(letters)} letters, the longest have fewer than {MAX_LETTERS}")
    number = 0
    for letter in letters:
        if letter not in _VALUES:
            raise BadConfig(
                f"this is no code: {letter!r} is in none; one looks like 22MR-G00H-…, as `roost invite` says"
            )
        number = number << 5 | _VALUES[letter]
    size_bytes = len(letters) * 5 // 8
    spare = len(letters) * 5 - size_bytes * 8
    if number & ((1 << spare) - 1):
        raise BadConfig("the code has a mistake in it (its last letter cannot be right): copy it once more")
    return (number >> spare).to_bytes(size_bytes)
