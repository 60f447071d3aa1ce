"""One name component: a typed byte string, its URI form and its order [NDN-packet-spec, name].

The types of naming convention rev3 carry a number; `ALTERNATES` holds their URI prefixes. Digest components are 32
bytes. Nothing here knows about names as a whole.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadName, BadPacket
from roost.naming.number import nni, read_nni, var

IMPLICIT_DIGEST: Final = 1
PARAMETERS_DIGEST: Final = 2
GENERIC: Final = 8
KEYWORD: Final = 32
SEGMENT: Final = 50
OFFSET: Final = 52
VERSION: Final = 54
TIMESTAMP: Final = 56
SEQUENCE: Final = 58

MAX_COMPONENT_TYPE: Final = 0xFFFF
DIGEST_BYTES: Final = 32

ALTERNATES: Final[dict[int, str]] = {
    IMPLICIT_DIGEST: "sha256digest",
    PARAMETERS_DIGEST: "params-sha256",
    SEGMENT: "seg",
    OFFSET: "off",
    VERSION: "v",
    TIMESTAMP: "t",
    SEQUENCE: "seq",
}
_TYPE_OF: Final[dict[str, int]] = {prefix: type_ for type_, prefix in ALTERNATES.items()}
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX: Final = "0123456789abcdefABCDEF"


class Component:
    """A name component; immutable, hashable, ordered canonically (type, then length, then bytes)."""

    __slots__ = ("type", "value", "wire")

    def __init__(self, value: bytes, type_: int = GENERIC) -> None:
        if not 1 <= type_ <= MAX_COMPONENT_TYPE:
            raise BadName(f"a component type lies in 1..{MAX_COMPONENT_TYPE}, not {type_}")
        if type_ <= PARAMETERS_DIGEST and len(value) != DIGEST_BYTES:
            raise BadName(f"a digest component has {DIGEST_BYTES} bytes, this one has {len(value)}")
        self.type: Final = type_
        self.value: Final = value
        self.wire: Final = var(type_) + var(len(value)) + value

    @staticmethod
    def text(text: str) -> Component:
        """Make a generic component of the UTF-8 bytes of `text`, taken verbatim."""
        return Component(_utf8(text))

    @staticmethod
    def numbered(number: int, type_: int) -> Component:
        """Make a component that carries a number, such as `seq=5`; generic works too (rev1 style bare numbers)."""
        try:
            return Component(nni(number), type_)
        except BadPacket as error:
            raise BadName(str(error)) from None

    @staticmethod
    def parse(uri: str) -> Component:
        """Read the URI form: `Heater`, `%C3%A9`, `seq=5`, `32=metadata`, `sha256digest=…`, `...` for empty."""
        prefix, equals, rest = uri.partition("=")
        if not equals:
            return Component(_unescape(uri))
        if prefix in _TYPE_OF:
            return _parse_alternate(prefix, rest, uri)
        if not prefix.isascii() or not prefix.isdigit() or prefix.startswith("0") or len(prefix) > 5:
            raise BadName(f"{uri!r}: {prefix!r} is not a component type; write %3D for a literal '='")
        return Component(_unescape(rest), int(prefix))

    def number(self) -> int:
        """Return the number this component carries."""
        try:
            return read_nni(self.value, 0, len(self.value))
        except BadPacket:
            raise BadName(f"component {self} does not carry a number") from None

    def __str__(self) -> str:
        prefix = ALTERNATES.get(self.type)
        if prefix is None:
            escaped = _escape(self.value)
            return escaped if self.type == GENERIC else f"{self.type}={escaped}"
        if self.type <= PARAMETERS_DIGEST:
            return f"{prefix}={self.value.hex()}"
        if len(self.value) in {1, 2, 4, 8}:
            number = int.from_bytes(self.value, "big")
            if nni(number) == self.value:
                return f"{prefix}={number}"
        return f"{self.type}={_escape(self.value)}"

    def __repr__(self) -> str:
        return f"Component({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Component) and self.wire == other.wire

    def __hash__(self) -> int:
        return hash(self.wire)

    def __lt__(self, other: Component) -> bool:
        return self.wire < other.wire

    def __le__(self, other: Component) -> bool:
        return self.wire <= other.wire

    def __gt__(self, other: Component) -> bool:
        return self.wire > other.wire

    def __ge__(self, other: Component) -> bool:
        return self.wire >= other.wire


def _parse_alternate(prefix: str, rest: str, uri: str) -> Component:
    type_ = _TYPE_OF[prefix]
    if type_ <= PARAMETERS_DIGEST:
        if len(rest) != 2 * DIGEST_BYTES or any(digit not in _HEX for digit in rest):
            raise BadName(f"{uri!r}: a digest is written as {2 * DIGEST_BYTES} hexadecimal digits")
        return Component(bytes.fromhex(rest), type_)
    if not rest.isascii() or not rest.isdigit() or (rest != "0" and rest.startswith("0")) or len(rest) > 20:
        raise BadName(f"{uri!r}: {prefix}= takes a decimal number without leading zeros")
    return Component.numbered(int(rest), type_)


def _escape(value: bytes) -> str:
    if not value.strip(b"."):
        return "..." + value.decode()
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in value)


def _unescape(text: str) -> bytes:
    if text and not text.strip("."):
        if len(text) < 3:
            raise BadName(f"a component of periods only has at least three; {text!r} has {len(text)}")
        return text[3:].encode()
    if not text:
        raise BadName("an empty component is written as '...'")
    if "%" not in text:
        return _utf8(text)
    out = bytearray()
    pieces = text.split("%")
    out += _utf8(pieces[0])
    for piece in pieces[1:]:
        if len(piece) < 2 or piece[0] not in _HEX or piece[1] not in _HEX:
            raise BadName(f"{text!r}: '%' is followed by two hexadecimal digits")
        out.append(int(piece[:2], 16))
        out += _utf8(piece[2:])
    return bytes(out)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadName(f"{text!r} holds half a surrogate pair, it has no UTF-8 form; write bytes as %XX") from None
