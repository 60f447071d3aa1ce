"""The hICN forwarder: one table of names, pending or cached, keyed by the 20 bytes of the name.

    Interest  nothing known            pending for its lifetime, sent to next hops; no route: dropped silently
              cached and fresh         answered
              cached and stale         as if nothing were known
              pending, another face    joined: the expiry moves to the later one, nothing is sent
              pending, the same face   sent again, the expiry moves to the later one; joined if its own Interest is over
                                       while one that was sent for others is not
              came round a loop        as joined (`Pending.goes_on_again`), or dropped (`roost.hicn.lately`)
    Data      pending, asked there     sent to every face that asked, then cached
              pending, asked elsewhere dropped; the question stays
              nothing pending          from a local face cached, over what is there; from others dropped

Lifetime 0 means of an Interest that it does not wait, of a Data that it is never cached. No Interest waits longer than
`longest_wait_ms`, and a table that is full is emptied where it holds the most, so nobody can fill it for long. Hits do
not move an entry, so the cache forgets what came first. Interests leave as they came, byte for byte; Data gets its path
label. hicn-light looks at expiry when it next meets a name; here `tick` removes what has expired, which nobody can tell
from outside but by the memory it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.hicn.control import COMMAND, Verb, decode_control, reply
from roost.hicn.face import Arrived, CloseFace, HicnFaceSpec, Send
from roost.hicn.fib import Fib
from roost.hicn.head import Head, read_head
from roost.hicn.label import label_at, next_label, relabelled
from roost.hicn.lately import LOOP
from roost.hicn.name import Prefix
from roost.hicn.packet import narrowed
from roost.hicn.strategy import StrategyChoice, StrategyKind, choose
from roost.hicn.table import HicnFace, HicnTable
from roost.machine import MS, Effect, Randomness, Rejected

_SAMPLE_BYTES: Final = 64
_COMMAND: Final = bytes([COMMAND])
_COMMAND_BYTES: Final = 8


@dataclass(frozen=True)
class HicnSettings:
    """The bounds of an hICN forwarder."""

    pending_limit: int = 65_536
    store_packets: int = 100_000
    route_limit: int = 100_000
    face_limit: int = 4_096
    strategy: StrategyKind = StrategyKind.RANDOM
    longest_wait_ms: int = 65_535  # what hicn-light 20.09 could read of a lifetime; FLIPS asks for 16 000 at most


class HicnForwarder:
    """The machine. A driver opens and closes faces, and hears with `CloseFace` of one that said goodbye."""

    def __init__(self, settings: HicnSettings, randomness: Randomness) -> None:
        self.settings: Final = settings
        self.faces: Final[dict[int, HicnFace]] = {}  # bound: face_limit
        self.fib: Final = Fib(settings.route_limit)
        self.strategies: Final = StrategyChoice(settings.strategy)
        self.table: Final = HicnTable(settings.pending_limit, settings.store_packets)
        self.dropped: Final[dict[str, int]] = {}  # bound: the reasons in this file
        self.hits = 0
        self._randomness: Final = randomness
        self._queues: dict[int, list[bytes]] = {}  # bound: the answers to one batch
        self._others: list[Effect] = []  # of the same batch

    # ── the machine contract ──

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002  the contract's
        """Nothing happens until a face is opened."""
        return []

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        """Process a batch of packets from one face."""
        face = self.faces.get(event.face)
        if face is None:
            self._drop("unknown face")
            return []
        for wire in event.packets:
            if face.id not in self.faces:  # it said goodbye in this very batch
                self._drop("unknown face")
                continue
            try:
                if wire[:1] == _COMMAND:
                    self._on_control(face, wire)
                    continue
                head = read_head(wire)
            except BadPacket as error:
                self._others.append(Rejected(face.remote, str(error), wire[:_SAMPLE_BYTES]))
                continue
            if head.is_data:
                self._on_data(face, head, now)
            else:
                self._on_interest(face, head, now)
        effects: list[Effect] = [Send(to, packets) for to, packets in self._queues.items()]
        effects += self._others
        self._queues = {}
        self._others = []
        return effects

    def tick(self, now: int) -> list[Effect]:
        """Forget the questions whose time is over."""
        self.table.expire(now)
        return []

    def deadline(self) -> int | None:
        """When the next question expires."""
        return self.table.deadline()

    # ── faces and routes ──

    def open_face(self, face_id: int, spec: HicnFaceSpec) -> bool:
        """Attach a face; returns whether there was room for it."""
        if len(self.faces) >= self.settings.face_limit:
            self._drop("face limit")
            return False
        self.faces[face_id] = HicnFace(face_id, spec)
        return True

    def close_face(self, face_id: int) -> None:
        """Forget a face, its routes and what it waits for."""
        face = self.faces.pop(face_id, None)
        if face is None:
            return
        self.fib.drop_face(face_id)
        self.table.drop_face(face)

    def add_route(self, prefix: Prefix, face_id: int, cost: int = 1) -> None:
        """Route a prefix to a face; raises `Backpressure` when there are too many routes."""
        self.fib.add(prefix, face_id, cost)

    # ── control ──

    def _on_control(self, face: HicnFace, wire: bytes) -> None:
        """Obey a local face, and answer it; what cannot be read is answered with a refusal, and rejected."""
        if len(wire) >= _COMMAND_BYTES:
            self._send(face.id, reply(wire, done=False))  # unless it is done below
        command = decode_control(wire)
        if not face.local:
            self._drop("command from afar")
            return
        prefix = command.prefix
        try:
            if command.verb is Verb.ADD_ROUTE and prefix is not None:
                self.fib.add(prefix, face.id, command.cost)
            elif command.verb is Verb.REMOVE_ROUTE and prefix is not None:
                if not self.fib.remove(prefix, face.id):
                    return
            elif command.verb is Verb.SET_STRATEGY and prefix is not None and command.strategy is not None:
                self.strategies.set(prefix, command.strategy)
            elif command.verb is Verb.CLEAR_CACHE:
                self.table.cached.clear()
        except Backpressure:
            return
        self._queues[face.id][-1] = reply(wire, done=True)
        if command.verb is Verb.REMOVE_CONNECTION:
            self.close_face(face.id)
            self._others.append(CloseFace(face.id))

    # ── Interests ──

    def _on_interest(self, face: HicnFace, head: Head, now: int) -> None:
        names = head.wanted or [head.key]
        lifetime_ms = min(head.lifetime_ms, self.settings.longest_wait_ms)
        onward = [key for key in names if not self._settled(face, key, lifetime_ms, now)]
        if not onward:
            return
        hops = [self.faces[hop] for hop in self.fib.lookup(head.key[:16]) if hop != face.id and hop in self.faces]
        kind = self.strategies.lookup(head.key[:16])
        chosen = [self.faces[hop] for hop in choose(kind, face, hops, self._randomness)]
        if not chosen:
            self._drop("no route")
            return
        onward = [key for key in onward if self._wait(face, key, lifetime_ms, now, chosen)]
        if onward:
            wire = head.wire if len(onward) == len(names) else narrowed(head, onward)
            for hop in chosen:
                self._send(hop.id, wire)

    def _settled(self, face: HicnFace, key: bytes, lifetime_ms: int, now: int) -> bool:
        """Answer from the cache, join those who wait, or drop a copy of our own; returns whether that was all."""
        cached = self.table.fresh(key, now)
        if cached is not None:
            self.hits += 1
            self._send(face.id, relabelled(cached.wire, next_label(0, face.id), compact=cached.compact))
            return True
        entry = self.table.living(key, now)
        if entry is None:
            if self.table.lately.is_copy(key, face.id, now):
                self._drop("came round a loop")
                return True
            return False
        asks_already = face in entry.askers
        if asks_already and entry.goes_on_again(face, lifetime_ms, now):
            return False
        if asks_already or self.table.may_wait(face):
            self.table.join(entry, face, now + lifetime_ms * MS)
        else:
            self._drop("too many pending")
        return True

    def _wait(self, face: HicnFace, key: bytes, lifetime_ms: int, now: int, hops: list[HicnFace]) -> bool:
        """Note who asks and who is asked; returns whether there was room for it."""
        entry = self.table.living(key, now)
        if lifetime_ms * MS < LOOP and not self.table.lately.note(key, face.id, now):
            self._drop("too many pending")
            return False
        if entry is None:
            if not lifetime_ms:
                return True
            if not self.table.make_room(face, self.faces.values()):
                self._drop("too many pending")
                return False
            entry = self.table.add(key, now + lifetime_ms * MS)
        entry.went_on(lifetime_ms, now)
        self.table.join(entry, face, now + lifetime_ms * MS)
        for hop in hops:
            self.table.ask(entry, hop)
        return True

    # ── Data ──

    def _on_data(self, face: HicnFace, head: Head, now: int) -> None:
        key = head.key
        entry = self.table.living(key, now)
        if entry is None:
            if face.local:
                self.table.keep(head, now)
            else:
                self._drop("unsolicited")
            return
        if face not in entry.asked:
            self._drop("wrong face")
            return
        self.table.forget(key)
        label = label_at(head.wire, compact=head.compact)
        for asker in entry.askers:
            self._send(asker.id, relabelled(head.wire, next_label(label, asker.id), compact=head.compact))
        if not self.table.keep(head, now) and entry.askers:
            self.table.lately.note(key, next(iter(entry.askers)).id, now)

    def _send(self, face_id: int, wire: bytes) -> None:
        self._queues.setdefault(face_id, []).append(wire)

    def _drop(self, reason: str) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
