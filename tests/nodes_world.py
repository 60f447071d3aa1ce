"""Brokers of one group without sockets, repos or disks: what one inserts comes to all, in the order of its streams.

A `Street` is the group. Each node has what it inserted (its repo), which survives its death; a link between two nodes
carries it when both live and none is cut off, stream by stream, in any order among streams. A node that dies comes back
from its rows. In a street that is spreading, nodes know that there are others, and what is to be at all of them comes
to all that are in reach at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World

from roost.broker.effects import Insert
from roost.broker.macros.macros import Macros
from roost.broker.macros.order import before
from roost.broker.message import Message
from roost.broker.patterns import matches
from roost.broker.roaming import Roaming
from roost.broker.settings import DISK, BrokerSettings
from roost.broker.since import Since
from roost.machine import Effect
from roost.naming import Name
from roost.naming.topic import name_of_topic

GROUP = b"\x08\x05group"
INSTANT_S = 1e-9  # no two things happen at the same time
EXPIRY = props(session_expiry=10_000)
LARGE_BYTES = 8000  # of a payload that does not fit a packet


def panel_of(number: int) -> bytes:
    return GROUP + b"\x08\x05gate%d" % number


class Halls:
    """One tree, of everything but what is the server's own."""

    def of(self, topic: bytes) -> int | None:
        return None if topic.startswith(b"$") else 0

    def refusal_of(self, tree: int, message: Message) -> str:  # noqa: ARG002  a stand-in
        return ""


class Node(World):
    """One of them."""

    def __init__(self, street: Street, number: int, macros: Callable[[Node], Macros] | None = None) -> None:
        self.street = street
        self.number = number
        self.is_alive = True
        self.is_cut_off = False  # from all others
        self.streams: dict[bytes, list[Message]] = {}  # what its repo has, by stream
        self.handed: dict[bytes, int] = {}  # how far that was handed on
        self.holes: set[tuple[bytes, int]] = set()  # what has not come, though what is behind it has
        settings = BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0, max_inflight=10)
        make = None if macros is None else partial(macros, self)
        super().__init__(settings, gateway=Halls(), late_disk=False, macros=make)

    def _start(self) -> None:
        original = self.run
        held: list[list[Effect]] = []
        self.run = held.append  # type: ignore[assignment, method-assign]
        super()._start()
        self.run = original  # type: ignore[method-assign]
        roaming = Roaming({GROUP: (0, panel_of(self.number))}, lambda: self.street.is_spreading)
        roaming.sharing.always = self.street.is_beating
        self.handed = dict(self.broker.positions)
        self.run(self.broker.join(_History(self), roaming, self.now))
        for effects in held:
            self.run(effects)

    # -- the past, as `History`

    def streams_of(self, filter_: bytes) -> list[bytes]:
        levels = filter_.split(b"/")
        return [name for name, held in self.streams.items() if matches(levels, held[0].topic.split(b"/"))]

    def has(self, stream: bytes, filter_: bytes) -> bool:
        return stream in self.streams_of(filter_)

    def present(self, stream: bytes) -> int:
        return self.handed.get(stream, 0)

    def first(self, stream: bytes, since: Since) -> int:
        if since.number:
            return since.number
        held = self.streams[stream]
        found = [at for at, message in enumerate(held, 1) if message.time >= since.time]
        return found[0] if found else len(held) + 1

    def read(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None]]:
        held = self.streams.get(stream, [])
        high = min(high, len(held), low + limit - 1)
        return [(number, held[number - 1]) for number in range(low, high + 1) if (stream, number) not in self.holes]

    def outlines(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None, bool]]:
        found: list[tuple[int, Message | None, bool]] = []
        for number, m in self.read(stream, low, high, limit):
            if m is not None and len(m.payload) > LARGE_BYTES:
                left = Message(m.topic, b"", m.qos, m.retain, m.kept, m.expires, m.publisher, m.time, m.origin)
                found.append((number, left, True))
            else:
                found.append((number, m, False))
        return found

    def at(self, stream: bytes, time: int, limit: int) -> list[int]:
        return [number for number, each in enumerate(self.streams.get(stream, ()), 1) if each.time == time][:limit]

    # -- the group

    def insert_all(self) -> None:
        """Make readings of what the broker wants inserted."""
        while self.inserts:
            insert = self.inserts.pop(0)
            self._insert(insert)

    def _insert(self, insert: Insert) -> None:
        for message in insert.messages:
            stream = (Name(panel_of(self.number)) + name_of_topic(message.topic.decode())).value
            held = self.streams.setdefault(stream, [])
            origin = (0, stream, len(held) + 1)
            m = message
            held.append(
                Message(
                    m.topic,
                    m.payload,
                    m.qos,
                    m.retain,
                    m.kept,
                    m.expires,
                    m.publisher,
                    m.time,
                    origin,
                    m.packet_id,
                    m.lineage,
                )
            )
            if insert.spread:
                self.street.spread(self, stream)
        self.run(self.broker.inserted(insert.ticket, "", self.now))

    def hand_on(self, stream: bytes) -> None:
        """Hand on the next reading of a stream."""
        number = self.handed.get(stream, 0) + 1
        message = self.streams[stream][number - 1]
        self.handed[stream] = number
        self.run(self.broker.stored([message], {stream: number}, self.now))

    def behind(self) -> list[bytes]:
        """The streams of which the next reading can be handed on."""
        found = [(stream, held, self.handed.get(stream, 0)) for stream, held in self.streams.items()]
        return [
            stream
            for stream, held, done in found
            if len(held) > done and (stream, done + 1) not in self.holes and not self._is_early(held[done])
        ]

    def pass_over_holes(self) -> None:
        """Wait no longer for what has not come."""
        for stream, number in sorted(self.holes):
            if self.handed.get(stream, 0) == number - 1:
                self.handed[stream] = number

    def _is_early(self, message: Message) -> bool:
        return any(self.handed.get(stream, 0) < number for stream, number in before(message))

    def die(self) -> None:
        self.is_alive = False
        for client in self.clients.values():
            client.closed = True

    def rise(self) -> None:
        self.street.wait(INSTANT_S)
        self.is_alive = True
        self.inserts.clear()
        self.now = self.street.now
        self.crash()


