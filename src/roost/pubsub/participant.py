"""A membership with a face of its own: an application as one machine, for a node's inside and for the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Generic

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.face import Arrived, FaceSpec
from roost.forwarding.pending import Question
from roost.forwarding.registrar import REGISTERED, RegistrationChanged
from roost.machine import Effect, earliest
from roost.machine.disk import Saved
from roost.pubsub.membership import Ask, Cancel, Membership, Whom
from roost.sync.port import Reply, Stream


class Participant(Generic[Whom]):
    """An endpoint and the membership behind it; with `register` a forwarder stands in between and is asked for a route.

    The group is joined whenever its Interests begin to come: with the face, or with the route.
    """

    def __init__(self, membership: Membership[Whom], endpoint: Endpoint, *, register: bool = False) -> None:
        self.membership: Final = membership
        self.endpoint: Final = endpoint
        self._route: Final = membership.member.route if register else None
        self._opened = False

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        """The face is up, for the first time or again."""
        effects = self.endpoint.connected(face, spec, now)
        if not self._opened:
            self._opened = True
            self.endpoint.serve(self.member.prefix)
            if self._route is not None:
                effects += self.endpoint.register(self._route, now)
        if self._route is None:
            effects += self.membership.start(now)
        return self._settle(effects, now)

    def close_face(self, face: int, now: int) -> list[Effect]:
        """The face is down."""
        return self._settle(self.endpoint.disconnected("it was closed"), now) if face == self.endpoint.face else []

    @property
    def member(self) -> Whom:
        """The member, for commands; what they return goes through `act`."""
        return self.membership.member

    def act(self, effects: list[Effect], now: int) -> list[Effect]:
        """Carry out what a command to the member returned."""
        return self._settle(self.membership.act(effects, now), now)

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream."""
        return self.membership.latest()

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Nothing happens before the face is up."""
        return self.endpoint.start(now)

    def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
        """Take in packets, or that something is on the disk."""
        if isinstance(event, Saved):
            return self._settle(self.membership.receive(event, now), now)
        return self._settle(self.endpoint.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self._settle(self.endpoint.tick(now), now)
        return effects + self._settle(self.membership.tick(now), now)

    def deadline(self) -> int | None:
        """When the face or the member wants to be called."""
        return earliest(self.endpoint.deadline(), self.membership.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"pending": (len(self.endpoint.pending), self.endpoint.max_pending + 1), **self.membership.sizes()}

    def _settle(self, effects: list[Effect], now: int) -> list[Effect]:
        """Pass things between the two until only what concerns the world is left; each round answers the last one's."""
        out: list[Effect] = []
        while effects:
            questions: list[tuple[int, Question]] = []
            answers: list[tuple[bytes, bytes]] = []
            inside: list[Effect] = []
            for effect in effects:
                if isinstance(effect, (Asked, Delivered, Failed)):
                    inside += self.membership.receive(effect, now)
                elif isinstance(effect, RegistrationChanged) and effect.state == REGISTERED:
                    inside += self.membership.start(now)
                elif isinstance(effect, Ask):
                    questions.append((effect.ticket, effect.question))
                elif isinstance(effect, Cancel):
                    self.endpoint.cancel(effect.ticket)
                elif isinstance(effect, Reply):
                    answers.append((effect.packet, effect.token))
                else:
                    out.append(effect)
            if questions:
                inside += self.endpoint.ask(questions, now)
            if answers:
                inside += self.endpoint.reply(answers, now)
            effects = inside
        return out
