"""A member of an SVS-PS group who publishes and subscribes: both sides over one sync member, as one machine [§8].

                 ┌──▶ Publisher   our numbers, Interests for what we published     ──▶ Published
    Seat (sync) ─┤
                 └──▶ Subscriber  others' numbers, what is wanted of them          ──▶ Deliver

A member that carries (`carrying`) also answers for nodes that are out of reach, with what it got from them.

What a member publishes is not delivered to its own subscriptions, as NDNts has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from roost.forwarding.endpoint_effects import Asked
from roost.machine import Effect, Randomness, earliest
from roost.machine.disk import Saved
from roost.naming import Name
from roost.pubsub.blobs.blob_log import BlobLog
from roost.pubsub.blobs.cargo import Cargo, incomplete
from roost.pubsub.blobs.carrying import Carrying
from roost.pubsub.blobs.encapsulation import application_name, final_segment, segment_of, unwrap
from roost.pubsub.blobs.items import Item
from roost.pubsub.blobs.places import Places
from roost.pubsub.blobs.publisher import MAX_KEPT_BYTES, Layers, Publisher
from roost.pubsub.blobs.sealing import BlobSealing
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.subscriber import Subscriber
from roost.pubsub.blobs.wanted import Wanted
from roost.pubsub.resident import Event
from roost.sync.port import Reply, Stream
from roost.wire import Data
from roost.wire.data import decode_data


class BlobMember:
    """One node in one group; put it on a face as any `Part`."""

    def __init__(
        self,
        seat: Seat,
        node: Name,
        layers: Layers,
        randomness: Randomness,
        *,
        log: BlobLog | None = None,
        sealing: BlobSealing | None = None,
        places: Places | None = None,
        max_untaken: int = 0,
        max_untaken_bytes: int = 0,
        carrying: Carrying | None = None,
        max_kept_bytes: int = MAX_KEPT_BYTES,
    ) -> None:
        self.seat: Final = seat
        self.publisher: Final = Publisher(seat, node, layers, log=log, sealing=sealing, max_kept_bytes=max_kept_bytes)
        self._carrying: Final = carrying
        self._wants_keys = False
        self.subscriber: Final = Subscriber(
            seat,
            randomness,
            places=places,
            max_untaken=max_untaken,
            max_untaken_bytes=max_untaken_bytes,
            carrying=carrying,
        )
        if seat.opening is not None:
            self.want_keys()

    def want_keys(self) -> None:
        """Get the content keys of all, to read what is sealed or to carry them with it. Call `resume` then."""
        if not self._wants_keys:
            self._wants_keys = True
            self.subscriber.subscribe(Wanted(topic=Name(), in_order=False, keys=True))

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return self.publisher.prefixes + self._carried

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return self.publisher.routes + self._carried

    @property
    def _carried(self) -> tuple[Name, ...]:
        return () if self._carrying is None else (self.seat.held, *self._carrying.prefixes)

    def publish(self, name: Name, content: bytes | memoryview, now: int, file: str = "") -> list[Effect]:
        """Publish a blob; as `Publisher.publish`."""
        return self.subscriber.absorb(self.publisher.publish(name, content, now, file), now)

    @property
    def carried(self) -> int:
        """How many packets of others are here."""
        return 0 if self._carrying is None else len(self._carrying)

    @property
    def ever_carried(self) -> int:
        """How many were ever here; that never becomes less."""
        return 0 if self._carrying is None else len(self._carrying) + self._carrying.forgotten

    @property
    def answered(self) -> int:
        """How many Interests were answered for others."""
        return 0 if self._carrying is None else self._carrying.answered

    def by_name(self, name: Name) -> bytes | None:
        """The application's Data of this name, if it is here."""
        ours = self.publisher.by_name(name)
        return self._carrying.by_name(name) if ours is None and self._carrying is not None else ours

    def newest(self, producer: Name) -> Stream | None:
        """The newest stream of a producer that we heard of, or ours."""
        ours = self.publisher.stream
        heard = [stream for stream in self.subscriber.highs if stream.name == producer]
        return ours if ours is not None and ours.name == producer else max(heard, default=None)

    def load(self, cargo: Cargo, now: int) -> list[Effect]:
        """Carry what another mule brought, and tell the group of it; all of it was verified, in both layers."""
        if self._carrying is None:
            return []
        for stream, entries in cargo.entries.items():
            self._carrying.know(self.seat.naming, stream)
            self.seat.directory.learn(stream, entries.values())
        for key, wire in cargo.packets.items():
            self._carrying.keep(*key, wire, application_name(unwrap(decode_data(wire))) if key[2] <= 0 else None)
        return self.subscriber.absorb(self.seat.act(self.seat.sync.merge(cargo.highs, now), now), now)

    def held(self, item: Item, segment: int) -> bytes | None:
        """A packet that we carry of an item that comes in pieces."""
        return None if self._carrying is None else self._carrying.packets.get((item.stream, item.number, segment))

    def keep(self, item: Item, outer: Data) -> None:
        """Carry a packet of such an item, too: it was believed in both layers."""
        if self._carrying is not None:
            at, last = segment_of(outer), final_segment(outer)
            self._carrying.keep(item.stream, item.number, at, outer.wire, item.name, last)

    def lacking(self, highs: Mapping[Stream, int] | None = None) -> int:
        """How many publications, up to these numbers, are not here, and of how many others there is only a part."""
        ends = self.subscriber.highs if highs is None else highs
        held: Mapping[tuple[Stream, int, int], bytes] = {} if self._carrying is None else self._carrying.packets
        partly = [key for key in incomplete(held) if key[1] > ends.get(key[0], 0) or not self.subscriber.lacks(*key)]
        return self.subscriber.lacking(ends) + len(partly)

    def ours(self, max_bytes: int) -> Iterator[tuple[tuple[Stream, int, int], bytes]]:
        """The packets of what we published ourselves, each made as it is asked for; what is larger is left out."""
        stream = self.publisher.stream
        if stream is None:
            return
        left = max_bytes
        for number, packets in self.publisher.kept.all_packets():
            if packets.size_bytes > left:
                continue
            left -= packets.size_bytes
            for segment in range(packets.count):
                yield (stream, number, segment if packets.segmented else -1), packets.outer(segment)

    def cargo(self) -> Cargo:
        """What we carry of others, and what we know of the group."""
        cargo = Cargo(self.seat.sync.group, self.seat.sync.settings.version)
        for stream, high in self.seat.sync.latest().items():
            cargo.tell(stream, high, self.seat.directory.of(stream))
        ours = [draft.entry(number) for number, draft in self.publisher.kept.drafts]
        if self.publisher.stream is not None and ours:
            cargo.tell(self.publisher.stream, ours[-1].number, ours)
        for key, wire in self._carrying.packets.items() if self._carrying is not None else ():
            cargo.load(*key, wire)
        return cargo

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        return self.subscriber.absorb(self.publisher.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        if isinstance(event, Asked) and event.prefix in self._carried and self._carrying is not None:
            ours = self.publisher.by_name(event.interest.name)
            if ours is not None:
                return [Reply(ours, event.token)]
            return self._carrying.answer(event, self.seat.naming, self.seat.directory)
        saves = self.subscriber.places.saved(event) if isinstance(event, Saved) else []
        return saves + self.subscriber.absorb(self.publisher.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.subscriber.absorb(self.publisher.tick(now), now) + self.subscriber.tick_fetches(now)

    def deadline(self) -> int | None:
        """When one of the two wants to be looked at."""
        return earliest(self.publisher.deadline(), self.subscriber.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {**self.publisher.sizes(), **self.subscriber.sizes()}
