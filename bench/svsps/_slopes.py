"""Latency in the simulator over round trip times of 10 to 400 ms, and the slope of the line through it."""

from __future__ import annotations

from roost.forwarding.endpoint import Endpoint
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.pubsub.blobs.items import Deliver
from roost.pubsub.blobs.mapped_sync import MAX_RIDING_BYTES, MappedSvs
from roost.pubsub.blobs.member import BlobMember
from roost.pubsub.blobs.publisher import Layers
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.wanted import Wanted
from roost.pubsub.resident import Resident
from roost.sim.station import Boot, Build
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.ledger import Ledger
from roost.sync.svs_settings import SvsSettings
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

GROUP = Name.parse("/campus/ops")
DIGEST = DigestSigner()
DELAYS_MS = (5, 10, 25, 50, 100, 200)
WANTED = {
    "published": Wanted(topic=Name.parse("/position")),
    "queried": Wanted(topic=Name.parse("/position")),
    "prefetched": Wanted(producer=Name.parse("/radar"), prefetch=2),
}


def slope(way: str) -> float:
    """Least squares of latency over round trip time."""
    points = [(2.0 * delay_ms, latency_ms(way, delay_ms)) for delay_ms in DELAYS_MS]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def latency_ms(way: str, delay_ms: int) -> float:
    """From a publication to its delivery; queried: no mapping rides on Sync Interests."""
    world = World(1)
    riding = 0 if way == "queried" else MAX_RIDING_BYTES
    world.add("p", member("/radar", riding), sync_ms=0)
    world.add("s", member("/desk", riding, WANTED[way]), sync_ms=0)
    world.wire("p", "s", Wire(delay_ms=delay_ms))
    world.run(for_=2 * SECOND)
    publish(world, "/position/first")
    world.run(for_=20 * SECOND)
    began = world.now
    publish(world, "/position/second")
    world.run(for_=5 * SECOND)
    delivered = [each.time for each in world.history if isinstance(each.what, Deliver)]
    return (delivered[-1] - began) / MS


def publish(world: World, name: str) -> None:
    world.tell("p", lambda machine, now: machine.settle(machine.part.publish(Name.parse(name), b"x", now), now))


def member(node: str, riding: int, *wishes: Wanted) -> Build:
    def build(boot: Boot) -> Resident[BlobMember]:
        ledger = Ledger("ledger", b"")
        sync = MappedSvs(GROUP, SvsSettings(), DIGEST, boot.randomness, ledger, max_riding_bytes=riding)
        part = BlobMember(Seat(sync, ACCEPT_ANY), Name.parse(node), Layers.by(DIGEST), boot.randomness)
        for wanted in wishes:
            part.subscriber.subscribe(wanted)
        return Resident(part, Endpoint(DIGEST, boot.randomness))

    return build
