"""PSync partial sync, the producer's side: many streams, for consumers who want some of them [PSync §6, NDN-PS].

The producer remembers nothing about its consumers. A consumer brings what it wants and the IBLT it was given last; the
producer compares (D = own − received) and does one of these:

    hello                                          reply with all streams, those without a number too
    D cannot be decoded                            application Nack: the consumer says hello again
    wanted streams have changed, or |D| ≥ E/2      reply with those that have, perhaps none, and our IBLT
    otherwise                                      keep it until its lifetime ends

When something is published, a kept Interest is answered if it wants that or |D| has come to E/2 by it, and dropped if
its D cannot be decoded any more.

There are never more streams than a hello can hold: a consumer takes the IBLT that came with it for what it was told,
and would miss whatever was left out.

Several producers of the same streams may share a prefix (anycast). They are no members of one group to each other: what
one of them publishes the others must learn in another way. Only with a damaged ledger does a producer say hello itself,
to learn from such others how far its streams were.
"""

from __future__ import annotations

from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.machine import Effect, Randomness, Rejected, earliest
from roost.naming import Component, Name
from roost.naming.conventions import segment
from roost.sync.compression import compress, decompress
from roost.sync.iblt import cells_for
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Collect, Reply
from roost.sync.presets import PartialPreset
from roost.sync.psync_member import PSyncMember
from roost.sync.psync_names import SyncQuestion, hello_question, parse_partial, sync_question
from roost.sync.request import Outcome, Received
from roost.sync.state_replies import room_for
from roost.sync.subscriptions import decode_wanted
from roost.sync.sync_interests import SyncInterest, open_iblt
from roost.sync.sync_state import decode_state
from roost.wire import Signer, encode_data
from roost.wire.data import NACK

_SAMPLE_BYTES: Final = 64


class PSyncProducer(PSyncMember[PartialPreset]):
    """A producer of partial sync."""

    def __init__(
        self, group: Name, preset: PartialPreset, signer: Signer, randomness: Randomness, ledger: Ledger
    ) -> None:
        largest = Component(bytes(preset.max_iblt_bytes))
        longest = sync_question(group, (largest,), largest)
        lifetime_ms = preset.hello_lifetime_ms
        super().__init__(group, preset, signer, randomness, ledger, longest=longest, lifetime_ms=lifetime_ms)
        self.multicast: Final = None
        self.nacks = 0
        self._largest: Final = largest  # what our IBLT may grow to
        self._signer: Final = signer
        self._hello_bytes: Final = self.replies.state_bytes(hello_question(group) / largest)
        self._hello_at: int | None = None

    def produce(self, stream: Name, now: int) -> list[Effect]:
        """Make a stream ours; consumers who say hello see it."""
        streams, names_bytes = len(self.dataset) + 1, self.dataset.names_bytes + len(stream.value)
        if stream not in self.dataset and room_for(streams, names_bytes) > self._hello_bytes:
            limit = f"a hello has to hold all streams, and {self._hello_bytes} bytes hold no more than {streams - 1}"
            raise Backpressure(f"{stream} cannot be produced: {limit}", 0)
        return super().produce(stream, now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Begin to answer; ask what others remember if our disk does not."""
        effects = self._own.start(now)
        return effects if self._own.settled else effects + self._say_hello(now)

    def tick(self, now: int) -> list[Effect]:
        """Say hello again, or go on without others."""
        effects = self._own.tick(now)
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
        return effects

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
            if not isinstance(question, SyncQuestion):
                return self._hello(event, now)
            self.replies.check_name(name / self._largest)
            iblt = open_iblt(question.iblt, self.preset)
            interest = SyncInterest(event, iblt, now, wanted=decode_wanted(question.wanted))
        except BadPacket as error:
            return [Rejected(str(self.group), str(error), event.interest.wire[:_SAMPLE_BYTES])]
        return self._compare(interest, now)

    def _hello(self, event: Asked, now: int) -> list[Effect]:
        question = event.interest.name
        name = question / self._iblt()
        content = self.replies.content(name, self.dataset.recent())
        packet = self.replies.add(question, name, content, self.preset.reply_freshness_ms, now)
        return [Reply(packet, event.token)]

    def _compare(self, interest: SyncInterest, now: int) -> list[Effect]:
        difference = self._difference(interest)
        if not difference.complete:
            return [self._nack(interest)]
        entries = self._wanted(interest, self.dataset.elements_of(difference.positive))
        if entries or difference.size >= self._threshold(interest):
            return self._reply(interest, entries, now)
        self.pending.add(interest, now)
        return []

    def _tell(self, news: list[tuple[Name, int]], now: int) -> list[Effect]:  # noqa: ARG002  as full sync needs it
        """Answer kept Interests with what is new, and with all else that our IBLT would make them pass over."""
        effects: list[Effect] = []
        for interest in self.pending.alive(now):
            difference = self._difference(interest)
            entries = self._wanted(interest, self.dataset.elements_of(difference.positive))
            if not difference.complete:
                self.pending.drop(interest.name)
            elif entries or difference.size >= self._threshold(interest):
                self.pending.drop(interest.name)
                effects += self._reply(interest, entries, now)
        return effects

    def _reply(self, interest: SyncInterest, entries: list[tuple[Name, int]], now: int) -> list[Effect]:
        name = interest.name / self._iblt()
        content = self.replies.content(name, entries)
        packet = self.replies.add(interest.name, name, content, self.preset.reply_freshness_ms, now)
        return [Reply(packet, interest.token)]

    def _nack(self, interest: SyncInterest) -> Reply:
        self.nacks += 1
        first = segment(0)
        name = interest.name / self._iblt() / first
        freshness_ms = self.preset.reply_freshness_ms
        packet = encode_data(name, b"", self._signer, content_type=NACK, freshness_ms=freshness_ms, final_block=first)
        return Reply(packet, interest.token)

    def _wanted(self, interest: SyncInterest, entries: list[tuple[Name, int]]) -> list[tuple[Name, int]]:
        wanted = interest.wanted
        return [] if wanted is None else [entry for entry in entries if entry[0] in wanted]

    def _threshold(self, interest: SyncInterest) -> int:
        """The preset's, for an IBLT of the size that was received."""
        return max(1, self.preset.threshold * interest.iblt.cells // cells_for(self.preset.expected))

    def _iblt(self) -> Component:
        self.sizing.sent()
        raw = self.dataset.iblt(self.sizing.expected).encode()
        return Component(compress(raw, self.preset.iblt_compression))
