"""NFD management as a machine on the forwarder's internal face [nfd-management §1–§6].

    Interest under /localhost/nfd/<module>/<verb>
      ├─ faces/events              the event asked for, or silence until it happens
      ├─ a dataset                 its first segment, later segments by exact name
      └─ a command                 unreadable parameters, unknown verb → silence (and a `Rejected` effect)
                                   policy says no → 403 · form violated → 400 · carried out → 200 or its own code

Under /localhop/nfd, where the operator enabled it, only the `rib` commands are taken. The forwarder adds the face an
Interest came from (IncomingFaceId). Answers are Data, handed back to be injected on the internal face. Faces are opened
by the driver: `OpenFace` goes out, `face_opened` or `face_failed` comes back, and the waiting command is answered then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from roost.errors import BadPacket, InvalidInput
from roost.forwarding.announcement import Announcement, read_announcement
from roost.forwarding.commands import Command, CommandPolicy, LocalCommands
from roost.forwarding.control import OK, ControlParameters, ControlResponse, Form
from roost.forwarding.datasets import DATASETS, Channels, face_event, faces
from roost.forwarding.face_commands import FaceCommands
from roost.forwarding.face_uri import CREATABLE
from roost.forwarding.notifications import FaceEvents
from roost.forwarding.replies import Asked, Handler, Reply
from roost.forwarding.rib import Rib
from roost.forwarding.rib_commands import RibCommands, VerifyAnnouncement
from roost.forwarding.shelf import FRESHNESS_MS, MAX_NAME_BYTES, Shelf
from roost.forwarding.status import CREATED, DESTROYED, FaceQuery
from roost.forwarding.table_commands import TableCommands
from roost.forwarding.tables import FaceRecord, Tables
from roost.machine import Effect, Rejected, earliest
from roost.naming import Name
from roost.naming.component import GENERIC, PARAMETERS_DIGEST
from roost.wire import Data, DigestSigner, Interest, LpPacket, Signer, decode_lp, encode_data
from roost.wire.data import BLOB, NACK
from roost.wire.tlv import INTEREST

LOCALHOST: Final = Name.parse("/localhost/nfd")
LOCALHOP: Final = Name.parse("/localhop/nfd")
MAX_COMMAND_BYTES: Final = 3600  # a command's name; its answer carries the name and the parameters once more
_SAMPLE_BYTES: Final = 64
_NO_CHANNELS: Final[list[str]] = []


@dataclass(frozen=True, slots=True)
class Answer:
    """What management has to say: packets to inject on the internal face, and effects for the driver."""

    packets: list[bytes] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


class Management:
    """The machine."""

    def __init__(
        self,
        tables: Tables,
        policy: CommandPolicy | None = None,
        signer: Signer | None = None,
        *,
        localhop: bool = False,
        verify_announcement: VerifyAnnouncement | None = None,
        channels: Channels = lambda: _NO_CHANNELS,
        schemes: frozenset[str] = CREATABLE,
        rib: Rib | None = None,
    ) -> None:
        self._tables = tables
        self._policy: CommandPolicy = policy or LocalCommands()
        self._signer: Signer = signer or DigestSigner()
        self._localhop = localhop
        self._channels = channels
        self.rib: Final = rib or Rib()
        self._shelf = Shelf(self._signer)
        self._events = FaceEvents(LOCALHOST / "faces" / "events", self._signer)
        self._routes = RibCommands(tables, self.rib, self.prefixes(), verify_announcement)
        self._faces = FaceCommands(tables, schemes)
        self._handlers = {
            **self._routes.handlers(),
            **self._faces.handlers(),
            **TableCommands(tables, self.prefixes()).handlers(),
        }
        self._known: dict[int, FaceRecord] = {}  # faces whose creation was announced; bounded as the faces are

    def prefixes(self) -> list[Name]:
        """List what is routed to the internal face."""
        return [LOCALHOST, LOCALHOP] if self._localhop else [LOCALHOST]

    # ── the machine contract ──

    def start(self, now: int) -> Answer:
        """Route the prefixes of management to the internal face."""
        self._routes.start(now)
        return Answer()

    def receive(self, packets: list[bytes], now: int) -> Answer:
        """Answer the Interests of a batch."""
        answer = Answer()
        for wire in packets:
            try:
                lp = decode_lp(wire) if wire[:1] != bytes((INTEREST,)) else LpPacket(wire)
                if lp.nack < 0 and lp.fragment:
                    self._interest(Interest.decode(lp.fragment), lp, answer, now)
            except InvalidInput as error:
                answer.effects.append(Rejected("management", str(error), wire[:_SAMPLE_BYTES]))
        return answer

    def tick(self, now: int) -> Answer:
        """End routes, give up on faces that do not open, forget old datasets."""
        self._routes.tick(now)
        self._shelf.expire(now)
        return self._answers(self._faces.tick(now))

    def deadline(self) -> int | None:
        """When `tick` wants to be called next."""
        return earliest(self.rib.deadline(), self._shelf.deadline(), self._faces.deadline())

    # ── what the node tells ──

    def face_opened(self, request: int, face_id: int, now: int) -> Answer:
        """Answer the command that asked for this face, which is in the tables now."""
        answer = self._answers(self._faces.opened(request, face_id))
        answer.packets.extend(self.face_added(face_id, now).packets)
        return answer

    def face_failed(self, request: int, code: int, reason: str, now: int) -> Answer:  # noqa: ARG002  a machine's shape
        """Answer the command whose face could not be opened."""
        return self._answers(self._faces.failed(request, code, reason))

    def add_route(self, prefix: Name, face_id: int, cost: int, now: int, *, inherited: bool = True) -> None:
        """Route a prefix to a face without a command; the operator asks, who may do so."""
        self._routes.add(prefix, face_id, cost, now, inherited=inherited)

    def face_added(self, face_id: int, now: int) -> Answer:
        """Tell subscribers of a new face, once."""
        face = self._tables.faces.get(face_id)
        if face is None or face_id in self._known:
            return Answer()
        self._known[face_id] = face
        return Answer([_unkept(self._events.publish(face_event(face, CREATED), now))])

    def face_removed(self, face_id: int, now: int) -> Answer:
        """Tell subscribers of a face that is gone, once, and let its routes die with it."""
        self._routes.face_removed(face_id, now)
        face = self._known.pop(face_id, None)
        if face is None:
            return Answer()
        return Answer([_unkept(self._events.publish(face_event(face, DESTROYED), now))])

    # ── Interests ──

    def _interest(self, interest: Interest, lp: LpPacket, answer: Answer, now: int) -> None:
        name = interest.name
        localhop = self._localhop and name.starts_with(LOCALHOP)
        if len(name) < 4 or not (localhop or name.starts_with(LOCALHOST)):
            raise BadPacket(f"{name} is not a management name")
        module, verb = _word(name, 2), _word(name, 3)
        if not localhop and (module, verb) == ("faces", "events"):
            found = self._events.find(interest, now)
            if found is not None:
                answer.packets.append(_unkept(found, lp.pit_token))
        elif not localhop and ((module, verb) in DATASETS or (module, verb) == ("faces", "query")):
            self._dataset(interest, module, verb, lp.pit_token, answer, now)
        elif (module, verb) in self._handlers or (module, verb) == ("rib", "announce"):
            if localhop and module != "rib":
                raise BadPacket(f"{module} commands are not taken under {LOCALHOP}")
            face = self._tables.faces.get(lp.incoming_face)
            local = face is not None and face.spec.local
            command = Command(interest, module, verb, lp.incoming_face, local, localhop)
            self._command(command, lp.pit_token, answer, now)
        else:
            raise BadPacket(f"management has no {module}/{verb}")

    def _dataset(self, interest: Interest, module: str, verb: str, token: bytes, answer: Answer, now: int) -> None:
        kept = self._shelf.find(interest)
        if kept is not None:
            answer.packets.append(_unkept(kept, token))
            return
        name = interest.name
        if not interest.can_be_prefix or _is_of_version(name):
            return  # nothing that could be made now has this name
        if len(name.value) > MAX_NAME_BYTES:
            raise BadPacket(f"the name of a dataset has at most {MAX_NAME_BYTES} bytes")
        if verb == "query":
            try:
                content = faces(self._tables, now, FaceQuery.decode(name.at(4).value if len(name) > 4 else b""))
            except InvalidInput:
                answer.packets.append(self._data(name, ControlResponse(400, "Malformed filter"), token, NACK))
                return
        else:
            content = DATASETS[module, verb](self._tables, self.rib, self._channels, now)
        answer.packets.append(_unkept(self._shelf.publish(name, content, now), token))

    # ── commands: read, authorise, validate, carry out, in this order [§1] ──

    def _command(self, command: Command, token: bytes, answer: Answer, now: int) -> None:
        interest = command.interest
        name = interest.name
        if len(name.value) > MAX_COMMAND_BYTES:
            raise BadPacket(f"the name of a command has at most {MAX_COMMAND_BYTES} bytes")
        if command.verb == "announce":
            data = Data.decode(interest.parameters or b"")
            announcement = read_announcement(data)
            asked = Asked(command, token, ControlParameters())
            form, handler = Form(), _announcing(self._routes, announcement, data)
        else:
            if len(name) < 5:
                raise BadPacket(f"{name} has no parameters")
            asked = Asked(command, token, ControlParameters.decode(name.at(4).value))
            form, handler = self._handlers[command.module, command.verb]
        refusal = self._policy.check(command, now)
        if refusal is not None:
            answer.effects.append(Rejected(f"face {command.face}", f"{name}: {refusal}"))
            reply = Reply(ControlResponse(403, f"authorization rejected: {refusal}"))
        elif violation := form.violation(asked.parameters):
            reply = Reply(ControlResponse(400, f"failed in validating parameters: {violation}"))
        else:
            reply = handler(asked, now)
        answer.effects.extend(reply.effects)
        if reply.response is not None:
            answer.packets.append(self._data(name, reply.response, token))
        if command.verb == "destroy" and reply.response is not None and reply.response.code == OK:
            answer.packets.extend(self.face_removed(asked.parameters.face or 0, now).packets)

    def _answers(self, answers: Iterable[tuple[Asked, ControlResponse]]) -> Answer:
        return Answer([self._data(asked.name, response, asked.token) for asked, response in answers])

    def _data(self, name: Name, response: ControlResponse, token: bytes, content_type: int = BLOB) -> bytes:
        wire = encode_data(name, response.encode(), self._signer, freshness_ms=FRESHNESS_MS, content_type=content_type)
        return LpPacket(wire, pit_token=token).encode() if token else wire


def _unkept(wire: bytes, token: bytes = b"") -> bytes:
    """Wrap Data that the content store need not keep: management keeps it itself, for as long as it is of use."""
    return LpPacket(wire, pit_token=token, no_cache=True).encode()


def _word(name: Name, index: int) -> str:
    component = name.at(index)
    return component.value.decode("ascii", "replace") if component.type == GENERIC else ""


def _is_of_version(name: Name) -> bool:
    """Whether a name asks for a dataset that was made earlier: it ends in `v=…` or `seg=…`."""
    return name.at(-1).type not in {GENERIC, PARAMETERS_DIGEST}


def _announcing(routes: RibCommands, announcement: Announcement, data: Data) -> Handler:
    return lambda asked, now: routes.announce(asked, announcement, data, now)
