"""A node: the forwarder and the machines on its internal faces, composed into one machine.

What the forwarder sends to an internal face goes to the machine behind it in the same call, and what that answers goes
back in, so that a driver sees only real faces. Management is always there; an `Application` (a member of a sync group,
say) is attached, and what it tells and wants saved passes through to the driver. Whoever may destroy faces may destroy
that of an application, which is detached then.
"""

from __future__ import annotations

from typing import Final, Protocol

from roost.errors import Backpressure, InvalidInput
from roost.forwarding.face import INTERNAL_FACE, Arrived, CloseFace, FaceSpec, Send
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.management import Answer, Management
from roost.machine import Effect, Randomness, earliest
from roost.naming import Name
from roost.node.settings import NodeSettings
from roost.pubsub.resident import DiskEvent

_MAX_ROUNDS: Final = 64
INSIDE: Final = FaceSpec("internal://app", "internal://node", local=True)


class Application(Protocol):
    """A machine with one face, inside the node; `roost.pubsub.participant` is one.

    All applications of a node hear what is `Saved` and `Written`: the names of their files and stores are different.
    """

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]: ...
    def close_face(self, face: int, now: int) -> list[Effect]: ...
    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]: ...
    def tick(self, now: int) -> list[Effect]: ...
    def deadline(self) -> int | None: ...


