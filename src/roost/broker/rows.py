"""How a row of the broker's ledger is written and read: a version byte, a checksum over the body, the body.

A row that is damaged, or of a version that is not known, reads as `BadRow`: whoever loads counts it and goes on with
the rest. Keys are `roost.broker.ledger`'s; what is in the bodies, `roost.broker.message_rows`' and `session_rows`'.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from roost.errors import InvalidInput

_VERSION: Final = 1
_HEAD_BYTES: Final = 5


class BadRow(InvalidInput):
    """A row that cannot be what was written."""


class Row:
    """Takes fields off a row's body."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def number(self, width: int) -> int:
        """Take a number."""
        return int.from_bytes(self._take(width), "big")

    def blob(self, width: int) -> bytes:
        """Take bytes that come behind their length."""
        return self._take(self.number(width))

    def rest(self) -> bytes:
        """Take all that is left."""
        return self._take(len(self._body) - self._at)

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._body):
            raise BadRow("the row ends too soon")
        taken = self._body[self._at : end]
        self._at = end
        return taken


def blob(value: bytes, width: int) -> bytes:
    """Put its length before a value."""
    return len(value).to_bytes(width, "big") + value


def seal(body: bytes) -> bytes:
    """Put version and checksum before a body."""
    return bytes((_VERSION,)) + crc32(body).to_bytes(4, "big") + body


def unseal(value: bytes) -> Row:
    """Check version and checksum; raises `BadRow`."""
    if len(value) < _HEAD_BYTES or value[0] != _VERSION:
        raise BadRow("the row has no version that is known")
    body = value[_HEAD_BYTES:]
    if crc32(body) != int.from_bytes(value[1:_HEAD_BYTES], "big"):
        raise BadRow("the row does not agree with its checksum")
    return Row(body)


def number_value(number: int) -> bytes:
    """The row of a number."""
    return seal(number.to_bytes(8, "big"))


def read_number(value: bytes) -> int:
    """Read the row of a number."""
    return unseal(value).number(8)
