"""State vectors as they travel: written and read, in version 2 and version 3 [SVS v2 and v3, state vector].

    version 2   StateVector 201 { StateVectorEntry 202 { Name, SeqNo 204 } * }
    version 3   StateVector 201 { StateVectorEntry 202 { Name, SeqNoEntry 210 { BootstrapTime 212, SeqNo 214 } * } * }

A stream is known here by its key: the bytes of its name, and in version 3 behind them its boot time in 8 bytes. A name
component begins with a byte above 0 and a boot time with 0, so the byte order of keys is the canonical order of (name,
boot), and one dictionary lookup compares one entry.

What we write is in canonical order, has each name once and no number 0. What we read may be in any order; of entries
that repeat a stream the highest counts, and a 0 says nothing. An element that does not belong refuses the whole vector,
as NDNts does: no other member passes it on. A number above 2⁵³ − 1 others do pass on, so it costs its entry only, or
everybody would become unheard for one; we do not pass it on, as NDNts cannot read it.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming.name import Name, check_components
from roost.naming.number import nni, read_nni, var
from roost.sync.port import Stream
from roost.wire.tlv import NAME, element

STATE_VECTOR: Final = 201
ENTRY: Final = 202
SEQ_NO: Final = 204
SEQ_NO_ENTRY: Final = 210
BOOTSTRAP_TIME: Final = 212
SEQ_NO_3: Final = 214

MAX_NUMBER: Final = 0x1FFFFFFFFFFFFF  # 2⁵³ − 1
_BOOT_BYTES: Final = 8
_SHORT_BOOT: Final = bytes(4)  # boot times until 2106 take 4 bytes


def key_of(stream: Stream, version: int) -> bytes:
    """The key of a stream."""
    if version == 2:
        return stream.name.value
    return stream.name.value + stream.boot.to_bytes(_BOOT_BYTES, "big")


def stream_of(key: bytes, version: int) -> Stream:
    """The stream with this key."""
    if version == 2:
        return Stream(Name(key), 0)
    at = len(key) - _BOOT_BYTES
    return Stream(Name(key[:at]), int.from_bytes(key[at:], "big"))


class Heard:
    """A vector that came from somebody; not to be changed, since all members of a process share it."""

    __slots__ = ("after", "entries", "inside", "newest_boot", "refused", "size_bytes", "upto", "windowed")

    def __init__(self, entries: dict[bytes, int], newest_boot: int, size_bytes: int) -> None:
        self.entries: Final = entries  # key → number, in canonical order
        self.newest_boot: Final = newest_boot
        self.size_bytes: Final = size_bytes
        self.refused = 0  # entries whose number is too large
        self.windowed = False
        self.after = b""  # the window: of the streams behind this key …
        self.upto: bytes | None = None  # … up to this one, None for the end, those not listed are unknown to it
        self.inside = len(entries)  # how many entries lie in the window

    def narrow(self, after: bytes, upto: bytes | None) -> None:
        """It speaks of all streams only in this window."""
        self.windowed = True
        self.after = after
        self.upto = upto
        self.inside = sum([after < key and (upto is None or key <= upto) for key in self.entries])


def entry_bytes(key: bytes, number: int, version: int) -> int:
    """How many bytes an entry takes, at most: as if it were the only one of its name."""
    length = len(key)
    size = length + (3 if number <= 0xFF else 4 if number <= 0xFFFF else 6 if number <= 0xFFFFFFFF else 10)
    if version == 3:
        size += 4  # the heads of SeqNoEntry and BootstrapTime; the boot time itself is in the key
        if key[length - _BOOT_BYTES : length - 4] == _SHORT_BOOT:
            size -= 4
    return size + (4 if size < 240 else 8)


def encode_vector(keys: list[bytes], numbers: dict[bytes, int], version: int) -> bytes:
    """Write the StateVector of these streams, which are in canonical order."""
    parts: list[bytes] = []
    name = b""
    tail = b""
    boot = b""
    items = b""
    for key in keys:
        number = nni(numbers[key])
        if version == 2:
            parts.append(_entry(key, b"\xcc" + var(len(number)) + number))
            continue
        at = len(key) - _BOOT_BYTES
        if key[at:] != tail:  # few boot times are shared by many streams
            tail = key[at:]
            value = nni(int.from_bytes(tail, "big"))
            boot = b"\xd4" + var(len(value)) + value + b"\xd6"
        if key[:at] != name:
            if items:
                parts.append(_entry(name, items))
            name = key[:at]
            items = b""
        items += b"\xd2" + var(len(boot) + 1 + len(number)) + boot + var(len(number)) + number
    if items:
        parts.append(_entry(name, items))
    value = b"".join(parts)
    return b"\xc9" + var(len(value)) + value


def _entry(name: bytes, rest: bytes) -> bytes:
    body = b"\x07" + var(len(name)) + name + rest
    return b"\xca" + var(len(body)) + body


def decode_vector(wire: bytes, start: int, end: int, version: int) -> Heard:
    """Read the value of a StateVector."""
    entries = _Entries()
    newest = 0
    boot = b""
    tail = b""
    position = start
    while position < end:
        low, position = _expect(wire, position, end, ENTRY)
        low, at = _expect(wire, low, position, NAME)
        if low == at:
            raise BadPacket(f"the state vector entry at byte {low} has an empty name")
        check_components(wire, low, at)
        name = wire[low:at]
        if version == 2:
            low, at = _expect(wire, at, position, SEQ_NO)
            entries.add(name, read_nni(wire, low, at))
            _finish(at, position)
            continue
        while at < position:
            low, item = _expect(wire, at, position, SEQ_NO_ENTRY)
            low, at = _expect(wire, low, item, BOOTSTRAP_TIME)
            if not tail or wire[low:at] != boot:  # few boot times are shared by many streams
                boot = wire[low:at]
                seconds = _read_boot(wire, low, at)
                newest = max(newest, seconds)
                tail = seconds.to_bytes(_BOOT_BYTES, "big")
            low, at = _expect(wire, at, item, SEQ_NO_3)
            entries.add(name + tail, read_nni(wire, low, at))
            _finish(at, item)
    heard = Heard(entries.in_order(), newest, end - start)
    heard.refused = entries.refused
    return heard


class _Entries:
    """What has been read of a vector."""

    __slots__ = ("_last", "_numbers", "_ordered", "refused")

    def __init__(self) -> None:
        self.refused = 0
        self._numbers: dict[bytes, int] = {}
        self._last = b""
        self._ordered = True

    def add(self, key: bytes, number: int) -> None:
        if not number:
            return
        if number > MAX_NUMBER:
            self.refused += 1
            return
        if key <= self._last:
            self._ordered = False
        self._last = key
        self._numbers[key] = number if self._ordered else max(number, self._numbers.get(key, 0))

    def in_order(self) -> dict[bytes, int]:
        return self._numbers if self._ordered else {key: self._numbers[key] for key in sorted(self._numbers)}


def _expect(wire: bytes, position: int, end: int, wanted: int) -> tuple[int, int]:
    type_, low, high = element(wire, position, end)
    if type_ != wanted:
        raise BadPacket(f"element {wanted} was expected at byte {position} of a state vector, this is {type_}")
    return low, high


def _finish(position: int, end: int) -> None:
    if position != end:
        raise BadPacket(f"something follows the number that ends at byte {position} of a state vector")


def _read_boot(wire: bytes, low: int, high: int) -> int:
    seconds = read_nni(wire, low, high)
    if seconds > MAX_NUMBER:
        raise BadPacket(f"{seconds} at byte {low} is too large for a boot time: {MAX_NUMBER} is the limit")
    return seconds
