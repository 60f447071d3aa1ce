"""PINGREQ and its answer, PINGRESP: two bytes each [MQTT 5.0 §3.12, §3.13]."""

from __future__ import annotations

from typing import Final

from roost.broker.packets.fields import check_end
from roost.broker.packets.framing import check_flags

PINGRESP: Final = b"\xd0\x00"


def parse_pingreq(frame: bytes) -> None:
    """Check a PINGREQ, which says nothing."""
    check_flags(frame, 0)
    check_end(2, len(frame))
