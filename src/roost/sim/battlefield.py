"""The battlefield of the SVS-PS paper: four platoons out of each other's reach, and a mule that circles among them.

Five squads and an access point, which forwards, are a platoon. Squads publish positions (1 kB, every 4.5 to 5.5 s) and
images (30 to 50 kB, every 10 to 60 s), at times that are drawn as the paper draws them, and want the positions of their
own platoon and of its two neighbours in the ring, and the images of their own. The mule is with one platoon after the
other, wants all positions, and answers with what it holds: it is found by the forwarding hint for carriers.

The mule stays 30 s as in the paper, and says what it knows every 5 s, as `roost mule` does: with the usual 30 s, a stay
can pass in which nobody hears of anything. Squads have patience without end, as what a mule lacks it may bring next
time. Loss is on its links, both ways. With `thin`, everything is published so many times more seldom, and many seeds
can be played.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import MULTI_ACCESS, Arrived, FaceSpec, Send
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.pubsub.blobs.carrying import MULE_PERIODIC_MS, Carrying
from roost.pubsub.blobs.items import Deliver
from roost.pubsub.blobs.mapped_sync import MappedSvs
from roost.pubsub.blobs.member import BlobMember
from roost.pubsub.blobs.publisher import Layers
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.wanted import Wanted
from roost.pubsub.resident import DiskEvent, Resident
from roost.sim.medium import Medium
from roost.sim.station import Boot, Build
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.ledger import Ledger
from roost.sync.svs_settings import SvsSettings
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

GROUP = Name.parse("/ndn/svs")
HOME = Name.parse("/ndn")
DIGEST = DigestSigner()
PLATOONS = 4
SQUADS = 5
STAY_S = 30
PERIOD_S = 5  # of a squad's positions, on average
POSITION_MS = (4500, 5500)
IMAGE_MS = (10_000, 60_000)
PUBLISHING_S = 8 * STAY_S
SLOTS = 8 + 13
POSITION = b"a position, as it stands in packets: " * 4
IMAGE = b"an image, as it stands in packets: " * 4
IMAGE_PIECES = (220, 366)  # of those; 30,800 to 51,240 bytes


class AccessPoint(Node):
    """A forwarder that sends what it does not know to everybody else, and looks at what passes over the mule's link."""

    air = 0  # the face of that link
    air_bytes = 0
    air_positions = 0
    air_images = 0

    def open_face(self, face_id: int, spec: FaceSpec, now: int) -> list[Effect]:
        effects = super().open_face(face_id, spec, now)
        self.forwarder.strategies.set(Name(), STRATEGY_PREFIX / "multicast")
        if spec.link_type == MULTI_ACCESS:
            self.air = face_id
        return self._look(effects + self.add_route(HOME, face_id, 0, now))

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        if isinstance(event, Arrived) and event.face == self.air:
            self._passed(event.packets)
        return self._look(super().receive(event, now))

    def tick(self, now: int) -> list[Effect]:
        return self._look(super().tick(now))

    def _look(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Send) and effect.face == self.air:
                self._passed(effect.packets)
        return effects

    def _passed(self, packets: Sequence[bytes]) -> None:
        for packet in packets:
            self.air_bytes += len(packet)
            self.air_positions += packet.count(POSITION)
            self.air_images += packet.count(IMAGE)


class Counted(Resident[BlobMember]):
    """A member, and what it sends."""

    sent_bytes = 0
    sent_packets = 0

    def settle(self, effects: list[Effect], now: int) -> list[Effect]:
        out = super().settle(effects, now)
        for effect in out:
            if isinstance(effect, Send):
                self.sent_packets += len(effect.packets)
                self.sent_bytes += sum(map(len, effect.packets))
        return out


def unit(platoon: int, squad: int) -> str:
    """What a squad is called; platoons are a ring."""
    return f"/ndn/platoon{platoon % PLATOONS}/unit{squad}"


def access_point(boot: Boot) -> AccessPoint:
    """Build one."""
    return AccessPoint(NodeSettings(), boot.randomness)


def member(node: str, wishes: list[str], *, mule: bool = False, carries: bool = False) -> Build:
    """Build a squad, or the mule."""

    def build(boot: Boot) -> Resident[BlobMember]:
        settings = SvsSettings(periodic_ms=MULE_PERIODIC_MS) if mule else SvsSettings()
        sync = MappedSvs(GROUP, settings, DIGEST, boot.randomness, Ledger("ledger", b""))
        carrying = Carrying(DIGEST) if carries else None
        part = BlobMember(
            Seat(sync, ACCEPT_ANY), Name.parse(node), Layers.by(DIGEST), boot.randomness, carrying=carrying
        )
        for wish in wishes:
            part.subscriber.subscribe(Wanted(topic=Name.parse(wish), patience_ms=0))
        return Counted(part, Endpoint(DIGEST, boot.randomness))

    return build


