"""State Vector Sync, versions 3 and 2, as a machine behind `roost.sync.port` [SVS v2 and v3; our sheet §3 to §6].

Every member keeps a vector L of the highest number of every stream, and sends it as a Sync Interest to the whole group:
when it has something to announce, and otherwise when nobody was heard for a while. A received vector R is merged into
L. If R is outdated, which means that some stream of L is lower or missing in it, its sender has to be told, but not by
everybody at once.

      start, announced, timer: send L
                 ┌──────┐
                 │      ▼        R outdated, and not only in flight: M := R
             ┌───┴─────────────┐ ─────────────────────────────────────────▶ ┌────────────────────┐
             │     Steady      │                                            │    Suppression     │
             │ timer: Periodic │ ◀───────────────────────────────────────── │ timer: Suppression │
             └───┬─────────────┘   timer: send L if M is outdated           └───┬────────────────┘
                 │      ▲          announced: send L                            │      ▲
                 └──────┘                                                       └──────┘
      R not outdated: begin the timer again                                  R: M := max(M, R)

- In flight is what was raised here less than a suppression period ago: R may have been sent before its sender heard.
  If nothing else is outdated in it, R changes nothing.
- Of M only what it lacks is kept (`_lacking`), which says the same, as L and M are raised by the same vectors.
- Version 3: a vector with a boot time too far ahead of our clock is ignored entirely.
- An R equal to L, our own that came back for instance, brings nothing and is not outdated.
- However many outdated vectors it hears, a member sends at most one Interest per suppression timeout.
- The sender of an R with streams that we refuse, as we are full, may be full without ours: only once per periodic time
  anything is concluded from what is missing in such an R, or there would be no end of answers.

Vectors that do not fit one Interest are our extension (`roost.sync.svs_window`):

- A member in Suppression that spoke, or heard somebody, and still knows of something lacking stays there with a new
  timer, and goes on with it. Each of its Interests tells at least one more stream of that, so it ends.
- A member to whom a quarter of what it heard with a window was new is far behind. Its timer is then short, and its
  windows are where it may lack something, until it has caught up (`roost.sync.svs_catchup`).
- Without `large_vectors` there are no windows, and a vector is cut to its most recent entries. Once ours has to be cut,
  one of more than half its size may have been cut, too: nothing is concluded from what is missing in it, or there would
  be no end of answers.

Our own numbers are `roost.sync.svs_own`'s, what is sent `roost.sync.svs_teller`'s. Nothing is verified here: `evidence`
says what has to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, SECOND, Effect, Note, Randomness, Rejected, earliest
from roost.machine.disk import Saved
from roost.naming import Name
from roost.naming.conventions import version as version_component
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Event, Learned, Stream
from roost.sync.state_vector import FRESH, OUTDATED, Comparison, StateVector
from roost.sync.svs_catchup import CatchUp
from roost.sync.svs_interest import open_interest
from roost.sync.svs_own import OwnStreams
from roost.sync.svs_settings import SvsSettings
from roost.sync.svs_teller import Teller
from roost.sync.vector_format import Heard, stream_of
from roost.wire import Data, Interest, Signer

_SAMPLE_BYTES: Final = 64


class Svs:
    """The machine."""

    def __init__(
        self, group: Name, settings: SvsSettings, signer: Signer, randomness: Randomness, ledger: Ledger
    ) -> None:
        self.group: Final = group
        self.settings: Final = settings
        self.prefix: Final = group / version_component(settings.version)
        self.route: Final = group if settings.register_group else self.prefix
        self.multicast: Final = self.prefix
        self.received = 0
        self.skewed = 0  # vectors that were ignored for a boot time in the future
        self.refused = 0  # entries for which max_streams left no room, or whose name is too long or number too large
        self.teller: Final = Teller(self.prefix, settings, signer)
        self._randomness: Final = randomness
        self._vector: Final = StateVector(settings.version, settings.max_streams, self.teller.max_key_bytes)
        self._own: Final = OwnStreams(group, settings, ledger, self._vector)
        self._timer: int | None = None  # None before start
        self._suppressed = False
        self._lacking: Final[dict[bytes, None]] = {}  # what M lacks, in canonical order; bound: our streams
        self._catch_up: CatchUp | None = None
        self._heeds_full_at = 0  # when something is concluded again from what is missing beside streams we refuse
        self._latest: dict[Stream, int] = {}
        self._latest_revision = -1

    def evidence(self, interest: Interest) -> Interest | Data | None:
        """What has to be verified: the Data of version 3, the signed Interest of version 2, if it is one."""
        if self.settings.version == 2:
            return interest if self.settings.signed and interest.signature is not None else None
        try:
            return open_interest(interest, self.prefix, 3).data
        except BadPacket:
            return None

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream, ours included."""
        if self._latest_revision != self._vector.revision:
            self._latest_revision = self._vector.revision
            version = self.settings.version
            self._latest = {stream_of(key, version): self._vector.numbers[key] for key in self._vector.order}
        return self._latest

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group: say at once what we know, so that somebody tells what we do not."""
        return [*self._own.start(now), *self._send(now)]

    def produce(self, stream: Name, now: int) -> list[Effect]:
        """Take on a stream of our own; if its number has to be asked for, ask soon."""
        revision = self._vector.revision
        effects = self._own.produce(stream, now) + self._tell(revision, now)
        if self._own.unsettled and self._timer is not None and not self._suppressed:
            self._be_steady(now)
        return effects

    def announce(self, stream: Name, high: int, now: int) -> list[Effect]:
        """Save that a stream of ours has come to `high`; the group hears when that is through."""
        return self._own.announce(stream, high, now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in a Sync Interest, or that our numbers are on the disk."""
        if isinstance(event, Asked):
            return self._interest(event.interest, now)
        if isinstance(event, Saved):
            revision = self._vector.revision
            announced, saves = self._own.saved(event, now)
            return announced + self._tell(revision, now) + saves
        return []

    def tick(self, now: int) -> list[Effect]:
        """Settle our own numbers; send if the timer says so."""
        if self._timer is None:
            return []
        revision = self._vector.revision
        effects = self._own.tick(now)
        effects += self._tell(revision, now)
        if self._timer > now:
            return effects
        if self._suppressed and not self._lacking:  # somebody else has told it
            self._be_steady(now)
            return effects
        return effects + self._send(now)

    def deadline(self) -> int | None:
        """When the timer, or a stream of ours, wants to be looked at."""
        if self._timer is None or not self._own.unsettled:
            return self._timer
        return earliest(self._timer, self._own.deadline())

    # -- what comes in

    def _interest(self, interest: Interest, now: int) -> list[Effect]:
        self.received += 1
        if not self._suppressed and self.teller.said(interest, self._vector):
            self._be_steady(now)
            return []
        if self.settings.version == 2 and self.settings.signed and interest.signature is None:
            return [_rejected(interest, "it is not signed, and this group believes signed Interests only")]
        try:
            heard = open_interest(interest, self.prefix, self.settings.version).heard
        except BadPacket as error:
            return [_rejected(interest, str(error))]
        if heard.newest_boot > now // SECOND + self.settings.max_skew_s:
            self.skewed += 1
            return [_rejected(interest, f"boot time {heard.newest_boot} lies in the future: is a clock wrong?")]
        return self._heard(heard, now)

    def _heard(self, heard: Heard, now: int) -> list[Effect]:
        vector = self._vector
        found = vector.merge(heard, now)
        effects: list[Effect] = []
        for key, low, high in found.news:
            adopted = self._own.adopt(key)
            if adopted is None:
                effects.append(Learned(stream_of(key, vector.version), low, high))
            else:
                effects += adopted
        if found.refused or heard.refused:
            effects += self._refuse(found.refused + heard.refused)
        if self._own.unsettled:
            self._own.heard(heard, now)
        if self.settings.large_vectors and (heard.windowed or self._catch_up is not None):
            self._follow(heard, found)
        listed_only = self._may_be_cut(heard) or (found.refused > 0 and now < self._heeds_full_at)
        if self._suppressed:
            if vector.strike(self._lacking, heard) and self._lacking and not self.teller.fits(vector):
                self._timer = now + self.settings.draw_suppression(self._randomness)
            return effects
        lag = vector.lag(heard, found, now - self.settings.suppression_ns, listed_only=listed_only)
        if lag == FRESH:
            self._be_steady(now)
        elif lag == OUTDATED:
            self._suppressed = True
            if found.refused and not listed_only:
                self._heeds_full_at = now + self.settings.periodic_ms * MS
            self._lacking.update(dict.fromkeys(vector.lacking(heard, found, listed_only=listed_only)))
            self._timer = now + self.settings.draw_suppression(self._randomness)
        return effects

    def _follow(self, heard: Heard, found: Comparison) -> None:
        """Take in of which streams it told all, and whether we are far behind."""
        if heard.windowed:
            self.teller.follow(heard)
            if self._catch_up is None and 4 * found.fresh >= len(heard.entries) > 0:
                self._catch_up = CatchUp()
        if self._catch_up is not None:
            if found.fresh:
                self._catch_up.told(heard.after, heard.upto)
            else:
                self._catch_up.asked(heard.after, heard.upto)

    def _may_be_cut(self, heard: Heard) -> bool:
        if self.settings.large_vectors or heard.windowed:
            return False
        return 2 * heard.size_bytes > self.teller.room and not self.teller.fits(self._vector)

    def _refuse(self, count: int) -> list[Effect]:
        first = not self.refused
        self.refused += count
        facts = (("group", str(self.group)), ("max_streams", self.settings.max_streams))
        return [Note("streams refused", facts)] if first else []

    # -- what goes out

    def _tell(self, revision: int, now: int) -> list[Effect]:
        """Tell the group if we have raised our own numbers since this revision of the vector."""
        if self._timer is None or self._vector.revision == revision:
            return []
        return self._send(now)

    def _send(self, now: int) -> list[Effect]:
        """Say what we know; if that could not be all that somebody lacks, go on with it."""
        if self._catch_up is not None:
            self.teller.move_to(self._catch_up.gap)
        effects = self.teller.tell(self._vector, self._own.recent, self._lacking)
        if self._catch_up is not None:
            self._catch_up.asked(*self.teller.window)
        if self._lacking:
            self._timer = now + self.settings.draw_suppression(self._randomness)
        else:
            self._be_steady(now)
        return effects

    def _be_steady(self, now: int) -> None:
        self._suppressed = False
        if self._catch_up is not None and self._catch_up.over:
            self._catch_up = None
        if self._catch_up is not None or self._own.unsettled:
            self._timer = now + self.settings.suppression_ns + self.settings.draw_suppression(self._randomness)
        else:
            self._timer = now + self.settings.draw_periodic(self._randomness)


def _rejected(interest: Interest, reason: str) -> Rejected:
    return Rejected(str(interest.name), reason, interest.wire[:_SAMPLE_BYTES])
