"""SVS-PS under faults: members on a bus that publish, subscribe and carry, with disks, loss, partitions and crashes.

Drawn from the seed: who publishes how much and how large, what is lost, who crashes and what that does to its disk, and
whether subscribers want things in order. Every item is dealt with within `TAKE_MS`. At the end all subscribers have all
that was `Published`, as it was published. Within an incarnation nothing comes twice, and in order nothing is skipped;
across incarnations only what was in hand comes again, was dealt with no longer before the crash than two syncs of the
disk take, or, as they come, was more than `BITS` behind something that was lacking.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from roost.errors import Backpressure
from roost.forwarding.endpoint import Endpoint
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.pubsub.blobs.blob_log import BlobLog
from roost.pubsub.blobs.carrying import Carrying
from roost.pubsub.blobs.items import Deliver, Item
from roost.pubsub.blobs.line import BITS
from roost.pubsub.blobs.mapped_sync import MappedSvs
from roost.pubsub.blobs.member import BlobMember
from roost.pubsub.blobs.places import Places
from roost.pubsub.blobs.publisher import Layers, Published
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.wanted import Wanted
from roost.pubsub.resident import Resident
from roost.sim import checkers, workload
from roost.sim.draws import draws
from roost.sim.happened import Crash, Crashed, Happened, Violation
from roost.sim.station import Boot, Build
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.choice import SVS3
from roost.sync.ledger import Ledger
from roost.sync.port import Stream
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

SUMMARY = "SVS-PS: members that crash with their disks repeat nothing they dealt with and lose nothing acknowledged"

GROUP: Final = Name.parse("/g")
TAKE_MS: Final = 50
_SYNC_MS: Final = 2.0
_REPEATABLE: Final = round((TAKE_MS + 2 * _SYNC_MS + 1) * MS)
_WITHIN_S: Final = 180  # of healing: sync speaks every 30 s, numbers are tried again after 10 s at most
_LARGE_BYTES: Final = 30_000
_SIGNER: Final = DigestSigner()


def run(seed: int) -> World:
    """Play a seed and check the promises."""
    draw = draws(seed, "plan")
    world = World(seed)
    publishers = [f"p{number}" for number in range(draw.randint(1, 3))]
    subscribers = [f"s{number}" for number in range(draw.randint(1, 3))]
    in_order = draw.random() < 0.7
    carries = draw.random() < 0.5
    for name in publishers:
        world.add(name, _member(name, carries=carries), sync_ms=_SYNC_MS)
    wanted = Wanted(topic=Name(), in_order=in_order)
    for name in subscribers:
        world.add(name, _member(name, wanted, carries=carries), sync_ms=_SYNC_MS)
    world.bus([*publishers, *subscribers], Wire(delay_ms=draw.uniform(0.5, 20), loss=draw.choice([0.0, 0.05, 0.3])))
    promises = Promises(world, subscribers, in_order=in_order)
    end = world.now + draw.randint(10, 40) * SECOND
    blobs = world.draws("blobs")
    for name in publishers:
        mean_ms = draw.choice([100, 1000])
        workload.poisson(world, lambda name=name: promises.publish(name, blobs), mean_ms, until=end, name=name)  # type: ignore[misc]
    if draw.random() < 0.8:
        workload.faults(
            world,
            [*publishers, *subscribers],
            until=end,
            mean_ms=draw.choice([1000, 5000]),
            lasting_ms=(50, 6000),
            crashes=[Crash.KEEP, Crash.LOSE_UNSYNCED],
        )
    checkers.watch_bounds(world, 5000)
    world.every(TAKE_MS * MS, promises.follow)
    world.run(until=end)
    world.heal()
    until = world.now + _WITHIN_S * SECOND
    while lacking := promises.lacking():
        if world.now >= until:
            raise Violation(f"not within {_WITHIN_S} s of healing: {lacking}", world.now)
        world.run(for_=SECOND)
    world.run(for_=5 * SECOND)  # in which nothing comes again
    promises.follow()
    checkers.none_reused(world)
    checkers.bounded(world)
    return world


def _member(name: str, *wishes: Wanted, carries: bool) -> Build:
    def build(boot: Boot) -> Resident[BlobMember]:
        def found(file: str) -> bytes:
            return boot.disk.get(file, b"")

        sync = MappedSvs(GROUP, SVS3, _SIGNER, boot.randomness, Ledger("numbers", found("numbers")))
        part = BlobMember(
            Seat(sync, ACCEPT_ANY),
            Name.parse(f"/{name}"),
            Layers.by(_SIGNER),
            boot.randomness,
            log=BlobLog("publications", found("publications")),
            places=Places(Ledger("places", found("places"))),
            max_untaken=64,
            max_untaken_bytes=1 << 24,
            carrying=Carrying(_SIGNER) if carries else None,
        )
        for wanted in wishes:
            part.subscriber.subscribe(wanted)
        return Resident(part, Endpoint(_SIGNER, boot.randomness))

    return build


@dataclass(slots=True)
class _Flow:
    """What one subscriber had of one stream."""

    incarnation: int = 0
    last: int = 0  # in that one
    kept: int = 1 << 62  # up to which number it is on the disk what was dealt with
    came: dict[int, tuple[int, int]] = field(default_factory=dict)  # number → when it came last, and in which


class Promises:
    """Publishes, deals with items, and holds what happens against what was promised."""

    def __init__(self, world: World, subscribers: list[str], *, in_order: bool) -> None:
        self._world: Final = world
        self._subscribers: Final = subscribers
        self._in_order: Final = in_order
        self._read = 0
        self._blobs: Final[dict[Name, bytes]] = {}
        self._acknowledged: Final[dict[Stream, dict[int, Name]]] = {}
        self._flows: Final[dict[tuple[str, Stream], _Flow]] = {}
        self._crashes: Final[dict[tuple[str, int], int]] = {}  # when which incarnation ended

    def publish(self, name: str, draw: Random) -> None:
        """Have a member publish something that nobody did before."""
        if not self._world.stations[name].up:
            return
        what = Name.parse(f"/x/{name}/{len(self._blobs)}")
        blob = what.value * (_LARGE_BYTES // len(what.value) if draw.random() < 0.1 else 1)
        self._blobs[what] = blob

        def publish(machine: Any, now: int) -> list[Effect]:  # noqa: ANN401  a member
            with suppress(Backpressure):
                effects: list[Effect] = machine.settle(machine.part.publish(what, blob, now), now)
                return effects
            return []

        self._world.tell(name, publish, f"publish {what}")

    def follow(self) -> None:
        """Read on, and deal with what came."""
        history = self._world.history
        while self._read < len(history):
            event = history[self._read]
            self._read += 1
            if isinstance(event.what, Published):
                self._acknowledged.setdefault(event.what.stream, {})[event.what.number] = event.what.name
            elif isinstance(event.what, Crashed):
                self._crashed(event)
            elif isinstance(event.what, Deliver):
                self._delivered(event, event.what.item)
                self._take(event, event.what)

    def lacking(self) -> str:
        """What somebody lacks of what was acknowledged; nothing if all is well."""
        self.follow()
        for name in self._subscribers:
            for stream, numbers in self._acknowledged.items():
                flow = self._flows.get((name, stream), _Flow())
                lacking = numbers.keys() - flow.came.keys()
                if lacking:
                    return f"{name} lacks {len(lacking)} publications of {stream.name}, the first one {min(lacking)}"
        return ""

    def _delivered(self, event: Happened, item: Item) -> None:
        number, who = item.number, event.station
        if self._blobs.get(item.name) != item.blob:
            raise Violation(f"{who} was given {item.name} as nobody published it", event.time)
        name = self._acknowledged.get(item.stream, {}).get(number, item.name)
        if name != item.name:
            raise Violation(f"{who} was given {item.name} as number {number}, which is {name}", event.time)
        flow = self._flows.setdefault((who, item.stream), _Flow())
        anew = flow.incarnation != event.incarnation
        time, incarnation = flow.came.get(number, (event.time, 0))
        if incarnation == event.incarnation:
            raise Violation(f"{who} was given number {number} of {item.producer} twice", event.time)
        if number <= flow.kept and time < self._crashes.get((who, incarnation), 0) - _REPEATABLE:
            raise Violation(f"{who} was given number {number} of {item.producer} again, long dealt with", event.time)
        if self._in_order and number != flow.last + 1 and not (anew and number <= flow.last):
            raise Violation(f"{who} was given number {number} of {item.producer} after {flow.last}", event.time)
        flow.incarnation, flow.last = event.incarnation, number
        flow.came[number] = event.time, event.incarnation

    def _crashed(self, event: Happened) -> None:
        self._crashes[event.station, event.incarnation] = event.time
        for (who, _), flow in self._flows.items():
            if who == event.station and not self._in_order:
                lacking = 1
                while flow.came.get(lacking, (event.time, 0))[0] < event.time - _REPEATABLE:
                    lacking += 1
                flow.kept = lacking + BITS - 1

    def _take(self, event: Happened, deliver: Deliver) -> None:
        station = self._world.stations[event.station]
        if not station.up or station.incarnation != event.incarnation:
            return

        def take(machine: Any, now: int) -> list[Effect]:  # noqa: ANN401  a member
            taken = machine.part.subscriber.taken(deliver.subscription, deliver.item, now)
            effects: list[Effect] = machine.settle(taken, now)
            return effects

        self._world.tell(event.station, take, f"take {deliver.item.name}")
