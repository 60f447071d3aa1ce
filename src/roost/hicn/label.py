"""The path label of Data: eight bits that every forwarder turns and mixes with the face it sends on.

    label ← rotate_left(label, 1) XOR (face & 0xFF)

It starts from 0 when a content store answers. In the TCP form the checksum is corrected with it.
"""

from __future__ import annotations

from struct import unpack_from

from roost.hicn.checksum import patched
from roost.hicn.head import COMPACT_LABEL, TCP_LABEL


def next_label(label: int, face: int) -> int:
    """Return the label that a Data leaves with on a face."""
    return ((label << 1 | label >> 7) ^ face) & 0xFF


def relabelled(wire: bytes, label: int, *, compact: bool) -> bytes:
    """Return a Data with another path label, whose field is otherwise cleared."""
    if compact:
        return wire[: COMPACT_LABEL - 3] + bytes([0, 0, 0, label]) + wire[COMPACT_LABEL + 1 :]
    field = bytes([0, 0, 0, label])
    (found,) = unpack_from("!H", wire, 56)
    correct = patched(found, wire[48:52], field)
    return wire[:48] + field + wire[TCP_LABEL + 1 : 56] + correct.to_bytes(2, "big") + wire[58:]


def label_at(wire: bytes, *, compact: bool) -> int:
    """Return the path label of a Data."""
    return wire[COMPACT_LABEL if compact else TCP_LABEL]
