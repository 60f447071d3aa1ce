"""The publishing side of SVS-PS as a machine: blobs become packets, the group is told, whoever asks is answered [§8].

    publish ──▶ packets, entry ──announce──▶ on the disk ──▶ Published, Sync Interest with the entry
                                                        └──▶ Interests that waited for this number are answered

- Inner packets, outer packets and mapping have a signer each; Sync Interests have the sync member's.
- An Interest for the publication that comes next, or a few behind it, is kept until it is there or the Interest's
  lifetime is over: that is how a subscriber who prefetches is served half a round trip after the publication.
- Publications are kept up to `max_kept_bytes`, the oldest are forgotten first. Numbers outlive a restart (the sync
  member's ledger), the packets do not: they are in memory.
- If the group knows our numbers better than our disk, what is not announced yet gets numbers behind those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import Backpressure
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, Effect, earliest
from roost.naming import Name
from roost.pubsub.blobs.encapsulation import Packets
from roost.pubsub.blobs.mapping import Entry
from roost.pubsub.blobs.names import Publication, Query
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.resident import Event
from roost.sync.port import Announced, Ready, Reply, Stream
from roost.wire import Interest, Signer, encode_data

MAPPING_FRESHNESS_MS: Final = 1000
MAX_AHEAD: Final = 64  # numbers that may be waited for
MAX_WAITING: Final = 1024  # Interests that wait
MAX_KEPT_BYTES: Final = 1 << 28
_US: Final = 1000


@dataclass(frozen=True, slots=True)
class Published(Effect):
    """A publication has its number, which is on the disk; the group is being told."""

    stream: Stream
    number: int
    name: Name


@dataclass(frozen=True, slots=True)
class Layers:
    """Who signs the application's Data, the transport's Data around it, and answers to mapping queries."""

    inner: Signer
    outer: Signer
    mapping: Signer


@dataclass(frozen=True, slots=True)
class _Draft:
    name: Name
    content: bytes | memoryview
    time_us: int


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
        max_kept_bytes: int = MAX_KEPT_BYTES,
    ) -> None:
        self.node: Final = node
        self.seat: Final = seat
        self.naming: Final = seat.naming
        self.directory: Final = seat.directory
        self.forgotten = 0  # publications that are kept no longer
        self.overflowed = 0  # Interests that found no room to wait
        self.stream: Stream | None = None  # once it is settled
        self._layers: Final = layers
        self._max_kept_bytes: Final = max_kept_bytes
        self._home: Final = node + seat.sync.group
        self._next = 0
        self._drafts: dict[int, _Draft] = {}  # not announced; bound: MAX_AHEAD
        self._kept: Final[dict[int, Packets]] = {}  # bound: max_kept_bytes, and the last one whatever it has
        self._kept_bytes = 0
        self._waiting: list[_Waiting] = []  # bound: MAX_WAITING

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return (*self.seat.membership.prefixes, self._home)

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return (*self.seat.membership.routes, self._home)

    def publish(self, name: Name, content: bytes | memoryview, now: int) -> list[Effect]:
        """Publish a blob under a name of the application's; `Published` tells its number.

        Raises `Backpressure` while our own numbers are not known, or too many publications wait for the disk.
        """
        if self.stream is None:
            raise Backpressure(f"{self.node} has not joined {self.naming.group} yet, or learns its own number", 100)
        if len(self._drafts) >= MAX_AHEAD:
            raise Backpressure(f"{len(self._drafts)} publications of {self.node} wait for the disk", 10)
        return self._draft(_Draft(name, content, now // _US), now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        effects = self.seat.start(now)
        return self._absorb(effects + self.seat.act(self.seat.sync.produce(self.node, now), now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        if isinstance(event, Asked) and event.prefix == self._home:
            return self._asked(event, now)
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

    def _draft(self, draft: _Draft, now: int) -> list[Effect]:
        if self.stream is None:
            return []
        number = self._next
        sync = self.seat.sync
        effects = sync.announce(self.node, number, now)
        self._next += 1
        self._drafts[number] = draft
        sync.ride(self.stream, _entry(number, draft))
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
        if ready.number <= self._next:
            return []
        self._next = ready.number
        drafts, self._drafts = self._drafts, {}
        effects: list[Effect] = []
        for draft in drafts.values():
            effects += self._draft(draft, now)
        return effects

    def _announced(self, stream: Stream, high: int, now: int) -> list[Effect]:
        effects: list[Effect] = []
        for number in [number for number in self._drafts if number <= high]:
            draft = self._drafts.pop(number)
            self._keep(stream, number, draft)
            effects.append(Published(stream, number, draft.name))
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            effects += self._answer(each.interest, each.token, each.until, now)
        return effects

    def _keep(self, stream: Stream, number: int, draft: _Draft) -> None:
        outer = self.naming.publication(stream, number)
        packets = Packets(outer, draft.name, draft.content, self._layers.inner, self._layers.outer)
        self.directory.learn(stream, [_entry(number, draft)])
        self._kept[number] = packets
        self._kept_bytes += packets.size_bytes
        while self._kept_bytes > self._max_kept_bytes and len(self._kept) > 1:
            self._kept_bytes -= self._kept.pop(next(iter(self._kept))).size_bytes
            self.forgotten += 1

    # -- serving

    def _asked(self, asked: Asked, now: int) -> list[Effect]:
        until = now + asked.interest.lifetime_ms * MS
        return self._answer(asked.interest, asked.token, until, now)

    def _answer(self, interest: Interest, token: bytes, until: int, now: int) -> list[Effect]:
        stream = self.stream
        if stream is None or until <= now:
            return []
        home = self.naming.home(stream)
        wish = self.naming.read(interest.name, home) if interest.name.starts_with(home) else None
        if isinstance(wish, Query):
            content = self.directory.answer(stream, wish)
            if content is None:
                return []
            signer = self._layers.mapping
            return [Reply(encode_data(interest.name, content, signer, freshness_ms=MAPPING_FRESHNESS_MS), token)]
        if wish is None:
            return []
        packets = self._kept.get(wish.number)
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


def _entry(number: int, draft: _Draft) -> Entry:
    return Entry(number, draft.name, draft.time_us, len(draft.content))


def _packet(packets: Packets, wish: Publication, *, prefix: bool) -> bytes | None:
    """The packet that is asked for; without a segment, the first, if its name may be longer than what was asked."""
    if wish.segment < 0:
        return packets.outer(0) if prefix or not packets.segmented else None
    return packets.outer(wish.segment) if packets.segmented and wish.segment < packets.count else None
