"""Cutting a byte stream into link packets [NFD, Unix and TCP faces: a TLV stream]. Pure and hot.

A stream holds Interests, Data and LpPackets back to back. There is no way to find the next packet behind bytes that
are none, so anything else ends the stream: the caller closes the face.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket

# A network packet has at most 8800 bytes; the rest is room for the headers of a link packet around it.
MAX_LINK_PACKET_BYTES: Final = 8800 + 512


class Framer:
    """Remembers the unfinished packet at the end of one read, until the next; never more than one packet of it."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    @property
    def held_bytes(self) -> int:
        """How much of an unfinished packet is waiting."""
        return len(self._held)

    def feed(self, chunk: bytes, packets: list[bytes]) -> None:
        """Append the whole packets to `packets`; raises `BadPacket` at the first byte that cannot be one."""
        buffer = self._held + chunk if self._held else chunk
        end = len(buffer)
        position = 0
        while position + 2 <= end:
            first = buffer[position]
            if first != 5 and first != 6 and first != 100:  # noqa: PLR1714  a set test is slower, compiled and not
                raise BadPacket(f"element {first} is neither an Interest, a Data nor a link packet")
            length = buffer[position + 1]
            start = position + 2
            if length >= 253:
                if length > 253:
                    raise BadPacket(f"a packet of more than 65535 bytes, the limit is {MAX_LINK_PACKET_BYTES}")
                start = position + 4
                if start > end:
                    break
                length = buffer[position + 2] << 8 | buffer[position + 3]
                if length < 253:
                    raise BadPacket("the length of a packet is not in its shortest form")
            stop = start + length
            if stop - position > MAX_LINK_PACKET_BYTES:
                raise BadPacket(f"a packet of {stop - position} bytes, the limit is {MAX_LINK_PACKET_BYTES}")
            if stop > end:
                break
            packets.append(buffer[position:stop])
            position = stop
        self._held = buffer[position:] if position else buffer
