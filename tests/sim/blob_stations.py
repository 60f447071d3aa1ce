"""Members of SVS-PS groups as stations of the simulator, for the tests beside."""

from __future__ import annotations

from roost.forwarding.endpoint import Endpoint
from roost.naming import Name
from roost.pubsub.blobs.carrying import MAX_BYTES, Carrying
from roost.pubsub.blobs.items import Deliver, Item
from roost.pubsub.blobs.mapped_sync import MappedSvs
from roost.pubsub.blobs.member import BlobMember
from roost.pubsub.blobs.places import Places
from roost.pubsub.blobs.publisher import MAX_KEPT_BYTES, Layers
from roost.pubsub.blobs.seat import SAME, Checkers, Seat
from roost.pubsub.blobs.wanted import Wanted
from roost.pubsub.resident import Resident
from roost.sim.station import Boot, Build
from roost.sim.world import World
from roost.sync.ledger import Ledger
from roost.sync.svs_settings import SvsSettings
from roost.trust.acceptance import ACCEPT_ANY, Checker
from roost.wire import DigestSigner

GROUP = Name.parse("/campus/ops")
DIGEST = DigestSigner()


def member(
    node: str,
    *wishes: Wanted,
    carries: bool = False,
    max_untaken: int = 0,
    max_untaken_bytes: int = 0,
    max_kept_bytes: int = MAX_KEPT_BYTES,
    durable: bool = False,
    verifier: Checker = ACCEPT_ANY,
    checkers: Checkers = SAME,
    riding: int = 6000,
    version: int = 3,
    max_carried_bytes: int = MAX_BYTES,
) -> Build:
    """A member with its subscriptions."""

    def build(boot: Boot) -> Resident[BlobMember]:
        ledger = Ledger("ledger", boot.disk.get("ledger", b""))
        seat = Seat(
            MappedSvs(GROUP, SvsSettings(version=version), DIGEST, boot.randomness, ledger, max_riding_bytes=riding),
            verifier,
            None,
            checkers,
        )
        part = BlobMember(
            seat,
            Name.parse(node),
            Layers.by(DIGEST),
            boot.randomness,
            carrying=Carrying(DIGEST, max_bytes=max_carried_bytes) if carries else None,
            places=Places(Ledger("places", boot.disk.get("places", b""))) if durable else None,
            max_untaken=max_untaken,
            max_untaken_bytes=max_untaken_bytes,
            max_kept_bytes=max_kept_bytes,
        )
        for wanted in wishes:
            part.subscriber.subscribe(wanted)
        return Resident(part, Endpoint(DIGEST, boot.randomness))

    return build


def publish(world: World, station: str, name: str, blob: bytes) -> None:
    """Publish as a station."""
    world.tell(station, lambda machine, now: machine.settle(machine.part.publish(Name.parse(name), blob, now), now))


def take(world: World, station: str, item: Item, subscription: int = 1) -> None:
    """Have dealt with an item."""
    world.tell(
        station, lambda machine, now: machine.settle(machine.part.subscriber.taken(subscription, item, now), now)
    )


def delivered(world: World, station: str, subscription: int = 1) -> list[Item]:
    """What a subscription of a station got, in the order it came."""
    return [
        each.what.item
        for each in world.history
        if isinstance(each.what, Deliver) and each.station == station and each.what.subscription == subscription
    ]
