"""PSync full sync: every member tells what it has, and answers whoever has less [PSync 0.5, §5 of our sheet].

A member always has one Interest out that carries its IBLT and its count n of updates so far. Whoever receives it
compares (D = own − received) and does one of these:

    1  a fresh reply to the very same question is kept      send it again
    2  D cannot be decoded, received n > ours               we are behind: wait, look again; after the second time ask
       D cannot be decoded, n is the same, only they have   they will get and give it: nothing
       D cannot be decoded otherwise                        reply with the entire state
    3  D is empty                                           keep it until its lifetime ends: the next news answer it
    4  only they have something                             we are behind: wait, look again, give up the second time
    5  we have something                                    reply with it, but for streams of which they have the next

Where the C++ library does harm we differ, and only there: a reply on its way (`Collect`) is not given up for the timer;
an Interest sent less than 100 ms ago is left in place instead of being withdrawn; a reply that cannot be read is waited
out like one without news, because the network would give it again; news of our own end that wait at once. Above all, a
reply that brings an asker nothing new may live for ever: every cache that gets it from another counts its freshness
anew, and members that ask the same hand it round, in front of those who have news. So (5) looks up to REACH numbers
ahead for what the asker has, not one; and where it cannot tell whether a reply has any news it makes it fresh for 10 ms
only.

Interests have no signature and come without a sender. One of ours that comes back to us looks like that of a member who
has what we have: it is kept (3), and costs at most one reply that nobody wants.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, Effect, Randomness, Rejected, earliest
from roost.naming import Name
from roost.sync.compression import compress, decompress
from roost.sync.dataset import MAX_NUMBER
from roost.sync.entire_state import EntireState
from roost.sync.iblt import Difference
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Collect, Learned, Reply, Stream
from roost.sync.presets import FullPreset
from roost.sync.psync_member import PSyncMember
from roost.sync.psync_names import full_question, parse_full
from roost.sync.request import COLLECT_MS, Missed, Outcome, Received
from roost.sync.sync_interests import SyncInterest, open_iblt
from roost.sync.sync_state import decode_state
from roost.sync.waiting_list import WaitingList
from roost.wire import Signer

REACH: Final = 32  # numbers by which an asker's stream may be apart from ours, and we notice
GUESSES: Final = 1000  # hashes that this may take per Interest: among many streams we do not look as far
_SAMPLE_BYTES: Final = 64


class PSyncFull(PSyncMember[FullPreset]):
    """A member of a full-sync group."""

    def __init__(self, group: Name, preset: FullPreset, signer: Signer, randomness: Randomness, ledger: Ledger) -> None:
        longest = full_question(group, bytes(preset.max_iblt_bytes), MAX_NUMBER)
        lifetime_ms = preset.sync_lifetime_ms
        super().__init__(group, preset, signer, randomness, ledger, longest=longest, lifetime_ms=lifetime_ms)
        self.multicast: Final = group
        self.waiting: Final = WaitingList(preset.max_waiting)
        self.entire: Final = EntireState(self.dataset, self.replies, longest)
        self._sent_at = 0
        self._resend_at: int | None = None
        self._quiet = False  # the network would give the same reply again; ends with `_resend_at`
        self._look_again_at: int | None = None

    def recall(self, stream: Name, number: int) -> None:
        """Take in, before the start, what our disk still has of somebody else's stream.

        Nothing is told of it here. But whoever lost their own numbers hears them from us, although we started anew.
        """
        if stream not in self._own and number > self.dataset.get(stream):
            self.dataset.set(stream, number)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group, or join it again."""
        self._quiet = False
        return self._own.start(now) + self._ask(now)

    def tick(self, now: int) -> list[Effect]:
        """Ask again, and look again at those who know more."""
        effects = self._own.tick(now)
        if self._resend_at is not None and now >= self._resend_at:
            self._quiet = False
            effects += self._ask(now)
        if self._look_again_at is not None and now >= self._look_again_at:
            self._look_again_at = None
            effects += self._look_again(now)
        return effects

    def deadline(self) -> int | None:
        """When the next of these is due."""
        return earliest(self._resend_at, self._look_again_at, self._own.deadline())

    # -- asking

    def _ask(self, now: int) -> list[Effect]:
        """Send our Interest, unless the same has just been sent or would bring what we have just got."""
        collecting = self._request.collecting and self._resend_at is not None and now < self._resend_at
        if self._quiet or collecting:
            return []
        iblt = self.dataset.iblt(self.sizing.expected).encode()
        question = full_question(self.prefix, compress(iblt, self.preset.iblt_compression), self.dataset.total)
        if question == self._request.open and now - self._sent_at < self.preset.suppression_ms * MS:
            return []
        self._sent_at = now
        self._resend_at = now + self.preset.sync_lifetime_ms * MS // 2 + self._jitter()
        self.sizing.sent()
        return self._request.ask(question, self.preset.sync_lifetime_ms, now)

    def _came_back(self, outcome: Outcome, now: int) -> list[Effect]:
        if isinstance(outcome, Collect):
            self._resend_at = now + COLLECT_MS * MS
            return [outcome]
        if isinstance(outcome, Received) and not outcome.nack:
            return self._reply_came(outcome, now)
        if isinstance(outcome, Missed) and not outcome.expired:  # the timer runs out before a lifetime does
            self._resend_at = now + self._jitter()
            return [Rejected(str(self.group), outcome.reason, outcome.bad[:_SAMPLE_BYTES])] if outcome.bad else []
        return []

    def _reply_came(self, reply: Received, now: int) -> list[Effect]:
        self.pending.drop(reply.question)
        preset = self.preset
        effects: list[Effect] = []
        try:
            content = decompress(reply.content, preset.content_compression, preset.max_reply_bytes)
            for stream, number in decode_state(content, preset.max_streams):
                effects += self._learn(stream, number, now)
        except BadPacket as error:
            effects.append(Rejected(str(reply.name), str(error), reply.content[:_SAMPLE_BYTES]))
            return effects + self._rest(now)
        self._own.heard(now)
        if not effects:
            return self._rest(now)
        self._resend_at = now + self._jitter()
        return effects + self._look_again(now)

    def _learn(self, stream: Name, number: int, now: int) -> list[Effect]:
        if stream in self._own:
            return self._own.adopt(stream, number, now)
        known = max(0, self.dataset.get(stream))
        if number <= known or not self.dataset.set(stream, number):
            return []
        return [Learned(Stream(stream), known + 1, number)]

    def _rest(self, now: int) -> list[Effect]:
        """Wait until caches have forgotten the reply that brought nothing new."""
        self._quiet = True
        self._resend_at = now + self.preset.reply_freshness_ms * MS + self._jitter()
        return []

    # -- answering

    def _asked(self, event: Asked, now: int) -> list[Effect]:
        name = event.interest.name
        packet = self.replies.find(name, now)
        if packet is not None:
            return [Reply(packet, event.token)]
        try:
            question = parse_full(self.prefix, name)
            if question is None:
                self.segments_gone += 1
                return []
            interest = SyncInterest(event, open_iblt(question.iblt, self.preset), now, total=question.total)
        except BadPacket as error:
            return [Rejected(str(self.group), str(error), event.interest.wire[:_SAMPLE_BYTES])]
        return self._compare(interest, now)

    def _compare(self, interest: SyncInterest, now: int) -> list[Effect]:
        difference = self._difference(interest)
        if not difference.complete:
            return self._undecodable(interest, difference, now)
        if not difference.size:
            self.waiting.drop(interest.name)
            if now < interest.expires:
                self.pending.add(interest, now)
            return []
        if not difference.positive:
            return self._behind(interest, now)
        self.waiting.drop(interest.name)
        entries, doubtful = self._lacked(difference)
        if not entries:
            return []
        content = self.replies.content(interest.name, entries)
        freshness_ms = self.preset.doubtful_freshness_ms if doubtful else self.preset.reply_freshness_ms
        return self._reply(interest, content, freshness_ms, now)

    def _lacked(self, difference: Difference) -> tuple[list[tuple[Name, int]], bool]:
        """What of ours an asker lacks, and whether it is in doubt that any of it is news."""
        theirs = set(difference.negative)
        entries = self.dataset.elements_of(difference.positive)
        if not theirs:
            return entries, False
        lacked: list[tuple[Name, int]] = []
        reach = max(1, min(REACH, GUESSES // (2 * len(entries) + 1)))
        explained = 0  # of theirs, by streams that we know too
        news = False
        for stream, number in entries:
            found = self.dataset.number_in(stream, theirs, reach)
            explained += found > 0
            news |= 0 < found < number
            if found < number:
                lacked.append((stream, number))
        return lacked, not news and explained < len(theirs)

    def _undecodable(self, interest: SyncInterest, difference: Difference, now: int) -> list[Effect]:
        ours = self.dataset.total
        if interest.total > ours:
            given_up = self.waiting.behind(interest)
            return self._ask(now) if given_up else self._set_timer(now)
        self.waiting.drop(interest.name)
        if interest.total == ours and not difference.positive and difference.negative:
            return []
        content = self.entire.content(now)
        if not content:
            return []
        self.pending.drop(interest.name)
        return self._reply(interest, content, self.preset.doubtful_freshness_ms, now)

    def _behind(self, interest: SyncInterest, now: int) -> list[Effect]:
        self.waiting.behind(interest)
        return self._set_timer(now)

    def _set_timer(self, now: int) -> list[Effect]:
        if self._look_again_at is None and len(self.waiting):
            self._look_again_at = now + self._jitter()
        return []

    def _look_again(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        for interest in self.waiting.try_again():
            effects += self._compare(interest, now)
        return effects + self._set_timer(now)

    def _tell(self, news: list[tuple[Name, int]], now: int) -> list[Effect]:
        """Answer whoever has what we had with what is new."""
        was_quiet = self._quiet
        self._quiet = False
        effects: list[Effect] = []
        for interest in self.pending.alive(now):
            self.pending.drop(interest.name)
            entries = self.dataset.elements_of(self._difference(interest).positive)
            known = set(entries)
            entries += [entry for entry in news if entry not in known]
            content = self.replies.content(interest.name, entries)
            effects += self._reply(interest, content, self.preset.reply_freshness_ms, now)
        return effects + self._ask(now) if was_quiet else effects

    def _reply(self, interest: SyncInterest, content: bytes, freshness_ms: int, now: int) -> list[Effect]:
        """Reply; our own Interest of that name would be satisfied by it, so it is withdrawn first and sent anew."""
        if now >= interest.expires:
            return []
        withdrawn = self._request.forget() if self._request.open == interest.name else []
        packet = self.replies.add(interest.name, interest.name, content, freshness_ms, now)
        replied: list[Effect] = [*withdrawn, Reply(packet, interest.token)]
        return replied + self._ask(now) if withdrawn else replied
