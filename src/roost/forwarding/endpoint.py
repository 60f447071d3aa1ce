"""The application's side of a face, as a machine: Interests asked, prefixes served, prefixes registered.

- `ask` keeps a pending Interest until its Data comes (`Delivered`) or it cannot be had (`Failed`, which says where it
  got stuck). Each send has a fresh Nonce; after a lifetime without answer it is sent again, up to `tries` times; Nacks
  for congestion and duplicates are waited out, others end it. While the face is down nothing is sent, and what is
  still pending goes out when it is up again.
- `serve` hands Interests under a prefix to the application (`Asked`); `reply` answers, with the PIT token they carried.
- `register` keeps prefixes registered across drops (`roost.forwarding.registrar`).

Matching is the specification's [interest §matching]: exact name, CanBePrefix, implicit digest. Nothing is verified here.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.forwarding.face import Arrived, Send
from roost.forwarding.registrar import Registrar
from roost.machine import MS, Effect, Randomness, Rejected, earliest
from roost.naming import Name
from roost.wire import Data, Interest, LpPacket, Signer, decode_lp, encode_interest
from roost.wire.data import decode_data
from roost.wire.interest import decode_interest, matches
from roost.wire.lp import CONGESTION, DUPLICATE, REASON_NAMES
from roost.wire.tlv import DATA, INTEREST, LP_PACKET

TIMED_OUT: Final = "timed out"
NACKED: Final = "nacked"
OVERFLOWED: Final = "overflowed"

_COMMAND: Final = -1  # the ticket of the registrar's command; applications' are positive
_NACK_PAUSE: Final = 50 * MS
_SAMPLE_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Question:
    """An Interest to ask; `wire`, if given, is a whole Interest without a Nonce (a signed one) and wins."""

    name: Name
    can_be_prefix: bool = False
    must_be_fresh: bool = False
    lifetime_ms: int = 4000
    tries: int = 1
    hints: tuple[Name, ...] = ()
    hop_limit: int = -1
    parameters: bytes | None = None
    wire: bytes = b""


@dataclass(frozen=True, slots=True)
class Delivered(Effect):
    """The Data for a ticket; `congested` if the network marked it."""

    ticket: int
    data: Data
    congested: bool


@dataclass(frozen=True, slots=True)
class Failed(Effect):
    """No Data for a ticket: `kind` is one of the three above, `nack` the reason code of a Nack or -1."""

    ticket: int
    kind: str
    reason: str
    nack: int = -1


@dataclass(frozen=True, slots=True)
class Asked(Effect):
    """Somebody asks for a name under a served prefix; answer with `reply`, and the token."""

    prefix: Name
    interest: Interest
    token: bytes


class _Pending:
    __slots__ = ("due", "interest", "last", "nack", "nonce", "pausing", "question", "sent", "since", "ticket", "tried")

    def __init__(self, ticket: int, question: Question, interest: Interest, now: int) -> None:
        self.ticket: Final = ticket
        self.question: Final = question
        self.interest: Final = interest  # without a Nonce
        self.since: Final = now
        self.nonce = b""
        self.tried = 0  # lifetimes begun, sent or not
        self.sent = 0
        self.due = 0
        self.pausing = False  # after a Nack: `due` is when to send again, not when it expires
        self.last = ""
        self.nack = -1


class Endpoint:
    """The machine. The driver calls `connected` and `disconnected` as its transport comes and goes."""

    def __init__(self, signer: Signer, randomness: Randomness, *, max_pending: int = 16384, max_served: int = 4096) -> None:
        self.max_pending: Final = max_pending
        self.max_served: Final = max_served
        self.registrar: Final = Registrar(signer, randomness, max_served)
        self.face: int | None = None
        self.where = "no face yet"
        self.unsolicited = 0  # Data nobody waits for
        self.unserved = 0  # Interests under no served prefix
        self._local = True
        self._down_reason = "it has not been up yet"
        self._randomness: Final = randomness
        self._pending: dict[int, _Pending] = {}  # bound: max_pending
        self._by_name: dict[bytes, list[int]] = {}  # Interest name → tickets; bound: max_pending
        self._prefixes = 0  # how many pending set CanBePrefix, so that exact traffic does not pay for prefixes
        self._digests = 0
        self._timers: list[tuple[int, int]] = []  # (due, ticket), stale entries swept beyond 4 × pending
        self._served: dict[bytes, Name] = {}  # bound: max_served

    # -- the face

    def connected(self, face: int, where: str, now: int, *, local: bool = True) -> list[Effect]:
        """The face is up: send what is pending, register what was registered."""
        self.face = face
        self.where = where
        self._local = local
        effects = self.registrar.up(now)
        wires = [self._wire(pending) for pending in self._pending.values() if not pending.pausing]
        return effects + self._flush(wires, now)

    def disconnected(self, reason: str, now: int) -> list[Effect]:  # noqa: ARG002  a command's shape
        """The face is down."""
        self.face = None
        self._down_reason = reason
        self._drop(_COMMAND)
        return self.registrar.down(reason)

    # -- asking

    def ask(self, ticket: int, question: Question, now: int) -> list[Effect]:
        """Ask for Data; `ticket` is a positive number of the caller's that comes back with the answer."""
        return self.ask_all([(ticket, question)], now)

    def ask_all(self, questions: list[tuple[int, Question]], now: int) -> list[Effect]:
        """Ask several at once, in one write."""
        effects: list[Effect] = []
        wires: list[bytes] = []
        for ticket, question in questions:
            if len(self._pending) >= self.max_pending:
                reason = f"{question.name} was not asked: {self.max_pending} Interests are pending, which is the limit"
                effects.append(Failed(ticket, OVERFLOWED, reason))
                continue
            pending = self._add(ticket, question, now)
            self._begin(pending, now)
            if self.face is not None:
                wires.append(self._wire(pending))
        return effects + self._flush(wires, now)

    def cancel(self, ticket: int) -> None:
        """Wait no longer; what comes back for it is dropped."""
        self._drop(ticket)

    @property
    def pending(self) -> int:
        """How many Interests are unanswered."""
        return len(self._pending)

    # -- serving

    def serve(self, prefix: Name) -> None:
        """Take Interests under a prefix."""
        if len(self._served) >= self.max_served and prefix.value not in self._served:
            raise Backpressure(f"{prefix} cannot be served: {self.max_served} prefixes are, which is the limit", 1000)
        self._served[prefix.value] = prefix

    def stop_serving(self, prefix: Name) -> None:
        """Take them no longer."""
        self._served.pop(prefix.value, None)

    def reply(self, answers: list[tuple[bytes, bytes]]) -> list[Effect]:
        """Send Data, each with the token of the Interest it answers; lost if the face is down."""
        if self.face is None:
            return []
        return [Send(self.face, [LpPacket(d, pit_token=t).encode() if t else d for d, t in answers])]

    def refuse(self, interest: Interest, token: bytes, reason: int) -> list[Effect]:
        """Answer an Interest with a Nack."""
        if self.face is None:
            return []
        return [Send(self.face, [LpPacket(interest.wire, nack=reason, pit_token=token).encode()])]

    def register(self, prefix: Name, now: int) -> list[Effect]:
        """Have the forwarder send Interests under a prefix here, now and after every reconnect."""
        return self.registrar.add(prefix, now, up=self.face is not None) + self._flush([], now)

    def unregister(self, prefix: Name, now: int) -> list[Effect]:
        """Have it send them no longer."""
        self.registrar.remove(prefix, now)
        return self._flush([], now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002  the contract's shape
        """Nothing happens before the face is up."""
        return []

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        """Take in a batch of link packets."""
        effects: list[Effect] = []
        for packet in event.packets:
            try:
                self._packet(packet, effects, now)
            except BadPacket as error:
                effects.append(Rejected(self.where, str(error), packet[:_SAMPLE_BYTES]))
        return effects + self._flush([], now)

    def tick(self, now: int) -> list[Effect]:
        """Send again what got no answer, give up what was sent often enough."""
        effects: list[Effect] = []
        wires: list[bytes] = []
        while self._timers and self._timers[0][0] <= now:
            due, ticket = heappop(self._timers)
            pending = self._pending.get(ticket)
            if pending is None or pending.due != due:
                continue
            if pending.tried >= pending.question.tries and not pending.pausing:
                effects += self._fail(pending, TIMED_OUT, self._stuck(pending, now), now)
                continue
            self._begin(pending, now)
            if self.face is not None:
                wires.append(self._wire(pending))
        return effects + self._flush(wires, now)

    def deadline(self) -> int | None:
        """When the next Interest expires or the next command is due."""
        while self._timers:
            due, ticket = self._timers[0]
            pending = self._pending.get(ticket)
            if pending is not None and pending.due == due:
                break
            heappop(self._timers)
        command = self.registrar.deadline() if self.face is not None else None
        return earliest(self._timers[0][0] if self._timers else None, command)

    # -- inside

    def _packet(self, packet: bytes, effects: list[Effect], now: int) -> None:
        if not packet:
            raise BadPacket("the packet is empty")
        token = b""
        mark = 0
        if packet[0] == LP_PACKET:
            lp = decode_lp(packet)
            if not lp.fragment:
                return
            if lp.frag_count > 1:
                raise BadPacket("fragments are put together by the transport, this one came through")
            if lp.nack >= 0:
                self._nacked(decode_interest(lp.fragment), lp.nack, effects, now)
                return
            packet, token, mark = lp.fragment, lp.pit_token, lp.congestion_mark
        if packet[0] == DATA:
            self._data(decode_data(packet), mark > 0, effects, now)
        elif packet[0] == INTEREST:
            self._interest(decode_interest(packet), token, effects)
        else:
            raise BadPacket(f"an Interest, a Data or a link packet was expected, this is element {packet[0]}")

    def _data(self, data: Data, congested: bool, effects: list[Effect], now: int) -> None:
        value = data.name.value
        tickets = list(self._by_name.get(value, ()))
        if self._digests:
            tickets += self._by_name.get(data.full_name.value, ())
        if self._prefixes:
            for cut in data.name.cuts[:-1]:
                tickets += self._by_name.get(value[:cut], ())
        found = False
        for ticket in tickets:
            pending = self._pending[ticket]
            if matches(pending.interest, data.name, data.implicit_digest if self._digests else b""):
                found = True
                self._drop(ticket)
                if ticket == _COMMAND:
                    effects += self.registrar.answered(data.content, now)
                else:
                    effects.append(Delivered(ticket, data, congested))
        if not found:
            self.unsolicited += 1

    def _nacked(self, interest: Interest, reason: int, effects: list[Effect], now: int) -> None:
        alike = [self._pending[ticket] for ticket in self._by_name.get(interest.name.value, ())]
        # A forwarder answers the last of several Interests of one name: its Nack speaks for all of them.
        if not any(pending.nonce == interest.nonce for pending in alike):
            return
        text = REASON_NAMES.get(reason, f"reason {reason}")
        for pending in alike:
            pending.last = text
            pending.nack = reason
            if reason in {CONGESTION, DUPLICATE} and pending.tried < pending.question.tries:
                pause = _NACK_PAUSE << min(pending.tried - 1, 6)
                pending.pausing = True
                self._set_timer(pending, now + pause + self._randomness.randint(0, pause))
            else:
                message = f"{interest.name} was refused by a Nack from {self.where}: {text}"
                about = self.registrar.about(interest.name)
                effects += self._fail(pending, NACKED, message + (f"; {about}" if about else ""), now)

    def _interest(self, interest: Interest, token: bytes, effects: list[Effect]) -> None:
        value = interest.name.value
        for cut in reversed(interest.name.cuts):
            prefix = self._served.get(value[:cut])
            if prefix is not None:
                effects.append(Asked(prefix, interest, token))
                return
        self.unserved += 1

    def _add(self, ticket: int, question: Question, now: int) -> _Pending:
        wire = question.wire or encode_interest(
            question.name,
            can_be_prefix=question.can_be_prefix,
            must_be_fresh=question.must_be_fresh,
            hints=question.hints,
            lifetime_ms=question.lifetime_ms,
            hop_limit=question.hop_limit,
            parameters=question.parameters,
        )
        pending = _Pending(ticket, question, decode_interest(wire), now)
        self._pending[ticket] = pending
        self._by_name.setdefault(pending.interest.name.value, []).append(ticket)
        self._prefixes += pending.interest.can_be_prefix
        self._digests += _names_digest(pending.interest.name)
        return pending

    def _drop(self, ticket: int) -> None:
        pending = self._pending.pop(ticket, None)
        if pending is None:
            return
        key = pending.interest.name.value
        tickets = self._by_name[key]
        tickets.remove(ticket)
        if not tickets:
            del self._by_name[key]
        self._prefixes -= pending.interest.can_be_prefix
        self._digests -= _names_digest(pending.interest.name)

    def _begin(self, pending: _Pending, now: int) -> None:
        pending.tried += 1
        pending.pausing = False
        self._set_timer(pending, now + pending.interest.lifetime_ms * MS)

    def _set_timer(self, pending: _Pending, due: int) -> None:
        pending.due = due
        heappush(self._timers, (due, pending.ticket))
        if len(self._timers) > 4 * len(self._pending) + 64:
            self._timers = [(waits.due, waits.ticket) for waits in self._pending.values()]
            heapify(self._timers)

    def _wire(self, pending: _Pending) -> bytes:
        pending.sent += 1
        pending.nonce = self._randomness.getrandbits(32).to_bytes(4, "big")
        return pending.interest.with_nonce(pending.nonce)

    def _fail(self, pending: _Pending, kind: str, reason: str, now: int) -> list[Effect]:
        self._drop(pending.ticket)
        if pending.ticket == _COMMAND:
            return self.registrar.failed(reason, now)
        return [Failed(pending.ticket, kind, reason, pending.nack)]

    def _flush(self, wires: list[bytes], now: int) -> list[Effect]:
        """Send, and with it the registrar's next command if one is due."""
        if self.face is None:
            return []
        if _COMMAND not in self._pending:
            command = self.registrar.command(now, local=self._local)
            if command is not None:
                pending = self._add(_COMMAND, Question(Name(), wire=command), now)
                self._begin(pending, now)
                wires.append(self._wire(pending))
        return [Send(self.face, wires)] if wires else []

    def _stuck(self, pending: _Pending, now: int) -> str:
        """Say where an Interest got stuck."""
        asked = f"{pending.interest.name}: no answer in {(now - pending.since) // MS} ms"
        if not pending.sent:
            return f"{asked}; it never left this machine, because {self.where} is down: {self._down_reason}"
        times = "once" if pending.sent == 1 else f"{pending.sent} times"
        said = f"sent {times} over {self.where}"
        said += f", the last answer was a Nack: {pending.last}" if pending.last else ", nothing came back"
        if self.face is None:
            said += f"; that face has since gone down: {self._down_reason}"
        about = self.registrar.about(pending.interest.name)
        return f"{asked}; {said}" + (f"; {about}" if about else "")


def _names_digest(name: Name) -> bool:
    return name.value[-34:-32] == b"\x01\x20"
