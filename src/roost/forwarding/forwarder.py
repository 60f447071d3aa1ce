"""The forwarder: Interest, Data and Nack pipelines over PIT, FIB, content store and strategies [nfd-management §7].

A machine for batches: `receive` takes every link packet that one readiness event brought on a face and returns one
`Send` per face. What may not be forwarded is dropped and counted by reason in `dropped`; what may not be parsed is a
`Rejected` effect. Management is another machine, on the internal face (`roost.forwarding.management`).
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.forwarding.counters import Counters
from roost.forwarding.face import (
    CONTENT_STORE_FACE,
    FIRST_FACE,
    INTERNAL_FACE,
    LOCAL_FIELDS,
    Arrived,
    CloseFace,
    FaceSpec,
)
from roost.forwarding.faces import Face
from roost.forwarding.fib import Fib
from roost.forwarding.hints import Hints
from roost.forwarding.nonces import DEAD_NONCE_NS, DeadNonces
from roost.forwarding.outbox import Outbox
from roost.forwarding.pit import InRecord, OutRecord, Pit, PitEntry
from roost.forwarding.routes import Routes
from roost.forwarding.settings import ForwarderSettings
from roost.forwarding.store import ContentStore
from roost.forwarding.strategy import Onward, Plane, Strategy
from roost.forwarding.strategy_choice import Strategies
from roost.machine.contract import Effect, Randomness, Rejected, earliest
from roost.naming.name import Name
from roost.wire.data import Data, decode_data
from roost.wire.interest import Interest, decode_interest
from roost.wire.lp import CONGESTION, DUPLICATE, NO_ROUTE, LpPacket, decode_lp

LOCALHOST: Final = Name.parse("/localhost").value
LOCALHOP: Final = Name.parse("/localhop").value
MAX_LIFETIME_MS: Final = 864_000_000  # ten days
MAX_COMPONENTS: Final = 256  # of a name that is forwarded; keeps the cost of a prefix match in bounds
_MS: Final = 1_000_000
_SAMPLE_BYTES: Final = 64
_BARE: Final = LpPacket()  # the headers of a packet that has none


class Forwarder(Plane):
    """The machine. Faces are opened and closed by the driver; ids come from `free_face_id`."""

    def __init__(self, settings: ForwarderSettings, randomness: Randomness, version: str = "") -> None:
        self.version: Final = version
        self.started = 0
        self.faces: dict[int, Face] = {}
        self.fib = Fib(settings.fib_limit)
        self.pit = Pit(settings.pit_limit, settings.pit_bytes)
        self.store = ContentStore(settings.store_packets, settings.store_bytes)
        self.strategies = Strategies()
        self.routes = Routes(self.fib, self.strategies)
        self.dead_nonces = DeadNonces(settings.dead_nonce_limit)
        self.counters = Counters()
        self.dropped: dict[str, int] = {}
        self._face_limit = settings.face_limit
        self._hints = Hints(self.fib, list(settings.regions))
        self._admit_local = settings.unsolicited in {"admit-local", "admit-all"}
        self._admit_network = settings.unsolicited in {"admit-network", "admit-all"}
        self._randomness = randomness
        self._next_face = FIRST_FACE
        self._outbox = Outbox(self.faces)
        self._effects: list[Effect] = []
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
                    self._on_interest(face, decode_interest(wire), _BARE, now)
                elif kind == 6:
                    self._on_data(face, decode_data(wire), _BARE, now)
                else:
                    self._on_link_packet(face, decode_lp(wire), now)
            except BadPacket as error:
                self._effects.append(Rejected(face.spec.remote_uri, str(error), wire[:_SAMPLE_BYTES]))
        return self.flush(now)

    def tick(self, now: int) -> list[Effect]:
        """Expire pending Interests and dead nonces, and let links retransmit and give up."""
        for entry in self.pit.expired(now):
            if self.strategies.learning:
                strategy = self.strategies.lookup(entry.value, entry.cuts)
                if strategy.learns:
                    strategy.after_expiry(entry, now)
            self._give_up(entry, now)
        self.dead_nonces.expire(now)
        self._outbox.tick(now)
        return self.flush(now)

    def deadline(self) -> int | None:
        """When the next pending Interest or link timer is due."""
        return earliest(self.pit.deadline(), self._outbox.deadline())

    def flush(self, now: int) -> list[Effect]:
        """Hand out what has been queued since the last time: one `Send` per face."""
        if self.fib.added:
            self._use_new_hops(now)
        effects = self._outbox.take()
        if self._effects:
            effects.extend(self._effects)
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
        self.faces[face_id] = Face(face_id, spec, self._randomness.getrandbits(64))
        return self.flush(now)

    def close_face(self, face_id: int, now: int) -> list[Effect]:
        """Forget a face, its routes and what was pending on it."""
        face = self.faces.get(face_id)
        if face is None or face_id == INTERNAL_FACE:
            return []
        del self.faces[face_id]
        self._outbox.forget(face_id)
        self.fib.drop_face(face_id, now)
        if face.waiting:
            for entry in self.pit.everything():
                if self.pit.release(entry, face_id) is not None and not entry.ins:
                    self._give_up(entry, now)
        self._send_elsewhere(face_id, now)
        return self.flush(now)

    def face_down(self, face_id: int, now: int) -> list[Effect]:
        """Use a face no longer as a next hop until it is up again; who asks and has no other gets a Nack, "no route".

        What is pending on it is left to retransmission, as NFD does, except with strategies that learn.
        """
        face = self.faces.get(face_id)
        if face is None or face.down:
            return []
        face.down = True
        self._outbox.forget(face_id)
        self._send_elsewhere(face_id, now)
        return self.flush(now)

    def face_up(self, face_id: int, now: int) -> list[Effect]:
        """Use a face again, as a next hop that has just appeared."""
        face = self.faces.get(face_id)
        if face is None or not face.down:
            return []
        face.down = False
        self.fib.face_added(face_id)
        return self.flush(now)

    def _send_elsewhere(self, face_id: int, now: int) -> None:
        """Let strategies that learn treat what is pending on a face as refused by it."""
        for entry in self.pit.everything() if self.strategies.learning else []:
            record = entry.out_record(face_id)
            if record is not None and record.nack < 0 and record.expires > now:
                strategy = self.strategies.lookup(entry.value, entry.cuts)
                if strategy.learns:
                    record.nack = NO_ROUTE
                    strategy.after_nack(self, entry, record, now)

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
            whole = self._outbox.unwrap(face, lp, now)
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
            self._on_interest(face, decode_interest(fragment), lp, now)
        elif kind == 6:
            if lp.next_hop_face >= 0 or lp.non_discovery:
                raise BadPacket("NextHopFaceId and NonDiscovery go with an Interest, not with Data")
            self._on_data(face, decode_data(fragment), lp, now)
        else:
            raise BadPacket(f"a fragment holds an Interest or a Data, this one starts with type {kind}")

    # ── Interests ──

    def _on_interest(self, face: Face, interest: Interest, lp: LpPacket, now: int) -> None:
        face.in_interests += 1
        self.counters.in_interests += 1
        value = interest.value
        if interest.hop_limit == 0:
            self._drop("hop limit")
            return
        if not face.local and value.startswith(LOCALHOST):
            self._drop("scope")
            return
        if len(interest.cuts) > MAX_COMPONENTS:
            self._drop("name too long")
            return
        nonce = interest.nonce or self._randomness.getrandbits(32).to_bytes(4, "big")
        wire = interest.wire
        if interest.hop_limit > 0 or not interest.nonce or interest.has_hint:
            wire = self._hints.rewritten(interest, nonce)
        entry = self.pit.find(interest)
        known = None if entry is None else entry.in_record(face.id)
        repeated = known is not None and known.nonce == nonce and not face.multi_access
        if not repeated and (
            self.dead_nonces.has(value, nonce, now) or (entry is not None and _been_here(entry, nonce))
        ):
            self._drop("loop")
            self._nack(face, interest.wire, DUPLICATE, lp.pit_token, now)
            return
        if entry is None:
            cached = self.store.find(interest, now)
            if cached is not None:
                self._send_data(face, cached, lp.pit_token, 0, CONTENT_STORE_FACE, now)
                return
        if known is None and not self.pit.has_room(face):
            self._drop("PIT full")
            self._nack(face, interest.wire, CONGESTION, lp.pit_token, now)
            return
        lifetime_ns = min(interest.lifetime_ms, MAX_LIFETIME_MS) * _MS
        record = InRecord(face, nonce, now + lifetime_ns, lp.pit_token, interest.wire)
        if entry is None:
            entry = self.pit.insert(interest, record)
        else:
            self.pit.renew(entry, record)
        onward = Onward(entry, face, wire, nonce, lifetime_ns, interest.hop_limit == 1, lp.congestion_mark, now)
        if lp.next_hop_face < 0:
            route = self.routes.lookup(value, interest.cuts)
            if not interest.has_hint:
                route.strategy.after_interest(self, onward, route.hops)
                return
            hops = self._hints.hops(interest, route.hops)
            self._hinted_strategy(interest, route.strategy).after_interest(self, onward, hops)
        elif self.eligible(onward, lp.next_hop_face):
            self.send_interest(onward, lp.next_hop_face)
        else:
            self.send_nack(entry, face.id, NO_ROUTE, now)

    def _hinted_strategy(self, interest: Interest, own: Strategy) -> Strategy:
        """Where a hint leads to many who may have it (multicast), all are asked; else the name's strategy decides."""
        for hint in interest.hints[:1]:
            theirs = self.strategies.lookup(hint.value, hint.cuts)
            if theirs.uses_new_hops:
                return theirs
        return own

    def eligible(self, onward: Onward, hop: int) -> bool:
        """Whether an Interest may go to a next hop: it is up, is not where it came from, and scope allows it."""
        face = self.faces.get(hop)
        if face is None or face.down or (hop == onward.ingress.id and not face.ad_hoc):
            return False
        if face.local:
            return True
        value = onward.entry.value
        if onward.hops_spent or value.startswith(LOCALHOST):
            return False
        return onward.ingress.local or not value.startswith(LOCALHOP)

    def send_interest(self, onward: Onward, hop: int) -> OutRecord:
        """Send an Interest upstream and record it."""
        face = self.faces[hop]
        entry = onward.entry
        now = onward.now
        record = entry.out_record(hop)
        if record is None:
            record = OutRecord(hop, onward.nonce, now, now + onward.lifetime_ns)
            entry.outs.append(record)
        else:
            if record.nonce != onward.nonce:  # the older copy may still be under way, and would be a loop
                self.dead_nonces.add(entry.value, record.nonce, now)
            record.nonce = onward.nonce
            record.sent = now
            record.expires = now + onward.lifetime_ns
            record.nack = -1
        entry.last_sent = now
        face.out_interests += 1
        self.counters.out_interests += 1
        mark = onward.mark
        if face.next_mark and face.mark_due(now):
            mark = 1
        if face.local_fields:
            lp = LpPacket(onward.wire, incoming_face=onward.ingress.id, congestion_mark=mark)
            self._outbox.send_lp(face, lp, now)
        elif mark:
            self._outbox.send_lp(face, LpPacket(onward.wire, congestion_mark=mark), now)
        else:
            self._outbox.send(face, onward.wire, now)
        return record

    def _use_new_hops(self, now: int) -> None:
        """Offer the next hops that came since the last time to the Interests that wait; one pass over the PIT."""
        added: dict[bytes, list[int]] = {}
        for prefix, hop in self.fib.added:
            added.setdefault(prefix.value, []).append(hop)
        self.fib.added = []
        for entry in self.pit.everything():
            route = self.routes.lookup(entry.value, entry.cuts)
            if route.strategy.uses_new_hops:
                for cut in entry.cuts:
                    for hop in added.get(entry.value[:cut], ()):
                        if any(known == hop for known, _ in route.hops):
                            self._use_new_hop(entry, hop, route.strategy, now)

    def _use_new_hop(self, entry: PitEntry, hop: int, strategy: Strategy, now: int) -> None:
        for onward in self.again(entry, now):
            if not decode_interest(onward.wire).has_hint and self.eligible(onward, hop):
                strategy.after_new_hop(self, onward, hop)
                return

    def again(self, entry: PitEntry, now: int) -> list[Onward]:
        """Collect the Interests of an entry that still wait, the newest first, to be sent once more."""
        found: list[Onward] = []
        for record in reversed(entry.ins):
            if record.expires > now:
                interest = decode_interest(record.wire)
                wire = self._hints.rewritten(interest, record.nonce)
                spent = interest.hop_limit == 1
                found.append(Onward(entry, record.face, wire, record.nonce, record.expires - now, spent, 0, now))
        return found

    def hops(self, onward: Onward) -> list[tuple[int, int]]:
        """Return the next hops of an Interest, cheapest first."""
        own = self.routes.lookup(onward.entry.value, onward.entry.cuts).hops
        interest = decode_interest(onward.wire)
        return self._hints.hops(interest, own) if interest.has_hint else own

    # ── Data ──

    def _on_data(self, face: Face, data: Data, lp: LpPacket, now: int) -> None:
        face.in_data += 1
        self.counters.in_data += 1
        if not face.local and data.value.startswith(LOCALHOST):
            self._drop("scope")
            return
        entries = self.pit.matching(data)
        if self.strategies.learning:
            self._learn(entries, data, face, now)
        if not entries:
            self.counters.unsolicited += 1
            if not (self._admit_local if face.local else self._admit_network):
                return
        if not lp.no_cache:
            self.store.insert(data, now)
        for entry in entries:
            self.counters.satisfied += 1
            if entry.flags & 2 and data.meta.freshness_ms * _MS < DEAD_NONCE_NS:
                for out in entry.outs:
                    self.dead_nonces.add(entry.value, out.nonce, now)
            self.pit.remove(entry)
        if len(entries) == 1 and len(entries[0].ins) == 1:
            record = entries[0].ins[0]
            if record.expires > now and (record.face is not face or face.ad_hoc):
                self._send_data(record.face, data.wire, record.token, lp.congestion_mark, face.id, now)
        else:
            self._answer_many(entries, data.wire, lp.congestion_mark, face, now)

    def _learn(self, entries: list[PitEntry], data: Data, face: Face, now: int) -> None:
        """Tell the strategies that want to know who answered, be it too late."""
        for entry in entries:
            strategy = self.routes.lookup(entry.value, entry.cuts).strategy
            if strategy.learns:
                strategy.after_answer(face.id, entry, now)
        if not entries:
            strategy = self.routes.lookup(data.value, data.name.cuts).strategy
            if strategy.learns:
                strategy.after_answer(face.id, None, now)

    def _answer_many(self, entries: list[PitEntry], wire: bytes, mark: int, face: Face, now: int) -> None:
        waiting: dict[int, list[InRecord]] = {}
        for entry in entries:
            for record in entry.ins:
                if record.expires > now and (record.face is not face or face.ad_hoc):
                    waiting.setdefault(record.face.id, []).append(record)
        for records in waiting.values():
            # one Data for several entries of a face cannot carry all their tokens: the face matches by name
            token = records[0].token if all(record.token == records[0].token for record in records) else b""
            self._send_data(records[0].face, wire, token, mark, face.id, now)

    def _send_data(self, face: Face, wire: bytes, token: bytes, mark: int, source: int, now: int) -> None:
        face.out_data += 1
        self.counters.out_data += 1
        if face.next_mark and face.mark_due(now):
            mark = 1
        if token or mark or face.local_fields:
            incoming = source if face.local_fields else -1
            lp = LpPacket(wire, pit_token=token, congestion_mark=mark, incoming_face=incoming)
            self._outbox.send_lp(face, lp, now)
        else:
            self._outbox.send(face, wire, now)

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
        self.strategies.lookup(entry.value, entry.cuts).after_nack(self, entry, record, now)

    def send_nack(self, entry: PitEntry, face: int, reason: int, now: int) -> None:
        """Refuse the Interest of one downstream; an entry that nobody waits for goes."""
        record = self.pit.release(entry, face)
        if record is not None:
            self._nack(record.face, record.wire, reason, record.token, now)
        if not entry.ins:
            self._give_up(entry, now)

    def _nack(self, face: Face, wire: bytes, reason: int, token: bytes, now: int) -> None:
        if face.multi_access:
            return
        face.out_nacks += 1
        self.counters.out_nacks += 1
        self._outbox.send_lp(face, LpPacket(wire, nack=reason, pit_token=token), now)

    def _give_up(self, entry: PitEntry, now: int) -> None:
        """Forget an entry that stayed unanswered, but not its nonces: a late copy would be a loop."""
        self.counters.unsatisfied += 1
        self.pit.remove(entry)
        for record in entry.outs:
            self.dead_nonces.add(entry.value, record.nonce, now)

    def _drop(self, reason: str) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1


def _been_here(entry: PitEntry, nonce: bytes) -> bool:
    """Whether an Interest with this nonce came in or went out already."""
    for record in entry.ins:
        if record.nonce == nonce:
            return True
    return any(out.nonce == nonce for out in entry.outs)
