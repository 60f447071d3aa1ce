"""The streaming insert, ours: many readings in one signed command, one receipt when they are on the disk.

    /<repo>/insert batch/<digest>              signed Interest, CanBePrefix; parameters: Batch
    /<repo>/insert batch/<digest>/v=<ms>       the receipt, which only a repo may sign

| element    | no. | value                                                                                       |
| ---------- | --- | ------------------------------------------------------------------------------------------- |
| Batch      | 155 | [Copies], Data (6) …, at most 8000 bytes and 256 Data                                       |
| Copies     | 156 | NonNegativeInteger: on how many repos it is to be before the receipt; 1 where absent        |
| Receipt    | 157 | StatusCode, Kept, [Text], [Refused], [RetryAfter]                                           |
| StatusCode | 158 | 200 all kept, 206 some refused, 403 malformed or not authorised, 503 busy or the disk full  |
| Kept       | 159 | NonNegativeInteger: how many are on the disk                                                |
| Text       | 170 | UTF-8: why nothing was kept                                                                 |
| Refused    | 171 | Index, Reason, for each that was refused                                                    |
| Index      | 173 | NonNegativeInteger: which Data of the batch, from 0                                         |
| Reason     | 175 | UTF-8: the rule it broke, cut short where all reasons would not fit one packet              |
| RetryAfter | 176 | NonNegativeInteger: milliseconds, where some may be kept later; always with 503             |

The Data inside are the packets as their panel signed them, so a batch adds nothing to trust: it says what to keep, not
that it is true. Compared with an insert of names, the producer is not asked back, and there is one round trip for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.naming.number import read_nni
from roost.repo.fields import Fields, only
from roost.wire import Data, tlv
from roost.wire.data import decode_data
from roost.wire.tlv import element

INSERT_BATCH: Final = "insert batch"

BATCH: Final = 155
COPIES: Final = 156
RECEIPT: Final = 157
STATUS_CODE: Final = 158
KEPT: Final = 159
TEXT: Final = 170
REFUSED: Final = 171
INDEX: Final = 173
REASON: Final = 175
RETRY_AFTER: Final = 176

ALL_KEPT: Final = 200
SOME_REFUSED: Final = 206
NOT_AUTHORISED: Final = 403
BUSY: Final = 503

MAX_BYTES: Final = 8000
MAX_PACKETS: Final = 256
MAX_COPIES: Final = 64
_MAX_TEXT_BYTES: Final = 1024
_REASONS_BYTES: Final = 4800  # of all reasons together
_REASON_BYTES: Final = 600  # of one


@dataclass(frozen=True, slots=True)
class Batch:
    """Data to keep, and on how many repos."""

    packets: list[Data]
    copies: int = 1


def encode_batch(packets: Sequence[bytes], copies: int = 1) -> bytes:
    """Write the parameters of a streaming insert, of whole Data packets."""
    if not 1 <= len(packets) <= MAX_PACKETS or not 1 <= copies <= MAX_COPIES:
        raise BadPacket(f"a batch is 1 to {MAX_PACKETS} Data on 1 to {MAX_COPIES} repos, not {len(packets)}, {copies}")
    head = b"" if copies == 1 else tlv.number(COPIES, copies)
    wire = tlv.tlv(BATCH, head + b"".join(packets))
    if len(wire) > MAX_BYTES:
        raise BadPacket(f"a batch has at most {MAX_BYTES} bytes, this one has {len(wire)}: send fewer at a time")
    return wire


def decode_batch(wire: bytes) -> Batch:
    """Read the parameters of a streaming insert; every Data is opened, none is believed; raises `BadPacket`."""
    if len(wire) > MAX_BYTES:
        raise BadPacket(f"a batch has at most {MAX_BYTES} bytes, this one has {len(wire)}")
    start, end = only(wire, BATCH, "a batch")
    copies = 1
    packets: list[Data] = []
    position = start
    while position < end:
        at = position
        type_, low, position = element(wire, at, end)
        if type_ == tlv.DATA:
            packets.append(decode_data(wire[at:position]))
        elif type_ == COPIES and at == start:
            copies = read_nni(wire, low, position)
        else:
            raise BadPacket(f"element {type_} at byte {at} does not belong into a batch, or not there")
    if not 1 <= len(packets) <= MAX_PACKETS or not 1 <= copies <= MAX_COPIES:
        raise BadPacket(f"a batch is 1 to {MAX_PACKETS} Data on 1 to {MAX_COPIES} repos, not {len(packets)}, {copies}")
    return Batch(packets, copies)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a batch; `refused` are pairs of index and reason."""

    code: int
    kept: int = 0
    refused: tuple[tuple[int, str], ...] = ()
    text: str = ""
    retry_after_ms: int = 0

    def encode(self) -> bytes:
        """Write the Content of a receipt."""
        body = [tlv.number(STATUS_CODE, self.code), tlv.number(KEPT, self.kept)]
        if self.text:
            body.append(tlv.tlv(TEXT, _cut(self.text, _MAX_TEXT_BYTES)))
        if self.refused:
            room = min(_REASON_BYTES, _REASONS_BYTES // len(self.refused))
            each = [tlv.number(INDEX, index) + tlv.tlv(REASON, _cut(reason, room)) for index, reason in self.refused]
            body.append(tlv.tlv(REFUSED, b"".join(each)))
        if self.retry_after_ms:
            body.append(tlv.number(RETRY_AFTER, self.retry_after_ms))
        return tlv.tlv(RECEIPT, b"".join(body))

    @staticmethod
    def decode(wire: bytes) -> Receipt:
        """Read the Content of a receipt; raises `BadPacket`."""
        low, high = only(wire, RECEIPT, "a receipt")
        found = Fields(wire, low, high, (STATUS_CODE, KEPT, TEXT, REFUSED, RETRY_AFTER), "a receipt")
        return Receipt(
            found.required(STATUS_CODE),
            found.required(KEPT),
            _refused(found.value(REFUSED) or b""),
            (found.value(TEXT) or b"").decode(errors="replace"),
            found.number(RETRY_AFTER) or 0,
        )


def _refused(value: bytes) -> tuple[tuple[int, str], ...]:
    parts = tlv.elements(value)
    if len(parts) % 2 or len(parts) > 2 * MAX_PACKETS:
        raise BadPacket(f"what was refused are up to {MAX_PACKETS} pairs of Index and Reason")
    refused: list[tuple[int, str]] = []
    for index, reason in zip(parts[::2], parts[1::2], strict=True):
        if index[0] != INDEX or reason[0] != REASON:
            raise BadPacket(f"Index and Reason were expected, these are elements {index[0]} and {reason[0]}")
        text = value[reason[1] : reason[2]].decode(errors="replace")
        refused.append((read_nni(value, index[1], index[2]), text))
    return tuple(refused)


def _cut(text: str, size: int) -> bytes:
    """At most `size` bytes of a text, whole characters only."""
    wire = text.encode()
    return wire if len(wire) <= size else wire[:size].decode(errors="ignore").encode()