class _History:
    """`Node.streams` is a table, `History.streams` a question."""

    def __init__(self, node: Node) -> None:
        self.streams = node.streams_of
        self.has = node.has
        self.present = node.present
        self.first = node.first
        self.read = node.read
        self.outlines = node.outlines
        self.at = node.at


class Street:
    """The nodes, and what is under way between them."""

    def __init__(
        self,
        seed: int,
        count: int = 2,
        macros: Callable[[Node], Macros] | None = None,
        *,
        is_spreading: bool = False,
        is_beating: bool = False,
    ) -> None:
        self.random = random.Random(seed)
        self.count = count
        self.is_spreading = is_spreading
        self.is_beating = is_beating  # whatever clients there are
        self.now = 0
        self.nodes = [Node(self, number, macros) for number in range(1, count + 1)]
        self.now = self.nodes[0].now

    def alive(self) -> list[Node]:
        return [node for node in self.nodes if node.is_alive]

    def spread(self, source: Node, stream: bytes) -> None:
        """Have all nodes in reach have a stream as far as one has it, and hand it on."""
        for node in self.alive():
            if node is source or node.is_cut_off or source.is_cut_off:
                continue
            held = node.streams.setdefault(stream, [])
            held += source.streams[stream][len(held) :]
            while node.handed.get(stream, 0) < len(held):
                node.hand_on(stream)

    def step(self) -> bool:
        """Make readings of what is to be inserted, and move one somewhere; whether there was one to move."""
        for node in self.alive():
            node.settle()
            node.insert_all()
        return self.move()

    def move(self) -> bool:
        """Move one reading somewhere; whether there was one to move."""
        wishes: list[tuple[Node, Node, bytes]] = []
        for node in self.alive():
            wishes += [(node, node, stream) for stream in node.behind()]
            for other in self.alive():
                for stream, held in () if node.is_cut_off or other.is_cut_off else other.streams.items():
                    if len(node.streams.get(stream, ())) < len(held):
                        wishes.append((other, node, stream))
        if not wishes:
            return False
        source, target, stream = self.random.choice(wishes)
        if source is target:
            target.hand_on(stream)
        else:
            held = target.streams.setdefault(stream, [])
            held.append(source.streams[stream][len(held)])
        return True

    def wait(self, seconds: float) -> None:
        """Let time pass for all."""
        for node in self.alive():
            node.wait(seconds)
        self.now += int(seconds * 1e9)
        for node in self.alive():
            node.now = self.now

    def live(self, seconds: float) -> None:
        """Let time pass while everything is passed on."""
        for _ in range(round(4 * seconds)):
            while self.step():
                pass
            self.wait(1 / 4)

    def settle(self) -> None:
        """Until nobody has anything to tell any more."""
        for _ in range(4):
            while self.step():
                pass
            self.wait(1)


