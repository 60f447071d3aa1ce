"""Names of hybrid ICN: an IPv6 address (name prefix) and a 32-bit number (name suffix), written `prefix|suffix`.

Tables match the 20 bytes exactly; only routes look at prefixes, and only at the 128 bits of the address (`Prefix`).
An address whose first 12 bytes are zero would be an IPv4 name, and suffix 0xFFFFFFFF marks "none" inside forwarders:
neither is a name here.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from roost.errors import BadName

ADDRESS_BYTES: Final = 16
NAME_BYTES: Final = 20
MAX_SUFFIX: Final = 0xFFFF_FFFE
_IPV4_ZEROS: Final = bytes(12)


@dataclass(frozen=True, order=True)
class HicnName:
    """A name prefix of 16 bytes and a suffix; equal names are the same content."""

    prefix: bytes
    suffix: int

    def __post_init__(self) -> None:
        if len(self.prefix) != ADDRESS_BYTES:
            raise BadName(f"a name prefix has {ADDRESS_BYTES} bytes, this one has {len(self.prefix)}")
        if self.prefix.startswith(_IPV4_ZEROS):
            raise BadName("a name prefix that starts with twelve zero bytes is an IPv4 name, which is not supported")
        if not 0 <= self.suffix <= MAX_SUFFIX:
            raise BadName(f"a name suffix is 0 to {MAX_SUFFIX}, not {self.suffix}")

    @classmethod
    def parse(cls, text: str) -> HicnName:
        """Read `abcd::1|100`; without a suffix it is 0."""
        address, bar, suffix = text.partition("|")
        if bar and not (suffix.isascii() and suffix.isdigit()):
            raise BadName(
                f"the suffix of {text!r} is no number: write an IPv6 address, a bar and a number, abcd::1|100"
            )
        return cls(read_address(address), int(suffix or "0"))

    @classmethod
    def from_key(cls, key: bytes) -> HicnName:
        """Read the 20 bytes by which tables know a name."""
        return cls(key[:ADDRESS_BYTES], int.from_bytes(key[ADDRESS_BYTES:], "big"))

    @property
    def key(self) -> bytes:
        """The 20 bytes by which tables know it."""
        return self.prefix + self.suffix.to_bytes(4, "big")

    def __str__(self) -> str:
        return f"{IPv6Address(self.prefix)}|{self.suffix}"


@dataclass(frozen=True, order=True)
class Prefix:
    """The first `length` bits of addresses: what a route is for. Written `abcd::/16`."""

    address: bytes
    length: int

    def __post_init__(self) -> None:
        if len(self.address) != ADDRESS_BYTES or not 0 <= self.length <= 128:
            raise BadName("a prefix has an address of 16 bytes and a length of 0 to 128 bits")
        if masked(self.address, self.length) != self.address:
            raise BadName(f"the address of the prefix {self} has bits set behind its length")

    @classmethod
    def parse(cls, text: str) -> Prefix:
        """Read `abcd::/16`; without a length it is all 128 bits."""
        address, slash, length = text.partition("/")
        if slash and not (length.isascii() and length.isdigit()):
            raise BadName(f"the length of {text!r} is no number: write an IPv6 prefix, abcd::/16")
        return cls(read_address(address), int(length) if slash else 128)

    def covers(self, address: bytes) -> bool:
        """Whether an address lies under this prefix."""
        return masked(address, self.length) == self.address

    def __str__(self) -> str:
        return f"{IPv6Address(self.address)}/{self.length}"


def masked(address: bytes, length: int) -> bytes:
    """Return an address with all bits behind the first `length` cleared."""
    spare = 128 - length
    return (int.from_bytes(address, "big") >> spare << spare).to_bytes(ADDRESS_BYTES, "big")


def read_address(text: str) -> bytes:
    """Read an IPv6 address; one with a zone is none."""
    try:
        address = IPv6Address(text)
    except AddressValueError:
        raise BadName(f"{text!r} is no IPv6 address") from None
    if address.scope_id is not None:
        raise BadName(f"{text!r} has a zone, which a name has not")
    return address.packed
