"""The prefixes a node wants to be sent by another one, kept registered there over one face of its own.

An application registers at the far end of its face. A node's faces lead to nodes, so here the application is inside,
and its commands carry the number of the face they are to leave by (NextHopFaceId): the far end then sees them come from
this node, and its routes lead back to it. What is registered where is the book-keeping of `roost.forwarding.registrar`,
whose changes (`RegistrationChanged`) are told. The far end's policy decides; ours takes commands from its own machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import LOCAL_FIELDS, Arrived, FaceSpec, Send
from roost.machine import Effect, Randomness
from roost.naming import Name
from roost.pubsub.resident import DiskEvent
from roost.wire import LpPacket, Signer

INSIDE: Final = FaceSpec("internal://peering", "internal://node", local=True, flags=LOCAL_FIELDS)


class Peering:
    """An application for `Node.attach`, with the face `INSIDE`; what is above `open_face` are commands to it."""

    def __init__(
        self, signer: Signer, randomness: Randomness, prefixes: Sequence[Name], signers: Mapping[Name, Signer]
    ) -> None:
        """`signers` are those of prefixes that `signer` has no right to: a node may serve several groups."""
        self.endpoint: Final = Endpoint(signer, randomness)
        self.endpoint.registrar.signers.update(signers)
        self.prefixes: Final = dict.fromkeys(prefixes)  # bound: the endpoint's max_served
        self._inside = 0
        self._through = 0  # the face to the other node; 0 while it is down

    def register(self, prefix: Name, now: int) -> list[Effect]:
        """Want one more, from now on or from when the face is up."""
        self.prefixes[prefix] = None
        return self._directed(self.endpoint.register(prefix, now))

    def unregister(self, prefix: Name, now: int) -> list[Effect]:
        """Want it no longer."""
        self.prefixes.pop(prefix, None)
        return self._directed(self.endpoint.unregister(prefix, now))

    def linked(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        """The face to the other node is up: register everything, for the first time or again."""
        self._through = face
        effects = self.endpoint.connected(self._inside, spec, now)
        for prefix in self.prefixes:
            if prefix not in self.endpoint.registrar.registrations:
                effects += self.endpoint.register(prefix, now)
        return self._directed(effects)

    def unlinked(self, reason: str) -> list[Effect]:
        """It is down: what was registered is lost."""
        self._through = 0
        return self.endpoint.disconnected(reason)

    # -- an application of a node

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:  # noqa: ARG002  an application's shape
        """Take the face inside the node; nothing is sent before `linked`."""
        self._inside = face
        return []

    def close_face(self, face: int, now: int) -> list[Effect]:  # noqa: ARG002
        """The face inside the node is gone, and with it the way to register."""
        return self.unlinked("it was closed")

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        """Take in the answers of the other node."""
        return self._directed(self.endpoint.receive(event, now)) if isinstance(event, Arrived) else []

    def tick(self, now: int) -> list[Effect]:
        """Ask again, and renew what ends by itself."""
        return self._directed(self.endpoint.tick(now))

    def deadline(self) -> int | None:
        """When the next command is due."""
        return self.endpoint.deadline()

    def _directed(self, effects: list[Effect]) -> list[Effect]:
        """Have everything leave by the one face."""
        return [
            Send(effect.face, [LpPacket(wire, next_hop_face=self._through).encode() for wire in effect.packets])
            if isinstance(effect, Send)
            else effect
            for effect in effects
        ]
