"""Insertion: MQTT messages made readings of a group, by a panel of this node, into the repo of this node.

    insert ──▶ numbered, signed ──▶ the repo here ──▶ on its disk ──▶ on k repos ──▶ Inserted

How a message becomes a reading, and which number it has, is in `roost.broker.minting`.

- A panel whose disk is new waits until its repo has looked at another one,
  where there is one: it may have been there before (`settled`).
- One write is under way at a time, and what the disk refuses is tried again, the very same packets: numbers stay dense.
  A number that somebody else has taken or deleted is passed over.
- What an earlier process may have brought here (`again`) is looked for first, and not made a reading twice.
- Copies that cannot be made are tried again for as long as it takes; the message is kept here, and not acknowledged.

What comes out of the group again is `roost.broker.succession`'s business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from roost.broker.message import Message
from roost.broker.minting import Minting
from roost.broker.trees import why_not
from roost.errors import BadPacket, BadTopic, NoKey
from roost.machine import SECOND, Effect, Note, earliest
from roost.naming.building import Panel
from roost.naming.topic import name_of_topic
from roost.pubsub.panels.panel import SignerFor
from roost.pubsub.repos.repo import Repo
from roost.repo.shelving import CONFLICT, DELETED
from roost.wire import Data

MAX_WAITING: Final = 10_000  # messages that are not as durable as was asked; the last ticket may exceed it
MAX_BATCH: Final = 1000  # messages in one write
RETRY: Final = SECOND
SETTLE: Final = SECOND // 4


@dataclass(frozen=True, slots=True)
class Inserted(Effect):
    """Tell: the messages of a ticket are as durable as was asked, or, with a reason, cannot be."""

    ticket: int
    refusal: str


class _Batch:
    """The messages of one ticket; `packets` are their readings, once they have numbers."""

    __slots__ = ("again", "copies", "messages", "packets", "ticket")

    def __init__(self, ticket: int, messages: Sequence[Message], copies: int, again: bool) -> None:  # noqa: FBT001
        self.ticket: Final = ticket
        self.messages: Final = messages
        self.copies: Final = copies
        self.again: Final = again
        self.packets: list[Data] = []


class Insertion:
    """The machine; `place` is its panel, `repo` the repo it lives beside; `alone` if the group has no other."""

    def __init__(
        self,
        place: Panel,
        repo: Repo,
        signer_for: SignerFor,
        *,
        alone: bool = True,
        freshness_ms: int = 1000,
    ) -> None:
        self.place: Final = place
        self.repo: Final = repo
        self.inserted = 0
        self.refused = 0
        self.turned_away = 0  # messages, by MAX_WAITING
        self._name: Final = place.name
        self._alone: Final = alone
        self._minting: Final = Minting(place.name, repo, signer_for, freshness_ms)
        self.fresh: Final = self._minting.fresh
        self._waiting: Final[deque[_Batch]] = deque()  # without numbers; bound of all three: MAX_WAITING messages
        self._unwritten: list[_Batch] = []  # with numbers, and to be written once more
        self._uncopied: Final[list[_Batch]] = []  # written, and to be copied once more
        self._open = 0  # messages of which nothing was told yet
        self._unsaved = 0  # those of them that are not on the disk
        self._writing = False  # one write is under way at a time
        self._write_at: int | None = None  # when to try again
        self._copy_at: int | None = None

    def insert(
        self, ticket: int, messages: Sequence[Message], copies: int, now: int, *, again: bool = False
    ) -> list[Effect]:
        """Make readings of messages; `Inserted` tells when they are on so many repos.

        With `again` those of QoS 2 may be readings already.
        """
        for message in messages:
            refusal = why_not(len(self._name.value), message)
            if refusal:
                self.refused += len(messages)
                return [Inserted(ticket, refusal)]
        if self._open >= MAX_WAITING:
            self.turned_away += len(messages)
            return [Inserted(ticket, f"{MAX_WAITING} messages wait for the disk, which is the limit; try again later")]
        self._open += len(messages)
        self._unsaved += len(messages)
        self._waiting.append(_Batch(ticket, messages, copies, again))
        return self._proceed(now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass: try again what was refused."""
        effects: list[Effect] = []
        if self._copy_at is not None and now >= self._copy_at:
            self._copy_at = None
            uncopied = self._uncopied.copy()
            self._uncopied.clear()
            for batch in uncopied:
                effects += self.repo.copy(batch.packets, batch.copies, partial(self._copied, batch), now)
        if self._write_at is not None and now >= self._write_at:
            self._write_at = None
            effects += self._proceed(now)
        return effects

    def deadline(self) -> int | None:
        """When to try again."""
        return earliest(self._write_at, self._copy_at)

    @property
    def is_behind(self) -> bool:
        """Whether more comes than a disk that works takes, so that who brings it had better wait."""
        return self._write_at is None and self._unsaved >= MAX_WAITING // 2

    @property
    def is_idle(self) -> bool:
        """Whether everything was told."""
        return not self._open

    def has_room(self, topic: bytes) -> bool:
        """Whether a message of this topic can be kept: the streams of a repo are counted."""
        holdings = self.repo.shelf.holdings
        if len(holdings) + MAX_WAITING < holdings.max_streams:  # with those that are on their way
            return True
        return self._name + name_of_topic(topic.decode()) in holdings

    @property
    def settled(self) -> bool:
        """Whether the numbers of its streams are certain."""
        return self._alone or self.repo.comparison.compared > 0 or self._has_published()

    def _has_published(self) -> bool:
        return bool(self.repo.shelf.holdings.under(self._name, None, 1))

    def _proceed(self, now: int) -> list[Effect]:
        """Write all that waits, in one batch, unless one is under way."""
        if self._writing or self._write_at is not None:
            return []
        if self._waiting and not self.settled:
            self._write_at = now + SETTLE
            return []
        effects: list[Effect] = []
        batches, self._unwritten = self._unwritten, []
        count = sum([len(batch.messages) for batch in batches])
        while self._waiting and count < MAX_BATCH:
            batch = self._waiting.popleft()
            try:
                batch.packets = self._minting.mint(batch.messages, now, again=batch.again)
            except (BadPacket, BadTopic, NoKey) as error:
                self._unsaved -= len(batch.messages)
                effects += self._tell(batch, str(error))
                continue
            batches.append(batch)
            count += len(batch.messages)
        if batches:
            self._writing = True
            packets = [packet for batch in batches for packet in batch.packets]
            effects += self.repo.publish(packets, partial(self._written, batches), now)
        return effects

    def _written(self, batches: list[_Batch], outcome: list[str], now: int) -> list[Effect]:
        self._writing = False
        effects: list[Effect] = []
        low = 0
        for batch in batches:
            refusals = outcome[low : low + len(batch.packets)]
            low += len(batch.packets)
            refusal = next((refusal for refusal in refusals if refusal), "")
            if refusal:
                effects.append(Note("insertion put off", (("panel", str(self._name)), ("reason", refusal))))
                self._renumber(batch, refusals, now)
                self._unwritten.append(batch)
                self._write_at = now + RETRY
                continue
            self._unsaved -= len(batch.messages)
            if batch.copies > 1:
                effects += self.repo.copy(batch.packets, batch.copies, partial(self._copied, batch), now)
            else:
                effects += self._tell(batch, "")
        if not self._unwritten:
            self._minting.relieve()
        return effects + self._proceed(now)

    def _renumber(self, batch: _Batch, refusals: list[str], now: int) -> None:
        """Give other numbers to what can never be kept under those it has; the disk has the rest, or will."""
        for at, refusal in enumerate(refusals):
            if refusal in {CONFLICT, DELETED}:
                batch.packets[at] = self._minting.again(batch.messages[at], batch.packets[at], now)

    def _copied(self, batch: _Batch, refusal: str, now: int) -> list[Effect]:
        if not refusal:
            return self._tell(batch, "")
        self._uncopied.append(batch)
        self._copy_at = now + RETRY if self._copy_at is None else self._copy_at
        return [Note("copies put off", (("panel", str(self._name)), ("reason", refusal)))]

    def _tell(self, batch: _Batch, refusal: str) -> list[Effect]:
        self._open -= len(batch.messages)
        if refusal:
            self.refused += len(batch.messages)
        else:
            self.inserted += len(batch.messages)
        return [Inserted(batch.ticket, refusal)]
