"""PSync partial sync, the producer's side: many streams, for consumers who want some of them [PSync §6, NDN-PS].

The producer remembers nothing about its consumers. A consumer brings what it wants and the IBLT it was given last; the
producer compares (D = own − received) and does one of these:

    hello                                          reply with all streams, those without a number too
    D cannot be decoded                            application Nack: the consumer says hello again
    wanted streams have changed, or |D| ≥ E/2      reply with those that have, perhaps none, and our IBLT
    otherwise                                      keep it until its lifetime ends

When something is published, a kept Interest is answered if it wants that or |D| has come to E/2 by it, and dropped if
its D cannot be decoded any more.

Several producers of the same streams may share a prefix (anycast). They are no members of one group to each other: what
one of them publishes the others must learn in another way. Only with a damaged ledger does a producer say hello itself,
to learn from such others how far its streams were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, Effect, Randomness, Rejected, earliest
from roost.machine.disk import Saved
from roost.naming import Component, Name
from roost.naming.conventions import segment
from roost.sync.compression import compress, decompress
from roost.sync.dataset import Dataset
from roost.sync.iblt import CELL_BYTES, Difference, cells_for
from roost.sync.ledger import Ledger
from roost.sync.own_streams import OwnStreams
from roost.sync.port import Asked, Collect, Event, Reply, Stream
from roost.sync.presets import PartialPreset
from roost.sync.psync_names import SyncQuestion, hello_question, parse_partial, sync_question
from roost.sync.request import Received, Request
from roost.sync.sizing import Sizing
from roost.sync.state_replies import StateReplies, compressed_at_most
from roost.sync.subscriptions import decode_wanted
from roost.sync.sync_interests import PendingInterests, SyncInterest, open_iblt
from roost.sync.sync_state import decode_state
from roost.wire import Data, Interest, Signer, encode_data
from roost.wire.data import NACK

_SAMPLE_BYTES: Final = 64


class PSyncProducer:
    """A producer of partial sync; `group` is what PSync calls the sync prefix."""

    def __init__(
        self, group: Name, preset: PartialPreset, signer: Signer, randomness: Randomness, ledger: Ledger
    ) -> None:
        self.group: Final = group
        self.prefix: Final = group
        self.route: Final = group
        self.multicast: Final = None
        self.preset: Final = preset
        self.dataset: Final = Dataset(preset.max_streams)
        self.sizing: Final = Sizing(preset.ladder, preset.expected)
        self.pending: Final = PendingInterests(preset.max_pending)
        self.segments_gone = 0  # asked for, but not kept any more
        self.nacks = 0
        largest = Component(bytes(compressed_at_most(CELL_BYTES * preset.max_cells, preset.iblt_compression)))
        self.replies: Final = StateReplies(signer, randomness, preset, sync_question(group, (largest,), largest))
        self._largest: Final = largest  # what our IBLT may grow to
        self._signer: Final = signer
        self._randomness: Final = randomness
        self._own: Final = OwnStreams(ledger, self.dataset, preset.hello_lifetime_ms)
        self._request: Final = Request()
        self._hello_at: int | None = None

    def evidence(self, interest: Interest) -> Interest | Data | None:  # noqa: ARG002  the port's shape
        """Sync Interests of PSync are not signed."""
        return None

    def latest(self) -> Mapping[Stream, int]:
        """The highest number of every stream."""
        return {Stream(name): number for name, number in self.dataset.items()}

    # -- commands

    def produce(self, stream: Name, now: int) -> list[Effect]:  # noqa: ARG002  the port's shape
        """Make a stream ours; consumers who say hello see it."""
        return self._own.produce(stream)

    def announce(self, stream: Name, high: int, now: int) -> list[Effect]:
        """Tell consumers that a stream of ours has come to `high`, once that is on the disk."""
        return self._own.announce(stream, high, now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Begin to answer; ask what others remember if our disk does not."""
        effects = self._own.start(now)
        return effects if self._own.settled else effects + self._say_hello(now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, that something is on the disk, or what others remember."""
        if isinstance(event, Asked):
            return self._asked(event, now)
        if isinstance(event, Saved):
            news, effects = self._own.saved(event)
            return effects + self._tell(news, now) if news else effects
        outcome = self._request.receive(event, now)
        if isinstance(outcome, Collect):
            return [outcome]
        if outcome is None or self._own.settled:
            return []
        self._hello_at = now + self._jitter()
        return self._remembered(outcome, now) if isinstance(outcome, Received) and not outcome.nack else []

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
        content = self.replies.content(name, self.dataset.recent(len(self.dataset)))
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

    def _tell(self, news: list[tuple[Name, int]], now: int) -> list[Effect]:
        effects: list[Effect] = []
        for interest in self.pending.alive(now):
            difference = self._difference(interest)
            entries = self._wanted(interest, news)
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

    def _difference(self, interest: SyncInterest) -> Difference:
        difference = self.dataset.iblt_like(interest.iblt).difference(interest.iblt)
        if difference.complete:
            self.sizing.decoded(difference.size)
        else:
            self.sizing.undecodable(interest.iblt.cells)
        return difference

    def _iblt(self) -> Component:
        self.sizing.sent()
        raw = self.dataset.iblt(self.sizing.expected).encode()
        return Component(compress(raw, self.preset.iblt_compression))

    def _jitter(self) -> int:
        return self._randomness.randint(self.preset.resend_low_ms * MS, self.preset.resend_high_ms * MS)
