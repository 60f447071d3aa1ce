"""The forwarder: Interest, Data and Nack pipelines over PIT, FIB, content store and strategies [nfd-management §7].

A machine for batches: `receive` takes every link packet that one readiness event brought on a face and returns one
`Send` per face. What may not be forwarded is dropped and counted by reason in `dropped`; what may not be parsed is a
`Rejected` effect. Management is another machine, on the internal face (`roost.forwarding.management`).
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.forwarding.face import (
    CONTENT_STORE_FACE,
    FIRST_FACE,
    INTERNAL_FACE,
    LOCAL_FIELDS,
    Arrived,
    CloseFace,
    FaceSpec,
    Send,
)
from roost.forwarding.faces import Face
from roost.forwarding.fib import Fib
from roost.forwarding.pit import DEAD_NONCE_NS, DeadNonces, InRecord, OutRecord, Pit, PitEntry
from roost.forwarding.settings import ForwarderSettings
from roost.forwarding.store import ContentStore
from roost.forwarding.strategy import Plane, Strategies
from roost.machine.contract import Effect, Randomness, Rejected, earliest
from roost.naming.name import Name
from roost.wire.data import Data, decode_data
from roost.wire.interest import Interest, decode_interest
from roost.wire.lp import CONGESTION, DUPLICATE, NO_ROUTE, LpPacket, decode_lp

LOCALHOST: Final = Name.parse("/localhost").value
LOCALHOP: Final = Name.parse("/localhop").value
MAX_LIFETIME_MS: Final = 864_000_000  # ten days
_MS: Final = 1_000_000
_SAMPLE_BYTES: Final = 64


class Counters:
    """What the whole forwarder has seen."""

    __slots__ = (
        "in_data",
        "in_interests",
        "in_nacks",
        "out_data",
        "out_interests",
        "out_nacks",
        "satisfied",
        "unsatisfied",
        "unsolicited",
    )

    def __init__(self) -> None:
        self.in_interests = 0
        self.in_data = 0
        self.in_nacks = 0
        self.out_interests = 0
        self.out_data = 0
        self.out_nacks = 0
        self.satisfied = 0
        self.unsatisfied = 0
        self.unsolicited = 0


class Forwarder(Plane):
    """The machine. Faces are opened and closed by the driver; ids come from `free_face_id`."""

    def __init__(self, settings: ForwarderSettings, randomness: Randomness, version: str = "") -> None:
        self.version: Final = version
        self.started = 0
        self.faces: dict[int, Face] = {}
        self.fib = Fib(settings.fib_limit)
        self.pit = Pit(settings.pit_limit)
        self.store = ContentStore(settings.store_packets, settings.store_bytes)
        self.strategies = Strategies()
        self.dead_nonces = DeadNonces(settings.dead_nonce_limit)
        self.counters = Counters()
        self.dropped: dict[str, int] = {}
        self._face_limit = settings.face_limit
        self._regions: list[Name] = list(settings.regions)
        self._admit_local = settings.unsolicited in {"admit-local", "admit-all"}
        self._admit_network = settings.unsolicited in {"admit-network", "admit-all"}
        self._randomness = randomness
        self._next_face = FIRST_FACE
        self._out: dict[int, list[bytes]] = {}
        self._effects: list[Effect] = []
        self._busy_links: set[int] = set()
        # the Interest under way, for the strategy's calls back
        self._ingress = INTERNAL_FACE
        self._lifetime_ns = 0
        self._hops_spent = False
        self._mark = 0
        internal = FaceSpec("internal://", "internal://", local=True, flags=LOCAL_FIELDS)
        self.faces[INTERNAL_FACE] = Face(INTERNAL_FACE, internal)

    # ── the machine contract ──

    def start(self, now: int) -> list[Effect]:
        """Note the time; nothing else happens until a face is opened."""
        self.started = now
        return []

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        """Process a batch of link packets from one face."""
        face = self.faces.get(event.face)
        if face is None:
            self._drop("unknown face")
            return []
        for wire in event.packets:
            face.in_bytes += len(wire)
            try:
                kind = wire[0] if wire else 0
                if kind == 5:
                    self._on_interest(face, decode_interest(wire), b"", -1, now)
                elif kind == 6:
                    self._on_data(face, decode_data(wire), False, 0, now)
                elif kind == 100:
                    self._on_link_packet(face, decode_lp(wire), now)
                else:
                    raise BadPacket(f"a packet starts with type 5, 6 or 100, this one with {kind}")
            except BadPacket as error:
                self._effects.append(Rejected(face.spec.remote_uri, str(error), wire[:_SAMPLE_BYTES]))
        return self.flush(now)

    def tick(self, now: int) -> list[Effect]:
        """Expire pending Interests and dead nonces, and let links retransmit and give up."""
        for entry in self.pit.expired(now):
            self._give_up(entry, now)
        self.dead_nonces.expire(now)
        for face_id in list(self._busy_links):
            face = self.faces.get(face_id)
            link = None if face is None else face.link
            if link is not None:
                packets = link.tick(now)
                if packets:
                    self._queue(face_id).extend(packets)
            if link is None or link.deadline() is None:
                self._busy_links.discard(face_id)
        return self.flush(now)

    def deadline(self) -> int | None:
        """When the next pending Interest or link timer is due."""
        soonest = self.pit.deadline()
        for face_id in self._busy_links:
            face = self.faces.get(face_id)
            if face is not None and face.link is not None:
                soonest = earliest(soonest, face.link.deadline())
        return soonest

    def flush(self, now: int) -> list[Effect]:
        """Hand out what has been queued since the last time: one `Send` per face."""
        if self.fib.added:
            self._use_new_hops(now)
        if not self._out and not self._effects:
            return []
        effects: list[Effect] = [Send(face, packets) for face, packets in self._out.items()]
        effects.extend(self._effects)
        self._out = {}
        self._effects = []
        return effects

    # ── faces ──

    def free_face_id(self) -> int:
        """Return an id that no face has had yet."""
        self._next_face += 1
        return self._next_face - 1

    def open_face(self, face_id: int, spec: FaceSpec, now: int) -> list[Effect]:
        """Attach a face, or refuse it by closing it when there are too many."""
        if len(self.faces) >= self._face_limit:
            self._drop("face limit")
            return [CloseFace(face_id)]
        self.faces[face_id] = Face(face_id, spec)
        return self.flush(now)

    def close_face(self, face_id: int, now: int) -> list[Effect]:
        """Forget a face, its routes and what was pending on it."""
        if face_id == INTERNAL_FACE or self.faces.pop(face_id, None) is None:
            return []
        self._out.pop(face_id, None)
        self._busy_links.discard(face_id)
        self.fib.drop_face(face_id, now)
        for entry in self.pit.everything():
            entry.outs = [record for record in entry.outs if record.face != face_id]
            kept = [record for record in entry.ins if record.face != face_id]
            if len(kept) != len(entry.ins):
                entry.ins = kept
                if not kept:
                    self._give_up(entry, now)
        return self.flush(now)

    def destroy_face(self, face_id: int, now: int) -> list[Effect]:
        """Close a face on our own account: the driver is told to close its transport."""
        if face_id == INTERNAL_FACE or face_id not in self.faces:
            return []
        return [*self.close_face(face_id, now), CloseFace(face_id)]

    def queue_reported(self, face_id: int, queued_bytes: int, now: int) -> None:
        """Learn from the driver how much waits in front of a face (congestion marking)."""
        face = self.faces.get(face_id)
        if face is not None:
            face.queue_reported(queued_bytes, now)

    # ── link packets ──

    def _on_link_packet(self, face: Face, lp: LpPacket, now: int) -> None:
        if lp.sequence >= 0 or lp.acks or lp.tx_sequence >= 0:
            whole = face.busy_link().unwrap(lp, now)
            self._busy_links.add(face.id)
            if whole is None:
                return
            lp = whole
        fragment = lp.fragment
        if not fragment:
            return
        kind = fragment[0]
        if lp.nack >= 0:
            self._on_nack(face, decode_interest(fragment), lp.nack, now)
        elif kind == 5:
            if lp.next_hop_face >= 0 and not face.local_fields:
                raise BadPacket("NextHopFaceId is for local faces that have enabled it")
            if lp.no_cache or lp.announcement:
                raise BadPacket("CachePolicy and PrefixAnnouncement go with Data, not with an Interest")
            interest = decode_interest(fragment)
            self._mark = lp.congestion_mark
            self._on_interest(face, interest, lp.pit_token, lp.next_hop_face, now)
            self._mark = 0
        elif kind == 6:
            if lp.next_hop_face >= 0 or lp.non_discovery:
                raise BadPacket("NextHopFaceId and NonDiscovery go with an Interest, not with Data")
            self._on_data(face, decode_data(fragment), lp.no_cache, lp.congestion_mark, now)
        else:
            raise BadPacket(f"a fragment holds an Interest or a Data, this one starts with type {kind}")

    # ── Interests ──

    def _on_interest(self, face: Face, interest: Interest, token: bytes, next_hop: int, now: int) -> None:
        face.in_interests += 1
        self.counters.in_interests += 1
        value = interest.name.value
        if interest.hop_limit == 0:
            self._drop("hop limit")
            return
        if not face.local and value.startswith(LOCALHOST):
            self._drop("scope")
            return
        nonce = interest.nonce or self._randomness.getrandbits(32).to_bytes(4, "big")
        if self.dead_nonces.has(value, nonce, now):
            self._on_loop(face, interest, token, now)
            return
        entry = self.pit.find(interest)
        if entry is None:
            cached = self.store.find(interest, now)
            if cached is not None:
                self._send_data(face, cached, token, 0, CONTENT_STORE_FACE, now)
                return
            if len(self.pit) >= self.pit.limit:
                self.pit.refused += 1
                self._drop("PIT full")
                self._nack(face, interest.wire, CONGESTION, token, now)
                return
            entry = self.pit.insert(interest)
        elif _duplicate(entry, face, nonce):
            self._on_loop(face, interest, token, now)
            return
        lifetime_ns = min(interest.lifetime_ms, MAX_LIFETIME_MS) * _MS
        expires = now + lifetime_ns
        record = entry.in_record(face.id)
        if record is None:
            entry.ins.append(InRecord(face.id, nonce, expires, token, interest.wire))
        else:
            record.nonce = nonce
            record.expires = expires
            record.token = token
            record.wire = interest.wire
        self.pit.arm(entry, max(entry.expires, expires))
        self._forward(face, interest, entry, nonce, lifetime_ns, next_hop, now)

    def _forward(
        self, face: Face, interest: Interest, entry: PitEntry, nonce: bytes, lifetime_ns: int, next_hop: int, now: int
    ) -> None:
        self._ingress = face.id
        self._lifetime_ns = lifetime_ns
        self._hops_spent = interest.hop_limit == 1
        wire, hops = self._route(interest, nonce)
        if next_hop >= 0:
            if self.eligible(entry, face, next_hop):
                self.send_interest(entry, next_hop, wire, nonce, now)
            else:
                self.send_nack(entry, face.id, NO_ROUTE, now)
            return
        strategy = self.strategies.lookup(entry.value, entry.cuts)
        strategy.after_interest(self, entry, face, hops, wire, nonce, now)

    def _route(self, interest: Interest, nonce: bytes) -> tuple[bytes, list[tuple[int, int]]]:
        wire = interest.wire
        if interest.hop_limit > 0:
            wire = interest.with_hop_limit(interest.hop_limit - 1)
        if not interest.nonce:
            wire = _again(interest, wire).with_nonce(nonce)
        name = interest.name
        if interest.has_hint:
            hints = interest.hints
            if any(region.starts_with(hint) for region in self._regions for hint in hints):
                return _again(interest, wire).without_hint(), self.fib.lookup(name.value, name.cuts) or []
            for hint in hints:
                hops = self.fib.lookup(hint.value, hint.cuts)
                if hops:
                    return wire, hops
            return wire, []
        return wire, self.fib.lookup(name.value, name.cuts) or []

    def _on_loop(self, face: Face, interest: Interest, token: bytes, now: int) -> None:
        self._drop("loop")
        self._nack(face, interest.wire, DUPLICATE, token, now)

    def eligible(self, entry: PitEntry, ingress: Face, hop: int) -> bool:
        """Whether the Interest under way may go to a next hop."""
        face = self.faces.get(hop)
        if face is None or (hop == ingress.id and not face.ad_hoc):
            return False
        if face.local:
            return True
        if self._hops_spent or entry.value.startswith(LOCALHOST):
            return False
        return ingress.local or not entry.value.startswith(LOCALHOP)

    def send_interest(self, entry: PitEntry, hop: int, wire: bytes, nonce: bytes, now: int) -> OutRecord:
        """Send the Interest under way upstream and record it."""
        face = self.faces[hop]
        record = entry.out_record(hop)
        if record is None:
            record = OutRecord(hop, nonce, now, now + self._lifetime_ns)
            entry.outs.append(record)
        else:
            if record.nonce != nonce:  # the older copy may still be under way, and would be a loop
                self.dead_nonces.add(entry.value, record.nonce, now)
            record.nonce = nonce
            record.sent = now
            record.expires = now + self._lifetime_ns
            record.nack = -1
        entry.last_sent = now
        face.out_interests += 1
        self.counters.out_interests += 1
        mark = self._mark
        if face.next_mark and face.mark_due(now):
            mark = 1
        if face.local_fields:
            self._send_lp(face, LpPacket(wire, incoming_face=self._ingress, congestion_mark=mark), now)
        elif mark:
            self._send_lp(face, LpPacket(wire, congestion_mark=mark), now)
        else:
            self._send_bare(face, wire, now)
        return record

    def _use_new_hops(self, now: int) -> None:
        added = self.fib.added
        self.fib.added = []
        for prefix, hop in added:
            for entry in self.pit.under(prefix.value):
                hops = self.fib.lookup(entry.value, entry.cuts) or []
                if not entry.ins or not any(known == hop for known, _ in hops):
                    continue
                record = entry.ins[-1]
                ingress = self.faces.get(record.face)
                if ingress is None:
                    continue
                interest = decode_interest(record.wire)
                self._ingress = record.face
                self._lifetime_ns = max(record.expires - now, 0)
                self._hops_spent = interest.hop_limit == 1
                if not interest.has_hint and self.eligible(entry, ingress, hop):
                    wire, _ = self._route(interest, record.nonce)
                    strategy = self.strategies.lookup(entry.value, entry.cuts)
                    strategy.after_new_hop(self, entry, ingress, hop, wire, record.nonce, now)

    # ── Data ──

    def _on_data(self, face: Face, data: Data, no_cache: bool, mark: int, now: int) -> None:
        face.in_data += 1
        self.counters.in_data += 1
        if not face.local and data.name.value.startswith(LOCALHOST):
            self._drop("scope")
            return
        entries = self.pit.matching(data)
        if not entries:
            self.counters.unsolicited += 1
            if (self._admit_local if face.local else self._admit_network) and not no_cache:
                self.store.insert(data, now)
            return
        if not no_cache:
            self.store.insert(data, now)
        for entry in entries:
            self.counters.satisfied += 1
            if entry.flags & 2 and data.meta.freshness_ms * _MS < DEAD_NONCE_NS:
                for out in entry.outs:
                    self.dead_nonces.add(entry.value, out.nonce, now)
            self.pit.remove(entry)
        if len(entries) == 1 and len(entries[0].ins) == 1:
            record = entries[0].ins[0]
            if record.expires > now and (record.face != face.id or face.ad_hoc):
                self._answer(record.face, data.wire, record.token, mark, face.id, now)
        else:
            self._answer_many(entries, data.wire, mark, face, now)

    def _answer_many(self, entries: list[PitEntry], wire: bytes, mark: int, face: Face, now: int) -> None:
        waiting: dict[int, list[bytes]] = {}
        for entry in entries:
            for record in entry.ins:
                if record.expires > now and (record.face != face.id or face.ad_hoc):
                    tokens = waiting.setdefault(record.face, [])
                    if record.token not in tokens:
                        tokens.append(record.token)
        for downstream, tokens in waiting.items():
            # one Data for several entries of a face cannot carry all their tokens: the face matches by name
            self._answer(downstream, wire, tokens[0] if len(tokens) == 1 else b"", mark, face.id, now)

    def _answer(self, downstream: int, wire: bytes, token: bytes, mark: int, source: int, now: int) -> None:
        face = self.faces.get(downstream)
        if face is not None:
            self._send_data(face, wire, token, mark, source, now)

    def _send_data(self, face: Face, wire: bytes, token: bytes, mark: int, source: int, now: int) -> None:
        face.out_data += 1
        self.counters.out_data += 1
        if face.next_mark and face.mark_due(now):
            mark = 1
        if token or mark or face.local_fields:
            incoming = source if face.local_fields else -1
            self._send_lp(face, LpPacket(wire, pit_token=token, congestion_mark=mark, incoming_face=incoming), now)
        else:
            self._send_bare(face, wire, now)

    # ── Nacks ──

    def _on_nack(self, face: Face, interest: Interest, reason: int, now: int) -> None:
        face.in_nacks += 1
        self.counters.in_nacks += 1
        entry = None if face.multi_access else self.pit.find(interest)
        record = None if entry is None else entry.out_record(face.id)
        if entry is None or record is None or record.nonce != interest.nonce:
            self._drop("stray Nack")
            return
        record.nack = reason
        strategy = self.strategies.lookup(entry.value, entry.cuts)
        strategy.after_nack(self, entry, record, now)

    def send_nack(self, entry: PitEntry, face: int, reason: int, now: int) -> None:
        """Refuse the Interest of one downstream; an entry that nobody waits for goes."""
        record = entry.in_record(face)
        target = self.faces.get(face)
        if record is not None:
            entry.ins.remove(record)
            if target is not None:
                self._nack(target, record.wire, reason, record.token, now)
        if not entry.ins:
            self._give_up(entry, now)

    def _give_up(self, entry: PitEntry, now: int) -> None:
        """Forget an entry that stayed unanswered, but not its nonces: a late copy would be a loop."""
        self.counters.unsatisfied += 1
        self.pit.remove(entry)
        for record in entry.outs:
            self.dead_nonces.add(entry.value, record.nonce, now)

    def _nack(self, face: Face, wire: bytes, reason: int, token: bytes, now: int) -> None:
        if face.multi_access:
            return
        face.out_nacks += 1
        self.counters.out_nacks += 1
        self._send_lp(face, LpPacket(wire, nack=reason, pit_token=token), now)

    # ── out ──

    def _queue(self, face: int) -> list[bytes]:
        queue = self._out.get(face)
        if queue is None:
            queue = []
            self._out[face] = queue
        return queue

    def _send_bare(self, face: Face, wire: bytes, now: int) -> None:
        if (face.mtu and len(wire) > face.mtu) or face.reliable:
            self._send_lp(face, LpPacket(wire), now)
            return
        face.out_bytes += len(wire)
        self._queue(face.id).append(wire)

    def _send_lp(self, face: Face, lp: LpPacket, now: int) -> None:
        if not face.mtu and not face.reliable:
            wire = lp.encode()
            face.out_bytes += len(wire)
            self._queue(face.id).append(wire)
            return
        queue = self._queue(face.id)
        for wire in face.busy_link().wrap([lp], now):
            face.out_bytes += len(wire)
            queue.append(wire)
        self._busy_links.add(face.id)

    def _drop(self, reason: str) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1


def _duplicate(entry: PitEntry, face: Face, nonce: bytes) -> bool:
    """Whether this nonce has been here by another way; the same face may repeat itself on a point-to-point link."""
    found = False
    for record in entry.ins:
        if record.nonce == nonce:
            if record.face == face.id and not face.multi_access:
                return False
            found = True
    if found:
        return True
    return any([out.nonce == nonce for out in entry.outs])


def _again(interest: Interest, wire: bytes) -> Interest:
    """Open an Interest whose bytes were spliced once already."""
    return interest if wire is interest.wire else decode_interest(wire)
