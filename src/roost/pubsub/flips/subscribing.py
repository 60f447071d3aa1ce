"""The subscriber's half: subscribe_table, and Algorithm 1 of the paper, completed [FLIPS §III-D; E4, E5, E16–E19].

    –        subscribe            SUB_REQ → PENDING
    PENDING  Data of a SUB_REQ    of any try: next_* taken, delivered unless empty → waiting
             time-out             again under a new number; after the last one: over, or patient
    waiting  next_timestamp − T   CONTENT_REQ → asked; at once while the difference of the clocks is not known
    asked    Data                 delivered once and in order; next_* taken → waiting
             time-out             the same name again; after the last try → PENDING, without forgetting the place,
                                  unless the publisher then says that it is behind it: it lost what it had
    any      another number, or an alias of old: ignored

A time-out is the Interest's lifetime and up to 5 % more, never less: an Interest that is repeated while the first is
still in the PIT is forwarded for everyone behind that forwarder, and one upstream Interest per content is lost. Two
wishes of `Following` are the exceptions: `overlap_ms`, and `adaptive` where something must have been lost (content is
known to be there and does not come) or, after loss was seen, may have been (it is later than was announced).
"""

from __future__ import annotations

from typing import Final

from roost.errors import Backpressure, BadPacket, InvalidInput
from roost.machine import MS, Effect, Randomness, Rejected, earliest
from roost.pubsub.flips import payload as layout
from roost.pubsub.flips import ring
from roost.pubsub.flips.identifiers import (
    FIRST_CONTENT,
    TopicHash,
    checked_topic,
    is_subscription,
    subscription_number,
    topic_hash,
)
from roost.pubsub.flips.payload import ContentReply, decode_content
from roost.pubsub.flips.port import (
    BegunAnew,
    DataArrived,
    Deliver,
    Missed,
    Revived,
    SendInterest,
    Subscribed,
    SubscriptionEnded,
    WentStale,
)
from roost.pubsub.flips.settings import (
    MAX_LIFETIME_MS,
    MAX_PARTS,
    Delivery,
    FlipsSettings,
    Following,
)
from roost.pubsub.flips.subscription import Question, Subscription

MAX_HOLES: Final = 3
SILENT_TRIES: Final = 5  # of content that may come at any time, each long: 46 s
SUSPICIOUS_TRIES: Final = 3  # of content that its publisher says it is not near yet
MAX_PAUSE: Final = 5  # doublings of the pause of a patient subscription


