"""The bytes of a reading and of its posting, written from plain values: for who writes very many, and compiled.

What they consist of is in `roost.wire.reading` and `roost.wire.posting`, which are the values for people, and the way
back.
"""

from __future__ import annotations

import struct
from typing import Final

from roost.errors import BadPacket
from roost.naming.number import nni, var
from roost.wire import tlv

SEALED: Final = 130  # what sealed content begins with (`roost.trust.access`)
READING: Final = 160
EVENT_TIME: Final = 161
CONTENT_FORMAT: Final = 163
PAYLOAD: Final = 165
POSTING: Final = 176

MAX_FORMAT: Final = 0xFFFF
HEAD: Final = struct.Struct(">BIHH")  # of a posting: flags, expiry_s, packet id, length of the client id
RETAIN: Final = 4
EXPIRES: Final = 8
_MAX_TIME: Final = (1 << 64) - 1


def reading_bytes(time: int, format_: int, payload: bytes, others: bytes) -> bytes:
    """A reading; `others` are the elements behind its payload, whole."""
    if not 0 <= time <= _MAX_TIME:
        raise BadPacket(f"an event time is 0 to 2^64 − 1 ns since 1970, not {time}")
    if not 0 <= format_ <= MAX_FORMAT:
        raise BadPacket(f"a content format is 0 to {MAX_FORMAT}, not {format_}")
    when, what = nni(time), nni(format_)
    # One element a line.
    # fmt: off
    body = b"".join((
        b"\xa1", var(len(when)), when,
        b"\xa3", var(len(what)), what,
        b"\xa5", var(len(payload)), payload,
        others,
    ))
    # fmt: on
    return tlv.tlv(READING, body)


def posting_bytes(qos: int, retain: bool, client: bytes, expiry_s: int, packet_id: int, properties: bytes) -> bytes:  # noqa: FBT001  a C call
    """A posting, the whole element."""
    flags = qos | (RETAIN if retain else 0) | (EXPIRES if expiry_s >= 0 else 0)
    try:
        head = HEAD.pack(flags, max(expiry_s, 0), packet_id, len(client))
    except struct.error:
        raise BadPacket(f"expiry {expiry_s} or packet id {packet_id} is none of MQTT's numbers") from None
    return tlv.tlv(POSTING, head + client + properties)
