"""A sync member of an SVS-PS group on a face that its publisher and its subscriber share [SVS-PS §8].

Each layer may have a verifier of its own (`Checkers`), as it has a signer of its own; Sync Interests have the one that
is given for all.

Whatever the sync member wants of the face gets tickets of the one `Asking` that both sides use, so that an answer finds
who asked. What is known of publications is shared too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.machine import Effect
from roost.pubsub.asking import Asking
from roost.pubsub.blobs.directory import MAX_ANSWERED, MAX_ASKED, Directory
from roost.pubsub.blobs.mapped_sync import MappedSvs
from roost.pubsub.blobs.names import HELD, Naming
from roost.pubsub.blobs.sealing import BlobOpening
from roost.pubsub.membership import Membership
from roost.pubsub.resident import Event
from roost.trust.acceptance import Checker


@dataclass(frozen=True, slots=True)
class Checkers:
    """Who verifies an application's Data, the transport's around it, answers to mapping queries; None: who does all."""

    inner: Checker | None = None
    outer: Checker | None = None
    mapping: Checker | None = None


SAME: Final = Checkers()


class Seat:
    """Our place in one group."""

    def __init__(
        self, sync: MappedSvs, verifier: Checker, opening: BlobOpening | None = None, checkers: Checkers = SAME
    ) -> None:
        self.sync: Final = sync
        self.opening: Final = opening  # of what only some may read
        self.membership: Final = Membership(sync, verifier)
        self.held: Final = sync.group / HELD  # as a forwarding hint, it leads to members that carry
        self.asking: Final = Asking(
            verifier if checkers.outer is None else checkers.outer, sync.group, helpers=lambda _: (self.held,)
        )
        self.inner: Final = self.asking.vet(verifier if checkers.inner is None else checkers.inner)
        self.mapping: Final = self.asking.vet(verifier if checkers.mapping is None else checkers.mapping)
        self.naming: Final = Naming(sync.group, sync.settings.version)
        self.directory: Final = Directory(max_asked=MAX_ASKED if sync.settings.version == 2 else MAX_ANSWERED)

    def act(self, effects: list[Effect], now: int) -> list[Effect]:
        """Carry out what a command to the sync member returned."""
        return self._settle(self.membership.act(effects, now), now)

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        return self._settle(self.membership.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer to whoever asked, or that something is on the disk."""
        if isinstance(event, (Delivered, Failed)):
            return self.asking.receive(event, now)
        return self._settle(self.membership.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self._settle(self.membership.tick(now), now)

    def deadline(self) -> int | None:
        """When the sync member wants to be called."""
        return self.membership.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            **self.membership.sizes(),
            "questions": (len(self.asking), self.asking.max_asked),
            "entries": (len(self.directory), self.directory.max_entries),
        }

    def _settle(self, effects: list[Effect], now: int) -> list[Effect]:
        return self.asking.settle(self.membership, effects, now)
