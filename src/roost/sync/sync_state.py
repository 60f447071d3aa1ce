"""The content of PSync replies: which elements there are, as a list of names that end in a number [PSync §4].

An element is one stream with its latest number, the name `/<stream>/<number>` with a generic number component; the
TLV-VALUE of that name is also what its key is hashed from. Compressing and segmenting the content is for others.

In replies to whoever subscribes to ranges, Data packets may follow the state: the readings it tells of, where they are
small [NDN-PS, footnote 2].
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.component import GENERIC
from roost.naming.name import NAME_TYPE, cuts_of
from roost.naming.number import nni, read_nni, read_var, var
from roost.wire.tlv import DATA, element, elements, skip, tlv

SYNC_STATE: Final = 128


def element_value(stream: Name, number: int) -> bytes:
    """Return the TLV-VALUE of an element's name."""
    encoded = nni(number)
    return stream.value + b"\x08" + var(len(encoded)) + encoded


def encode_state(entries: Iterable[tuple[Name, int]]) -> bytes:
    """Write a state."""
    return tlv(SYNC_STATE, b"".join([tlv(NAME_TYPE, element_value(stream, number)) for stream, number in entries]))


def decode_state(content: bytes, max_entries: int) -> list[tuple[Name, int]]:
    """Read a state of at most `max_entries` elements."""
    type_, position, end = element(content, 0, len(content))
    if type_ != SYNC_STATE or end != len(content):
        raise BadPacket(f"a sync state (element {SYNC_STATE}) was expected, this is element {type_} up to byte {end}")
    found: list[tuple[Name, int]] = []
    while position < end:
        at = position
        type_, start, position = element(content, at, end)
        if type_ != NAME_TYPE:
            skip(type_, at, "a sync state")
            continue
        if len(found) >= max_entries:
            raise BadPacket(f"the sync state has more than {max_entries} elements, the limit here")
        found.append(_split(content[start:position]))
    return found


def split_carried(content: bytes) -> tuple[bytes, list[bytes]]:
    """Part a state from the packets that follow it, which nobody has looked at yet."""
    _, _, end = element(content, 0, len(content))
    packets: list[bytes] = []
    at = end
    for type_, _, high in elements(content, end):
        if type_ != DATA:
            raise BadPacket(f"a Data was expected behind the sync state, this is element {type_}")
        packets.append(content[at:high])
        at = high
    return content[:end], packets


def _split(value: bytes) -> tuple[Name, int]:
    """Take the name of an element apart: the stream and its number."""
    cuts = cuts_of(value, 0, len(value))
    if len(cuts) < 2:
        raise BadPacket("an element of a sync state has an empty name")
    last = cuts[-2]
    type_, position = read_var(value, last, len(value))
    _, position = read_var(value, position, len(value))
    if type_ != GENERIC:
        raise BadPacket(f"an element of a sync state ends in a component of type {type_}, not in a generic number")
    cuts.pop()
    return Name(value[:last], cuts), read_nni(value, position, len(value))
