"""Where a packet ends: the fixed header, and the stream of a connection cut into packets [MQTT 5.0 §1.5.5, §2.1].

A frame is one whole packet as it came, its fixed header included. What is not whole yet is held, at most `max_bytes` of
it: a longer packet is refused by its header alone. What is inside a frame is not looked at, flags included.

The Remaining Length is the shortest possible one in both versions. Only 5.0 says so in words [MQTT-1.5.5-1]; the table
of 3.1.1 (§2.2.3) gives each length one form.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from roost.broker.packets.reasons import MALFORMED_PACKET, PACKET_TOO_LARGE, Malformed

CONNECT: Final = 1
CONNACK: Final = 2
PUBLISH: Final = 3
PUBACK: Final = 4
PUBREC: Final = 5
PUBREL: Final = 6
PUBCOMP: Final = 7
SUBSCRIBE: Final = 8
SUBACK: Final = 9
UNSUBSCRIBE: Final = 10
UNSUBACK: Final = 11
PINGREQ: Final = 12
PINGRESP: Final = 13
DISCONNECT: Final = 14
AUTH: Final = 15

MAX_VAR_INT: Final = 268_435_455
_BAD_LENGTH: Final = "the Remaining Length is not a variable byte integer in its shortest form [MQTT-1.5.5-1]"


class Framer:
    """Cuts what a connection brings into frames."""

    def __init__(self, max_bytes: int) -> None:
        self.error: int = 0  # the reason code of what ended the framing, or 0
        self.why: str = ""
        self.held: int = 0  # bytes of the packet that is not whole yet; bound: max_bytes
        self.max_bytes: i64 = max_bytes  # of one packet
        self._wanted: i64 = 0  # held bytes below which there is nothing to look at
        self._rest: bytearray | None = None  # what is held; mostly there is none, and there are many connections

    def feed(self, data: bytes) -> list[bytes]:
        """Take what came, give the packets it completes; after an error that is always none."""
        if self.error:
            return []
        rest = self._rest
        if rest is not None:
            rest += data
            if len(rest) < self._wanted:
                self.held = len(rest)
                return []
            data = bytes(rest)
            self._rest = None
            self.held = 0
        frames: list[bytes] = []
        size: i64 = len(data)
        at: i64 = 0
        while size - at >= 2:
            length: i64 = data[at + 1]
            end: i64 = at + 2 + length
            if length >= 128:
                end = self._long_end(data, at, size)
                if end == 0:
                    break
            if end - at > self.max_bytes:
                self.error = PACKET_TOO_LARGE
                self.why = f"a packet has {end - at} bytes, the limit is {self.max_bytes} [MQTT-3.2.2-15]"
                break
            if end > size:
                self._wanted = end - at
                break
            frames.append(data if end - at == size else data[at:end])
            at = end
        if at < size and not self.error:
            self._hold(data, at, size)
        return frames

    def reset(self) -> None:
        """Forget what is held and what was wrong: what came behind the first packet will be fed again."""
        self.error = 0
        self.why = ""
        self.held = 0
        self._rest = None

    def _hold(self, data: bytes, at: i64, size: i64) -> None:
        self._rest = bytearray(data[at:])
        self.held = size - at
        if size - at < 2:
            self._wanted = 2

    def _long_end(self, data: bytes, at: i64, size: i64) -> i64:
        """Find the end of a packet whose length takes several bytes; 0 while they are not all here, or in error."""
        length: i64 = data[at + 1] & 0x7F
        index: i64 = 2
        while index < 5:
            if at + index >= size:
                self._wanted = index + 1
                return 0
            byte: i64 = data[at + index]
            length += (byte & 0x7F) << (7 * (index - 1))
            index += 1
            if byte < 128:
                if byte == 0:
                    break
                return at + index + length
        self.error = MALFORMED_PACKET
        self.why = _BAD_LENGTH
        return 0


def body_of(frame: bytes) -> int:
    """Give the index behind the fixed header of a frame."""
    at: i64 = 1
    while frame[at] >= 128:
        at += 1
    return at + 1


def check_flags(frame: bytes, flags: int) -> None:
    """Check the reserved bits of a fixed header [MQTT-2.1.3-1] [3.1.1 MQTT-2.2.2-1, MQTT-2.2.2-2]."""
    if frame[0] & 0x0F != flags:
        raise Malformed(
            MALFORMED_PACKET, f"the flags of a packet of type {frame[0] >> 4} are {frame[0] & 15}, not {flags}"
        )


def var_int(number: int) -> bytes:
    """Write a variable byte integer."""
    if number < 128:
        return number.to_bytes(1, "big")
    if number < 16_384:
        return ((number & 0x7F | 0x80) << 8 | number >> 7).to_bytes(2, "big")
    if number < 2_097_152:
        return ((number & 0x7F | 0x80) << 16 | (number >> 7 & 0x7F | 0x80) << 8 | number >> 14).to_bytes(3, "big")
    if number > MAX_VAR_INT:
        raise ValueError(f"a variable byte integer is at most {MAX_VAR_INT}, not {number}")
    low = (number & 0x7F | 0x80) << 8 | (number >> 7 & 0x7F | 0x80)
    return (low << 16 | (number >> 14 & 0x7F | 0x80) << 8 | number >> 21).to_bytes(4, "big")


def header(kind_and_flags: int, length: int) -> bytes:
    """Write a fixed header; `length` is that of what follows."""
    if length < 128:
        return (kind_and_flags << 8 | length).to_bytes(2, "big")
    return kind_and_flags.to_bytes(1, "big") + var_int(length)


def read_var_int(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a variable byte integer; returns it and the index behind it [MQTT-1.5.5-1]."""
    index: i64 = at
    limit: i64 = end
    if index < limit:
        first: i64 = data[index]
        if first < 128:
            return first, index + 1
    value: i64 = 0
    shift: i64 = 0
    while index < limit and shift < 28:
        byte: i64 = data[index]
        index += 1
        value += (byte & 0x7F) << shift
        if byte < 128:
            if byte == 0:
                raise Malformed(MALFORMED_PACKET, f"the number at byte {at} is not in its shortest form")
            return value, index
        shift += 7
    raise Malformed(MALFORMED_PACKET, f"the number at byte {at} has no end")
