"""The publishing side of SVS-PS as a machine: blobs become packets, the group is told, whoever asks is answered [§8].

    publish ──▶ in the log ──announce──▶ number on the disk ──▶ Published, Sync Interest with the entry
                                                           └──▶ Interests that waited for this number are answered

- Inner packets, outer packets and mapping have a signer each; Sync Interests have the sync member's.
- An Interest for the publication that comes next, or a few behind it, is kept until it is there or the Interest's
  lifetime is over: that is how a subscriber who prefetches is served half a round trip after the publication.
- An Interest for an application name, which a forwarding hint has led here, gets the inner packet.
- Publications are kept up to `max_kept_bytes`, and those that are in files up to `max_filed_bytes`; the oldest are
  forgotten first (`kept`), and their files are not needed any more (`Discard`). A content key in use that is forgotten
  is published again. Numbers outlive a restart (the sync member's ledger), and with a log so do the publications: they
  are on the disk before their numbers are announced.
- If the group knows our numbers better than our disk, what is not announced yet gets numbers behind those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, Effect, earliest
from roost.machine.disk import Saved
from roost.naming import Name
from roost.pubsub.blobs.blob_log import BlobLog, Record
from roost.pubsub.blobs.encapsulation import Packets, parted
from roost.pubsub.blobs.kept import Draft, Kept
from roost.pubsub.blobs.names import Publication, Query, is_key
from roost.pubsub.blobs.sealing import BlobSealing
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.resident import Event
from roost.sync.port import Announced, Ready, Reply, Stream
from roost.sync.vector_format import MAX_NUMBER
from roost.wire import Interest, Signer, encode_data

MAPPING_FRESHNESS_MS: Final = 1000
MAX_AHEAD: Final = 64  # numbers that may be waited for
MAX_WAITING: Final = 1024  # Interests that wait
MAX_KEPT_BYTES: Final = 1 << 28
MAX_FILED_BYTES: Final = 1 << 34
_US: Final = 1000


@dataclass(frozen=True, slots=True)
class Published(Effect):
    """A publication has its number, which is on the disk; the group is being told."""

    stream: Stream
    number: int
    name: Name


@dataclass(frozen=True, slots=True)
class Discard(Effect):
    """The file of a publication that is kept no longer."""

    file: str


@dataclass(frozen=True, slots=True)
class Layers:
    """Who signs the application's Data, by its name, the transport's around it, and answers to mapping queries."""

    inner: Callable[[Name], Signer]
    outer: Signer
    mapping: Signer

    @staticmethod
    def by(signer: Signer) -> Layers:
        """One signer for all of them."""
        return Layers(lambda name: signer, signer, signer)  # noqa: ARG005  whatever it is called


@dataclass(frozen=True, slots=True)
class _Waiting:
    interest: Interest
    token: bytes
    until: int


class Publisher:
    """One node's publications in one group; put it on a face as any `Part`."""

    def __init__(
        self,
        seat: Seat,
        node: Name,
        layers: Layers,
        *,
        log: BlobLog | None = None,
        sealing: BlobSealing | None = None,
        max_kept_bytes: int = MAX_KEPT_BYTES,
        max_filed_bytes: int = MAX_FILED_BYTES,
    ) -> None:
        self.node: Final = node
        self.seat: Final = seat
        self.naming: Final = seat.naming
        self.directory: Final = seat.directory
        self.overflowed = 0  # Interests that found no room to wait
        self.stream: Stream | None = None  # once it is settled
        self._layers: Final = layers
        self._log: Final = log
        self._sealing: Final = sealing
        self._logging: Final[dict[int, int]] = {}  # ticket → the number that is being saved; bound: MAX_AHEAD
        self.kept: Final = Kept(max_kept_bytes, max_filed_bytes)
        self._home: Final = node + seat.sync.group
        self._next = 0
        self._drafts: dict[int, Draft] = {}  # not announced; bound: MAX_AHEAD
        self._discarded: list[Effect] = []  # to be told with what comes next; bound: as `kept`
        self._waiting: list[_Waiting] = []  # bound: MAX_WAITING

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return (*self.seat.membership.prefixes, self._home)

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return (*self.seat.membership.routes, self._home)

    @property
    def has_room(self) -> bool:
        """Whether `publish` takes something."""
        return self.stream is not None and len(self._drafts) < MAX_AHEAD - 1  # one is for a content key

    def publish(self, name: Name, content: bytes | memoryview, now: int, file: str = "") -> list[Effect]:
        """Publish a blob under a name of the application's; `Published` tells its number.

        With a `file`, the content is a view of it, and the log keeps its name only; until `Discard` it must not change.

        Raises `Backpressure` while our own numbers are not known, or too many publications wait for the disk, and
        `BadPacket` if there is no room in a packet beside its name, or it is too large.
        """
        if self.stream is None:
            raise Backpressure(f"{self.node} has not joined {self.naming.group} yet, or learns its own number", 100)
        if not self.has_room:
            raise Backpressure(f"{len(self._drafts)} publications of {self.node} wait for the disk", 10)
        draft = Draft(name, content, now // _US, file)
        self._packets(self.stream, MAX_NUMBER, draft)
        return self.publish_key(now) + self._draft(draft, now)

    def publish_key(self, now: int) -> list[Effect]:
        """Publish our content key, if there is a new one: before what is sealed with it."""
        due = None if self._sealing is None or self.stream is None else self._sealing.key_due(now)
        return [] if due is None else self._draft(Draft(due[0], due[1], now // _US), now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        effects = self.seat.start(now)
        return self._absorb(effects + self.seat.act(self.seat.sync.produce(self.node, now), now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        if isinstance(event, Asked) and event.prefix == self._home:
            return self._asked(event, now)
        if isinstance(event, Saved) and self._log is not None and event.file == self._log.file:
            number = self._logging.pop(event.ticket, 0)
            return self._announce(number, now) if number else []
        return self._absorb(self.seat.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        self._waiting = [each for each in self._waiting if each.until > now]
        return self._absorb(self.seat.tick(now), now)

    def deadline(self) -> int | None:
        """When the group, or an Interest that waits, wants to be looked at."""
        return earliest(self.seat.deadline(), min([each.until for each in self._waiting], default=None))

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            **self.seat.sizes(),
            "drafts": (len(self._drafts), MAX_AHEAD),
            "waiting": (len(self._waiting), MAX_WAITING),
        }

    # -- publishing

    def _draft(self, draft: Draft, now: int) -> list[Effect]:
        """Give it a number; it is announced when the log has it."""
        if self.stream is None:
            return []
        number = self._next
        self._next += 1
        self._drafts[number] = draft
        if self._log is None:
            return self._announce(number, now)
        boot = self.stream.boot

        def counting() -> list[Record]:
            kept = [each.record(boot, number) for number, each in self.kept.drafts]
            return kept + [self._drafts[each].record(boot, each) for each in self._logging.values()]

        save = self._log.append(draft.record(boot, number), counting, self.kept.log_bytes)
        self._logging[save.ticket] = number
        return [save]

    def _announce(self, number: int, now: int) -> list[Effect]:
        draft = self._drafts.get(number)
        if self.stream is None or draft is None:
            return []
        sync = self.seat.sync
        effects = sync.announce(self.node, number, now)
        sync.ride(self.stream, draft.entry(number))
        return self._absorb(self.seat.act(effects, now), now)

    def _absorb(self, effects: list[Effect], now: int) -> list[Effect]:
        """Take out what the member tells of our own numbers; the rest passes."""
        passed: list[Effect] = []
        for effect in effects:
            passed.append(effect)
            if isinstance(effect, Ready) and effect.stream.name == self.node:
                passed += self._settled(effect, now)
            elif isinstance(effect, Announced) and effect.stream == self.stream:
                passed += self._announced(effect.stream, effect.high, now)
        return passed

    def _settled(self, ready: Ready, now: int) -> list[Effect]:
        self.stream = ready.stream
        self._restore(ready.stream, ready.number)
        if ready.number <= self._next:
            return []
        self._next = ready.number
        drafts, self._drafts = self._drafts, {}
        self._logging.clear()
        effects: list[Effect] = []
        for draft in drafts.values():
            effects += self._draft(draft, now)
        return effects + (self.publish_key(now) if len(self.kept) else [])  # what is asked for again is sealed again

    def _restore(self, stream: Stream, following: int) -> None:
        """Take what the log has of numbers that were announced; what was not is as if it had not been published."""
        found = [] if self._log is None else self._log.found
        for record in sorted(found, key=lambda each: each.number):
            if record.boot == stream.boot and record.number < following:
                self._keep(stream, record.number, Draft(record.name, record.content, record.time_us, record.file))
        found.clear()

    def _announced(self, stream: Stream, high: int, now: int) -> list[Effect]:
        effects: list[Effect] = []
        blobs = 0
        for number in [number for number in self._drafts if number <= high]:
            draft = self._drafts.pop(number)
            blobs += not is_key(draft.name)
            self._keep(stream, number, draft)
            effects.append(Published(stream, number, draft.name))
        effects += self._discarded
        self._discarded = []
        if blobs and self._sealing is not None and self._sealing.is_lost:
            effects += self.publish_key(now)
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            effects += self._answer(each.interest, each.token, each.until, now)
        return effects

    def _keep(self, stream: Stream, number: int, draft: Draft) -> None:
        self.directory.learn(stream, [draft.entry(number)])
        for old in self.kept.keep(number, draft, self._packets(stream, number, draft)):
            if old.file:
                self._discarded.append(Discard(old.file))
            if self._sealing is not None:
                self._sealing.forgotten(old.name)

    def _packets(self, stream: Stream, number: int, draft: Draft) -> Packets:
        outer = self.naming.publication(stream, number)
        sealing = None if is_key(draft.name) else self._sealing
        signers = self._layers.inner(draft.name), self._layers.outer
        return Packets(outer, draft.name, draft.content, *signers, sealing=sealing)

    # -- serving

    def by_name(self, name: Name) -> bytes | None:
        """The application's Data of this name, or of this segment, of the last publication that was called so."""
        try:
            whole, segment = parted(name)
        except BadPacket:
            return None
        packets = self.kept.called(whole)
        if packets is None or packets.segmented != (segment >= 0) or segment >= packets.count:
            return None
        return packets.inner(max(segment, 0))

    def _asked(self, asked: Asked, now: int) -> list[Effect]:
        if not asked.interest.name.starts_with(self._home):
            inner = self.by_name(asked.interest.name)
            return [] if inner is None else [Reply(inner, asked.token)]
        until = now + asked.interest.lifetime_ms * MS
        return self._answer(asked.interest, asked.token, until, now)

    def _answer(self, interest: Interest, token: bytes, until: int, now: int) -> list[Effect]:
        stream = self.stream
        if stream is None or until <= now:
            return []
        home = self.naming.home(stream)
        wish = self.naming.read(interest.name, home) if interest.name.starts_with(home) else None
        if isinstance(wish, Query):
            oldest = (self.kept.oldest or self._next) if self.naming.version != 2 else 0
            content = self.directory.answer(stream, wish, oldest, self.kept.entry)
            if content is None:
                return []
            signer = self._layers.mapping
            return [Reply(encode_data(interest.name, content, signer, freshness_ms=MAPPING_FRESHNESS_MS), token)]
        if wish is None:
            return []
        packets = self.kept.packets(wish.number)
        if packets is not None:
            packet = _packet(packets, wish, prefix=interest.can_be_prefix)
            return [] if packet is None else [Reply(packet, token)]
        if self._next - len(self._drafts) <= wish.number < self._next + MAX_AHEAD:
            self._wait(_Waiting(interest, token, until))
        return []

    def _wait(self, waiting: _Waiting) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self.overflowed += 1
        else:
            self._waiting.append(waiting)


def _packet(packets: Packets, wish: Publication, *, prefix: bool) -> bytes | None:
    """The packet that is asked for; without a segment, the first, if its name may be longer than what was asked."""
    if wish.segment < 0:
        return packets.outer(0) if prefix or not packets.segmented else None
    return packets.outer(wish.segment) if packets.segmented and wish.segment < packets.count else None
