"""The reading envelope: what the Content of every reading is, one documented format.

    Reading = 160 { EventTime 161, ContentFormat 163, Payload 165, [Lineage 166], [Posting 176], [Elsewhere 181] }

| element       | no. | value                                                                     |
| ------------- | --- | ------------------------------------------------------------------------- |
| EventTime     | 161 | NonNegativeInteger: when it was measured, nanoseconds since 1970          |
| ContentFormat | 163 | NonNegativeInteger: number in the CoAP Content-Formats registry, 0–65535  |
| Payload       | 165 | bytes: SenML (112) for sensor values, MQTT payloads verbatim              |
| Lineage       | 166 | for virtual streams: the inputs and the program (`roost.wire.lineage`)    |
| Posting       | 176 | of MQTT messages: QoS, retain, properties … (`roost.wire.posting`)        |
| Elsewhere     | 181 | where a payload is that is too large for the packet (`roost.wire.elsewhere`) |

Numbers are of the application range; the critical-bit rule of NDN holds, so a later version may add even ones. What
the payload means is not checked here; values are in `roost.wire.values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.naming.number import read_nni
from roost.wire.elsewhere import ELSEWHERE, Elsewhere, decode_elsewhere
from roost.wire.envelope import CONTENT_FORMAT, EVENT_TIME, MAX_FORMAT, PAYLOAD, POSTING, READING, reading_bytes
from roost.wire.lineage import LINEAGE, MAX_INPUTS, InputDigest, InputRange, Lineage, decode_lineage, lineage_of
from roost.wire.posting import Posting, decode_posting
from roost.wire.tlv import element, skip

__all__ = [  # with what a lineage consists of, which goes with readings everywhere
    "CONTENT_FORMAT",
    "EVENT_TIME",
    "JSON",
    "LINEAGE",
    "MAX_FORMAT",
    "MAX_INPUTS",
    "OCTET_STREAM",
    "PAYLOAD",
    "READING",
    "SENML_CBOR",
    "SENML_JSON",
    "TEXT",
    "InputDigest",
    "InputRange",
    "Lineage",
    "Reading",
    "decode_reading",
    "lineage_of",
]

TEXT: Final = 0  # text/plain; charset=utf-8
OCTET_STREAM: Final = 42
JSON: Final = 50
SENML_JSON: Final = 110
SENML_CBOR: Final = 112


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading: event time in nanoseconds, content format, payload; lineage, posting where there is one.

    Where the payload is `elsewhere`, the one here is empty, and says nothing.
    """

    time: int
    format: int
    payload: bytes
    lineage: Lineage | None = None
    posting: Posting | None = None
    elsewhere: Elsewhere | None = None

    def encode(self) -> bytes:
        """Write the envelope, to be the Content of a Data."""
        others = b"" if self.lineage is None else self.lineage.encode()
        if self.posting is not None:
            others += self.posting.encode()
        if self.elsewhere is not None:
            others += self.elsewhere.encode()
        return reading_bytes(self.time, self.format, self.payload, others)

    @staticmethod
    def decode(content: bytes) -> Reading:
        """Check and open an envelope; raises `BadPacket` with the reason."""
        return decode_reading(content)


def decode_reading(content: bytes) -> Reading:
    """Check and open the Content of a reading."""
    type_, position, end = element(content, 0, len(content))
    if type_ != READING:
        raise BadPacket(f"a reading is element {READING}, this is {type_}")
    if end != len(content):
        raise BadPacket(f"{len(content) - end} bytes follow the reading")
    time = format_ = -1
    payload: bytes | None = None
    lineage: Lineage | None = None
    posting: Posting | None = None
    elsewhere: Elsewhere | None = None
    last = 0
    while position < end:
        at = position
        type_, low, position = element(content, at, end)
        if type_ <= last or type_ not in _KNOWN:
            skip(type_, at, "Reading")
            continue
        last = type_
        if type_ == EVENT_TIME:
            time = read_nni(content, low, position)
        elif type_ == CONTENT_FORMAT:
            format_ = read_nni(content, low, position)
        elif type_ == PAYLOAD:
            payload = content[low:position]
        elif type_ == LINEAGE:
            lineage = decode_lineage(content, low, position)
        elif type_ == POSTING:
            posting = decode_posting(content, low, position)
        else:
            elsewhere = decode_elsewhere(content, low, position)
    if time < 0 or format_ < 0 or payload is None:
        raise BadPacket("a reading has an event time, a content format and a payload, in this order")
    if format_ > MAX_FORMAT:
        raise BadPacket(f"a content format is 0 to {MAX_FORMAT}, not {format_}")
    return Reading(time, format_, payload, lineage, posting, elsewhere)


_KNOWN: Final = frozenset({EVENT_TIME, CONTENT_FORMAT, PAYLOAD, LINEAGE, POSTING, ELSEWHERE})
