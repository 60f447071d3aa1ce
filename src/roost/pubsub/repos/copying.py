"""Readings on k repos before their publisher hears of it: k − 1 others are told to insert them, and confirm.

The repo that was asked keeps the readings itself; this has others keep them too, as many at once as copies are wanted,
and another one for each that does not confirm. How one is told is a callable: `insert(repo, packets, then, now)` sends
an insert command to that repo's own prefix and goes on with "" or a refusal (`roost.pubsub.commanding`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.repos.peers import Peer, Peers
from roost.repo.batch import MAX_BYTES, MAX_PACKETS
from roost.wire import Data

MAX_COPYING: Final = 256
AT_ONCE: Final = 16  # pieces of one batch; the others follow, unless one is refused
BUSY: Final = f"{MAX_COPYING} batches are being copied, which is the limit"
PIECE_BYTES: Final = MAX_BYTES - 8  # without the heads of a batch

Copied: TypeAlias = Callable[[str, int], list[Effect]]
Insert: TypeAlias = Callable[[Name, Sequence[Data], Copied, int], list[Effect]]


class Copying:
    """Batches on their way to other repos."""

    def __init__(self, peers: Peers, insert: Insert) -> None:
        self.turned_away = 0
        self._peers: Final = peers
        self._insert: Final = insert
        self._under_way = 0  # bound: MAX_COPYING

    def copy(self, packets: Sequence[Data], copies: int, then: Copied, now: int) -> list[Effect]:
        """Have `copies` − 1 others confirm these, in as many batches as it takes.

        Goes on with "" or, for an answer of 503, why that cannot be.
        """
        pieces = deque(_pieces(packets))
        flying, last_refusal, is_sending = 0, "", False

        def go_on(now: int) -> list[Effect]:
            nonlocal flying, is_sending
            effects: list[Effect] = []
            is_sending = True  # what is answered at once goes on here, not deeper
            while pieces and flying < AT_ONCE and not last_refusal:
                flying += 1
                effects += self._copy(pieces.popleft(), copies, copied, now)
            is_sending = False
            return effects if flying else effects + then(last_refusal, now)

        def copied(refusal: str, now: int) -> list[Effect]:
            nonlocal flying, last_refusal
            flying -= 1
            last_refusal = refusal or last_refusal
            return [] if is_sending else go_on(now)

        return go_on(now)

    def spread(self, packets: Sequence[Data], then: Copied, now: int) -> list[Effect]:
        """Have every other repo that is not silent confirm these; goes on with the last refusal when all have answered.

        Replication brings them in any case: this is for who waits until all have them, so nothing is tried again.
        """
        others = [peer for peer in self._peers if peer.silent_until <= now]
        pieces = _pieces(packets)
        if not others or self._under_way >= MAX_COPYING:
            self.turned_away += bool(others)
            return then("", now)
        self._under_way += 1
        waiting, last_refusal = len(others) * len(pieces), ""

        def answered(peer: Peer, refusal: str, now: int) -> list[Effect]:
            nonlocal waiting, last_refusal
            waiting -= 1
            last_refusal = refusal or last_refusal
            if refusal:
                self._peers.was_silent(peer, now)
            if waiting:
                return []
            self._under_way -= 1
            return then(last_refusal, now)

        return [
            effect
            for peer in others
            for piece in pieces
            for effect in self._insert(peer.name, piece, partial(answered, peer), now)
        ]

    def _copy(self, packets: Sequence[Data], copies: int, then: Copied, now: int) -> list[Effect]:
        others = copies - 1
        if others <= 0:
            return then("", now)
        left = [peer.name for peer in self._peers.order(None, now)]
        if len(left) < others:
            return then(f"{copies} copies were asked for, {len(left)} other repos of the group are known", now)
        if self._under_way >= MAX_COPYING:
            self.turned_away += 1
            return then(BUSY, now)
        self._under_way += 1
        confirmed = flying = 0
        last_refusal = ""

        def ask(now: int) -> list[Effect]:
            nonlocal flying
            flying += 1
            return self._insert(left.pop(0), packets, answered, now)

        def answered(refusal: str, now: int) -> list[Effect]:
            nonlocal confirmed, flying, last_refusal
            flying -= 1
            confirmed += not refusal
            last_refusal = refusal or last_refusal
            if left and confirmed + flying < others:
                return ask(now)
            if flying:
                return []
            self._under_way -= 1
            if confirmed == others:
                return then("", now)
            return then(f"{confirmed + 1} of {copies} copies were made; the last refusal: {last_refusal}", now)

        effects: list[Effect] = []
        for _ in range(others):
            effects += ask(now)
        return effects

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"batches being copied": (self._under_way, MAX_COPYING)}


def _pieces(packets: Sequence[Data]) -> list[list[Data]]:
    """Packets in order, in pieces of which each fits one insert command."""
    pieces: list[list[Data]] = [[]]
    size_bytes = 0
    for packet in packets:
        size_bytes += len(packet.wire)
        if pieces[-1] and (size_bytes > PIECE_BYTES or len(pieces[-1]) >= MAX_PACKETS):
            pieces.append([])
            size_bytes = len(packet.wire)
        pieces[-1].append(packet)
    return pieces
