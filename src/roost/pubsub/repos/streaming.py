"""The streaming insert at a repo: many Data in one command, a receipt when they are on the disk (`roost.repo.batch`).

    command checked ──▶ each Data checked ──▶ one put on the shelf ──▶ [copies] ──▶ receipt

Nothing is put before all were judged, so that a batch is one write; what is refused is named in the receipt with the
rule it broke, and does not keep the others out. Whoever sends the same Data again gets a receipt for them too: what is
on the disk already counts as kept. So a batch that is replayed changes nothing, and unlike other commands it may come
twice, or in another order than it was signed in: several tasks of one job have one key.

Where more than one copy is wanted, `Copier` says when so many repos have them; without one, such commands are turned
away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.repos.answering import Answering
from roost.pubsub.repos.permission import Permission
from roost.pubsub.repos.shelf_port import ShelfPort, is_for_now
from roost.pubsub.vetting import Unjudged
from roost.repo.batch import ALL_KEPT, BUSY, NOT_AUTHORISED, SOME_REFUSED, Receipt, decode_batch
from roost.repo.cause import INSERT
from roost.trust.replay import out_of_time
from roost.wire import Data, Interest

MAX_BATCHES: Final = 1024
RETRY_AFTER_MS: Final = 1000

Copied: TypeAlias = Callable[[str, int], list[Effect]]  # empty once so many repos have them, else why not
Copier: TypeAlias = Callable[[list[Data], int, Copied, int], list[Effect]]  # packets, copies, then, now


class Streaming:
    """Takes batches in; `open` are those that have no receipt yet."""

    def __init__(
        self,
        asking: Asking,
        shelf: ShelfPort,
        permission: Permission,
        answering: Answering,
        copier: Copier | None = None,
        limit: int = MAX_BATCHES,
    ) -> None:
        self.asking: Final = asking
        self.shelf: Final = shelf
        self.permission: Final = permission
        self.copier: Final = copier
        self.limit: Final = limit
        self.open = 0  # bound: limit
        self.overflowed = 0
        self.kept = 0  # Data
        self.refused = 0  # Data
        self._answering: Final = answering

    def asked(self, asked: Asked, now: int) -> list[Effect]:
        """Take in a command."""
        if self.open >= self.limit:
            self.overflowed += 1
            text = f"{self.limit} batches are being written, which is the limit"
            return self._answer(asked, Receipt(BUSY, text=text, retry_after_ms=RETRY_AFTER_MS), now)
        self.open += 1
        return self.asking.check(asked.interest, partial(self._commanded, asked), now, repeatable=True)

    def _commanded(self, asked: Asked, refusal: str, now: int) -> list[Effect]:
        refusal = refusal or _wrong_clock(asked.interest, now)
        if not refusal:
            try:
                batch = decode_batch(asked.interest.parameters or b"")
            except BadPacket as error:
                refusal = str(error)
            else:
                return _Insert(self, asked, batch.packets, batch.copies).start(now)
        rejected = self.asking.rejected(asked.interest, refusal)
        if isinstance(refusal, Unjudged):
            return [rejected, *self.finish(asked, Receipt(BUSY, text=refusal, retry_after_ms=RETRY_AFTER_MS), now)]
        return [rejected, *self.finish(asked, Receipt(NOT_AUTHORISED, text=refusal), now)]

    def finish(self, asked: Asked, receipt: Receipt, now: int) -> list[Effect]:
        """Hand out the receipt of a batch that was open."""
        self.open -= 1
        self.kept += receipt.kept
        self.refused += len(receipt.refused)
        return self._answer(asked, receipt, now)

    def _answer(self, asked: Asked, receipt: Receipt, now: int) -> list[Effect]:
        return self._answering.answer(asked, receipt.encode(), now, versioned=True)


def _wrong_clock(command: Interest, now: int) -> str:
    """Say that the clock of who commands is wrong: the times of its readings are then wrong too."""
    signature = command.signature
    rejection = None if signature is None else out_of_time(signature.key_name or Name(), signature, now)
    return "" if rejection is None else str(rejection)


class _Insert:
    """One batch on its way to the disk."""

    __slots__ = ("_asked", "_copies", "_good", "_packets", "_refusals", "_streaming", "_unjudged")

    def __init__(self, streaming: Streaming, asked: Asked, packets: list[Data], copies: int) -> None:
        self._streaming: Final = streaming
        self._asked: Final = asked
        self._packets: Final = packets
        self._copies: Final = copies
        self._refusals: Final = [""] * len(packets)
        self._good: list[int] = []  # those that were put on the shelf
        self._unjudged = len(packets)

    def start(self, now: int) -> list[Effect]:
        """Judge each Data by itself."""
        streaming = self._streaming
        if self._copies > 1 and streaming.copier is None:
            text = f"{self._copies} copies were asked for, this repo makes none: ask for 1, or ask another repo"
            return streaming.finish(self._asked, Receipt(BUSY, text=text, retry_after_ms=RETRY_AFTER_MS), now)
        effects: list[Effect] = []
        check, to_keep = streaming.asking.check, streaming.permission.to_keep
        for index, data in enumerate(self._packets):
            refusal = to_keep(data.name)
            if refusal:
                effects += self._judged(index, refusal, now)
            else:
                effects += check(data, partial(self._judged, index), now)
        return effects

    def _judged(self, index: int, refusal: str, now: int) -> list[Effect]:
        effects: list[Effect] = []
        if refusal:
            self._refusals[index] = refusal
            effects.append(self._streaming.asking.rejected(self._packets[index], refusal))
        self._unjudged -= 1
        if self._unjudged:
            return effects
        self._good = [index for index, refusal in enumerate(self._refusals) if not refusal]
        if not self._good:
            return effects + self._finish(now)
        good = [self._packets[index] for index in self._good]
        return effects + self._streaming.shelf.put(good, INSERT, self._shelved, now)

    def _shelved(self, refusals: list[str], now: int) -> list[Effect]:
        for index, refusal in zip(self._good, refusals, strict=True):
            self._refusals[index] = refusal
        if all(is_for_now(refusal) for refusal in refusals):
            return self._turn_away(refusals[0], now)
        kept = [self._packets[index] for index in self._good if not self._refusals[index]]
        copier = self._streaming.copier
        if self._copies > 1 and copier is not None and kept:
            return copier(kept, self._copies, self._copied, now)
        return self._finish(now)

    def _copied(self, reason: str, now: int) -> list[Effect]:
        return self._turn_away(reason, now) if reason else self._finish(now)

    def _turn_away(self, reason: str, now: int) -> list[Effect]:
        """Nothing is as it was asked for, through no fault of the batch."""
        receipt = Receipt(BUSY, text=reason, retry_after_ms=RETRY_AFTER_MS)
        return self._streaming.finish(self._asked, receipt, now)

    def _finish(self, now: int) -> list[Effect]:
        refused = tuple((index, refusal) for index, refusal in enumerate(self._refusals) if refusal)
        later = any(is_for_now(self._refusals[index]) for index in self._good)
        later = later or any(isinstance(refusal, Unjudged) for refusal in self._refusals)
        receipt = Receipt(
            SOME_REFUSED if refused else ALL_KEPT,
            len(self._packets) - len(refused),
            refused,
            retry_after_ms=RETRY_AFTER_MS if later else 0,
        )
        return self._streaming.finish(self._asked, receipt, now)