def await_answer(node: Node, client: Client) -> None:
    """Let all nodes live until something has come to a client: an answer may wait for them."""
    for _ in range(12):
        if client.arrived or client.closed:
            return
        node.street.live(1 / 4)


class Subscriber:
    """One client with a persistent session, which keeps its QoS 2 identifiers as it should [MQTT-4.3.3]."""

    def __init__(self, version: int = 5, client: bytes = b"sub") -> None:
        self.version = version
        self.client = client
        self.got: list[bytes] = []
        self.link: Client | None = None
        self.unreleased: set[int] = set()

    def come(self, node: Node, *filters: tuple[bytes, int], clean: bool = False) -> bool:
        """Connect to a node; whether it had the session."""
        properties = EXPIRY if self.version == 5 else b""
        self.link = node.connect(
            self.client, self.version, look=False, clean=clean, properties=properties, keep_alive=0
        )
        await_answer(node, self.link)
        welcome = packets.seen(self.link.arrived, self.version)[0]
        self.link.arrived = self.link.arrived[len(welcome.raw) :]
        if not welcome.session_present:
            self.unreleased.clear()
        if filters and node.street.is_spreading:
            self.link.send(packets.subscribe(1, *filters, version=self.version))
            await_answer(node, self.link)
            assert self.link.one("SUBACK").codes == [qos for _, qos in filters]
        elif filters:
            self.link.subscribe(*filters)
        return welcome.session_present

    def act(self) -> bool:
        """Answer everything that came; whether there was something."""
        link = self.link
        if link is None or not link.arrived:
            return False
        found = link.seen()
        answers: list[bytes] = []
        for packet in found:
            if packet.kind == "PUBLISH" and packet.qos == 2:
                if packet.packet_id not in self.unreleased:
                    self.got.append(packet.payload)
                self.unreleased.add(packet.packet_id)
                answers.append(packets.pubrec(packet.packet_id))
            elif packet.kind == "PUBLISH":
                self.got.append(packet.payload)
                if packet.qos:
                    answers.append(packets.puback(packet.packet_id))
            elif packet.kind == "PUBREL":
                self.unreleased.discard(packet.packet_id)
                answers.append(packets.pubcomp(packet.packet_id))
        if answers and not link.closed:
            link.send(*answers)
        return True

    def leave(self) -> None:
        assert self.link is not None
        while self.act():
            pass
        if not self.link.closed:
            self.link.disconnect()


class Publisher:
    """One client with a persistent session, which finishes what it began at QoS 2, wherever it is [MQTT-4.4.0-1]."""

    def __init__(self, version: int = 5) -> None:
        self.version = version
        self.link: Client | None = None
        self.unfinished: dict[int, tuple[bytes, bytes]] = {}  # by packet id: topic and payload, none once received
        self.answers: list[bytes] = []  # not sent yet

    def come(self, node: Node) -> None:
        """Connect to a node that knows its session, or is the first, and send again what is not finished."""
        self.street = node.street
        self.street.wait(INSTANT_S)
        properties = EXPIRY if self.version == 5 else b""
        self.link = node.connect(b"pub", self.version, look=False, clean=False, properties=properties)
        assert self.link.one("CONNACK").session_present or not self.unfinished
        self.answers.clear()
        for packet_id, (topic, payload) in self.unfinished.items():
            if topic:
                self.link.publish(topic, payload, qos=2, packet_id=packet_id, dup=True)
            else:
                self.link.send(packets.pubrel(packet_id))

    def publish(self, topic: bytes, payload: bytes) -> None:
        """Publish, with the lowest packet id that is free."""
        assert self.link is not None
        self.street.wait(INSTANT_S)
        packet_id = next(number for number in range(1, 65_536) if number not in self.unfinished)
        self.unfinished[packet_id] = (topic, payload)
        self.link.publish(topic, payload, qos=2, packet_id=packet_id)

    def hear(self) -> None:
        """Take in what came."""
        assert self.link is not None
        for packet in self.link.seen():
            if packet.kind == "PUBREC":
                self.unfinished[packet.packet_id] = (b"", b"")
                self.answers.append(packets.pubrel(packet.packet_id))
            elif packet.kind == "PUBCOMP":
                del self.unfinished[packet.packet_id]

    def answer(self) -> None:
        """Send what is to be answered."""
        assert self.link is not None
        answers, self.answers = self.answers, []
        if answers and not self.link.closed:
            self.link.send(*answers)
