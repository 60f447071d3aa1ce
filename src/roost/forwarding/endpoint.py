"""The application's side of a face, as a machine: Interests asked, prefixes served, prefixes registered.

- `ask` keeps a pending Interest until its Data comes (`Delivered`) or it cannot be had (`Failed`, which says where it
  got stuck). Each send has a fresh Nonce; after a lifetime without answer it is sent again, up to `tries` times; Nacks
  for congestion and duplicates are waited out, others end it. While the face is down nothing is sent, and what is
  still pending goes out when it is up again.
- `serve` hands Interests under a prefix to the application (`Asked`); `reply` answers, with the PIT token they carried.
- `register` keeps prefixes registered across drops, and on datagram faces renews them (`roost.forwarding.registrar`).

Nothing is verified here. What is pending is in `roost.forwarding.pending`, what is served in `served`, and link packets
are opened and cut in `app_link`.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.forwarding.app_link import AppLink
from roost.forwarding.endpoint_effects import NACKED, OVERFLOWED, TIMED_OUT, Asked, Delivered, Failed
from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.forwarding.pending import Pending, PendingTable, Question
from roost.forwarding.registrar import Registrar
from roost.forwarding.served import ServedPrefixes
from roost.machine import MS, Effect, Randomness, Rejected, earliest
from roost.naming import Name
from roost.wire import Data, Interest, LpPacket, Signer
from roost.wire.data import decode_data
from roost.wire.interest import decode_interest
from roost.wire.lp import CONGESTION, DUPLICATE, NO_ROUTE, REASON_NAMES
from roost.wire.tlv import DATA, INTEREST, LP_PACKET

_COMMAND: Final = -1  # the ticket of the registrar's command; applications' are positive
_NACK_PAUSE: Final = 50 * MS
_SAMPLE_BYTES: Final = 64


class Endpoint:
    """The machine. The driver calls `connected` and `disconnected` as its transport comes and goes."""

    def __init__(
        self, signer: Signer, randomness: Randomness, *, max_pending: int = 16384, max_served: int = 4096
    ) -> None:
        self.max_pending: Final = max_pending
        self.registrar: Final = Registrar(signer, randomness, max_served)
        self.pending: Final = PendingTable()  # bound: max_pending, and one command
        self.face: int | None = None
        self.where = "the face"
        self.unsolicited = 0  # Data nobody waits for
        self.unserved = 0  # Interests under no served prefix
        self._link = AppLink()
        self._down_reason = "it has not been up yet"
        self._randomness: Final = randomness
        self._served: Final = ServedPrefixes(max_served)

    # -- the face

    def connected(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        """The face is up: send what is pending, register what was registered."""
        self.face = face
        self.where = spec.remote_uri
        self._link = AppLink(spec.mtu, first_sequence=self._randomness.getrandbits(64))
        effects = self.registrar.up(now, local=spec.local, datagram=spec.mtu > 0)
        wires = [self._wire(pending) for pending in self.pending.everything() if not pending.pausing]
        return effects + self._flush(wires, now)

    def disconnected(self, reason: str) -> list[Effect]:
        """The face is down."""
        self.face = None
        self._down_reason = reason
        self.pending.drop(_COMMAND)
        return self.registrar.down(reason)

    @property
    def trouble(self) -> str:
        """What is wrong with the face, empty while it is up."""
        return "" if self.face is not None else f"{self.where} is down: {self._down_reason}"

    # -- asking

    def ask(self, questions: list[tuple[int, Question]], now: int) -> list[Effect]:
        """Ask for Data, all in one write; each ticket is a positive number that comes back with its answer."""
        effects: list[Effect] = []
        wires: list[bytes] = []
        for ticket, question in questions:
            if len(self.pending) >= self.max_pending:
                reason = f"{question.name} was not asked: {self.max_pending} Interests are pending, which is the limit"
                effects.append(Failed(ticket, OVERFLOWED, reason))
                continue
            pending = self.pending.add(ticket, question, now)
            self._begin(pending, now)
            if self.face is not None:
                wires.append(self._wire(pending))
        return effects + self._flush(wires, now)

    def cancel(self, ticket: int) -> bool:
        """Wait no longer; what comes back for it is dropped. Whether it was still pending."""
        return self.pending.drop(ticket)

    # -- serving

    def serve(self, prefix: Name) -> None:
        """Take Interests under a prefix."""
        self._served.add(prefix)

    def stop_serving(self, prefix: Name) -> None:
        """Take them no longer."""
        self._served.drop(prefix)

    def reply(self, answers: list[tuple[bytes, bytes]], now: int) -> list[Effect]:
        """Send Data, each with the token of the Interest it answers; lost if the face is down."""
        if self.face is None:
            return []
        wires = [LpPacket(data, pit_token=token).encode() if token else data for data, token in answers]
        return self._flush(wires, now)

    def deny(self, asked: list[tuple[Interest, bytes]], now: int) -> list[Effect]:
        """Say of Interests, each with its token, that what they ask for is not here: a forwarder may ask elsewhere."""
        if self.face is None:
            return []
        wires = [LpPacket(interest.wire, nack=NO_ROUTE, pit_token=token).encode() for interest, token in asked]
        return self._flush(wires, now)

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
        self._link.tick(now)
        for pending in self.pending.overdue(now):
            if pending.tried >= pending.tries and not pending.pausing:
                effects += self._fail(pending, TIMED_OUT, self._stuck(pending, now), now)
                continue
            self._begin(pending, now)
            if self.face is not None:
                wires.append(self._wire(pending))
        return effects + self._flush(wires, now)

    def deadline(self) -> int | None:
        """When the next Interest expires, the next command is due or a fragment has waited long enough."""
        command = self.registrar.deadline() if self.face is not None else None
        return earliest(self.pending.deadline(), command, self._link.deadline())

    # -- what comes in

    def _packet(self, packet: bytes, effects: list[Effect], now: int) -> None:
        if not packet:
            raise BadPacket("the packet is empty")
        token = b""
        mark = 0
        if packet[0] == LP_PACKET:
            lp = self._link.open(packet, now)
            if lp is None:
                return
            if lp.nack >= 0:
                self._nacked(decode_interest(lp.fragment), lp.nack, effects, now)
                return
            packet, token, mark = lp.fragment, lp.pit_token, lp.congestion_mark
        if packet[0] == DATA:
            self._data(decode_data(packet), mark, effects, now)
        elif packet[0] == INTEREST:
            self._interest(decode_interest(packet), token, effects)
        else:
            raise BadPacket(f"an Interest, a Data or a link packet was expected, this is element {packet[0]}")

    def _data(self, data: Data, mark: int, effects: list[Effect], now: int) -> None:
        tickets = self.pending.answered_by(data)
        if not tickets:
            self.unsolicited += 1
        for ticket in tickets:
            self.pending.drop(ticket)
            if ticket == _COMMAND:
                effects += self.registrar.answered(data.content, now)
            else:
                effects.append(Delivered(ticket, data, mark > 0))

    def _nacked(self, interest: Interest, reason: int, effects: list[Effect], now: int) -> None:
        alike = self.pending.named(interest.name)
        # A forwarder answers the last of several Interests of one name: its Nack speaks for all of them.
        if not any(pending.nonce == interest.nonce for pending in alike):
            return
        text = REASON_NAMES.get(reason, f"reason {reason}")
        for pending in alike:
            pending.last = text
            pending.nack = reason
            if reason in {CONGESTION, DUPLICATE} and pending.tried < pending.tries:
                pause = _NACK_PAUSE << min(pending.tried - 1, 6)
                pending.pausing = True
                self.pending.set_timer(pending, now + pause + self._randomness.randint(0, pause))
            else:
                message = f"{interest.name} was refused by a Nack from {self.where}: {text}"
                about = self._about(interest.name)
                effects += self._fail(pending, NACKED, message + (f"; {about}" if about else ""), now)

    def _interest(self, interest: Interest, token: bytes, effects: list[Effect]) -> None:
        prefix = self._served.covering(interest.name)
        if prefix is None and interest.has_hint:  # it was led here by where it was to be looked for
            prefix = next((each for hint in interest.hints if (each := self._served.covering(hint)) is not None), None)
        if prefix is None:
            self.unserved += 1
        else:
            effects.append(Asked(prefix, interest, token))

    def _about(self, name: Name) -> str:
        """Say what this face has to do with a name that nobody answered."""
        about = self.registrar.about(name)
        prefix = self._served.covering(name)
        if about or prefix is None:
            return about
        return f"this face serves {prefix} itself, and a forwarder sends no Interest back: ask over another face"

    # -- what goes out

    def _begin(self, pending: Pending, now: int) -> None:
        pending.tried += 1
        pending.pausing = False
        self.pending.set_timer(pending, now + pending.interest.lifetime_ms * MS)

    def _wire(self, pending: Pending) -> bytes:
        pending.sent += 1
        pending.nonce = self._randomness.getrandbits(32).to_bytes(4, "big")
        return pending.interest.with_nonce(pending.nonce)

    def _fail(self, pending: Pending, kind: str, reason: str, now: int) -> list[Effect]:
        self.pending.drop(pending.ticket)
        if pending.ticket == _COMMAND:
            return self.registrar.failed(reason, now)
        return [Failed(pending.ticket, kind, reason, pending.nack)]

    def _flush(self, wires: list[bytes], now: int) -> list[Effect]:
        """Send, and with it the registrar's next command if one is due."""
        if self.face is None:
            return []
        if _COMMAND not in self.pending:
            command = self.registrar.command(now)
            if command is not None:
                pending = self.pending.add(_COMMAND, Question(Name(), wire=command), now)
                self._begin(pending, now)
                wires.append(self._wire(pending))
        wires = self._link.wrap(wires, now)
        return [Send(self.face, wires)] if wires else []

    def _stuck(self, pending: Pending, now: int) -> str:
        """Say where an Interest got stuck."""
        about = self._about(pending.interest.name) if pending.sent else ""
        said = pending.history(now, self.where, self.trouble)
        return f"{said}; {about}" if about else said
