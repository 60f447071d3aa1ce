"""What a member of a full-sync group and a producer of partial sync have in common: they announce, and they answer.

Both hold a dataset with streams of their own in it, compare it with the IBLTs they are asked with, keep questions to
which there is no answer yet, and have one question of their own at a time. What they reply, and when, is in
`roost.sync.psync_full` and `roost.sync.psync_producer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from roost.machine import MS, Effect, Randomness
from roost.machine.disk import Saved
from roost.naming import Name
from roost.sync.dataset import Dataset
from roost.sync.iblt import Difference
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Event, Stream
from roost.sync.presets import FullPreset, PartialPreset
from roost.sync.psync_own import OwnStreams
from roost.sync.request import Outcome, Request
from roost.sync.sizing import Sizing
from roost.sync.state_replies import StateReplies
from roost.sync.sync_interests import PendingInterests, SyncInterest
from roost.wire import Data, Interest, Signer

Preset = TypeVar("Preset", bound=FullPreset | PartialPreset)


class PSyncMember(ABC, Generic[Preset]):
    """Whoever has streams in PSync; `group` is what PSync calls the sync prefix."""

    def __init__(
        self,
        group: Name,
        preset: Preset,
        signer: Signer,
        randomness: Randomness,
        ledger: Ledger,
        *,
        longest: Name,
        lifetime_ms: int,
    ) -> None:
        """Take the longest name a reply can have, and how long a question of ours lives."""
        self.group: Final = group
        self.prefix: Final = group
        self.route: Final = group
        self.preset: Final[Preset] = preset
        self.dataset: Final = Dataset(preset.max_streams)
        self.replies: Final = StateReplies(signer, randomness, preset, longest)
        self.sizing: Final = Sizing(preset.ladder, preset.expected)
        self.pending: Final = PendingInterests(preset.max_pending)
        self.segments_gone = 0  # asked for, but not kept any more
        self._own: Final = OwnStreams(ledger, self.dataset, lifetime_ms)
        self._randomness: Final = randomness
        self._request: Final = Request()

    def evidence(self, interest: Interest) -> Interest | Data | None:  # noqa: ARG002  the port's shape
        """Sync Interests of PSync are not signed."""
        return None

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream."""
        return {Stream(name): number for name, number in self.dataset.items()}

    def produce(self, stream: Name, now: int) -> list[Effect]:  # noqa: ARG002  the port's shape
        """Make a stream ours."""
        return self._own.produce(stream)

    def announce(self, stream: Name, high: int, now: int) -> list[Effect]:
        """Tell others that a stream of ours has come to `high`, once that is on the disk."""
        return self._own.announce(stream, high, now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, that something is on the disk, or what comes back to a question of ours."""
        if isinstance(event, Asked):
            return self._asked(event, now)
        if isinstance(event, Saved):
            news, effects = self._own.saved(event)
            return effects + self._tell(news, now) if news else effects
        outcome = self._request.receive(event, now)
        return [] if outcome is None else self._came_back(outcome, now)

    @abstractmethod
    def _asked(self, event: Asked, now: int) -> list[Effect]: ...

    @abstractmethod
    def _tell(self, news: list[tuple[Name, int]], now: int) -> list[Effect]: ...

    @abstractmethod
    def _came_back(self, outcome: Outcome, now: int) -> list[Effect]: ...

    def _difference(self, interest: SyncInterest) -> Difference:
        """What we have and the asker has not, and the other way round; by it we learn how large IBLTs must be."""
        difference = self.dataset.iblt_like(interest.iblt).difference(interest.iblt)
        if difference.complete:
            self.sizing.decoded(difference.size)
        else:
            self.sizing.undecodable(interest.iblt.cells)
        return difference

    def _jitter(self) -> int:
        return self._randomness.randint(self.preset.resend_low_ms * MS, self.preset.resend_high_ms * MS)
