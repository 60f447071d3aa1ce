"""A machine that shares a face with nobody: what it asks and answers goes through an endpoint of its own.

A `Part` is a machine that speaks in questions and answers (`Ask`, `Cancel`, `Reply`, `Deny`) and knows no face: a
membership of a sync group, a repo, a panel, a consumer. A `Resident` puts one on a face, for a node's inside and for
the simulator; `roost.host.residence` puts one on the face of an application.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.face import Arrived, FaceSpec
from roost.forwarding.pending import Question
from roost.forwarding.registrar import REGISTERED, RegistrationChanged
from roost.machine import Effect, earliest
from roost.machine.disk import Saved
from roost.naming import Name
from roost.pubsub.membership import Ask, Cancel
from roost.repo.store import Unwritten, Written
from roost.sync.port import Reply
from roost.wire import Interest

DiskEvent: TypeAlias = Saved | Written | Unwritten
Event: TypeAlias = Asked | Delivered | Failed | DiskEvent


@dataclass(frozen=True, slots=True)
class Deny(Effect):
    """Say that what an Interest asks for is not here; the network may find it elsewhere."""

    interest: Interest
    token: bytes


class Part(Protocol):
    """What can be put on a face."""

    @property
    def prefixes(self) -> Sequence[Name]: ...  # Interests under them are for `receive`
    @property
    def routes(self) -> Sequence[Name]: ...  # what to register, so that they come

    def start(self, now: int) -> list[Effect]: ...
    def receive(self, event: Event, now: int) -> list[Effect]: ...
    def tick(self, now: int) -> list[Effect]: ...
    def deadline(self) -> int | None: ...
    def sizes(self) -> dict[str, tuple[int, int]]: ...


Inside = TypeVar("Inside", bound=Part)


class Resident(Generic[Inside]):
    """An endpoint and the part behind it; with `register` a forwarder stands in between and is asked for its routes.

    The part is started, and started again, whenever its Interests begin to come: with the face, or with the last route.
    """

    def __init__(self, part: Inside, endpoint: Endpoint, *, register: bool = False) -> None:
        self.part: Final = part
        self.endpoint: Final = endpoint
        self._routes: Final = tuple(part.routes) if register else ()
        self._missing: Final[set[Name]] = set(self._routes)  # those that are not registered; bound: the routes
        self._opened = False

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        """The face is up, for the first time or again."""
        effects = self.endpoint.connected(face, spec, now)
        if not self._opened:
            self._opened = True
            for prefix in self.part.prefixes:
                self.endpoint.serve(prefix)
            for route in self._routes:
                effects += self.endpoint.register(route, now)
        if not self._routes:
            effects += self.part.start(now)
        return self.settle(effects, now)

    def close_face(self, face: int, now: int) -> list[Effect]:
        """The face is down."""
        return self.settle(self.endpoint.disconnected("it was closed"), now) if face == self.endpoint.face else []

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Nothing happens before the face is up."""
        return self.endpoint.start(now)

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        """Take in packets, or that something is on the disk."""
        if isinstance(event, Arrived):
            return self.settle(self.endpoint.receive(event, now), now)
        return self.settle(self.part.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self.settle(self.endpoint.tick(now), now)
        return effects + self.settle(self.part.tick(now), now)

    def deadline(self) -> int | None:
        """When the face or the part wants to be called."""
        return earliest(self.endpoint.deadline(), self.part.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"pending": (len(self.endpoint.pending), self.endpoint.max_pending + 1), **self.part.sizes()}

    def settle(self, effects: list[Effect], now: int) -> list[Effect]:
        """Pass things between the two until only what concerns the world is left; each round answers the last one's.

        What a command to the part returned goes through this too.
        """
        out: list[Effect] = []
        while effects:
            questions: list[tuple[int, Question]] = []
            answers: list[tuple[bytes, bytes]] = []
            denied: list[tuple[Interest, bytes]] = []
            inside: list[Effect] = []
            for effect in effects:
                if isinstance(effect, (Asked, Delivered, Failed)):
                    inside += self.part.receive(effect, now)
                elif isinstance(effect, RegistrationChanged):
                    inside += self._registration(effect, now)
                elif isinstance(effect, Ask):
                    questions.append((effect.ticket, effect.question))
                elif isinstance(effect, Cancel):
                    self.endpoint.cancel(effect.ticket)
                elif isinstance(effect, Reply):
                    answers.append((effect.packet, effect.token))
                elif isinstance(effect, Deny):
                    denied.append((effect.interest, effect.token))
                else:
                    out.append(effect)
            if questions:
                inside += self.endpoint.ask(questions, now)
            if answers:
                inside += self.endpoint.reply(answers, now)
            if denied:
                inside += self.endpoint.deny(denied, now)
            effects = inside
        return out

    def _registration(self, change: RegistrationChanged, now: int) -> list[Effect]:
        if change.state != REGISTERED:
            if change.prefix in self._routes:
                self._missing.add(change.prefix)
            return []
        self._missing.discard(change.prefix)
        return [] if self._missing else self.part.start(now)
