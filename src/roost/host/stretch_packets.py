"""Readings of one stream that lie back to back, taken apart: their numbers, and which of them are sealed.

This is how a bundle (`roost.repo.question`) and the door for bulk reading (`roost.host.bulk_frames`) bring them. Only
what is needed to tell one from the next is looked at: that each is a Data of the right name, that numbers rise, and
what its content begins with. Whether it is a Data throughout, and whose, is for who verifies or decodes it.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming.name import NAME_TYPE
from roost.repo.fields import Fields, only
from roost.repo.question import BUNDLED, DROPPED, HIGH, LOW, MAX_DROPPED, Run
from roost.wire import tlv
from roost.wire.envelope import SEALED
from roost.wire.tlv import element

_SEQUENCE: Final = 0x3A
_WIDE: Final = 253  # from here on a length takes more than one byte


def split(body: bytes, start: int, stream: bytes, low: int, high: int) -> tuple[list[tuple[int, bytes]], list[int]]:
    """The packets from `start` to the end with their numbers, and the numbers of the sealed ones; raises `BadPacket`.

    `stream` is the TLV-VALUE of its name, all numbers are from low to high.
    """
    found: list[tuple[int, bytes]] = []
    sealed: list[int] = []
    size = len(stream)
    end = len(body)
    at = start
    try:
        while at < end:
            value = at + 2
            length = body[at + 1]
            if length >= _WIDE:
                _, value, after = element(body, at, end)
                length = after - value
            name = value + 2
            name_bytes = body[value + 1]
            if name_bytes >= _WIDE:
                _, name, after = element(body, value, end)
                name_bytes = after - name
            cut = name + size
            behind = name + name_bytes
            width = name_bytes - size - 2
            # Before anything is cut out: a slice that ends before it begins is an error where this is compiled.
            number = int.from_bytes(body[cut + 2 : behind], "big") if width > 0 and behind <= end else 0
            if (
                width not in (1, 2, 4, 8)
                or behind > end
                or body[at] != tlv.DATA
                or body[value] != NAME_TYPE
                or value + length > end
                or behind > value + length
                or body[name:cut] != stream
                or body[cut] != _SEQUENCE
                or body[cut + 1] != width
                or (width > 1 and not number >> (4 * width))
                or not low <= number <= high
            ):
                raise BadPacket(f"what stands at byte {at} is none of the readings {low} to {high} that were asked for")
            if body[behind] == tlv.META_INFO:
                behind += 2 + body[behind + 1]
            if body[behind] == tlv.CONTENT and body[behind + (2 if body[behind + 1] < _WIDE else 4)] == SEALED:
                sealed.append(number)
            found.append((number, body[at : value + length]))
            at = value + length
            low = number + 1
    except IndexError:
        raise BadPacket(f"the reading at byte {at} is cut off") from None
    return found, sealed


def open_bundle(
    content: bytes, stream: bytes, low: int, high: int
) -> tuple[list[tuple[int, bytes]], list[int], list[Run]]:
    """Take a Bundled element apart: packets and sealed ones as `split` does, and dropped runs; raises `BadPacket`."""
    start, end = only(content, BUNDLED, "a bundle")
    dropped: list[Run] = []
    while start < end and content[start] == DROPPED:
        _, first, behind = element(content, start, end)
        fields = Fields(content, first, behind, (LOW, HIGH), "Dropped")
        run = (fields.required(LOW), fields.required(HIGH))
        if len(dropped) >= MAX_DROPPED or not (dropped[-1][1] if dropped else 0) < run[0] <= run[1]:
            raise BadPacket(f"the dropped numbers from {run[0]} on are out of order, or too many")
        dropped.append(run)
        start = behind
    packets, sealed = split(content, start, stream, low, high)
    return packets, sealed, dropped
