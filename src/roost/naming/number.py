"""The two integer codings of NDN: variable-size numbers and NonNegativeIntegers [NDN-packet-spec, tlv §1].

Both are big endian; a variable-size number is refused unless it is the shortest form. Everything here is pure and hot.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket

MAX_TYPE: Final = 0xFFFFFFFF
_ONE: Final[list[bytes]] = [bytes((n,)) for n in range(256)]


def var(number: int) -> bytes:
    """Encode a TLV-TYPE or TLV-LENGTH."""
    if number < 253:
        return _ONE[number]
    if number <= 0xFFFF:
        return b"\xfd" + number.to_bytes(2, "big")
    if number <= 0xFFFFFFFF:
        return b"\xfe" + number.to_bytes(4, "big")
    return b"\xff" + number.to_bytes(8, "big")


def read_var(buffer: bytes, position: int, end: int) -> tuple[int, int]:
    """Decode the number at `position`; returns it and the position behind it."""
    if position >= end:
        raise BadPacket(f"a number was expected at byte {position}, but the element ends there")
    first = buffer[position]
    if first < 253:
        return first, position + 1
    size = 2 if first == 253 else 4 if first == 254 else 8
    after = position + 1 + size
    if after > end:
        raise BadPacket(f"the number at byte {position} is cut off")
    number = int.from_bytes(buffer[position + 1 : after], "big")
    if number < (253 if size == 2 else 0x10000 if size == 4 else 0x100000000):
        raise BadPacket(f"the number at byte {position} is not in its shortest form")
    return number, after


def nni(number: int) -> bytes:
    """Encode a NonNegativeInteger in the shortest of its four sizes."""
    if number < 0:
        raise BadPacket(f"{number} is negative, a NonNegativeInteger cannot be")
    if number <= 0xFF:
        return _ONE[number]
    if number <= 0xFFFF:
        return number.to_bytes(2, "big")
    if number <= 0xFFFFFFFF:
        return number.to_bytes(4, "big")
    if number <= 0xFFFFFFFFFFFFFFFF:
        return number.to_bytes(8, "big")
    raise BadPacket(f"{number} does not fit the 8 bytes of a NonNegativeInteger")


def read_nni(buffer: bytes, start: int, end: int) -> int:
    """Decode the NonNegativeInteger that fills `buffer[start:end]`."""
    size = end - start
    if size == 1:
        return buffer[start]
    if size == 2 or size == 4 or size == 8:  # noqa: PLR1714  a tuple test is slower, compiled and not
        return int.from_bytes(buffer[start:end], "big")
    raise BadPacket(f"a NonNegativeInteger has 1, 2, 4 or 8 bytes, the one at byte {start} has {size}")
