"""Members of a sync group as stations: right on a bus, or each behind a forwarder of its own on wires.

world.add("s1", on_bus(GROUP, SVS3))           the member has one face, and hears all that is sent there
world.add("s1", behind_node(GROUP, SVS3))      a whole node: its forwarder sends the group's Interests everywhere
world.add("c1", following(GROUP, NameList))    a consumer of partial sync, behind a node too

Signatures are digests and everything is believed: what is tested is the protocol, not the trust.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import Arrived, FaceSpec
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import Effect
from roost.machine.disk import Saved
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.pubsub.membership import Membership, Whom
from roost.pubsub.participant import Participant
from roost.sim.station import Boot, Build
from roost.sync.choice import Protocol, make_member
from roost.sync.ledger import Ledger
from roost.sync.port import Member, Stream
from roost.sync.presets import CPP_PARTIAL, PartialPreset
from roost.sync.psync_consumer import PSyncConsumer
from roost.sync.subscriptions import Subscriptions
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

FILE: Final = "ledger"
_SIGNER: Final = DigestSigner()


class Producer(Participant[Member]):
    """A member that goes on from what is on its disk, and produces its streams as soon as it has joined."""

    def __init__(self, boot: Boot, group: Name, protocol: Protocol, streams: Sequence[Name]) -> None:
        ledger = Ledger(FILE, boot.disk.get(FILE, b""))
        member = make_member(group, protocol, _SIGNER, boot.randomness, ledger)
        super().__init__(Membership(member, ACCEPT_ANY), Endpoint(_SIGNER, boot.randomness))
        self._streams: Final = streams

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        effects = super().open_face(face, spec, now)
        for stream in self._streams:
            effects += self.act(self.member.produce(stream, now), now)
        return effects


def on_bus(group: Name, protocol: Protocol, streams: Sequence[Name] = ()) -> Build:
    """Build members that have one face, on a bus."""
    return lambda boot: Producer(boot, group, protocol, streams)


def behind_node(group: Name, protocol: Protocol, streams: Sequence[Name] = ()) -> Build:
    """Build members behind a node, whose forwarder sends the group's Interests to all its wires."""
    return lambda boot: NodeMember(boot, Producer(boot, group, protocol, streams))


def following(group: Name, subscriptions: Callable[[], Subscriptions], preset: PartialPreset = CPP_PARTIAL) -> Build:
    """Build consumers of partial sync behind a node; each incarnation makes its own list of subscriptions."""

    def build(boot: Boot) -> NodeMember[PSyncConsumer]:
        found = boot.disk.get(FILE, b"")
        consumer = PSyncConsumer(group, preset, subscriptions(), boot.randomness, found, FILE)
        return NodeMember(boot, Participant(Membership(consumer, ACCEPT_ANY), Endpoint(_SIGNER, boot.randomness)))

    return build


class NodeMember(Generic[Whom]):
    """A node with a member, or a consumer, inside."""

    def __init__(self, boot: Boot, inside: Participant[Whom]) -> None:
        self.inside: Final = inside
        self.node: Final = Node(NodeSettings(), boot.randomness)
        self._hops: Final[list[tuple[int, int]]] = []  # bound: the faces

    @property
    def member(self) -> Whom:
        """The member, for commands; what they return goes through `act`."""
        return self.inside.member

    def act(self, effects: list[Effect], now: int) -> list[Effect]:
        """Carry out what a command to the member returned."""
        return self.node.act(self.inside, self.inside.act(effects, now), now)

    def latest(self) -> Mapping[Stream, int]:
        return self.inside.latest()

    def sizes(self) -> dict[str, tuple[int, int]]:
        return self.inside.sizes()

    def start(self, now: int) -> list[Effect]:
        effects = self.node.start(now)
        self.node.forwarder.strategies.set(self.member.group, STRATEGY_PREFIX / "multicast")
        effects += self.node.attach(self.inside, now)
        return effects + self._route(next(iter(self.node.applications)), now)

    def free_face_id(self) -> int:
        return self.node.free_face_id()

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        return self.node.open_face(face, spec, now) + self._route(face, now)

    def close_face(self, face: int, now: int) -> list[Effect]:
        self._hops.remove((face, 0))
        return self.node.close_face(face, now)

    def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
        return self.node.receive(event, now)

    def tick(self, now: int) -> list[Effect]:
        return self.node.tick(now)

    def deadline(self) -> int | None:
        return self.node.deadline()

    def _route(self, face: int, now: int) -> list[Effect]:
        self._hops.append((face, 0))
        self.node.forwarder.fib.set(self.member.group, self._hops, now)
        return self.node.forwarder.flush(now)