class Node:
    """The machine a driver runs; see `roost.host.server`."""

    def __init__(self, settings: NodeSettings, randomness: Randomness) -> None:
        self.forwarder = Forwarder(settings.forwarder, randomness, settings.version)
        self.channels: list[str] = []  # where the driver listens, as URIs; filled by it
        self.applications: Final[dict[int, Application]] = {}  # by face; bound: as many as were attached
        self.unsettled = 0  # packets between internal faces that were dropped, because they kept answering each other
        # NDNts registers under /localhop over UDP and WebSocket, also on this machine; the policy decides who may.
        self.management = Management(
            self.forwarder, settings.policy, settings.signer, localhop=True, channels=lambda: self.channels
        )

    def start(self, now: int) -> list[Effect]:
        """Route management's prefixes to the internal face."""
        effects = self.forwarder.start(now)
        for prefix in self.management.prefixes():
            self.forwarder.fib.set(prefix, [(INTERNAL_FACE, 0)], now)
        return self._settle(effects, now)

    def attach(self, application: Application, now: int, spec: FaceSpec = INSIDE) -> list[Effect]:
        """Give a machine inside this node a face; raises `Backpressure` if there are too many."""
        face = self.forwarder.free_face_id()
        effects = self.forwarder.open_face(face, spec, now)
        if face not in self.forwarder.faces:
            raise Backpressure(f"no application can be attached: the node has {len(self.forwarder.faces)} faces", 0)
        self.applications[face] = application
        return self._settle(effects + self._inject(face, application.open_face(face, spec, now), now), now)

    def act(self, application: Application, effects: list[Effect], now: int) -> list[Effect]:
        """Carry out what a command to an attached application returned."""
        for face, attached in self.applications.items():
            if attached is application:
                return self._settle(self._inject(face, effects, now), now)
        raise InvalidInput("the application has no face here, or has lost it: attach it first")

    def free_face_id(self) -> int:
        """Return an id for a face about to be opened."""
        return self.forwarder.free_face_id()

    def open_face(self, face_id: int, spec: FaceSpec, now: int) -> list[Effect]:
        """Attach a face."""
        effects = self.forwarder.open_face(face_id, spec, now)
        if face_id in self.forwarder.faces:
            effects += self._answer(self.management.face_added(face_id, now), now)
        return self._settle(effects, now)

    def close_face(self, face_id: int, now: int) -> list[Effect]:
        """Detach a face whose transport is gone."""
        if face_id not in self.forwarder.faces:
            return []
        answer = self.management.face_removed(face_id, now)
        effects = self.forwarder.close_face(face_id, now)
        return self._settle(effects + self._answer(answer, now), now)

    def face_down(self, face_id: int, now: int) -> list[Effect]:
        """Send nothing to a face whose transport is gone for a while."""
        return self._settle(self.forwarder.face_down(face_id, now), now)

    def face_up(self, face_id: int, now: int) -> list[Effect]:
        """Use it again."""
        return self._settle(self.forwarder.face_up(face_id, now), now)

    def add_route(self, prefix: Name, face_id: int, cost: int, now: int, *, inherited: bool = True) -> list[Effect]:
        """Route a prefix to a face on the operator's behalf, until the face is closed.

        A longer prefix with routes of its own has this one beside them if it is `inherited`.
        """
        self.management.add_route(prefix, face_id, cost, now, inherited=inherited)
        return self._settle(self.forwarder.flush(now), now)

    def face_opened(self, request: int, face_id: int, now: int) -> list[Effect]:
        """Report that the face of an `OpenFace` effect is there."""
        return self._settle(self._answer(self.management.face_opened(request, face_id, now), now), now)

    def face_failed(self, request: int, code: int, reason: str, now: int) -> list[Effect]:
        """Report that the face of an `OpenFace` effect could not be had."""
        return self._settle(self._answer(self.management.face_failed(request, code, reason, now), now), now)

    def queue_reported(self, face_id: int, queued_bytes: int, now: int) -> None:
        """Report how much waits in front of a face."""
        self.forwarder.queue_reported(face_id, queued_bytes, now)

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        """Process a batch of link packets from one face, or hear that something is on the disk, or is not."""
        if isinstance(event, Arrived):
            return self._settle(self.forwarder.receive(event, now), now)
        effects: list[Effect] = []
        for face, application in self.applications.items():
            effects += self._inject(face, application.receive(event, now), now)
        return self._settle(effects, now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self.forwarder.tick(now)
        effects += self._answer(self.management.tick(now), now)
        for face, application in self.applications.items():
            deadline = application.deadline()
            if deadline is not None and deadline <= now:
                effects += self._inject(face, application.tick(now), now)
        return self._settle(effects, now)

    def deadline(self) -> int | None:
        """When `tick` wants to be called next."""
        first = earliest(self.forwarder.deadline(), self.management.deadline())
        for application in self.applications.values():
            first = earliest(first, application.deadline())
        return first

    def _answer(self, answer: Answer, now: int) -> list[Effect]:
        if answer.packets:
            return [*answer.effects, *self.forwarder.receive(Arrived(INTERNAL_FACE, answer.packets), now)]
        return [*answer.effects, *self.forwarder.flush(now)]

    def _inject(self, face: int, effects: list[Effect], now: int) -> list[Effect]:
        """Hand what an application sends on its face to the forwarder; the rest passes."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send) and effect.face == face:
                passed += self.forwarder.receive(Arrived(face, effect.packets), now)
            else:
                passed.append(effect)
        return passed

    def _settle(self, effects: list[Effect], now: int) -> list[Effect]:
        """Let the machines on internal faces answer until nothing is left for them."""
        settled: list[Effect] = []
        for _ in range(_MAX_ROUNDS):
            inside: list[Send | CloseFace] = []
            for effect in effects:
                if isinstance(effect, (Send, CloseFace)) and self._is_inside(effect.face):
                    inside.append(effect)
                else:
                    settled.append(effect)
            if not inside:
                return settled
            effects = []
            for each in inside:
                effects += self._hand_in(each, now)
        for effect in effects:
            if isinstance(effect, Send) and self._is_inside(effect.face):
                self.unsettled += len(effect.packets)
            else:
                settled.append(effect)
        return settled

    def _is_inside(self, face: int) -> bool:
        return face == INTERNAL_FACE or face in self.applications

    def _hand_in(self, effect: Send | CloseFace, now: int) -> list[Effect]:
        """Give a machine on an internal face what the forwarder has for it."""
        face = effect.face
        if isinstance(effect, CloseFace):
            return self.applications.pop(face).close_face(face, now)
        if face == INTERNAL_FACE:
            return self._answer(self.management.receive(effect.packets, now), now)
        if face not in self.applications:  # it was closed in this very round
            return []
        return self._inject(face, self.applications[face].receive(Arrived(face, effect.packets), now), now)
