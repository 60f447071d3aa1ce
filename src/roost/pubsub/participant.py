"""A membership with a face of its own: an application as one machine, for a node's inside and for the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

from roost.forwarding.endpoint import Endpoint
from roost.machine import Effect
from roost.pubsub.membership import Membership, Whom
from roost.pubsub.resident import Resident
from roost.sync.port import Stream


class Participant(Resident[Membership[Whom]], Generic[Whom]):
    """A member of a group, and commands for it."""

    def __init__(self, membership: Membership[Whom], endpoint: Endpoint, *, register: bool = False) -> None:
        super().__init__(membership, endpoint, register=register)

    @property
    def member(self) -> Whom:
        """The member, for commands; what they return goes through `act`."""
        return self.part.member

    def act(self, effects: list[Effect], now: int) -> list[Effect]:
        """Carry out what a command to the member returned."""
        return self.settle(self.part.act(effects, now), now)

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream."""
        return self.part.latest()
