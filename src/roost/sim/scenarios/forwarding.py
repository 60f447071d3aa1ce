"""Random networks of forwarders: routes that loop on purpose, links that lose, consumers that ask again.

Promises: nothing is rejected; on every face no more Data goes out than Interests came in (flow balance); no Interest
leaves a forwarder by the same face twice under one nonce (no loop lives); and when all has expired no pending Interest,
timer or dead nonce is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.settings import ForwarderSettings
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import MS, SECOND, Effect, Randomness, Rejected
from roost.naming import Name
from roost.sim.happened import Violation
from roost.sim.medium import Medium
from roost.sim.topology import names
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.wire import DigestSigner, Interest, decode_lp, encode_data, encode_interest
from roost.wire.tlv import DATA, INTEREST, LP_PACKET

SUMMARY = "random networks of forwarders with loops and loss: flow balance, no living loop, nothing left over"

PREFIX: Final = Name.parse("/p")
_SIGNER: Final = DigestSigner()
_LOOPBACK: Final = Wire(delay_ms=0.001, local=True)
_CALM_NS: Final = 60 * SECOND  # longer than any Interest or nonce lives


class Audited:
    """A forwarder and the books of what crosses its faces."""

    def __init__(self, settings: ForwarderSettings, randomness: Randomness) -> None:
        self.forwarder: Final = Forwarder(settings, randomness)
        self.interests_in: Final[Counter[int]] = Counter()
        self._data_out: Final[Counter[int]] = Counter()
        self._gone: Final[set[tuple[int, bytes, bytes]]] = set()  # face, name, nonce; bound: what one run sends

    def start(self, now: int) -> list[Effect]:
        return self.forwarder.start(now)

    def free_face_id(self) -> int:
        return self.forwarder.free_face_id()

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        return self._booked(self.forwarder.open_face(face, spec, now), now)

    def route(self, face: int, cost: int, now: int) -> list[Effect]:
        """Add a next hop for everything."""
        fib = self.forwarder.fib
        fib.set(PREFIX, [*fib.get(PREFIX), (face, cost)], now)
        return self._booked(self.forwarder.flush(now), now)

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        for packet in event.packets:
            self.interests_in[event.face] += _inner(packet)[:1] == bytes([INTEREST])
        return self._booked(self.forwarder.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        return self._booked(self.forwarder.tick(now), now)

    def deadline(self) -> int | None:
        return self.forwarder.deadline()

    def _booked(self, effects: list[Effect], now: int) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Send):
                for packet in effect.packets:
                    self._sent(effect.face, _inner(packet), now)
        return effects

    def _sent(self, face: int, packet: bytes, now: int) -> None:
        if packet[:1] == bytes([DATA]):
            self._data_out[face] += 1
            if self._data_out[face] > self.interests_in[face]:
                raise Violation(f"more Data out than Interests in on face {face}: flow balance", now)
        elif packet:
            interest = Interest.decode(packet)
            copy = (face, interest.value, interest.nonce)
            if copy in self._gone:
                again = f"{interest.name} with nonce {interest.nonce.hex()} left by face {face} again"
                raise Violation(f"Interest {again}: a loop lives", now)
            self._gone.add(copy)


class App:
    """An application on a face of one forwarder: asks, or answers everything."""

    def __init__(self, freshness_ms: int = -1) -> None:
        self.freshness_ms: Final = freshness_ms  # of its answers; -1: it does not answer
        self.asked = 0
        self._face = 0

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002  the contract's
        return []

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:  # noqa: ARG002
        self._face = face
        return []

    def ask(self, interest: bytes, now: int) -> list[Effect]:  # noqa: ARG002
        """Send an Interest."""
        return [Send(self._face, [interest])]

    def receive(self, event: Arrived, now: int) -> list[Effect]:  # noqa: ARG002
        asked = [inner for packet in event.packets if (inner := _inner(packet))[:1] == bytes([INTEREST])]
        self.asked += len(asked)
        if self.freshness_ms < 0 or not asked:
            return []
        names = [Interest.decode(packet).name for packet in asked]
        return [
            Send(self._face, [encode_data(name, b"x" * 40, _SIGNER, freshness_ms=self.freshness_ms) for name in names])
        ]

    def tick(self, now: int) -> list[Effect]:  # noqa: ARG002
        return []

    def deadline(self) -> int | None:
        return None


def run(seed: int) -> World:
    """Play the network of a seed."""
    return play(seed, ForwarderSettings())


def play(seed: int, settings: ForwarderSettings) -> World:
    """Make one network, let it work, let it calm down, and check what is left."""
    world = World(seed)
    draw = world.draws("network")
    nodes = names(draw.randint(2, 7), "node")
    for node in nodes:
        world.add(node, lambda boot: Audited(settings, boot.randomness))
    edges = [(nodes[number], nodes[draw.randrange(number)]) for number in range(1, len(nodes))]
    edges += [(draw.choice(nodes), draw.choice(nodes)) for _ in range(draw.randint(0, len(nodes)))]
    mtu = draw.choice([0, 0, 150, 1400])
    wires = [
        world.wire(a, b, Wire(delay_ms=draw.choice([1, 5, 20, 60]), loss=draw.choice([0.0, 0.0, 0.2]), mtu=mtu))
        for a, b in edges
        if a != b
    ]
    strategy = draw.choice(["best-route", "multicast", "multicast", "fail-over"])
    for node in nodes:
        world.machine(node).forwarder.strategies.set(PREFIX, STRATEGY_PREFIX / strategy)
    for wire in wires:  # every node routes everywhere: loops guaranteed where there is a cycle
        for node in wire.stations:
            _route(world, wire, node, draw.randint(0, 3))
    freshness_ms = draw.choice([0, 100, 10_000])
    world.add("producer", lambda _: App(freshness_ms))
    where = draw.choice(nodes)
    _route(world, world.wire(where, "producer", _LOOPBACK), where, 0)
    consumers = names(draw.randint(1, 3), "consumer")
    for consumer in consumers:
        world.add(consumer, lambda _: App())
        world.wire(draw.choice(nodes), consumer, _LOOPBACK)
    for nonce in range(draw.randint(5, 40)):
        interest = encode_interest(
            Name.parse(f"/p/{draw.randrange(12)}"),
            nonce=nonce.to_bytes(4, "big"),
            lifetime_ms=draw.choice([40, 100, 400, 4000]),
            must_be_fresh=draw.random() < 0.3,
            can_be_prefix=draw.random() < 0.3,
            hop_limit=draw.choice([-1, -1, 2, 255]),
        )
        _ask(world, draw.choice(consumers), interest)
        world.run(for_=draw.choice([0, 1, 20, 300]) * MS)
    world.run(for_=_CALM_NS)
    _check(world, nodes)
    return world


def _route(world: World, wire: Medium, node: str, cost: int) -> None:
    world.tell(node, lambda machine, now: machine.route(wire.face(node), cost, now), f"route {PREFIX} to {wire.name}")


def _ask(world: World, consumer: str, interest: bytes) -> None:
    world.tell(consumer, lambda machine, now: machine.ask(interest, now), "ask")


def _check(world: World, nodes: Sequence[str]) -> None:
    for time, station, _, what in world.history:
        if isinstance(what, Rejected):
            raise Violation(f"{station} rejected what another forwarder sent: {what.reason}", time)
    machines = world.machines()
    for node in nodes:
        forwarder = machines[node].forwarder
        if len(forwarder.pit):
            raise Violation(f"{len(forwarder.pit)} pending Interests of {node} outlived their lifetime")
        if forwarder.deadline() is not None:
            raise Violation(f"a timer of {node} is left")
        forwarder.tick(world.now)
        if len(forwarder.dead_nonces):
            raise Violation(f"{len(forwarder.dead_nonces)} dead nonces of {node} outlived their time")
    if machines["producer"].asked > sum(sum(machines[node].interests_in.values()) for node in nodes):
        raise Violation("the producer was asked more often than all forwarders together")


def _inner(packet: bytes) -> bytes:
    """The Interest or Data in a link packet, or its first part; nothing for a Nack and for later parts."""
    if packet[0] != LP_PACKET:
        return packet
    lp = decode_lp(packet)
    return b"" if lp.nack >= 0 or lp.frag_index > 0 else lp.fragment