class Subscribing:
    """subscribe_table and the handlers of Algorithm 1."""

    def __init__(self, settings: FlipsSettings, randomness: Randomness) -> None:
        self.table: Final[dict[TopicHash, Subscription]] = {}  # subscribe_table; bound: settings.topics
        self.ignored = 0  # Data that nobody waits for
        self.repeated = 0  # CONTENT_REQs sent again
        self._settings: Final = settings
        self._randomness: Final = randomness
        self._started: int | None = None

    # -- commands

    def subscribe(self, topic: str, following: Following, now: int) -> list[Effect]:
        """Follow a topic; who follows it already is only counted."""
        found = topic_hash(checked_topic(topic), self._settings.hash_bits)
        row = self.table.get(found)
        place = None if following.after is None else ring.step(max(following.after, FIRST_CONTENT - 1))
        if row is not None:
            if row.topic != topic:
                raise InvalidInput(f"{topic} cannot be followed beside {row.topic}: they have the same hash")
            if place is not None and place != row.next_number:
                raise InvalidInput(
                    f"{topic} is followed here already, from {row.next_number or 'its latest content'} on, and cannot "
                    f"be from behind {following.after} as well: follow it from `roost.flips` of its own"
                )
            row.subscribers += 1
            return []
        if len(self.table) >= self._settings.topics:
            raise Backpressure(f"{topic} cannot be followed: {self._settings.topics} topics are the limit here", 0)
        row = self.table[found] = Subscription(topic, found, following)
        row.next_number = place
        return self._begin(row, now)

    def unsubscribe(self, topic: str) -> list[Effect]:
        """Follow it no longer, when this was the last; what is out just expires."""
        row = self.table.get(topic_hash(topic, self._settings.hash_bits))
        if row is None or row.topic != topic:
            raise InvalidInput(f"{topic} is not followed here")
        row.subscribers -= 1
        if not row.subscribers:
            del self.table[row.hash]
        return []

    def hold(self, topic: str, now: int, *, held: bool) -> list[Effect]:
        """Ask for nothing more of a topic, or go on; what is under way still comes."""
        row = self.table.get(topic_hash(topic, self._settings.hash_bits))
        if row is None or row.held == held:
            return []
        row.held = held
        if held:
            row.ask_at = row.stale_at = None
            return []
        return self._schedule(row, now) if row.subscribed else []

    # -- events

    def data(self, data: DataArrived, now: int) -> list[Effect]:
        """Take in Data of a topic that may be followed."""
        row = self.table.get(data.hash)
        if row is None or (data.number not in row.begun and data.number not in row.questions):
            self.ignored += 1
            return []
        try:
            reply = decode_content(data.payload)
        except BadPacket as error:
            return [Rejected(row.topic, str(error), data.payload[:64])]
        if is_subscription(data.number):
            return self._answered(row, reply, data.signer, now)
        question = row.questions.pop(data.number)
        row.notice(question, now, known=row.is_there(data.number))
        if question.tries == 1 and row.is_there(data.number):
            row.rtt.measured(now - question.first_asked)
        elif question.tries == 1 and row.knows_clock and not row.event_driven:
            expected = row.expected(self._settings.skew_ms, now)
            row.rtt.measured(now - max(question.first_asked, min(now, expected)))
        if data.number == row.next_number:
            row.measure(question, self._settings.lead_ms, now)
        row.early[data.number] = (reply, data.signer)
        if not row.is_there(data.number):
            row.newest = data.number
        if row.following.adaptive and row.event_driven:  # what is before it is there, too, and was lost
            for number, other in row.questions.items():
                if row.is_there(number):
                    other.due = min(other.due, now + row.rtt.rto)
        return self._deliver_in_order(row, now)

    def tick(self, now: int) -> list[Effect]:
        """Ask what is due, ask again what is lost, and say who is silent."""
        effects: list[Effect] = []
        for row in list(self.table.values()):
            if row.sub_due is not None and row.sub_due <= now:
                effects += self._unanswered(row, now)
            if row.ask_at is not None and row.ask_at <= now:
                effects += self._ask(row, now)
            for number, question in list(row.questions.items()):
                if row.subscribed and question.due <= now and number in row.questions:
                    effects += self._lost(row, number, question, now)
            if row.stale_at is not None and row.stale_at <= now:
                row.stale_at = None
                row.stale = True
                effects.append(WentStale(row.topic, row.next_number or 0, row.next_ms))
        return effects

    def deadline(self) -> int | None:
        """When the first of it is due."""
        first: int | None = None
        for row in self.table.values():
            due = [each.due for each in row.questions.values()] if row.subscribed else []
            first = earliest(first, row.sub_due, row.ask_at, row.stale_at, *due)
        return first

    # -- beginning

    def _begin(self, row: Subscription, now: int) -> list[Effect]:
        """Ask where the topic is; questions that are out stay, for asked again they would be heard again."""
        row.subscribed = False
        row.sub_transmit_count = 0
        row.begun.clear()
        row.ask_at = None
        return self._sub_request(row, now)

    def _sub_request(self, row: Subscription, now: int) -> list[Effect]:
        if self._started is None:
            self._started = now
        row.sub_transmit_count += 1
        number = subscription_number(now, self._started)
        row.begun.add(number)
        row.sub_due = now + self._later(self._settings.lifetime_ms)
        return [SendInterest(row.hash, number, self._settings.lifetime_ms)]

    def _unanswered(self, row: Subscription, now: int) -> list[Effect]:
        tries = self._settings.sub_tries
        if row.sub_transmit_count < tries:
            return self._sub_request(row, now)
        if not row.following.patient:
            del self.table[row.hash]
            return [SubscriptionEnded(row.topic, f"nobody answered {tries} requests to follow {row.topic}")]
        if len(row.begun) > tries:
            row.begun.clear()
        effects = self._sub_request(row, now)
        if not row.stale:  # whoever published it may be dead since before we began
            row.stale = True
            effects.append(WentStale(row.topic, row.next_number or 0, row.next_ms))
        pause = self._settings.lifetime_ms << min(row.sub_transmit_count - tries, MAX_PAUSE)
        row.sub_due = now + self._later(pause)
        return effects

    def _answered(self, row: Subscription, reply: ContentReply, signer: str, now: int) -> list[Effect]:
        """A SUB_REQ was answered: where the topic is, and its latest content if there is some [E15, E17]."""
        if row.subscribed:
            self.ignored += 1
            return []
        row.subscribed = True
        row.sub_due = None
        row.begun.clear()
        row.is_behind = False
        effects: list[Effect] = [Subscribed(row.topic, reply.next_number)]
        latest = ring.step(reply.next_number, -1)
        empty = bool(reply.flags & layout.EMPTY)
        start = reply.next_number if empty else ring.step(latest, -reply.segment)
        row.newest = None if empty else latest
        place = row.next_number
        if place is None:
            row.next_number = start
        elif ring.distance(place, start) > 0 and row.following.delivery is Delivery.LATEST:
            effects.append(Missed(row.topic, row.incomplete_from(place), ring.step(start, -1)))
            row.next_number = start
        elif ring.distance(place, reply.next_number) <= 0:
            row.newest = None
            row.is_behind = place != reply.next_number
            if row.is_behind and row.in_vain == place:  # what we go on behind is of a store that is lost
                effects.append(BegunAnew(row.topic, place, start))
                row.begin_at(start, None if empty else latest)
        self._take_times(row, reply)
        if not empty and row.next_number == latest and (not reply.segment or row.parts):
            row.early[latest] = (reply, signer)
        return effects + self._deliver_in_order(row, now)

    # -- delivering

    def _deliver_in_order(self, row: Subscription, now: int) -> list[Effect]:
        effects: list[Effect] = []
        while row.next_number in row.early:
            number = row.next_number
            reply, signer = row.early.pop(number)
            row.next_number = reply.next_number
            row.idle = row.holes = 0
            self._take_times(row, reply)
            if row.stale:
                row.stale = False
                effects.append(Revived(row.topic, number))
            if reply.flags & layout.GONE:
                effects += self._gone(row, number)
            elif not reply.flags & layout.EMPTY:
                effects += self._part(row, number, reply, signer)
        row.early = {number: each for number, each in row.early.items() if row.is_soon(number)}
        row.questions = {number: each for number, each in row.questions.items() if row.is_soon(number)}
        return effects + self._schedule(row, now)

    def _part(self, row: Subscription, number: int, reply: ContentReply, signer: str) -> list[Effect]:
        if reply.segment == 0:
            row.parts.clear()
            row.first_part = number
        elif reply.segment != len(row.parts):
            return [Missed(row.topic, number, number)]
        row.parts.append(reply.content)
        if reply.flags & layout.MORE:
            row.newest = reply.next_number
            if len(row.parts) >= MAX_PARTS:
                row.parts.clear()
                return [Rejected(row.topic, f"content of more than {MAX_PARTS} segments")]
            return []
        content = b"".join(row.parts)
        row.parts.clear()
        next_ms = 0 if row.event_driven else reply.next_ms
        return [Deliver(row.topic, row.first_part, number, content, next_ms, signer)]

    def _gone(self, row: Subscription, number: int) -> list[Effect]:
        """Content up to the next number is not kept any more; what a cache has given of it counts all the same."""
        behind = row.next_number or number
        for each in row.early:
            if 0 < ring.distance(number, each) < ring.distance(number, behind):
                behind = each
        row.next_number = behind
        if ring.distance(number, behind) <= 0:
            return []
        return [Missed(row.topic, row.incomplete_from(number), ring.step(behind, -1))]

    def _take_times(self, row: Subscription, reply: ContentReply) -> None:
        row.event_driven = bool(reply.flags & layout.EVENT_DRIVEN)
        vague = row.event_driven or reply.flags & (layout.MORE | layout.EMPTY)  # nothing to measure clocks by
        row.promised_ms = 0 if vague else reply.next_ms
        if vague:
            row.next_ms = reply.next_ms
        else:
            row.take_time(reply.next_ms)

    def _schedule(self, row: Subscription, now: int) -> list[Effect]:
        """Decide when the next content is asked for, and when its publisher counts as silent."""
        settings = self._settings
        if row.held:
            return []
        there = row.newest is not None and ring.distance(row.next_number or 0, row.newest) >= 0
        expected = row.expected(settings.skew_ms, now)
        if there or row.event_driven:
            row.ask_at = now
            row.stale_at = None
        else:
            row.ask_at = max(now, expected - row.lead(settings.lead_ms)) if row.knows_clock else now
            if expected <= now:
                expected = now + row.interval_ms * MS
            grace = max(row.interval_ms, 2 * settings.lifetime_ms) * MS
            row.stale_at = None if row.stale else max(now, expected) + grace
        return self._ask(row, now) if row.ask_at <= now else []

    # -- asking

    def _ask(self, row: Subscription, now: int) -> list[Effect]:
        row.ask_at = None
        first = row.next_number
        if first is None or not row.subscribed:
            return []
        effects: list[Effect] = []
        for by in range(row.width()):
            number = ring.step(first, by)
            if number not in row.questions and number not in row.early:
                row.questions[number] = Question(now, now)
                effects.append(self._content_request(row, number, row.questions[number], now))
        return effects

    def _content_request(self, row: Subscription, number: int, question: Question, now: int) -> SendInterest:
        lifetime_ms = self._settings.lifetime_ms
        following = row.following
        question.asked = now
        there = row.is_there(number)
        expected = row.expected(self._settings.skew_ms, question.first_asked)
        if row.event_driven and not (following.overlap_ms and number == row.next_number):
            lifetime_ms = min(lifetime_ms << min(row.idle, 3), MAX_LIFETIME_MS)
        if not (row.event_driven or row.knows_clock or there):  # it may come at any time, most likely when promised
            until_promised = min(max(0, (expected - now) // MS), MAX_LIFETIME_MS)
            lifetime_ms = min(max(lifetime_ms << min(row.idle, 1), lifetime_ms + until_promised), MAX_LIFETIME_MS)
        question.due = now + self._later(lifetime_ms)
        if following.adaptive and there:
            question.due = min(question.due, now + row.rtt.rto)
        elif row.event_driven and following.overlap_ms:
            question.due = now + max(lifetime_ms - following.overlap_ms, lifetime_ms // 2) * MS
        elif following.adaptive and row.lossy and not row.event_driven and number == row.next_number:
            question.due = min(question.due, max(now, expected) + row.rtt.rto)
        return SendInterest(row.hash, number, lifetime_ms)

    def _lost(self, row: Subscription, number: int, question: Question, now: int) -> list[Effect]:
        """Nothing came in time: ask again, or begin anew; what is not next is left until its turn comes."""
        is_next = number == row.next_number
        if is_next and (row.event_driven or not row.knows_clock):
            row.idle += 1
        tries = self._settings.content_tries
        if row.event_driven and not row.following.overlap_ms:
            tries = min(tries, SILENT_TRIES)
        if not is_next and (question.tries >= tries or not row.is_near(number)):
            del row.questions[number]
            return []
        if question.tries < (SUSPICIOUS_TRIES if row.is_behind else tries):
            question.tries += 1
            self.repeated += 1
            if row.following.adaptive and is_next:
                row.rtt.backed_off()
            return [self._content_request(row, number, question, now)]
        del row.questions[number]
        effects: list[Effect] = []
        if row.is_there(number):
            if row.suspect == number:  # and its publisher has answered since it was asked for in vain
                effects += self._hole(row, number)
            row.suspect = number
        else:
            row.in_vain = number
        return effects + self._begin(row, now)

    def _hole(self, row: Subscription, number: int) -> list[Effect]:
        """Content that is known to exist cannot be had: pass over it, after the third in a row over all of them."""
        row.holes += 1
        high = row.newest if row.holes >= MAX_HOLES and row.newest is not None else number
        row.next_number = ring.step(high)
        return [Missed(row.topic, row.incomplete_from(number), high)]

    def _later(self, timeout_ms: int) -> int:
        """A time-out with its jitter, on the late side only."""
        return timeout_ms * MS + self._randomness.randint(0, int(timeout_ms * MS * self._settings.jitter))
