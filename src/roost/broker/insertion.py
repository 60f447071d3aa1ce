"""Insertion: MQTT messages made readings of a group, by a panel of this node, into the repo of this node.

    insert ──▶ numbered, signed ──▶ the repo here ──▶ on its disk ──▶ on k repos ──▶ Inserted

How a message becomes a reading, and which number it has, is in `roost.broker.minting`.

- A panel whose disk is new waits until its repo has looked at another one,
  where there is one: it may have been there before (`settled`).
- One write is under way at a time, and what the disk refuses is tried again, the very same packets: numbers stay dense.
  A number that somebody else has taken or deleted is passed over.
- While the disk works, the next messages are numbered and signed, a piece with each `tick`, so that nobody waits long
  for those of others. All that is signed by then is the next write.
- Large pieces are signed elsewhere, where that can be (`roost.broker.signing`). Few messages are signed here, at once;
  but behind such a piece they wait, for they are written behind it anyway, and may be many by then.
- Keys to what is sealed (`roost.broker.sealing`) are written in front of it, in the same write, and so are the parts of
  payloads that do not fit a packet (`roost.broker.large`). Where one of a message's numbers is taken, it gets all anew.
- What an earlier process may have brought here (`again`) is looked for first, and not made a reading twice.
- Copies that cannot be made are tried again for as long as it takes; the message is kept here, and not acknowledged.
- Who brings more than the disk takes, or the other repos, is to wait (`is_behind`), and what has come by then is taken,
  for it goes on. Where it does not, with a broken disk or without the repos that are to have copies, `MAX_WAITING`
  messages are kept, with `MAX_WAITING_BYTES` of payloads, and others refused.

What comes out of the group again is `roost.broker.succession`'s business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final

from roost.broker.effects import Inserted
from roost.broker.large import is_large
from roost.broker.message import Message
from roost.broker.minting import Minting
from roost.broker.readable import Opens
from roost.broker.sealing import Sealing
from roost.broker.signing import Batch, Signing
from roost.broker.trees import NO_STREAM, why_not
from roost.errors import BadPacket, BadTopic, NoKey
from roost.machine import SECOND, Effect, Note, earliest
from roost.naming.building import Panel
from roost.naming.topic import name_of_topic
from roost.pubsub.panels.panel import SignerFor
from roost.pubsub.repos.copying import BUSY
from roost.pubsub.repos.repo import Repo
from roost.repo.payloads import parts_of
from roost.repo.shelving import CONFLICT, DELETED
from roost.repo.store import Entry

MAX_WAITING: Final = 10_000  # messages that are not as durable as was asked, and do not get there
MANY: Final = MAX_WAITING // 2  # messages that wait for the same; who brings more is to wait
MAX_BATCH: Final = 1000  # messages in one write, which the last ticket may exceed
PIECE: Final = 512  # messages that are signed at once; the last ticket may exceed it
PARTS: Final = 4  # pieces that what waits is cut into: one is signed while the one before is written and handed on
LEAST: Final = 128  # messages of a piece, if there are so many: each takes a write of its own
MAX_WAITING_BYTES: Final = 64 << 20  # of their payloads; and so on, as above
MANY_BYTES: Final = MAX_WAITING_BYTES // 2
MAX_BATCH_BYTES: Final = 8 << 20  # with the last ticket less than what a shelf takes at once
PIECE_BYTES: Final = 1 << 20
LARGE: Final = 64  # messages that are worth the way to where else they can be signed
RETRY: Final = SECOND
SETTLE: Final = SECOND // 4
_AT_ONCE: Final = 1  # a deadline that is over


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
        sealing: Sealing | None = None,
        opens: Opens | None = None,
    ) -> None:
        self.sealing: Final = sealing
        self.place: Final = place
        self.repo: Final = repo
        self.inserted = 0
        self.refused = 0
        self.turned_away = 0  # messages, by MAX_WAITING
        self._name: Final = place.name
        self._alone: Final = alone
        self._minting: Final = Minting(place.name, repo, signer_for, freshness_ms, sealing, opens)
        self.fresh: Final = self._minting.fresh
        self.signing: Final = Signing()  # with numbers, and not signed
        self._waiting: Final[deque[Batch]] = deque()  # without numbers; bound of all four: MAX_WAITING messages,
        # beside what a driver brings that has not seen yet that it is to wait: what it reads in one turn
        self._unnumbered = 0  # messages in those
        self._unwritten: list[Batch] = []  # signed, in the order of their numbers, and to be written, or once more
        self._numbered = 0  # messages in those, and in what is being signed
        self._uncopied: Final[list[Batch]] = []  # written, and to be copied once more
        self._open = 0  # messages of which nothing was told yet
        self._unsaved = 0  # those of them that are not on the disk
        self._open_bytes = 0  # of the payloads of those; and so on
        self._unsaved_bytes = 0
        self._unsaved_large = 0  # messages with parts
        self._numbered_bytes = 0
        self._writing = False  # one write is under way at a time
        self._write_at: int | None = None  # when to try again
        self._is_refused = False  # the last write was, by the disk
        self._copy_at: int | None = None
        self.why_uncopied = ""  # what the last try said; empty while none has failed, or all is well again

    def insert(
        self,
        ticket: int,
        messages: Sequence[Message],
        copies: int,
        now: int,
        *,
        again: bool = False,
        spread: bool = False,
    ) -> list[Effect]:
        """Make readings of messages; `Inserted` tells when they are on so many repos.

        With `again` those of QoS 2 may be readings already. With `spread` all repos that answer get them, and it is
        told when each has answered.
        """
        batch = Batch(ticket, messages, copies, again=again, spread=spread)
        for message in messages:
            refusal = why_not(len(self._name.value) + self.added_bytes(message.topic), message)
            if not refusal and self._is_large(message):
                batch.large += 1
            if refusal:
                self.refused += len(messages)
                return [Inserted(ticket, refusal)]
        refusal = self._why_full(batch)
        if refusal:
            self.turned_away += len(messages)
            return [Inserted(ticket, refusal)]
        self._open += len(messages)
        self._open_bytes += batch.size_bytes
        self._unsaved += len(messages)
        self._unsaved_bytes += batch.size_bytes
        self._unsaved_large += batch.large
        self._unnumbered += len(messages)
        self._waiting.append(batch)
        return [] if self._writing else self._proceed(now)

    def signed(self, ticket: int, signatures: Sequence[bytes], now: int) -> list[Effect]:
        """Take in what a `Sign` asked for: all of it, or nothing if it cannot be had."""
        self._unwritten += self.signing.signed(ticket, signatures)
        return self._proceed(now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass: sign the next piece, and try again what was refused."""
        effects: list[Effect] = []
        if self._copy_at is not None and now >= self._copy_at:
            self._copy_at = None
            uncopied = self._uncopied.copy()
            self._uncopied.clear()
            for batch in uncopied:
                effects += self.repo.copy(batch.packets(), batch.copies, partial(self._copied, batch), now)
        if self._write_at is not None and now >= self._write_at:
            self._write_at = None
        if self.sealing is not None:
            self.sealing.tick(now)
        return effects + self._proceed(now)

    def deadline(self) -> int | None:
        """When to go on signing, or to try again."""
        if self._write_at is None and (self._may_number() or self._may_seal()):
            return _AT_ONCE
        return earliest(self._write_at, self._copy_at)

    def is_behind(self, coming: int = 0, coming_bytes: int = 0) -> bool:
        """Whether more comes than is taken, with so many that are on their way here: who brings it is to wait.

        Not for what does not go on: a disk that is broken or new, and copies that nobody takes.
        """
        is_much = self._unsaved + coming >= MANY or self._unsaved_bytes + coming_bytes >= MANY_BYTES
        if is_much and not self._is_refused and self.settled:
            return True
        is_much = self.uncopied >= MANY or self._open_bytes - self._unsaved_bytes >= MANY_BYTES
        return is_much and not self.why_uncopied

    @property
    def uncopied(self) -> int:
        """How many messages are on the disk here and wait for copies elsewhere, their acknowledgements with them."""
        return self._open - self._unsaved

    @property
    def is_idle(self) -> bool:
        """Whether everything was told."""
        return not self._open

    def added_bytes(self, topic: bytes) -> int:
        """By how much a message of this topic is longer in the group, at most, for it is sealed."""
        return 0 if self.sealing is None else self.sealing.added_bytes(len(self._name.value), topic)

    def has_room(self, topic: bytes) -> bool:
        """Whether a message of this topic can be kept: the streams of a repo are counted."""
        holdings = self.repo.shelf.holdings
        if len(holdings) + MAX_WAITING < holdings.max_streams:  # with those that are on their way
            return True
        return self._has(topic)

    @property
    def settled(self) -> bool:
        """Whether the numbers of its streams are certain."""
        return self._alone or self.repo.comparison.compared > 0 or self._has_published()

    def _why_full(self, batch: Batch) -> str:
        """Why there is no room for messages now, empty if there is."""
        is_full = self._open >= MAX_WAITING or self._open_bytes >= MAX_WAITING_BYTES
        if is_full and not self.is_behind():
            what = "a disk that takes them" if self._is_refused else "another repo of the group"
            much = f"{MAX_WAITING} messages" if self._open >= MAX_WAITING else f"{MAX_WAITING_BYTES} bytes of messages"
            return f"{much} wait for {what}, which is the limit; try again later"
        holdings = self.repo.shelf.holdings
        coming = self._unsaved + len(batch.messages) + self._unsaved_large + batch.large  # streams, at most
        if len(holdings) + coming < holdings.max_streams:
            return ""
        return "" if all(self._has_streams(message) for message in batch.messages) else NO_STREAM

    def _has_streams(self, message: Message) -> bool:
        if not self._has(message.topic):
            return False
        if not self._is_large(message):
            return True
        stream = self._name + name_of_topic(message.topic.decode())
        return parts_of(stream, len(self._name)) in self.repo.shelf.holdings

    def _has(self, topic: bytes) -> bool:
        return self._name + name_of_topic(topic.decode()) in self.repo.shelf.holdings

    def _is_large(self, message: Message) -> bool:
        return is_large(len(self._name.value) + self.added_bytes(message.topic), message)

    def _has_published(self) -> bool:
        return bool(self.repo.shelf.holdings.under(self._name, None, 1))

    def _may_number(self) -> bool:
        """Whether the next messages can have numbers, ahead of the disk if there are not too many."""
        if not self._waiting:
            return False
        if not self._writing and not self._numbered:
            return True
        if self.signing.is_busy and (self.signing.is_full or self._unnumbered < LARGE):
            return False
        has_room = self._numbered < MAX_BATCH and self._numbered_bytes < MAX_BATCH_BYTES
        return has_room and not self._minting.is_full

    def _may_seal(self) -> bool:
        """Whether there are readers to compare, or keys to write."""
        return not self._writing and self.sealing is not None and self.sealing.is_due

    def _proceed(self, now: int) -> list[Effect]:
        """Number a piece of what waits, and write all that has numbers, unless a write is under way."""
        if self._write_at is not None:
            return []
        effects: list[Effect] = []
        if self._may_number() and (self._writing or not self._unwritten):
            if not self.settled:
                self._write_at = now + SETTLE
                return []
            effects += self._number(now)
        if not self._writing:
            effects += self._write(now)
        return effects

    def _write(self, now: int) -> list[Effect]:
        """Have all written that is signed, the keys to it first."""
        keys = [] if self.sealing is None else self.sealing.take()
        if not keys and not self._unwritten:
            return []
        self._writing = True
        batches, self._unwritten = self._unwritten, []
        self._numbered -= sum([len(batch.messages) for batch in batches])
        self._numbered_bytes -= sum([batch.size_bytes for batch in batches])
        entries = [*keys, *[entry for batch in batches for entry in batch.entries]]
        return self.repo.publish(entries, partial(self._written, keys, batches), now)

    def _number(self, now: int) -> list[Effect]:
        """Give the next messages numbers, and sign them or ask for that."""
        effects: list[Effect] = []
        aside = self._unnumbered >= LARGE and (self.signing.aside or self.signing.is_busy)  # else it would overtake
        piece: list[Batch] = []
        most = min(PIECE, max(LEAST, self._unnumbered // PARTS))
        count = size_bytes = 0
        while self._waiting and count < most and size_bytes < PIECE_BYTES:
            batch = self._waiting.popleft()
            count += len(batch.messages)
            size_bytes += batch.size_bytes
            try:
                if aside and not batch.again:
                    batch.drafts = self._minting.draft(batch.messages, now)
                else:
                    batch.entries = self._minting.mint(batch.messages, now, again=batch.again)
            except NoKey as error:
                self._saved(batch)
                effects += self._tell(batch, "the server has no key that may sign this topic", str(error))
                continue
            except (BadPacket, BadTopic) as error:
                self._saved(batch)
                effects += self._tell(batch, str(error))
                continue
            piece.append(batch)
            self._numbered += len(batch.messages)
            self._numbered_bytes += batch.size_bytes
        self._unnumbered -= count
        if aside and piece:
            return [*effects, self.signing.ask(piece, self._minting.signer)]
        self._unwritten += piece
        return effects

    def _written(self, keys: list[Entry], batches: list[Batch], outcome: list[str], now: int) -> list[Effect]:
        self._writing = self._is_refused = False
        effects: list[Effect] = []
        refused: list[Batch] = []
        low = len(keys)
        self._keys_written(keys, outcome[:low], now)
        for batch in batches:
            refusals = outcome[low : low + len(batch.entries)]
            low += len(batch.entries)
            refusal = next((refusal for refusal in refusals if refusal), "")
            if refusal:
                effects.append(Note("insertion put off", (("panel", str(self._name)), ("reason", refusal))))
                self._renumber(batch, refusals, now)
                refused.append(batch)
                self._numbered += len(batch.messages)
                self._numbered_bytes += batch.size_bytes
                self._write_at = now + RETRY
                self._is_refused = self._is_refused or not {*refusals} <= {"", CONFLICT, DELETED}
                continue
            self._saved(batch)
            if batch.spread:
                effects += self.repo.spread(batch.packets(), partial(self._spread, batch), now)
            elif batch.copies > 1:
                batch.keys = keys
                effects += self.repo.copy(batch.packets(), batch.copies, partial(self._copied, batch), now)
            else:
                effects += self._tell(batch, "")
        self._unwritten[:0] = refused  # before what was numbered meanwhile
        if not self._numbered:
            self._minting.relieve()
        return effects + self._proceed(now)

    def _keys_written(self, keys: list[Entry], outcome: list[str], now: int) -> None:
        for at, refusal in enumerate(outcome):
            if refusal and self.sealing is not None:
                self.sealing.refused(keys[at], for_ever=refusal in {CONFLICT, DELETED})
                self._write_at = now + RETRY

    def _saved(self, batch: Batch) -> None:
        """A batch waits no longer for the disk."""
        self._unsaved -= len(batch.messages)
        self._unsaved_bytes -= batch.size_bytes
        self._unsaved_large -= batch.large

    def _renumber(self, batch: Batch, refusals: list[str], now: int) -> None:
        """Give other numbers to what can never be kept under those it has; the disk has the rest, or will."""
        if not {CONFLICT, DELETED} & set(refusals):
            return
        entries: list[Entry] = []
        low = 0  # where the entries of a message begin
        ends = [at + 1 for at, entry in enumerate(batch.entries) if not self._minting.is_part(entry)]
        for message, end in zip(batch.messages, ends, strict=True):
            its = batch.entries[low:end]
            is_taken = bool({CONFLICT, DELETED} & set(refusals[low:end]))
            low = end
            entries += self._minting.again(message, its, now) if is_taken else its
        batch.entries = entries

    def _spread(self, batch: Batch, _refusal: str, _now: int) -> list[Effect]:
        """Every repo has answered; who has it not yet fetches it like anything else."""
        return self._tell(batch, "")

    def _copied(self, batch: Batch, refusal: str, now: int) -> list[Effect]:
        if not refusal:
            self.why_uncopied = ""
            return self._tell(batch, "")
        self._uncopied.append(batch)
        if refusal != BUSY:  # which is over soon
            self.why_uncopied = refusal
        self._copy_at = now + RETRY if self._copy_at is None else self._copy_at
        return [Note("copies put off", (("panel", str(self._name)), ("reason", refusal)))]

    def _tell(self, batch: Batch, refusal: str, detail: str = "") -> list[Effect]:
        self._open -= len(batch.messages)
        self._open_bytes -= batch.size_bytes
        if refusal:
            self.refused += len(batch.messages)
        else:
            self.inserted += len(batch.messages)
        return [Inserted(batch.ticket, refusal, detail)]
