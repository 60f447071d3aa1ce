"""What is inside a CONTENT_REP and a THCD_REP: the layouts of version 1, strictly read.

    CONTENT_REP   version (1) · flags (1) · segment index (2) · next_seqno (4) · next_timestamp, ms (8) · content
    THCD_REP      reason (1)

`next_timestamp` is the publisher's Unix time. A THCD_REP without any byte, as the paper has it, is OTHER_TOPIC.
EMPTY alone says of a number behind the publisher that it was never used, up to `next_seqno`; with GONE, that there may
have been content which is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

from roost.errors import BadPacket
from roost.pubsub.flips.identifiers import is_content

VERSION: Final = 1
ALIAS: Final = 0x01  # the latest content, under the name of a SUB_REQ
EMPTY: Final = 0x02  # there is no content under this number (yet): only what comes next is told
EVENT_DRIVEN: Final = 0x04  # nobody knows when the next content comes
MORE: Final = 0x08  # the content goes on under the next number
GONE: Final = 0x10  # with EMPTY: from this number to before the next, content is not kept any more
_KNOWN: Final = ALIAS | EMPTY | EVENT_DRIVEN | MORE | GONE
_HEAD: Final = Struct(">BBHIQ")
HEAD_BYTES: Final = _HEAD.size
MAX_PAYLOAD_BYTES: Final = 1440
MAX_CONTENT_BYTES: Final = MAX_PAYLOAD_BYTES - HEAD_BYTES
MAX_MS: Final = (1 << 63) // 1_000_000  # later than that is no time in ns

OTHER_TOPIC: Final = 1
SAME_TOPIC: Final = 2
REASONS: Final = {OTHER_TOPIC: "another topic has this hash", SAME_TOPIC: "another publisher has this topic"}


@dataclass(frozen=True)
class ContentReply:
    """The payload of a CONTENT_REP."""

    flags: int
    segment: int
    next_number: int
    next_ms: int
    content: bytes

    def encode(self) -> bytes:
        """Write it."""
        return _HEAD.pack(VERSION, self.flags, self.segment, self.next_number, self.next_ms) + self.content


def decode_content(payload: bytes) -> ContentReply:
    """Read a CONTENT_REP; raises `BadPacket`."""
    if len(payload) < HEAD_BYTES:
        raise BadPacket(f"a CONTENT_REP has {HEAD_BYTES} bytes at least, this one has {len(payload)}")
    version, flags, segment, number, next_ms = _HEAD.unpack_from(payload)
    if version != VERSION:
        raise BadPacket(f"a CONTENT_REP of version {version} cannot be read, {VERSION} can")
    if flags & ~_KNOWN:
        raise BadPacket(f"flags {flags:#04x} of a CONTENT_REP are not known")
    if not is_content(number):
        raise BadPacket(f"next_seqno {number} is no number of content")
    if next_ms > MAX_MS:
        raise BadPacket(f"next_timestamp {next_ms} is no time")
    if flags & EMPTY and (len(payload) > HEAD_BYTES or flags & MORE):
        raise BadPacket("a CONTENT_REP that says there is no content has some")
    if flags & GONE and not flags & EMPTY:
        raise BadPacket("a CONTENT_REP that says its content is gone has some")
    return ContentReply(flags, segment, number, next_ms, payload[HEAD_BYTES:])


def encode_collision(reason: int) -> bytes:
    """Write a THCD_REP."""
    return bytes((reason,))


def decode_collision(payload: bytes) -> int:
    """Read the reason of a THCD_REP; one that is not known is a collision all the same."""
    return payload[0] if payload else OTHER_TOPIC