class Battlefield:
    """The world, what was published in it, and the links of the mule."""

    def __init__(
        self, seed: int, loss: float, thin: int = 1, *, carries: bool = True, wants: tuple[str, ...] = ("/position",)
    ) -> None:
        self.world = World(seed)
        self._thin = thin
        self.positions: list[tuple[int, str]] = []  # platoon, name
        self.images: list[tuple[int, str]] = []
        self.links: list[Medium] = []
        self._draws = self.world.draws("battlefield")
        self._mule_is_at = -1
        self._began = self.world.now
        for platoon in range(PLATOONS):
            self.world.add(f"ap{platoon}", access_point, sync_ms=0)
            near = [f"/position/ndn/platoon{each % PLATOONS}" for each in (platoon - 1, platoon, platoon + 1)]
            for squad in range(SQUADS):
                wishes = [*near, f"/image/ndn/platoon{platoon}"]
                self.world.add(unit(platoon, squad), member(unit(platoon, squad), wishes), sync_ms=0)
                self.world.wire(f"ap{platoon}", unit(platoon, squad), Wire(delay_ms=10, rate_bps=5_000_000))
            air = Wire(delay_ms=10, rate_bps=5_000_000, loss=loss)
            self.links.append(self.world.bus([f"ap{platoon}"], air, name=f"air{platoon}"))
        self.world.add("mule", member("/ndn/mule", list(wants), mule=True, carries=carries), sync_ms=0)
        self._due: list[tuple[int, int, int, str]] = []  # when which squad publishes what next
        for who in range(PLATOONS * SQUADS):
            for kind, (_, highest) in (("position", POSITION_MS), ("image", IMAGE_MS)):
                heappush(self._due, (self._draws.randint(0, highest * thin) * MS, *divmod(who, SQUADS), kind))

    def move(self, slot: int) -> None:
        if self._mule_is_at >= 0:
            self.world.detach(self.links[self._mule_is_at], "mule")
        self._mule_is_at = slot % PLATOONS
        self.world.attach(self.links[self._mule_is_at], "mule")

    def publish(self, platoon: int, squad: int, kind: str, number: int, blob: bytes) -> None:
        node = unit(platoon, squad)
        name = f"/{kind}{node}/{number}"
        (self.positions if kind == "position" else self.images).append((platoon, name))
        self.world.tell(
            node, lambda machine, now: machine.settle(machine.part.publish(Name.parse(name), blob, now), now)
        )

    def play(self, slots: int = SLOTS) -> None:
        for slot in range(slots):
            self.move(slot)
            until = (slot + 1) * STAY_S * SECOND
            while slot * STAY_S < PUBLISHING_S and self._due[0][0] < until:
                time, platoon, squad, kind = heappop(self._due)
                self._run_until(self._began + time)
                self._somebody(platoon, squad, kind)
                lowest, highest = POSITION_MS if kind == "position" else IMAGE_MS
                after = self._draws.randint(lowest, highest) * self._thin * MS
                heappush(self._due, (time + after, platoon, squad, kind))
            self._run_until(self._began + until)

    def _run_until(self, time: int) -> None:
        if time > self.world.now:
            self.world.run(for_=time - self.world.now)

    def _somebody(self, platoon: int, squad: int, kind: str) -> None:
        """A squad publishes a position or an image."""
        if kind == "image":
            blob = IMAGE * self._draws.randint(*IMAGE_PIECES)
            self.publish(platoon, squad, kind, len(self.images), blob)
        else:
            self.publish(platoon, squad, kind, len(self.positions), POSITION * 7)

    def came(self) -> Counter[tuple[str, str]]:
        """Who got what, and how often."""
        return Counter(
            (each.station, str(each.what.item.name)) for each in self.world.history if isinstance(each.what, Deliver)
        )

    def wanted(self) -> set[tuple[str, str]]:
        """Every position, and every squad that wants it."""
        return {
            (unit(platoon + step, squad), name)
            for platoon, name in self.positions
            for step in (-1, 0, 1)
            for squad in range(SQUADS)
            if not name.startswith(f"/position{unit(platoon + step, squad)}/")
        }

    def wanted_images(self) -> set[tuple[str, str]]:
        """Every image, and every other squad of its platoon."""
        return {
            (unit(platoon, squad), name)
            for platoon, name in self.images
            for squad in range(SQUADS)
            if not name.startswith(f"/image{unit(platoon, squad)}/")
        }

    def complete_s(self) -> float:
        """How many seconds after the beginning the last position came to a squad."""
        return max(
            (each.time - self._began) / SECOND
            for each in self.world.history
            if isinstance(each.what, Deliver)
            and each.station != "mule"
            and str(each.what.item.name).startswith("/position")
        )

    def at_squads(self) -> dict[tuple[str, str], int]:
        """The positions that came to squads, and how often."""
        return {each: count for each, count in self.came().items() if each[0] != "mule" and "/position" in each[1]}

    def on_air(self, kind: str) -> int:
        """How often something was seen on the links of the mule."""
        points = [self.world.machine(f"ap{platoon}") for platoon in range(PLATOONS)]
        return sum(point.air_images if kind == "image" else point.air_positions for point in points)
