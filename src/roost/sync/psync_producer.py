"""PSync partial sync, the producer's side: many streams, for consumers who want some of them [PSync §6, NDN-PS].

The producer remembers nothing about its consumers. A consumer brings what it wants and the IBLT it was given last; the
producer compares (D = own − received) and does one of these:

    hello                                          reply with all streams, those without a number too
    D cannot be decoded, or is too large to tell   application Nack: the consumer says hello again
    wanted streams have changed, or |D| ≥ E/2      reply with those that have, perhaps none, and our IBLT
    otherwise                                      keep it until its lifetime ends

When something is published, a kept Interest is answered if it wants that or |D| has come to E/2 by it, and dropped if
its D cannot be decoded any more. A batch is told once, and costs what is new in it and how many Interests are kept, not
how many streams there are.

A consumer takes the IBLT that came with a hello for what it was told, and would miss whatever was left out. So streams
of our own (`produce`) are never more than a hello can hold; those out of a store (`publish`) may be, and then a hello
stays without an answer. Consumers that subscribe to ranges are better off, with producers and consumers of ours only:

    hello with ranges         reply with the streams in them
    sync with an IBLT that    what has changed since is known without decoding, so the IBLT is never too small for it,
    we handed out lately      and no reply is due before many more than E/2 have changed (`roost.sync.handed`)
    replies                   carry the readings they tell of, where they fit the same packet [NDN-PS, footnote 2]

Several producers of the same streams may share a prefix (anycast). They are no members of one group to each other: what
one of them publishes the others must learn in another way. Only with a damaged ledger does a producer say hello itself,
to learn from such others how far its streams were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.machine import SECOND, Effect, Randomness, Rejected, earliest
from roost.naming import Component, Name
from roost.naming.conventions import segment
from roost.sync.compression import compress, decompress
from roost.sync.handed import MAX_BEHIND, Handed
from roost.sync.iblt import cells_for
from roost.sync.ledger import Ledger
from roost.sync.name_index import NameIndex
from roost.sync.news import News
from roost.sync.port import Asked, Collect, Reply
from roost.sync.presets import PartialPreset
from roost.sync.psync_member import PSyncMember
from roost.sync.psync_names import HelloQuestion, hello_question, parse_partial, sync_question
from roost.sync.request import Outcome, Received
from roost.sync.state_replies import room_for
from roost.sync.subscriptions import Ranges, decode_wanted
from roost.sync.sync_interests import SyncInterest, open_iblt
from roost.sync.sync_state import decode_state
from roost.wire import Signer, encode_data
from roost.wire.data import NACK

MAX_CARRIED: Final = 32  # readings in one reply
LISTED_PER_SECOND: Final = 500_000  # streams, in hellos: Interests are not signed, and a list of all costs most
_SAMPLE_BYTES: Final = 64


class PSyncProducer(PSyncMember[PartialPreset]):
    """A producer of partial sync."""

    def __init__(
        self,
        group: Name,
        preset: PartialPreset,
        signer: Signer,
        randomness: Randomness,
        ledger: Ledger,
        carried: Callable[[Name, int], bytes | None] | None = None,
    ) -> None:
        """With `carried`, which gives the packet of a stream's number, replies to ranges carry small readings."""
        largest = Component(bytes(preset.max_iblt_bytes))
        longest = sync_question(group, (largest,), largest)
        lifetime_ms = preset.hello_lifetime_ms
        super().__init__(group, preset, signer, randomness, ledger, longest=longest, lifetime_ms=lifetime_ms)
        self.multicast: Final = None
        self.nacks = 0
        self.hellos_too_large = 0  # left unanswered, because not all of it would have fitted
        self.hellos_put_off = 0  # left unanswered, because too many streams have been listed this second
        self._largest: Final = largest  # what our IBLT may grow to
        self._signer: Final = signer
        self._hello_bytes: Final = self.replies.state_bytes(hello_question(group) / largest)
        self._hello_at: int | None = None
        self._carried: Final = carried
        self._handed: Final = Handed()
        self._index = NameIndex(())  # of the dataset's streams, made anew when there are more
        self._second = 0
        self._listed = 0  # streams, in that second

    def produce(self, stream: Name, now: int) -> list[Effect]:
        """Make a stream ours; consumers who say hello see it."""
        streams, names_bytes = len(self.dataset) + 1, self.dataset.names_bytes + len(stream.value)
        if stream not in self.dataset and room_for(streams, names_bytes) > self._hello_bytes:
            limit = f"a hello has to hold all streams, and {self._hello_bytes} bytes hold no more than {streams - 1}"
            raise Backpressure(f"{stream} cannot be produced: {limit}", 0)
        return super().produce(stream, now)

    def publish(self, entries: Sequence[tuple[Name, int]], now: int) -> list[Effect]:
        """Tell of numbers that are safe in a store already; all at once, and of each stream its last."""
        latest = {stream: number for stream, number in entries if self.dataset.set(stream, number)}
        return self._tell(list(latest.items()), now) if latest else []

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Begin to answer; ask what others remember if our disk does not."""
        effects = self._own.start(now)
        return effects if self._own.settled else effects + self._say_hello(now)

    def tick(self, now: int) -> list[Effect]:
        """Say hello again, or go on without others."""
        effects = self._own.tick(now)
        if effects:
            self._forget_past(now)
        if self._own.settled:
            self._hello_at = None
            return effects + self._request.forget()
        if self._hello_at is not None and now >= self._hello_at:
            effects += self._say_hello(now)
        return effects

    def deadline(self) -> int | None:
        """When there is something to do while recovering."""
        return earliest(self._hello_at, self._own.deadline())

    # -- recovering

    def _say_hello(self, now: int) -> list[Effect]:
        self._hello_at = None
        return self._request.ask(hello_question(self.prefix), self.preset.hello_lifetime_ms, now)

    def _came_back(self, outcome: Outcome, now: int) -> list[Effect]:
        if isinstance(outcome, Collect):
            return [outcome]
        if self._own.settled:
            return []
        self._hello_at = now + self._jitter()
        return self._remembered(outcome, now) if isinstance(outcome, Received) and not outcome.nack else []

    def _remembered(self, reply: Received, now: int) -> list[Effect]:
        preset = self.preset
        effects: list[Effect] = []
        try:
            content = decompress(reply.content, preset.content_compression, preset.max_reply_bytes)
            for stream, number in decode_state(content, preset.max_streams):
                if stream in self._own:
                    effects += self._own.adopt(stream, number, now)
        except BadPacket as error:
            return [Rejected(str(reply.name), str(error), reply.content[:_SAMPLE_BYTES])]
        self._own.heard(now)
        if effects:
            self._forget_past(now)
        return effects

    def _forget_past(self, now: int) -> None:
        """Numbers changed without having been told: whoever is kept waiting is compared with again, or asks again."""
        self._handed.forget()
        for interest in self.pending.alive(now):
            interest.behind = interest.limit
            if isinstance(interest.wanted, Ranges):
                self.pending.drop(interest.name)

    # -- answering

    def _asked(self, event: Asked, now: int) -> list[Effect]:
        name = event.interest.name
        packet = self.replies.find(name, now)
        if packet is not None:
            return [Reply(packet, event.token)]
        try:
            question = parse_partial(self.prefix, name)
            if question is None:
                self.segments_gone += 1
                return []
            if isinstance(question, HelloQuestion):
                return self._hello(event, question, now)
            self.replies.check_name(name / self._largest)
            iblt = open_iblt(question.iblt, self.preset)
            interest = SyncInterest(event, iblt, now, wanted=decode_wanted(question.wanted))
        except BadPacket as error:
            return [Rejected(str(self.group), str(error), event.interest.wire[:_SAMPLE_BYTES])]
        return self._compare(interest, now)

    def _hello(self, event: Asked, asked: HelloQuestion, now: int) -> list[Effect]:
        entries = self.dataset.items() if asked.ranges is None else self._within(Ranges.decode(asked.ranges.value))
        question = event.interest.name
        self.replies.check_name(question / self._largest)
        name = question / self._iblt()
        if self._listed_too_many(len(entries), now):
            self.hellos_put_off += 1
            return []
        if not self._has_room(name, entries):
            self.hellos_too_large += 1
            return []
        content = self.replies.content(name, entries)
        packet = self.replies.add(question, name, content, self.preset.reply_freshness_ms, now)
        return [Reply(packet, event.token)]

    def _has_room(self, name: Name, entries: list[tuple[Name, int]]) -> bool:
        return room_for(len(entries), sum(len(each.value) for each, _ in entries)) <= self.replies.state_bytes(name)

    def _listed_too_many(self, streams: int, now: int) -> bool:
        if now // SECOND != self._second:
            self._second = now // SECOND
            self._listed = 0
        self._listed += streams
        return self._listed > max(streams, LISTED_PER_SECOND)

    def _within(self, ranges: Ranges) -> list[tuple[Name, int]]:
        if len(self._index) != len(self.dataset):
            self._index = NameIndex([stream for stream, _ in self.dataset.items()])
        return [(stream, self.dataset.get(stream)) for stream in self._index.within(ranges)]

    def _compare(self, interest: SyncInterest, now: int) -> list[Effect]:
        changed = self._handed.since(interest.iblt.encode()) if isinstance(interest.wanted, Ranges) else None
        if changed is not None:
            interest.behind, interest.limit = 2 * len(changed), MAX_BEHIND
            elements = [(stream, self.dataset.get(stream)) for stream in changed]
        else:
            difference = self._difference(interest)
            if not difference.complete:
                return [self._nack(interest)]
            interest.behind = difference.size
            interest.limit = min(self._threshold(interest), interest.iblt.expected)
            elements = self.dataset.elements_of(difference.positive)
        entries = News(elements).wanted_by(interest)
        if not self._has_room(interest.name / self._largest, entries):
            return [self._nack(interest)]
        if entries or interest.behind >= interest.limit:
            return self._reply(interest, entries, now)
        self.pending.add(interest, now)
        return []

    def _tell(self, news: list[tuple[Name, int]], now: int) -> list[Effect]:
        """Answer kept Interests with what is new: before that there was nothing they want, or they would not be kept.

        Whoever follows PSync to the letter is compared with again, once there may be reason to.
        """
        self._handed.change([stream for stream, _ in news])
        effects: list[Effect] = []
        fresh = News(news)
        for interest in self.pending.alive(now):
            entries = fresh.wanted_by(interest)
            interest.behind += 2 * len(news)
            if not entries and interest.behind < interest.limit:
                continue
            if not isinstance(interest.wanted, Ranges):
                difference = self._difference(interest)
                interest.behind = difference.size
                entries = News(self.dataset.elements_of(difference.positive)).wanted_by(interest)
                if not difference.complete:
                    self.pending.drop(interest.name)
                    continue
                if not entries and difference.size < self._threshold(interest):
                    continue
            self.pending.drop(interest.name)
            effects += self._reply(interest, entries, now)
        return effects

    def _reply(self, interest: SyncInterest, entries: list[tuple[Name, int]], now: int) -> list[Effect]:
        name = interest.name / self._iblt()
        carried = self._carry(name, entries) if isinstance(interest.wanted, Ranges) else []
        content = self.replies.content(name, entries, carried)
        packet = self.replies.add(interest.name, name, content, self.preset.reply_freshness_ms, now)
        return [Reply(packet, interest.token)]

    def _carry(self, name: Name, entries: list[tuple[Name, int]]) -> list[bytes]:
        """Choose the readings that fit the one packet of a reply."""
        if self._carried is None:
            return []
        left = self.replies.segment_bytes(name) - room_for(len(entries), sum(len(each.value) for each, _ in entries))
        packets: list[bytes] = []
        for stream, number in entries[:MAX_CARRIED] if left > 0 else []:
            packet = self._carried(stream, number)
            if packet is not None and len(packet) <= left:
                packets.append(packet)
                left -= len(packet)
        return packets

    def _nack(self, interest: SyncInterest) -> Reply:
        self.nacks += 1
        first = segment(0)
        name = interest.name / self._iblt() / first
        freshness_ms = self.preset.reply_freshness_ms
        packet = encode_data(name, b"", self._signer, content_type=NACK, freshness_ms=freshness_ms, final_block=first)
        return Reply(packet, interest.token)

    def _threshold(self, interest: SyncInterest) -> int:
        """The preset's, for an IBLT of the size that was received."""
        return max(1, self.preset.threshold * interest.iblt.cells // cells_for(self.preset.expected))

    def _iblt(self) -> Component:
        self.sizing.sent()
        raw = self.dataset.iblt(self.sizing.expected).encode()
        self._handed.hand(raw)
        return Component(compress(raw, self.preset.iblt_compression))
