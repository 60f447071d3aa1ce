"""Signing: pieces of messages that have numbers, and wait in their order for signatures that are made elsewhere.

    ask ──Sign──▶ another process ──▶ signed ──▶ to be written, behind all that was asked for before

A signature takes as long as all the rest that is done for a message, and nothing of it needs what a broker knows. So
where another core is free, only digests leave (`Sign`), and ECDSA signatures come back: with the nonces of RFC 6979 the
one over a digest is byte for byte that over the portion. What comes back without signatures is signed here. Pieces are
given back in the order in which they were asked for, whatever the order of the answers. Which pieces are worth the way
is `roost.broker.insertion`'s business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from roost.broker.message import Message
from roost.broker.signing_effects import Sign
from roost.repo.store import Entry
from roost.wire.data import Data, add_signature, decode_data
from roost.wire.signature import Signer

MAX_PIECES: Final = 2  # under way: one that is signed, and one that is next


class Batch:
    """The messages of one ticket; `entries` are their readings, once they are signed, and `drafts` those before.

    The parts of a large payload are among them, in front of the reading they belong to (`roost.broker.large`).

    `keys` were written in front of them, and open some.
    """

    __slots__ = ("again", "copies", "drafts", "entries", "keys", "large", "messages", "size_bytes", "spread", "ticket")

    def __init__(self, ticket: int, messages: Sequence[Message], copies: int, *, again: bool, spread: bool) -> None:
        self.ticket: Final = ticket
        self.messages: Final = messages
        self.size_bytes: Final = sum([len(message.payload) for message in messages])
        self.copies: Final = copies
        self.again: Final = again
        self.spread: Final = spread
        self.large = 0  # messages with parts
        self.drafts: list[Entry] = []
        self.entries: list[Entry] = []
        self.keys: list[Entry] = []

    def packets(self) -> list[Data]:
        """Keys and readings, as packets to hand on."""
        return [decode_data(entry.wire) for entry in [*self.keys, *self.entries]]


class _Piece:
    """What was asked for at once."""

    __slots__ = ("batches", "is_signed", "signer", "ticket")

    def __init__(self, ticket: int, batches: list[Batch], signer: Signer) -> None:
        self.ticket: Final = ticket
        self.batches: Final = batches
        self.signer: Final = signer
        self.is_signed = False

    def drafts(self) -> list[Entry]:
        """All of them, in the order of their batches."""
        return [draft for batch in self.batches for draft in batch.drafts]

    def seal(self, signatures: Sequence[bytes]) -> None:
        """Make readings of the drafts."""
        low = 0
        for batch in self.batches:
            if batch.drafts:
                batch.entries = [sealed(draft, signatures[low + at]) for at, draft in enumerate(batch.drafts)]
                low += len(batch.drafts)
                batch.drafts = []
        self.is_signed = True


class Signing:
    """The pieces under way; `aside` says whether there is somebody else who signs."""

    def __init__(self) -> None:
        self.aside = False
        self.elsewhere = 0  # messages that were signed there
        self.returned = 0  # messages that came back unsigned
        self._pieces: Final[deque[_Piece]] = deque()  # bound: MAX_PIECES, see `is_full`
        self._last_ticket = 0

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._pieces)

    @property
    def is_full(self) -> bool:
        """Whether no other piece may be asked for."""
        return len(self._pieces) >= MAX_PIECES

    def ask(self, batches: list[Batch], signer: Signer) -> Sign:
        """Have the drafts of batches signed; what has none is given back with the others, in its place."""
        self._last_ticket += 1
        piece = _Piece(self._last_ticket, batches, signer)
        self._pieces.append(piece)
        return Sign(piece.ticket, signer, [sha256(draft.wire).digest() for draft in piece.drafts()])

    def signed(self, ticket: int, signatures: Sequence[bytes]) -> list[Batch]:
        """Take in the signatures of a piece, one for each digest or none; gives what is next to be written."""
        piece = self._find(ticket)
        if piece is not None:
            drafts = piece.drafts()
            if len(signatures) == len(drafts):
                self.elsewhere += len(drafts)
                piece.seal(signatures)
            else:
                self.returned += len(drafts)
                piece.seal([piece.signer.sign(draft.wire) for draft in drafts])
        batches: list[Batch] = []
        while self._pieces and self._pieces[0].is_signed:
            batches += self._pieces.popleft().batches
        return batches

    def _find(self, ticket: int) -> _Piece | None:
        for piece in self._pieces:
            if piece.ticket == ticket and not piece.is_signed:
                return piece
        return None


def sealed(draft: Entry, signature: bytes) -> Entry:
    """The reading that a draft is with its signature."""
    return Entry(draft.name, add_signature(draft.wire, signature), draft.time)
