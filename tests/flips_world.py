"""FLIPS members behind real hICN forwarder machines, in virtual time: loss and delay on links, other clocks, crashes.

A member is on its forwarder's machine, so that its face is local and never loses anything; links between forwarders do.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random

from roost.hicn import Data, Interest, Prefix, decode, encode
from roost.hicn.control import DONE, REFUSED, Control, Verb
from roost.hicn.face import Arrived, HicnFaceSpec, Send
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.hicn.strategy import StrategyKind
from roost.machine import MS, SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.hicn_binding import FLIPS_PREFIX, HicnFlips
from roost.pubsub.flips.hicn_effects import AddRoute, RemoveRoute, SendPacket
from roost.pubsub.flips.port import Deliver, SubscriptionEnded
from roost.pubsub.flips.settings import FlipsSettings, Following

START = 1_700_000_000 * SECOND
DELAY = 2 * MS
TURNS_S = 10


class Place:
    """A forwarder, who is behind each of its faces, and which of them lead to other places."""

    def __init__(self, seed: int, strategy: StrategyKind) -> None:
        self.beyond: dict[int, Callable[[list[bytes]], None]] = {}
        self._seed = seed
        self._strategy = strategy
        self._local: dict[int, bool] = {}
        self._onward: list[int] = []
        self.begin()

    def begin(self) -> None:
        """A forwarder that has just been started, with the routes of its configuration."""
        self.forwarder = HicnForwarder(HicnSettings(strategy=self._strategy), Random(self._seed))
        for face, local in self._local.items():
            assert self.forwarder.open_face(face, HicnFaceSpec(f"face {face}", local=local))
        for face in self._onward:
            self.forwarder.add_route(FLIPS_PREFIX, face)

    def open(self, beyond: Callable[[list[bytes]], None], *, local: bool) -> int:
        face = len(self.beyond) + 1
        self.beyond[face] = beyond
        self._local[face] = local
        assert self.forwarder.open_face(face, HicnFaceSpec(f"face {face}", local=local))
        return face

    def route_onward(self, face: int) -> None:
        """Have topics asked for over a face."""
        self._onward.append(face)
        self.forwarder.add_route(FLIPS_PREFIX, face)


class Member:
    """A machine of FLIPS, its disk and its clock."""

    def __init__(self, machine: HicnFlips, place: Place, skew: int) -> None:
        self.machine: HicnFlips | None = machine
        self.place = place
        self.skew = skew
        self.face = 0
        self.routes: dict[Prefix, None] = {}  # that shall stand
        self.disk = b""
        self.told: list[Effect] = []
        self.times: list[int] = []  # when each of them was

    def has_ended(self) -> bool:
        return any(isinstance(each, SubscriptionEnded) for each in self.told)

    def contents(self) -> list[bytes]:
        return [each.content for each in self.told if isinstance(each, Deliver)]


class FlipsWorld:
    """Places, links and members, and a queue of what happens when."""

    def __init__(self, seed: int = 0, loss: float = 0.0, settings: FlipsSettings | None = None) -> None:
        self.now = START
        self.loss = loss
        self.delay = DELAY  # of a link, one way
        self.settings = settings or FlipsSettings()
        self.crossings: list[Interest | Data] = []  # packets that were put on links
        self.crossed: list[int] = []  # when each of them was
        self.lost = 0
        self.members: list[Member] = []
        self.places: list[Place] = []
        self._cut: set[int] = set()
        self._draw = Random(seed)
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    # -- building

    def place(self, strategy: StrategyKind = StrategyKind.RANDOM) -> Place:
        self.places.append(Place(len(self.places), strategy))
        return self.places[-1]

    def link(self, low: Place, high: Place, *, both: bool = False) -> None:
        """Let `low` ask `high` for all topics, or each the other."""
        faces: list[int] = []
        faces.append(low.open(lambda wires: self._cross(low, high, faces[1], wires), local=False))
        faces.append(high.open(lambda wires: self._cross(high, low, faces[0], wires), local=False))
        low.route_onward(faces[0])
        if both:
            high.route_onward(faces[1])

    def member(self, place: Place, skew: int = 0, settings: FlipsSettings | None = None) -> Member:
        flips = Flips(settings or self.settings, Random(self._draw.random()))
        member = Member(HicnFlips(flips), place, skew)
        self.members.append(member)
        self._attach(member)
        return member

    def crash(self, member: Member) -> None:
        """End a member without goodbye: the forwarder goes on sending Interests there."""
        member.machine = None

    def restart(self, member: Member) -> None:
        """Begin again with what is on the disk, on the same port."""
        flips = Flips(self.settings, Random(self._draw.random()), member.disk)
        member.machine = HicnFlips(flips)

    def cut(self, place: Place) -> None:
        """Lose all that a place puts on its links, from now on."""
        self._cut.add(id(place))

    def mend(self, place: Place) -> None:
        """Lose it no longer."""
        self._cut.discard(id(place))

    def restart_forwarder(self, place: Place) -> None:
        """Begin with empty tables; routes of members come back within the turns of `roost.host.topics.orders`."""
        place.begin()
        self._later(TURNS_S * SECOND, lambda: self._order_anew(place))

    def _order_anew(self, place: Place) -> None:
        for member in self.members:
            if member.place is place and member.machine is not None:
                for prefix in member.routes:
                    self._command(member, Verb.ADD_ROUTE, prefix)

    # -- commands

    def register(self, member: Member, topic: str, interval_ms: int) -> None:
        assert member.machine is not None
        self._act(member, member.machine.flips.register(topic, interval_ms, self.now + member.skew))

    def publish(self, member: Member, topic: str, content: bytes) -> None:
        assert member.machine is not None
        self._act(member, member.machine.flips.publish(topic, content, self.now + member.skew))

    def subscribe(self, member: Member, topic: str, following: Following | None = None) -> None:
        assert member.machine is not None
        self._act(member, member.machine.flips.subscribe(topic, self.now + member.skew, following))

    # -- time

    def run(self, seconds: float) -> None:
        end = self.now + int(seconds * SECOND)
        while (due := self._next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            while self._queue and self._queue[0][0] <= self.now:
                heapq.heappop(self._queue)[2]()
            for place in self.places:
                deadline = place.forwarder.deadline()
                if deadline is not None and deadline <= self.now:
                    self._forwarded(place, place.forwarder.tick(self.now))
            for member in self.members:
                deadline = member.machine.deadline() if member.machine else None
                if member.machine and deadline is not None and deadline - member.skew <= self.now:
                    self._execute(member, member.machine.tick(self.now + member.skew))
        self.now = end

    def _next_due(self) -> int | None:
        due = [self._queue[0][0]] if self._queue else []
        due += [each for place in self.places if (each := place.forwarder.deadline()) is not None]
        for member in self.members:
            deadline = member.machine.deadline() if member.machine else None
            if deadline is not None:
                due.append(deadline - member.skew)
        return min(due, default=None)

    def _later(self, delay: int, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now + delay, self._count, what))

    # -- packets

    def _attach(self, member: Member) -> None:
        member.face = member.place.open(lambda wires: self._heard(member, wires), local=True)

    def _act(self, member: Member, effects: list[Effect]) -> None:
        assert member.machine is not None
        self._execute(member, member.machine.act(effects, self.now + member.skew))

    def _execute(self, member: Member, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendPacket):
                self._arrive(member.place, member.face, [encode(effect.packet)])
            elif isinstance(effect, AddRoute):
                member.routes[effect.prefix] = None
                self._command(member, Verb.ADD_ROUTE, effect.prefix)
            elif isinstance(effect, RemoveRoute):
                member.routes.pop(effect.prefix, None)
                self._command(member, Verb.REMOVE_ROUTE, effect.prefix)
            elif isinstance(effect, Save):
                self._later(MS, lambda effect=effect: self._saved(member, member.machine, effect))  # type: ignore[misc]
            else:
                member.told.append(effect)
                member.times.append(self.now)

    def _saved(self, member: Member, machine: HicnFlips | None, effect: Save) -> None:
        if machine is None or member.machine is not machine:  # it crashed before
            return
        member.disk = effect.data if effect.replace else member.disk + effect.data
        self._execute(member, machine.receive(Saved(effect.file, effect.ticket), self.now + member.skew))

    def _command(self, member: Member, verb: Verb, prefix: Prefix) -> None:
        self._arrive(member.place, member.face, [Control(verb, 1, prefix).encode()])

    def _heard(self, member: Member, wires: list[bytes]) -> None:
        for wire in wires:
            if wire[0] not in {DONE, REFUSED} and member.machine is not None:
                self._execute(member, member.machine.receive(decode(wire), self.now + member.skew))

    def _cross(self, origin: Place, place: Place, face: int, wires: list[bytes]) -> None:
        for wire in wires:
            self.crossings.append(decode(wire))
            self.crossed.append(self.now)
            if self._draw.random() < self.loss or id(origin) in self._cut:
                self.lost += 1
            else:
                self._later(self.delay, lambda wire=wire: self._arrive(place, face, [wire]))  # type: ignore[misc]

    def _arrive(self, place: Place, face: int, wires: list[bytes]) -> None:
        self._forwarded(place, place.forwarder.receive(Arrived(face, wires), self.now))

    def _forwarded(self, place: Place, effects: list[Effect]) -> None:
        for effect in effects:
            assert isinstance(effect, Send), effect
            self._later(0, lambda effect=effect: place.beyond[effect.face](effect.packets))  # type: ignore[misc]
