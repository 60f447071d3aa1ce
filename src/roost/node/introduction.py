"""Registrations from other machines: taken from whoever the trust schema lets speak for the prefix.

A panel or a repo on another machine registers over `/localhop/nfd` with a signed command. Its certificate is usually
not here, and there is no way to it yet: that is what the registration is for. So it is asked for over the very face
the command came by (NextHopFaceId); the command is refused meanwhile, and its sender tries again soon, as `registrar`
does. One certificate of a chain comes with each try.

- The schema has a rule for `/localhop/nfd/rib/<verb>/<parameters>`: panels, repos, groups and user devices.
- A key registers what is below its own identity; a repo's also what is its group's; and everybody the names of the
  keys above it, whose certificates others need.

Commands from this machine are left to `roost.forwarding.commands`.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.forwarding.commands import Command, LocalCommands
from roost.forwarding.control import ControlParameters
from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.forwarding.face import LOCAL_FIELDS, Arrived, FaceSpec, Send
from roost.forwarding.pending import Question
from roost.machine import Effect, Randomness
from roost.naming import Name
from roost.naming.building import REPO
from roost.naming.component import Component
from roost.naming.conventions import KEY
from roost.pubsub.resident import DiskEvent
from roost.trust.acceptance import Checker
from roost.trust.verdict import Accepted, Wanted
from roost.wire import DigestSigner, LpPacket
from roost.wire.certificate import key_name_of

INSIDE: Final = FaceSpec("internal://introduction", "internal://node", local=True, flags=LOCAL_FIELDS)
MAX_WANTED: Final = 64
_LIFETIME_MS: Final = 1000
_REPO: Final = Component.text(REPO)


class Introduction:
    """The policy for commands, and an application that asks for certificates: attach it with the face `INSIDE`."""

    def __init__(self, verifier: Checker, randomness: Randomness) -> None:
        self.turned_away = 0
        self._verifier: Final = verifier
        self._local: Final = LocalCommands()
        self._endpoint: Final = Endpoint(DigestSigner(), randomness)
        self._wanted: Final[dict[int, tuple[Name, int]]] = {}  # ticket → certificate, face; bound: MAX_WANTED
        self._unasked: Final[list[int]] = []  # tickets; bound: as above
        self._next_ticket = 1
        self._now = 0

    # -- the policy

    def check(self, command: Command, now: int) -> str | None:
        """Say why a command is refused; None where it is allowed."""
        if command.local:
            return self._local.check(command, now)
        if not command.localhop or command.module != "rib":
            return "from other machines routes can be registered, nothing else"
        verdict = self._verifier.check(command.interest, now)
        if isinstance(verdict, Wanted):
            self._want(verdict.name, command.face, now)
            return f"the certificate {verdict.name} is being asked for, try again"
        if not isinstance(verdict, Accepted):
            return str(verdict)
        try:
            prefix = ControlParameters.decode(command.interest.name.at(4).value).name
        except BadPacket as error:
            return str(error)
        identity = key_name_of(verdict.chain[0]).prefix(-2) if verdict.chain else Name()
        if prefix is None or not speaks_for(identity, prefix):
            return f"{identity} may register what is below it, which {prefix} is not"
        return None

    def _want(self, name: Name, face: int, now: int) -> None:
        if (name, face) in self._wanted.values():
            return
        if len(self._wanted) >= MAX_WANTED:
            self.turned_away += 1
            return
        self._wanted[self._next_ticket] = (name, face)
        self._unasked.append(self._next_ticket)
        self._next_ticket += 1
        self._now = now

    # -- the application

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        """Take the face inside the node."""
        return self._endpoint.connected(face, spec, now)

    def close_face(self, face: int, now: int) -> list[Effect]:  # noqa: ARG002  an application's shape
        """The face inside the node is gone: nobody new is believed."""
        return self._endpoint.disconnected("it was closed")

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        """Take in certificates."""
        return self._taken(self._endpoint.receive(event, now), now) if isinstance(event, Arrived) else []

    def tick(self, now: int) -> list[Effect]:
        """Ask for what is wanted."""
        effects = self._taken(self._endpoint.tick(now), now)
        for ticket in self._unasked:
            name, face = self._wanted[ticket]
            question = Question(name, can_be_prefix=True, lifetime_ms=_LIFETIME_MS)
            for effect in self._endpoint.ask([(ticket, question)], now):
                effects.append(_by(effect, face))
        self._unasked.clear()
        return effects

    def deadline(self) -> int | None:
        """At once if there is something to ask."""
        return self._now if self._unasked else self._endpoint.deadline()

    def _taken(self, effects: list[Effect], now: int) -> list[Effect]:
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Delivered):
                name, _ = self._wanted.pop(effect.ticket)
                if self._verifier.learn(effect.data, now) is not None:
                    self._verifier.missing(name, now)
            elif isinstance(effect, Failed):
                del self._wanted[effect.ticket]
            else:
                passed.append(effect)
        return passed


def speaks_for(identity: Name, prefix: Name) -> bool:
    """Whether the holder of an identity may have a prefix routed to it."""
    if not identity:
        return False
    if prefix.starts_with(identity):
        return True
    if len(prefix) > 1 and KEY in prefix:
        holder = prefix.prefix(list(prefix).index(KEY))
        return identity.starts_with(holder)
    is_repo = len(identity) > 2 and identity.at(-2) == _REPO
    return is_repo and prefix.starts_with(identity.prefix(-2))


def _by(effect: Effect, face: int) -> Effect:
    """Have a packet leave by one face."""
    if not isinstance(effect, Send):
        return effect
    return Send(effect.face, [LpPacket(wire, next_hop_face=face).encode() for wire in effect.packets])
