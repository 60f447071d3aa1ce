"""The publisher's half: publish_table, and Algorithm 2 of the paper, completed [FLIPS §III-E; E1–E3, E6–E12, E14, E15].

    –        register             same hash here: Collided · else Attract on probation, THCD_REQ → PROBING
    PROBING  THCD_REP             Collided → –
             THCD_REQ             another topic: THCD_REP and Collided → – · the same: THCD_REP
             time-out             again, or after the last: Attract → READY
    READY    publish              saved with the counter; then sent to those who wait
             Interest, content    in the store: answered · at most WINDOW ahead: kept
                                  never used: "nothing here" · not kept any more: "gone", and where content goes on
             Interest, SUB_REQ    the latest content under the alias, or "nothing yet"
             THCD_REQ             another topic, or the same: THCD_REP as `Sharing` has it
             unregister           saved as at rest, Release → –

Nothing is sent before it is `Saved`, so no name ever stands for two contents, whatever crashes. A THCD_REP has lifetime
0: its name says nothing of the topic that was asked for, and no cache may give it to the next registrant [E9].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from roost.errors import Backpressure, InvalidInput
from roost.machine import MS, Effect, Randomness, Rejected, earliest
from roost.machine.disk import Saved
from roost.pubsub.flips import payload as layout
from roost.pubsub.flips import ring
from roost.pubsub.flips.content_store import ContentStore, Shelf
from roost.pubsub.flips.identifiers import COLLISION, TopicHash, checked_topic, is_content, is_subscription, topic_hash
from roost.pubsub.flips.interest_cache import InterestCache
from roost.pubsub.flips.payload import ContentReply
from roost.pubsub.flips.port import (
    Attract,
    Collided,
    DataArrived,
    InterestArrived,
    Published,
    Registered,
    Release,
    SendData,
    SendInterest,
)
from roost.pubsub.flips.settings import FlipsSettings, Sharing

MAX_UNSAVED: Final = 256  # contents of a topic that wait for the disk
_MIN_ALIAS_MS: Final = 1000


@dataclass
class Publication:
    """A row of publish_table."""

    topic: str
    hash: TopicHash
    interval_ms: int
    shelf: Shelf
    tries: int = 0
    due: int | None = None  # of the next probe; None once READY
    ready: bool = False
    last_publish_time: int = 0
    sent_up_to: int = 0  # counters below this are on the disk, so they may be given away
    pending: list[tuple[int, int, int]] = field(default_factory=list)  # ticket, counter behind it, next_ms; MAX_UNSAVED


class Publishing:
    """publish_table and the handlers of Algorithm 2."""

    def __init__(self, settings: FlipsSettings, randomness: Randomness, store: ContentStore) -> None:
        self.table: Final[dict[TopicHash, Publication]] = {}  # publish_table; bound: settings.topics
        self.cache: Final = InterestCache(settings.cached_interests)
        self.ignored = 0  # Interests that nobody can answer
        self._settings: Final = settings
        self._randomness: Final = randomness
        self._store: Final = store

    # -- commands

    def register(self, topic: str, interval_ms: int, now: int) -> list[Effect]:
        """Begin to make a topic ours; `Registered` or `Collided` follows."""
        checked_topic(topic)
        if interval_ms < 0:
            raise InvalidInput(f"an interval of {interval_ms} ms is none; 0 says that nobody knows it")
        found = topic_hash(topic, self._settings.hash_bits)
        other = self.table.get(found)
        if other is not None:
            return [_collided(topic, layout.SAME_TOPIC if other.topic == topic else layout.OTHER_TOPIC)]
        if len(self.table) >= self._settings.topics:
            raise Backpressure(f"{topic} cannot be registered: {self._settings.topics} topics are the limit here", 0)
        row = self.table[found] = Publication(topic, found, interval_ms, self._store.shelf(topic))
        row.sent_up_to = row.shelf.counter
        return [Attract(found, on_probation=True), *self._probe(row, now)]

    def unregister(self, topic: str) -> list[Effect]:
        """Publish a topic no longer."""
        row = self._row(topic)
        del self.table[row.hash]
        self.cache.forget(row.hash)
        if not row.ready:
            self._store.give_up(topic)
            return [Release(row.hash)]
        return [self._store.close(topic), Release(row.hash)]

    def publish(self, topic: str, content: bytes, now: int) -> list[Effect]:
        """Publish; `Published` follows when it is on the disk."""
        row = self._row(topic)
        if not row.ready:
            raise InvalidInput(f"{topic} is not registered yet: wait for it, its hash may be taken")
        if len(content) > self._settings.max_content_bytes:
            limit = self._settings.max_content_bytes
            raise InvalidInput(f"content of {len(content)} bytes is too large: {limit} is the limit here")
        if len(row.pending) >= MAX_UNSAVED:
            raise Backpressure(f"{MAX_UNSAVED} contents of {topic} wait for the disk", 10)
        size = self._settings.segment_bytes
        parts = [content[low : low + size] for low in range(0, len(content), size)] or [b""]
        now_ms = now // MS
        next_ms = now_ms + row.interval_ms
        driven = 0 if row.interval_ms else layout.EVENT_DRIVEN
        first = row.shelf.counter
        payloads = [
            ContentReply(
                driven | (layout.MORE if number < len(parts) - 1 else 0),
                number,
                ring.at(first + number + 1),
                next_ms if number == len(parts) - 1 else now_ms,
                part,
            ).encode()
            for number, part in enumerate(parts)
        ]
        row.last_publish_time = now
        save = self._store.add(topic, payloads)
        row.pending.append((save.ticket, row.shelf.counter, next_ms))
        return [save]

    # -- events

    def saved(self, event: Saved, now: int) -> list[Effect]:
        """What was published is on the disk: give it to those who wait, and let it be asked for."""
        effects: list[Effect] = []
        for row in self.table.values():
            while row.pending and row.pending[0][0] <= event.ticket:
                _, high, next_ms = row.pending.pop(0)
                effects += self._give_away(row, high, now)
                effects.append(Published(row.topic, ring.at(high - 1), next_ms))
        return effects

    def interest(self, interest: InterestArrived, now: int) -> list[Effect]:
        """Take in an Interest."""
        row = self.table.get(interest.hash)
        if row is None:
            self.ignored += 1
            return []
        if interest.number == COLLISION:
            return self._asked_for_topic(row, interest)
        if not row.ready:
            return []
        if is_content(interest.number):
            return self._asked_for_content(row, interest, now)
        if is_subscription(interest.number):
            return [self._alias(row, interest, now)]
        self.ignored += 1
        return []

    def collision(self, data: DataArrived) -> list[Effect]:
        """Take in a THCD_REP."""
        row = self.table.get(data.hash)
        if row is None or row.ready:
            return []
        return self._lost(row, layout.decode_collision(data.payload))

    def tick(self, now: int) -> list[Effect]:
        """Probe again, or be ready."""
        effects: list[Effect] = []
        for row in list(self.table.values()):
            if row.due is not None and row.due <= now:
                effects += self._probe(row, now) if row.tries < self._settings.probe_tries else self._begin(row)
        self.cache.expire(now)
        return effects

    def deadline(self) -> int | None:
        """When the next probe is due."""
        return earliest(*[row.due for row in self.table.values()])

    # -- how

    def _row(self, topic: str) -> Publication:
        row = self.table.get(topic_hash(topic, self._settings.hash_bits))
        if row is None or row.topic != topic:
            raise InvalidInput(f"{topic} is not registered here")
        return row

    def _probe(self, row: Publication, now: int) -> list[Effect]:
        row.tries += 1
        settings = self._settings
        apart = settings.probe_timeout_ms * MS
        row.due = now + apart + self._randomness.randint(0, apart // 2)
        return [SendInterest(row.hash, COLLISION, settings.probe_lifetime_ms, row.topic.encode())]

    def _begin(self, row: Publication) -> list[Effect]:
        row.due = None
        row.ready = True
        row.sent_up_to = row.shelf.counter
        opened = self._store.open(row.topic)
        return [opened, Attract(row.hash, on_probation=False), Registered(row.topic, row.shelf.counter)]

    def _lost(self, row: Publication, reason: int) -> list[Effect]:
        del self.table[row.hash]
        self._store.give_up(row.topic)
        return [Release(row.hash), _collided(row.topic, reason)]

    def _asked_for_topic(self, row: Publication, interest: InterestArrived) -> list[Effect]:
        """Answer a THCD_REQ, which asks whether the hash is taken."""
        if not interest.payload:
            return [Rejected(interest.hash.hex(), "a THCD_REQ names no topic", b"")]
        same = interest.payload == row.topic.encode()
        if same and self._settings.sharing is Sharing.PAPER:
            return []
        reason = layout.SAME_TOPIC if same else layout.OTHER_TOPIC
        payload = layout.encode_collision(reason)
        effects: list[Effect] = [SendData(row.hash, COLLISION, 0, payload, interest.token)]
        return effects if same or row.ready else effects + self._lost(row, reason)

    def _asked_for_content(self, row: Publication, interest: InterestArrived, now: int) -> list[Effect]:
        ahead = ring.distance(ring.at(row.sent_up_to), interest.number)
        counter = row.sent_up_to + ahead
        payload = row.shelf.items.get(counter)
        if ahead < 0 and payload is not None:
            return [self._data(row, interest.number, payload, interest.token)]
        if ahead < 0:
            behind = row.shelf.unused(counter)
            flags = layout.GONE if behind is None else 0
            if behind is None:
                behind = row.shelf.behind_gone(counter, row.sent_up_to)
            nothing = self._nothing(row, behind, now, flags)
            return [SendData(row.hash, interest.number, _MIN_ALIAS_MS, nothing, interest.token)]
        if ahead <= self._settings.window:
            self.cache.keep(interest, now)
        else:
            self.ignored += 1
        return []

    def _alias(self, row: Publication, interest: InterestArrived, now: int) -> SendData:
        """The latest content under the name of a SUB_REQ; it goes stale with the next one."""
        latest = row.shelf.items.get(row.sent_up_to - 1)
        if latest is None:
            payload = self._nothing(row, row.sent_up_to, now, layout.ALIAS)
        else:
            payload = latest[:1] + bytes((latest[1] | layout.ALIAS,)) + latest[2:]
        until = layout.decode_content(payload).next_ms - now // MS
        lifetime = max(_MIN_ALIAS_MS, min(self._settings.content_lifetime_ms, until))
        return SendData(row.hash, interest.number, lifetime, payload, interest.token)

    def _nothing(self, row: Publication, behind: int, now: int, flags: int) -> bytes:
        """There is no content under this number; which comes next, and when."""
        flags |= layout.EMPTY | (0 if row.interval_ms else layout.EVENT_DRIVEN)
        next_ms = (max(row.last_publish_time, now) if not row.interval_ms else now) // MS + row.interval_ms
        return ContentReply(flags, 0, ring.at(behind), next_ms if behind == row.sent_up_to else now // MS, b"").encode()

    def _give_away(self, row: Publication, high: int, now: int) -> list[Effect]:
        effects: list[Effect] = []
        for counter in range(row.sent_up_to, high):
            number = ring.at(counter)
            askers = self.cache.take(row.hash, number, now)
            if not askers and self._settings.push:
                askers = [None]
            payload = row.shelf.items.get(counter)
            if payload is not None:
                effects += [self._data(row, number, payload, token) for token in askers]
        row.sent_up_to = high
        return effects

    def _data(self, row: Publication, number: int, payload: bytes, token: object) -> SendData:
        return SendData(row.hash, number, self._settings.content_lifetime_ms, payload, token)


def _collided(topic: str, reason: int) -> Collided:
    text = layout.REASONS.get(reason, f"a publisher refuses it with reason {reason}")
    return Collided(topic, reason, f"{topic} cannot be registered: {text}")
