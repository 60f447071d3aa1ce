"""What a consumer of partial sync keeps on its disk: for which list, the IBLT it was given last, and its numbers.

    CRC-32 · Name(fingerprint of the list, IBLT) · sync state with the number of every wanted stream

It is replaced as a whole, one save after the other: what changes meanwhile goes into the next one. If it is damaged it
counts as empty; the consumer then says hello and hears of everything again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from zlib import crc32

from roost.errors import BadPacket
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Component, Name
from roost.sync.sync_state import decode_state, encode_state
from roost.wire.tlv import NAME, element


class ConsumerState(NamedTuple):
    """All numbers are those of the time at which the producer had this IBLT, or later."""

    fingerprint: bytes
    iblt: Component
    numbers: Mapping[Name, int]


def encode_consumer(state: ConsumerState) -> bytes:
    """Write a state for the disk."""
    body = Name.of(Component(state.fingerprint), state.iblt).wire + encode_state(state.numbers.items())
    return crc32(body).to_bytes(4, "big") + body


def decode_consumer(saved: bytes, max_streams: int) -> ConsumerState | None:
    """Read what was saved; None if it is damaged."""
    body = saved[4:]
    if len(saved) < 4 or crc32(body) != int.from_bytes(saved[:4], "big"):
        return None
    try:
        type_, low, high = element(body, 0, len(body))
        name = Name.decode(body[low:high])
        numbers = dict(decode_state(body[high:], max_streams))
    except BadPacket:
        return None
    if type_ != NAME or len(name) != 2:
        return None
    return ConsumerState(name.at(0).value, name.at(1), numbers)


class StateFile:
    """The file, and what is on its way into it."""

    def __init__(self, file: str) -> None:
        self.file: Final = file
        self._ticket = 0
        self._under_way = False
        self._again = False

    def save(self, state: ConsumerState) -> list[Effect]:
        """Save this, or whatever it has become by then, when the save before is through."""
        if self._under_way:
            self._again = True
            return []
        self._ticket += 1
        self._under_way = True
        self._again = False
        return [Save(self.file, self._ticket, encode_consumer(state), replace=True)]

    def saved(self, event: Saved, state: ConsumerState) -> list[Effect]:
        """Take in that a save is through."""
        if event.file != self.file or event.ticket != self._ticket or not self._under_way:
            return []
        self._under_way = False
        return self.save(state) if self._again else []
