"""A node: the forwarder and the machines on its internal faces, composed into one machine.

What the forwarder sends to the internal face goes to management in the same call, and its answers go back in, so that
a driver sees only real faces. Later machines (repo, sync, broker) join here.
"""

from __future__ import annotations

from roost.forwarding.face import INTERNAL_FACE, Arrived, FaceSpec, Send
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.management import Answer, Management
from roost.machine import Effect, Randomness, earliest
from roost.node.settings import NodeSettings

_MAX_ROUNDS = 8


class Node:
    """The machine a driver runs; see `roost.host.server`."""

    def __init__(self, settings: NodeSettings, randomness: Randomness) -> None:
        self.forwarder = Forwarder(settings.forwarder, randomness, settings.version)
        self.channels: list[str] = []  # where the driver listens, as URIs; filled by it
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

    def face_opened(self, request: int, face_id: int, now: int) -> list[Effect]:
        """Report that the face of an `OpenFace` effect is there."""
        return self._settle(self._answer(self.management.face_opened(request, face_id, now), now), now)

    def face_failed(self, request: int, code: int, reason: str, now: int) -> list[Effect]:
        """Report that the face of an `OpenFace` effect could not be had."""
        return self._settle(self._answer(self.management.face_failed(request, code, reason, now), now), now)

    def queue_reported(self, face_id: int, queued_bytes: int, now: int) -> None:
        """Report how much waits in front of a face."""
        self.forwarder.queue_reported(face_id, queued_bytes, now)

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        """Process a batch of link packets from one face."""
        return self._settle(self.forwarder.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self.forwarder.tick(now)
        return self._settle(effects + self._answer(self.management.tick(now), now), now)

    def deadline(self) -> int | None:
        """When `tick` wants to be called next."""
        return earliest(self.forwarder.deadline(), self.management.deadline())

    def _answer(self, answer: Answer, now: int) -> list[Effect]:
        if answer.packets:
            return [*answer.effects, *self.forwarder.receive(Arrived(INTERNAL_FACE, answer.packets), now)]
        return [*answer.effects, *self.forwarder.flush(now)]

    def _settle(self, effects: list[Effect], now: int) -> list[Effect]:
        """Let the internal face answer until nothing is left for it; it answers, it does not ask, so rounds are few."""
        for _ in range(_MAX_ROUNDS):
            inside = [effect for effect in effects if isinstance(effect, Send) and effect.face == INTERNAL_FACE]
            if not inside:
                break
            effects = [effect for effect in effects if not (isinstance(effect, Send) and effect.face == INTERNAL_FACE)]
            for effect in inside:
                effects += self._answer(self.management.receive(effect.packets, now), now)
        return effects
