"""Elements of the repo protocols, read strictly: a written order, each at most once, nothing else in between.

Both protocols treat every type as critical [repo.md §2.2, §3.2], although half of their numbers are even: whoever
skipped an EndBlockId that it took for unknown would fetch without end. So NDN's critical-bit rule does not hold here.

Names are asked for later, by whoever reads them. So they are such as an Interest can have: not too long, and without a
digest, which would belong to somebody's parameters or to one packet's bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.errors import BadPacket
from roost.naming.name import NAME_TYPE, Name, check_components
from roost.naming.number import read_nni
from roost.wire.tlv import element, elements

MAX_NAME_BYTES: Final = 4000
MAX_NAMES: Final = 8  # in one element
MAX_NAMES_BYTES: Final = 2000  # of them together


class Fields:
    """The elements of `wire[low:high]`, by type; `order` lists the types that may be there."""

    __slots__ = ("_found", "_where", "_wire")

    def __init__(self, wire: bytes, low: int, high: int, order: Sequence[int], where: str) -> None:
        self._wire = wire
        self._where = where
        self._found: dict[int, tuple[int, int]] = {}  # bound: the types in `order`
        following = 0  # the first in `order` that may come
        for type_, start, end in elements(wire, low, high):
            try:
                following = order.index(type_, following) + 1
            except ValueError:
                reason = f"element {type_} before byte {start} is unknown, repeated or out of order in {where}"
                raise BadPacket(reason) from None
            self._found[type_] = (start, end)

    def number(self, type_: int) -> int | None:
        """A NonNegativeInteger, None where there is none."""
        at = self._found.get(type_)
        return None if at is None else read_nni(self._wire, at[0], at[1])

    def required(self, type_: int) -> int:
        """A NonNegativeInteger that has to be there."""
        number = self.number(type_)
        if number is None:
            raise BadPacket(f"{self._where} has an element {type_}, this one has none")
        return number

    def value(self, type_: int) -> bytes | None:
        """The bytes of an element, None where there is none."""
        at = self._found.get(type_)
        return None if at is None else self._wire[at[0] : at[1]]

    def name(self) -> Name | None:
        """The Name, None where there is none."""
        value = self.value(NAME_TYPE)
        return None if value is None else _name(value, self._where)

    def names(self, type_: int) -> tuple[Name, ...]:
        """The Names that an element holds, none where it is not there."""
        value = self.value(type_)
        return () if value is None else _names(value, self._where)


def _names(value: bytes, where: str) -> tuple[Name, ...]:
    """Read a sequence of Names."""
    found: list[Name] = []
    for type_, start, end in elements(value):
        if type_ != NAME_TYPE:
            raise BadPacket(f"element {type_} before byte {start} stands where {where} has Names")
        found.append(_name(value[start:end], where))
    if len(found) > MAX_NAMES or len(value) > MAX_NAMES_BYTES:
        raise BadPacket(f"{where} has at most {MAX_NAMES} Names in one element, of {MAX_NAMES_BYTES} bytes together")
    return tuple(found)


def only(wire: bytes, type_: int, where: str) -> tuple[int, int]:
    """Open the one element that fills `wire`; returns where its value starts and ends."""
    found, start, end = element(wire, 0, len(wire))
    if found != type_ or end != len(wire):
        raise BadPacket(f"{where} is one element {type_}, this is element {found} up to byte {end} of {len(wire)}")
    return start, end


def _name(value: bytes, where: str) -> Name:
    if len(value) > MAX_NAME_BYTES:
        raise BadPacket(f"the Name in {where} has {len(value)} bytes, {MAX_NAME_BYTES} is the limit")
    if check_components(value, 0, len(value)):
        raise BadPacket(f"the Name in {where} has a digest in it, and cannot be asked for")
    return Name(value)
