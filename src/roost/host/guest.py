"""An application inside a node, and who hears what it tells.

A node passes on what its applications want, and does not say which of them did. A `Guest` stands in for one: what the
driver executes (packets, disk, journal) passes, everything else becomes a `Tell` to whoever attached it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.forwarding.face import Arrived, CloseFace, FaceSpec, OpenFace, Send
from roost.machine import Effect, Note, Rejected
from roost.machine.disk import Save
from roost.node.node import Application
from roost.pubsub.resident import DiskEvent
from roost.repo.store import Write

Told: TypeAlias = Callable[[Effect, int], None]

_EXECUTED: Final = (Send, Save, Write, Rejected, Note, OpenFace, CloseFace)


@dataclass(frozen=True, slots=True)
class Tell(Effect):
    """Hand an effect to whoever attached the application that it comes from."""

    whom: Told
    effect: Effect


class Guest:
    """The application, as the node sees it."""

    def __init__(self, application: Application, told: Told) -> None:
        self.application: Final = application
        self._told: Final = told

    def tagged(self, effects: list[Effect]) -> list[Effect]:
        """Address what the driver does not execute by itself."""
        return [effect if isinstance(effect, _EXECUTED) else Tell(self._told, effect) for effect in effects]

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        """The face is up."""
        return self.tagged(self.application.open_face(face, spec, now))

    def close_face(self, face: int, now: int) -> list[Effect]:
        """The face is gone."""
        return self.tagged(self.application.close_face(face, now))

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        """Take in packets, or that something is on the disk."""
        return self.tagged(self.application.receive(event, now))

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.tagged(self.application.tick(now))

    def deadline(self) -> int | None:
        """When it wants to be called."""
        return self.application.deadline()
