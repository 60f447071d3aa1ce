"""Beats: by what a node tells the others that it lives, and what became of messages of shared subscriptions.

    topic    $roost/sessions/node      a stream of the telling node's panel
    payload  deterministic CBOR: [panel, started, [[filter, stream, low, high, held, awaited], …]]

`panel` is the name of the node's panel, `started` when it began, in ns: with another start, what ended with its links
is over. `filter` is a whole one, `$share/<name>/…`. Of the messages low to high of the stream this node says:
`held` are with members here, `awaited` are left to members elsewhere, all others are done with. `held` may name earlier
ones too. A later beat about a stream replaces an earlier one, so none has to arrive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cbor2

from roost.broker.announcement import SESSIONS
from roost.errors import BadPacket

TOPIC: Final = SESSIONS + b"node"  # the others below it are digests
MAX_SHARES: Final = 200
MAX_NUMBERS: Final = 600  # of each kind, of one share
MAX_SHARES_BYTES: Final = 6000  # of one beat
_MAX_NUMBER: Final = (1 << 64) - 1
_MAX_TIME: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Share:
    """What one stream's messages are to one shared subscription."""

    filter: bytes
    stream: bytes
    low: int
    high: int
    held: tuple[int, ...] = ()
    awaited: tuple[int, ...] = ()

    def is_done(self, number: int) -> bool:
        """Whether a message is said to be done with."""
        return self.low <= number <= self.high and number not in self.held and number not in self.awaited

    @property
    def size(self) -> int:
        """About so many bytes of a payload."""
        return len(self.filter) + len(self.stream) + 9 * (4 + len(self.held) + len(self.awaited))


@dataclass(frozen=True, slots=True)
class Beat:
    """One of them."""

    panel: bytes
    started: int
    shares: tuple[Share, ...] = ()

    def encode(self) -> bytes:
        """Write the payload."""
        rows = [[s.filter, s.stream, s.low, s.high, list(s.held), list(s.awaited)] for s in self.shares]
        return cbor2.dumps([self.panel, self.started, rows], canonical=True)


def parts(shares: list[Share]) -> list[tuple[Share, ...]]:
    """Shares in parts of which each fits a beat; at least one, which may be empty."""
    found: list[list[Share]] = [[]]
    size_bytes = 0
    for share in shares:
        size_bytes += share.size
        if found[-1] and (size_bytes > MAX_SHARES_BYTES or len(found[-1]) >= MAX_SHARES):
            found.append([])
            size_bytes = share.size
        found[-1].append(share)
    return [tuple(part) for part in found]


def decode_beat(payload: bytes) -> Beat:
    """Read a payload; raises `BadPacket`."""
    try:
        said = cbor2.loads(payload)
    except (cbor2.CBORDecodeError, ValueError, RecursionError) as error:
        raise BadPacket(f"a beat is CBOR, this is not: {error}") from None
    if not isinstance(said, list) or len(said) != 3:
        raise BadPacket("a beat has three fields")
    panel, started, rows = said
    if not isinstance(panel, bytes) or not _is_number(started, _MAX_TIME):
        raise BadPacket("a beat says whose it is, and since when that node runs")
    if not isinstance(rows, list) or len(rows) > MAX_SHARES:
        raise BadPacket(f"a beat tells of at most {MAX_SHARES} shares")
    return Beat(panel, started, tuple([_share(row) for row in rows]))


def _share(row: object) -> Share:
    if not isinstance(row, list) or len(row) != 6:
        raise BadPacket("a share has six fields")
    filter_, stream, low, high, held, awaited = row
    if not isinstance(filter_, bytes) or not isinstance(stream, bytes):
        raise BadPacket("filters and streams are bytes")
    if not _is_number(low, _MAX_NUMBER) or not _is_number(high, _MAX_NUMBER):
        raise BadPacket("a share tells of a range of numbers")
    return Share(filter_, stream, low, high, _numbers(held), _numbers(awaited))


def _numbers(found: object) -> tuple[int, ...]:
    if not isinstance(found, list) or len(found) > MAX_NUMBERS:
        raise BadPacket(f"a share names at most {MAX_NUMBERS} messages")
    if not all(_is_number(number, _MAX_NUMBER) for number in found):
        raise BadPacket("messages are named by numbers")
    return tuple(found)


def _is_number(value: object, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high
