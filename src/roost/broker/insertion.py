"""Insertion: MQTT messages made readings of a group, by a panel of this node, into the repo of this node.

    insert ──▶ numbered, signed ──▶ the repo here ──▶ on its disk ──▶ on k repos ──▶ Inserted

A topic's stream is the panel's name and a component per level, `<group>/<panel>/hall/temp` for `hall/temp`; two nodes
have two panels, so that nobody's numbers are anybody else's.

- Numbers go on from what the repo holds. A panel whose disk is new waits until its repo has looked at another one,
  where there is one: it may have been there before (`settled`).
- One write is under way at a time, and what the disk refuses is tried again, numbered anew: numbers stay dense.
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
from roost.broker.trees import why_not
from roost.errors import BadPacket, BadTopic, NoKey
from roost.machine import SECOND, Effect, Note
from roost.naming import Name
from roost.naming.building import Panel, numbered
from roost.naming.topic import name_of_topic
from roost.pubsub.panels.panel import SIGNER_AGE, SignerFor
from roost.pubsub.repos.repo import Repo
from roost.repo.numbering import numbered as parse_numbered
from roost.wire import Data, Signer, encode_data
from roost.wire.data import decode_data
from roost.wire.posting import Posting
from roost.wire.reading import Reading
from roost.wire.values import format_of

MAX_WAITING: Final = 10_000  # messages that are not on the disk yet
MAX_BATCH: Final = 1000  # messages in one write
MAX_STREAMS: Final = 100_000  # whose names and numbers are remembered
RETRY: Final = SECOND
SETTLE: Final = SECOND // 4


@dataclass(frozen=True, slots=True)
class Inserted(Effect):
    """Tell: the messages of a ticket are as durable as was asked, or, with a reason, cannot be."""

    ticket: int
    refusal: str


class _Batch:
    """The messages of one ticket; `packets` are their readings once they are on the disk of this node."""

    __slots__ = ("copies", "messages", "packets", "ticket")

    def __init__(self, ticket: int, messages: Sequence[Message], copies: int) -> None:
        self.ticket: Final = ticket
        self.messages: Final = messages
        self.copies: Final = copies
        self.packets: Sequence[Data] = ()


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
        self._signer_for: Final = signer_for
        self._alone: Final = alone
        self._freshness_ms: Final = freshness_ms
        self._waiting: Final[deque[_Batch]] = deque()  # to be written; bound of both: MAX_WAITING messages
        self._uncopied: Final[list[_Batch]] = []  # written, and to be copied once more
        self._open = 0  # messages of which nothing was told yet
        self._writing = False  # one write is under way at a time: what it fails to write is numbered anew
        self._again_at: int | None = None
        self._given: Final[dict[bytes, int]] = {}  # the highest number of each stream of ours; bound: MAX_STREAMS
        self._streams: Final[dict[bytes, Name]] = {}  # by topic; bound: MAX_STREAMS
        self._signer: Signer | None = None
        self._signer_until = 0

    def insert(self, ticket: int, messages: Sequence[Message], copies: int, now: int) -> list[Effect]:
        """Make readings of messages; `Inserted` tells when they are on so many repos."""
        for message in messages:
            refusal = why_not(self.place, message)
            if refusal:
                self.refused += len(messages)
                return [Inserted(ticket, refusal)]
        if self._open + len(messages) > MAX_WAITING:
            self.turned_away += len(messages)
            return [Inserted(ticket, f"{MAX_WAITING} messages wait for the disk, which is the limit; try again later")]
        self._open += len(messages)
        self._waiting.append(_Batch(ticket, messages, copies))
        return self._proceed(now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass: try again what was refused."""
        if self._again_at is not None and now >= self._again_at:
            self._again_at = None
            uncopied = self._uncopied.copy()
            self._uncopied.clear()
            effects: list[Effect] = []
            for batch in uncopied:
                effects += self.repo.copy(batch.packets, batch.copies, partial(self._copied, batch), now)
            return effects + self._proceed(now)
        return []

    def deadline(self) -> int | None:
        """When to try again."""
        return self._again_at

    @property
    def settled(self) -> bool:
        """Whether the numbers of its streams are certain."""
        return self._alone or self.repo.comparison.compared > 0 or self._has_published()

    def _has_published(self) -> bool:
        return bool(self.repo.shelf.holdings.under(self._name, None, 1))

    def _proceed(self, now: int) -> list[Effect]:
        """Write all that waits, in one batch, unless one is under way."""
        if self._writing or self._again_at is not None or not self._waiting:
            return []
        if not self.settled:
            self._again_at = now + SETTLE
            return []
        effects: list[Effect] = []
        batches: list[_Batch] = []
        packets: list[Data] = []
        while self._waiting and len(packets) < MAX_BATCH:
            batch = self._waiting.popleft()
            try:
                batch.packets = [self._signed(message, now) for message in batch.messages]
            except (BadPacket, BadTopic, NoKey) as error:
                for packet in packets:
                    self._given.pop(parse_numbered(packet.name)[0], None)
                for each in reversed(batches):
                    self._waiting.appendleft(each)
                return [*self._tell(batch, str(error)), *self._proceed(now)]
            batches.append(batch)
            packets += batch.packets
        self._writing = True
        effects += self.repo.publish(packets, partial(self._written, batches), now)
        return effects

    def _written(self, batches: list[_Batch], refusal: str, now: int) -> list[Effect]:
        self._writing = False
        effects: list[Effect] = []
        if refusal:
            self._given.clear()  # what the repo holds counts
            self._waiting.extendleft(reversed(batches))
            self._again_at = now + RETRY
            return [Note("insertion put off", (("panel", str(self._name)), ("reason", refusal)))]
        for batch in batches:
            if batch.copies > 1:
                effects += self.repo.copy(batch.packets, batch.copies, partial(self._copied, batch), now)
            else:
                effects += self._tell(batch, "")
        return effects + self._proceed(now)

    def _copied(self, batch: _Batch, refusal: str, now: int) -> list[Effect]:
        if not refusal:
            return self._tell(batch, "")
        self._uncopied.append(batch)
        self._again_at = now + RETRY if self._again_at is None else self._again_at
        return [Note("copies put off", (("panel", str(self._name)), ("reason", refusal)))]

    def _tell(self, batch: _Batch, refusal: str) -> list[Effect]:
        self._open -= len(batch.messages)
        if refusal:
            self.refused += len(batch.messages)
        else:
            self.inserted += len(batch.messages)
        return [Inserted(batch.ticket, refusal)]

    def _signed(self, message: Message, now: int) -> Data:
        stream = self._streams.get(message.topic)
        if stream is None:
            if len(self._streams) >= MAX_STREAMS:
                self._streams.clear()
            stream = self._streams[message.topic] = self._name + name_of_topic(message.topic.decode())
        given = self._given.get(stream.value)
        if given is None:
            given = self.repo.shelf.holdings.of(stream).highest
        name = numbered(stream, given + 1)
        if self._signer is None or self._signer_until <= now:
            self._signer = self._signer_for(name, now)
            self._signer_until = now + SIGNER_AGE
        wire = encode_data(name, _reading(message).encode(), self._signer, freshness_ms=self._freshness_ms)
        self._given[stream.value] = given + 1
        return decode_data(wire)


def _reading(message: Message) -> Reading:
    expiry_s = -1 if not message.expires else max(0, (message.expires - message.time) // SECOND)
    posting = Posting(message.qos, message.retain, message.publisher, expiry_s, properties=message.kept)
    return Reading(message.time, format_of(message.payload), message.payload, posting=posting)
