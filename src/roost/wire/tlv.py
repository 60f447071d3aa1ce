"""TLV elements: reading them strictly, writing them, and the TLV-TYPE numbers of the v0.3 packet format.

The critical-bit rule [NDN-packet-spec, tlv §3] lives here once: an element that is unknown, repeated or out of order is
skipped when its type is even and above 31, and refuses the packet otherwise.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from roost.errors import BadPacket
from roost.naming.number import MAX_TYPE, nni, read_var, var

MAX_PACKET_BYTES: Final = 8800

INTEREST: Final = 5
DATA: Final = 6
NAME: Final = 7
NONCE: Final = 10
LIFETIME: Final = 12
MUST_BE_FRESH: Final = 18
META_INFO: Final = 20
CONTENT: Final = 21
SIGNATURE_INFO: Final = 22
SIGNATURE_VALUE: Final = 23
CONTENT_TYPE: Final = 24
FRESHNESS: Final = 25
FINAL_BLOCK: Final = 26
SIGNATURE_TYPE: Final = 27
KEY_LOCATOR: Final = 28
KEY_DIGEST: Final = 29
FORWARDING_HINT: Final = 30
OLD_DELEGATION: Final = 31
CAN_BE_PREFIX: Final = 33
HOP_LIMIT: Final = 34
PARAMETERS: Final = 36
SIGNATURE_NONCE: Final = 38
SIGNATURE_TIME: Final = 40
SIGNATURE_SEQUENCE: Final = 42
INTEREST_SIGNATURE_INFO: Final = 44
INTEREST_SIGNATURE_VALUE: Final = 46
FRAGMENT: Final = 80
LP_PACKET: Final = 100


def element(buffer: bytes, position: int, end: int) -> tuple[int, int, int]:
    """Read the type and length at `position`; returns the type and where the value starts and ends."""
    at: i64 = position
    limit: i64 = end
    if at + 1 < limit:
        type_: i64 = buffer[at]
        length: i64 = buffer[at + 1]
        if 0 < type_ < 253 and length < 253:
            start: i64 = at + 2
            stop: i64 = start + length
            if stop <= limit:
                return type_, start, stop
            raise BadPacket(f"element {type_} at byte {position} is {length} bytes long, only {end - start} are there")
    return _long_element(buffer, position, end)


def _long_element(buffer: bytes, position: int, end: int) -> tuple[int, int, int]:
    type_, after = read_var(buffer, position, end)
    if not 0 < type_ <= MAX_TYPE:
        raise BadPacket(f"type {type_} at byte {position} is outside 1..{MAX_TYPE}")
    length, start = read_var(buffer, after, end)
    if start + length > end:
        raise BadPacket(f"element {type_} at byte {position} is {length} bytes long, only {end - start} are there")
    return type_, start, start + length


def elements(buffer: bytes, start: int = 0, end: int = -1) -> list[tuple[int, int, int]]:
    """Read all elements of `buffer[start:end]`."""
    stop = len(buffer) if end < 0 else end
    found: list[tuple[int, int, int]] = []
    position = start
    while position < stop:
        type_, low, position = element(buffer, position, stop)
        found.append((type_, low, position))
    return found


def outer(buffer: bytes, expected: int) -> tuple[int, int]:
    """Open the one element that fills `buffer`; returns where its value starts and ends."""
    size = len(buffer)
    if size > MAX_PACKET_BYTES:
        raise BadPacket(f"the packet has {size} bytes, the limit is {MAX_PACKET_BYTES}")
    type_, start, end = element(buffer, 0, size)
    if type_ != expected:
        raise BadPacket(f"element {expected} was expected, this is {type_}")
    if end != size:
        raise BadPacket(f"{size - end} bytes follow the packet")
    return start, end


def skip(type_: int, position: int, where: str) -> None:
    """Pass over an unknown, repeated or out-of-order element, or refuse the packet if it is critical."""
    if type_ <= 31 or type_ & 1:
        raise BadPacket(f"critical element {type_} at byte {position} is unknown, repeated or out of order in {where}")


def tlv(type_: int, value: bytes) -> bytes:
    """Write one element."""
    return var(type_) + var(len(value)) + value


def number(type_: int, value: int) -> bytes:
    """Write an element that holds a NonNegativeInteger."""
    encoded = nni(value)
    return var(type_) + var(len(encoded)) + encoded


def packet(type_: int, body: bytes) -> bytes:
    """Write the outermost element, within the packet limit."""
    length = len(body)
    wire = var(type_) + var(length) + body
    if length + 4 > MAX_PACKET_BYTES and len(wire) > MAX_PACKET_BYTES:
        raise BadPacket(f"the packet would have {len(wire)} bytes, the limit is {MAX_PACKET_BYTES}: use segments")
    return wire
