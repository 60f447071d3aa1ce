"""The log of an outbox: frames with checksums, and what can be read of them after a crash.

    frame    mark (2) · length of the body (2) · CRC-32 of the body (4) · CRC-32 of these eight bytes (4) · body
    body     kind (1) · KEPT: the Data · GONE: low (8), high (8), stream · COUNTED: number (8), stream
                        · REFUSED: number (8), stream (a whole Name element), reason

- A last frame that is cut off was never `Saved`: the length in its head, which has a checksum of its own, says so.
- Anything else that does not match its checksum is damage, and costs the frame: reading goes on behind it, or, if its
  head is hit, at the next mark that begins a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from roost.errors import InvalidInput
from roost.naming import Name
from roost.naming.component import SEQUENCE
from roost.naming.number import read_var
from roost.wire import Data

KEPT: Final = 1
GONE: Final = 2
COUNTED: Final = 3
REFUSED: Final = 4

_MARK: Final = b"\xb5\x0b"
_HEAD: Final = Struct(">2sHI")
_HEAD_BYTES: Final = 12
_NUMBER: Final = Struct(">BQ")
_RANGE: Final = Struct(">BQQ")
_REASON_BYTES: Final = 200
_DAMAGE: Final = -1
_CUT_OFF: Final = -2


class Packet(NamedTuple):
    """A signed reading: whose, which number, its name as bytes, and the Data."""

    stream: Name
    number: int
    value: bytes
    wire: bytes


class Run(NamedTuple):
    """Neighbouring numbers of a stream."""

    stream: Name
    low: int
    high: int


class Found(NamedTuple):
    """What could be read of a log: bodies, whether some were damaged, and whether the last one is cut off."""

    bodies: list[bytes]
    damaged: bool
    cut_off: bool


# -- writing


def kept(packet: Packet) -> bytes:
    """Write that a reading is to be sent."""
    return _frame(bytes((KEPT,)) + packet.wire)


def gone(run: Run) -> bytes:
    """Write that readings are confirmed, or given up."""
    return _frame(_RANGE.pack(GONE, run.low, run.high) + run.stream.value)


def counted(stream: Name, number: int) -> bytes:
    """Write that a stream has come to a number."""
    return _frame(_NUMBER.pack(COUNTED, number) + stream.value)


def refused(packet: Packet, reason: str) -> bytes:
    """Write that a reading is set aside."""
    text = reason.encode(errors="replace")[:_REASON_BYTES]
    return _frame(_NUMBER.pack(REFUSED, packet.number) + packet.stream.wire + text)


def size_of_kept(packet: Packet) -> int:
    """How long that frame is."""
    return _HEAD_BYTES + 1 + len(packet.wire)


def size_of_counted(stream: Name) -> int:
    """How long that frame is."""
    return _HEAD_BYTES + _NUMBER.size + len(stream.value)


# -- reading


def read(found: bytes) -> Found:
    """Read a log as far as it can be."""
    bodies: list[bytes] = []
    damaged = False
    position = 0
    while 0 <= position < len(found):
        low = position + _HEAD_BYTES
        length, checksum = _head(found, position)
        if length == _DAMAGE:
            damaged = True
            position = found.find(_MARK, position + 1)
            continue
        if length == _CUT_OFF or low + length > len(found):
            return Found(bodies, damaged, cut_off=True)
        position = low + length
        body = found[low:position]
        if crc32(body) == checksum:
            bodies.append(body)
        else:
            damaged = True
    return Found(bodies, damaged, cut_off=False)


def packet_of(body: bytes) -> Packet:
    """The reading in a KEPT body."""
    wire = body[1:]
    name = Data.decode(wire).name
    if name.at(-1).type != SEQUENCE:
        raise InvalidInput(f"{name} is no reading: it does not end in seq=<number>")
    return Packet(name.prefix(-1), name.at(-1).number(), name.value, wire)


def run_of(body: bytes) -> Run:
    """What is confirmed, of a GONE body."""
    _, low, high = _RANGE.unpack_from(body)
    return Run(Name.decode(body[_RANGE.size :]), low, high)


def count_of(body: bytes) -> tuple[Name, int]:
    """The stream and its number, of a COUNTED body."""
    return Name.decode(body[_NUMBER.size :]), _NUMBER.unpack_from(body)[1]


def refusal_of(body: bytes) -> tuple[Name, int, str]:
    """The stream, the number and the reason, of a REFUSED body."""
    length, start = read_var(body, _NUMBER.size + 1, len(body))
    stream = Name.decode(body[start : start + length])
    return stream, _NUMBER.unpack_from(body)[1], body[start + length :].decode(errors="replace")


def runs(packets: Iterable[Packet]) -> list[Run]:
    """Put neighbouring numbers of the same stream together."""
    found: list[Run] = []
    last: dict[Name, int] = {}  # where the stream's last run stands
    for packet in packets:
        at = last.get(packet.stream)
        if at is not None and found[at].high + 1 == packet.number:
            found[at] = Run(packet.stream, found[at].low, packet.number)
        else:
            last[packet.stream] = len(found)
            found.append(Run(packet.stream, packet.number, packet.number))
    return found


def _frame(body: bytes) -> bytes:
    head = _HEAD.pack(_MARK, len(body), crc32(body))
    return head + crc32(head).to_bytes(4, "big") + body


def _head(found: bytes, position: int) -> tuple[int, int]:
    """Length and checksum of the body behind a head; instead of the length, whether the head is damaged or cut off."""
    low = position + _HEAD_BYTES
    if low > len(found):
        return _CUT_OFF, 0
    head = found[position : position + _HEAD.size]
    mark, length, checksum = _HEAD.unpack(head)
    if mark != _MARK or crc32(head).to_bytes(4, "big") != found[position + _HEAD.size : low]:
        return _DAMAGE, 0
    return length, checksum
