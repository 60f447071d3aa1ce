"""A small network of forwarders under a virtual clock: lossy links, applications that ask and answer, and the promises.

Every forwarder keeps its books: Interests in and Data out per face, so that flow balance is checked at each step.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass, field

from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.settings import ForwarderSettings
from roost.machine import MS, Effect, Rejected
from roost.naming import Name
from roost.wire import DigestSigner, Interest, LpPacket, decode_lp, encode_data, encode_interest

SIGNER = DigestSigner()
START = 1_700_000_000_000_000_000


@dataclass
class App:
    """An application on a face of one forwarder: answers under its prefix, remembers what it got."""

    node: int
    face: int
    prefix: Name | None = None
    freshness_ms: int = 10_000
    data: list[Name] = field(default_factory=list)
    nacks: list[int] = field(default_factory=list)
    asked: list[Name] = field(default_factory=list)


@dataclass
class Link:
    """One direction of a wire."""

    node: int
    face: int
    delay_ns: int
    loss: float


class Fabric:
    """Forwarders, wires and applications."""

    def __init__(self, count: int, seed: int, settings: ForwarderSettings | None = None) -> None:
        self.random = random.Random(seed)
        self.now = START
        self.forwarders = [Forwarder(settings or ForwarderSettings(), random.Random(seed + n)) for n in range(count)]
        self.wires: dict[tuple[int, int], Link] = {}
        self.apps: dict[tuple[int, int], App] = {}
        self.interests_in: Counter[tuple[int, int]] = Counter()
        self.data_out: Counter[tuple[int, int]] = Counter()
        self.copies: Counter[tuple[int, int, bytes, bytes]] = Counter()
        self.rejected: list[Rejected] = []
        self._events: list[tuple[int, int, int, int, list[bytes]]] = []
        self._order = 0
        self._nonce = 0
        for forwarder in self.forwarders:
            forwarder.start(self.now)

    def face(self, node: int, *, local: bool = False, link_type: int = 0, mtu: int = 0) -> int:
        forwarder = self.forwarders[node]
        face = forwarder.free_face_id()
        spec = FaceSpec(f"test://{node}/{face}", "test://", local=local, link_type=link_type, mtu=mtu)
        self.act(node, forwarder.open_face(face, spec, self.now))
        return face

    def wire(self, a: int, b: int, *, delay_ms: int = 1, loss: float = 0.0, mtu: int = 0) -> tuple[int, int]:
        face_a, face_b = self.face(a, mtu=mtu), self.face(b, mtu=mtu)
        self.wires[a, face_a] = Link(b, face_b, delay_ms * MS, loss)
        self.wires[b, face_b] = Link(a, face_a, delay_ms * MS, loss)
        return face_a, face_b

    def app(self, node: int, prefix: str | None = None, *, freshness_ms: int = 10_000) -> App:
        face = self.face(node, local=True)
        app = App(node, face, Name.parse(prefix) if prefix else None, freshness_ms)
        self.apps[node, face] = app
        if app.prefix is not None:
            self.route(node, str(app.prefix), face)
        return app

    def route(self, node: int, prefix: str, face: int, cost: int = 0) -> None:
        fib = self.forwarders[node].fib
        name = Name.parse(prefix)
        fib.set(name, [*fib.get(name), (face, cost)], self.now)
        self.act(node, self.forwarders[node].flush(self.now))

    def nonce(self) -> bytes:
        self._nonce += 1
        return self._nonce.to_bytes(4, "big")

    def ask(self, app: App, name: str, **options: object) -> None:
        wire = encode_interest(Name.parse(name), nonce=self.nonce(), **options)  # type: ignore[arg-type]
        self.inject(app.node, app.face, [wire])

    def inject(self, node: int, face: int, packets: list[bytes]) -> None:
        for packet in packets:
            if packet[:1] == b"\x05" or (packet[:1] == b"\x64" and decode_lp(packet).fragment[:1] == b"\x05"):
                self.interests_in[node, face] += 1
        self.act(node, self.forwarders[node].receive(Arrived(face, packets), self.now))

    def act(self, node: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Rejected):
                self.rejected.append(effect)
            if not isinstance(effect, Send):
                continue
            key = (node, effect.face)
            for packet in effect.packets:
                self._book(key, packet)
            assert self.data_out[key] <= self.interests_in[key], "more Data than Interests on a face"
            if key in self.apps:
                self._at_app(self.apps[key], effect.packets)
            elif key in self.wires:
                self._on_wire(self.wires[key], effect.packets)

    def _book(self, key: tuple[int, int], packet: bytes) -> None:
        inner = packet
        if packet[0] == 100:
            lp = decode_lp(packet)
            if lp.nack >= 0 or lp.frag_index:
                return
            inner = lp.fragment
        if inner[0] == 6:
            self.data_out[key] += 1
        elif inner[0] == 5 and (packet[0] == 5 or decode_lp(packet).frag_count == 1):
            interest = Interest.decode(inner)
            self.copies[*key, interest.name.value, interest.nonce] += 1

    def _at_app(self, app: App, packets: list[bytes]) -> None:
        answers: list[bytes] = []
        for packet in packets:
            lp = decode_lp(packet) if packet[0] == 100 else LpPacket(packet)
            if lp.nack >= 0:
                app.nacks.append(lp.nack)
            elif lp.fragment[0] == 6:
                from roost.wire import Data

                app.data.append(Data.decode(lp.fragment).name)
            else:
                interest = Interest.decode(lp.fragment)
                app.asked.append(interest.name)
                if app.prefix is not None:
                    name = interest.name
                    answers.append(encode_data(name, b"x" * 40, SIGNER, freshness_ms=app.freshness_ms))
        if answers:
            self._later(1000, app.node, app.face, answers)

    def _on_wire(self, link: Link, packets: list[bytes]) -> None:
        kept = [packet for packet in packets if self.random.random() >= link.loss]
        if kept:
            self._later(link.delay_ns, link.node, link.face, kept)

    def _later(self, delay_ns: int, node: int, face: int, packets: list[bytes]) -> None:
        self._order += 1
        heapq.heappush(self._events, (self.now + delay_ns, self._order, node, face, packets))

    def run(self, until_ms: int) -> None:
        """Let virtual time pass."""
        end = START + until_ms * MS
        while True:
            deadlines = [(d, n) for n, f in enumerate(self.forwarders) if (d := f.deadline()) is not None]
            due = min(deadlines, default=(end + 1, 0))
            event = self._events[0][0] if self._events else end + 1
            if min(due[0], event) > end:
                break
            if event <= due[0]:
                self.now, _, node, face, packets = heapq.heappop(self._events)
                self.inject(node, face, packets)
            else:
                self.now = max(self.now, due[0])
                self.act(due[1], self.forwarders[due[1]].tick(self.now))
        self.now = end
