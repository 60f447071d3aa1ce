"""Vectors too large for one Interest: which entries to send, and how to say what they leave out [our extension].

Behind the StateVector stands an element that others pass over (its type is even and above 31):

    Window 240 { After 242 { Name, [BootstrapTime 212] }, Upto 244 { Name, [BootstrapTime 212] } }

It says: of the streams behind `After`, up to and including `Upto`, all that the sender knows are listed. Without
`After` the window begins with the first stream there can be, without `Upto` it ends with the last. A listed stream
counts wherever it is; a stream that is not listed is missing only if it lies in the window. Boot times, which only
version 3 has, make it possible to end a window within a name.

What is sent, until the limit is reached:

1. ours, the most recent first, in at most a quarter of the room;
2. what somebody was seen to lack;
3. the most recently updated, until half of the room is taken;
4. a window of all streams in canonical order, as much as fits, which begins where the last one, sent or heard, ended.
   If what is lacked does not fit, it begins at the first of these instead.

So while nobody lacks much, every window moves on by at least half of an Interest, whoever sends it, and N streams of
which w fit that half are all told within ⌈N / w⌉ Interests.

Members are believed, here as in all of State Vector Sync: one that lies can fill the vectors of all with streams that
there are not, and by windows that tell next to nothing it can keep the others from telling again what was lost. Who may
speak in a group is decided where Interests are verified.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from roost.errors import BadPacket
from roost.naming.name import Name, check_components
from roost.naming.number import read_nni
from roost.sync.port import Stream
from roost.sync.state_vector import StateVector
from roost.sync.vector_format import BOOTSTRAP_TIME, MAX_NUMBER, entry_bytes, key_of, stream_of
from roost.wire.tlv import NAME, element, number, tlv

WINDOW: Final = 240
AFTER: Final = 242
UPTO: Final = 244
BOUND_BYTES: Final = 20  # of each bound, beside its key


class Selection:
    """What goes into one Interest: keys in canonical order, and the window they fill."""

    __slots__ = ("after", "keys", "upto")

    def __init__(self, keys: list[bytes], after: bytes, upto: bytes | None) -> None:
        self.keys: Final = keys
        self.after: Final = after
        self.upto: Final = upto


class _Basket:
    """Keys, no more of them than there is room for."""

    __slots__ = ("keys", "left", "vector")

    def __init__(self, vector: StateVector, room: int) -> None:
        self.vector: Final = vector
        self.keys: Final[dict[bytes, None]] = {}
        self.left = room

    def take(self, key: bytes) -> bool:
        """Put a key in; returns whether it is in."""
        if key in self.keys:
            return True
        size = entry_bytes(key, self.vector.numbers[key], self.vector.version)
        if size > self.left:
            return False
        self.left -= size
        self.keys[key] = None
        return True

    def fill(self, keys: Iterable[bytes], spare: int) -> bool:
        """Put in as many as fit, leaving `spare` bytes; returns whether that was all."""
        return all(self.left > spare and self.take(key) for key in keys)


def select(vector: StateVector, own: Iterable[bytes], lacking: dict[bytes, None], after: bytes, room: int) -> Selection:
    """Choose what to send of a vector that does not fit; `own` and `lacking` have the most important first."""
    room -= 2 * (vector.longest + BOUND_BYTES)
    basket = _Basket(vector, room)
    basket.fill(own, room - room // 4)
    order = vector.order
    start = bisect_right(order, after)
    if not basket.fill(lacking, 0):
        start = bisect_left(order, next(iter(lacking)))
        after = order[start - 1] if start else b""
    basket.fill(reversed(vector.updated), room - room // 2)
    end = start
    while end < len(order) and basket.take(order[end]):
        end += 1
    if end == len(order):
        return Selection(sorted(basket.keys), after, None)
    if end == start:  # no room for a window: an empty one, so that nothing is concluded from what is not listed
        after = after or order[0]
        return Selection(sorted(basket.keys), after, after)
    return Selection(sorted(basket.keys), after, order[end - 1])


def select_recent(vector: StateVector, own: Iterable[bytes], lacking: dict[bytes, None], room: int) -> Selection:
    """Choose for peers who know nothing of windows."""
    basket = _Basket(vector, room)
    basket.fill(own, room - room // 4)
    basket.fill(lacking, room // 4)
    basket.fill(reversed(vector.updated), 0)
    return Selection(sorted(basket.keys), b"", None)


# -- the format


def encode_window(selection: Selection, version: int) -> bytes:
    """Write the element that stands behind the StateVector."""
    value = b""
    if selection.after:
        value = tlv(AFTER, _bound(selection.after, version))
    if selection.upto is not None:
        value += tlv(UPTO, _bound(selection.upto, version))
    return tlv(WINDOW, value)


def decode_window(wire: bytes, start: int, end: int, version: int) -> tuple[bytes, bytes | None] | None:
    """Read the value of a Window: its two bounds. None if it cannot be read: it may be another's element."""
    after = b""
    upto: bytes | None = None
    try:
        position = start
        while position < end:
            type_, low, position = element(wire, position, end)
            if type_ == AFTER and not after and upto is None:
                after = _read_bound(wire, low, position, version)
            elif type_ == UPTO and upto is None:
                upto = _read_bound(wire, low, position, version)
            else:
                return None
    except BadPacket:
        return None
    return None if upto is not None and upto < after else (after, upto)


def _read_bound(wire: bytes, start: int, end: int, version: int) -> bytes:
    type_, low, high = element(wire, start, end)
    if type_ != NAME or low == high:
        raise BadPacket("a bound of a window has a name")
    check_components(wire, low, high)
    name = Name(wire[low:high])
    boot = 0
    if version == 3:
        type_, low, high = element(wire, high, end)
        boot = read_nni(wire, low, high)
        if type_ != BOOTSTRAP_TIME or boot > MAX_NUMBER:
            raise BadPacket("a bound of a window has a boot time")
    if high != end:
        raise BadPacket("a bound of a window goes on after its stream")
    return key_of(Stream(name, boot), version)


def _bound(key: bytes, version: int) -> bytes:
    stream = stream_of(key, version)
    return stream.name.wire + (number(BOOTSTRAP_TIME, stream.boot) if version == 3 else b"")
