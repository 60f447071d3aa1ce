"""Our own streams in a State Vector Sync group: which numbers are ours to give, across restarts [SVS v2 and v3].

    produce ──▶ settled? ──▶ Ready ──▶ announce ──▶ ledger ──▶ Saved ──▶ the vector, and the group
                   └─ no: version 2, and our disk lost numbers: wait until the group told them, or did not

- Version 3 with a ledger that is whole: each stream goes on with its boot time and number; a new one gets the newest
  boot time there is. Without a ledger the boot time is now; after damage it is at least one second later than now and
  than all boot times that can be read, as the lost one may be of this very second.
- Version 2 has no boot times. A doubtful stream is left out of our vector, so that whoever knows it tells. Once
  somebody did, it is settled two suppression periods later, which gives who knows more the time to say so; if nobody
  does, after `recovery_ms`.
- If others know a higher number of ours than we do, it was given: we adopt it, and go on behind it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from roost.errors import Backpressure, InvalidInput
from roost.machine import MS, SECOND, Effect, Note
from roost.machine.disk import Saved
from roost.naming import Name
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Ready, Stream
from roost.sync.state_vector import StateVector
from roost.sync.svs_settings import SvsSettings
from roost.sync.vector_format import MAX_NUMBER, Heard, key_of

_SETTLING: Final = 2  # suppression periods
_NEVER: Final = 1 << 63


class _Own:
    """A stream that is produced here."""

    __slots__ = ("key", "settles_at", "stream", "wanted")

    def __init__(self, stream: Stream, key: bytes) -> None:
        self.stream: Final = stream
        self.key: Final = key
        self.wanted = 0  # the highest number that is being saved
        self.settles_at = -1  # version 2: when its number is believed; -1 if it is


class OwnStreams:
    """The streams we produce, and the ledger behind them."""

    def __init__(self, group: Name, settings: SvsSettings, ledger: Ledger, vector: StateVector) -> None:
        self.recent: Final[dict[bytes, None]] = {}  # keys of what was announced, the latest last
        self._group: Final = group
        self._settings: Final = settings
        self._ledger: Final = ledger
        self._vector: Final = vector
        self._streams: Final[dict[Name, _Own]] = {}  # bound: the ledger's
        self._by_key: Final[dict[bytes, _Own]] = {}
        self._unsettled: Final[dict[Name, _Own]] = {}
        self._boot = 0
        self._recovered_at = _NEVER  # version 2: when the group had time to tell us what our disk lost
        known = {
            key_of(stream, settings.version): number
            for stream, number in ledger.known()
            if number and (settings.version == 3 or not ledger.doubtful(stream.name))
        }
        vector.load(known)
        self.recent.update(dict.fromkeys(known))

    @property
    def unsettled(self) -> bool:
        """Whether we wait for the group to tell us our own numbers."""
        return bool(self._unsettled)

    def start(self, now: int) -> list[Effect]:
        """From now on the group can be heard."""
        if not self._boot:
            self._boot = self._boot_at(now)
        self._recovered_at = now + self._settings.recovery_ms * MS
        for own in self._unsettled.values():
            own.settles_at = self._recovered_at
        if not self._ledger.damaged:
            return []
        return [Note("ledger damaged", (("group", str(self._group)), ("file", self._ledger.file)))]

    # -- commands

    def produce(self, name: Name, now: int) -> list[Effect]:
        """Take on a stream; it is `Ready`, at once or when it is settled."""
        own = self._streams.get(name)
        effects: list[Effect] = []
        if own is None:
            own = self._take_on(name, now)
            if now < self._recovered_at and self._settings.version == 2 and self._ledger.doubtful(name):
                own.settles_at = self._recovered_at
                self._unsettled[name] = own
                self._hurry(own, self._vector.numbers, now)
            else:
                effects = self._settle(own, now)
        return effects if own.settles_at >= 0 else [*effects, _ready(own, self._vector)]

    def announce(self, name: Name, high: int, now: int) -> list[Effect]:
        """Have a number saved, so that it can be announced."""
        own = self._streams.get(name)
        if own is None:
            raise InvalidInput(f"{name} is not produced here: call produce first")
        if high > MAX_NUMBER:
            raise InvalidInput(f"{name} cannot come to {high}: {MAX_NUMBER} is the last number there is")
        if own.settles_at >= 0:
            wait_ms = min(max(1, -(-(own.settles_at - now) // MS)), self._settings.recovery_ms)
            raise Backpressure(f"{name}: our disk lost its last number; the group is being asked for it", wait_ms)
        return self._save(own, high) if high > self._vector.numbers.get(own.key, 0) else []

    # -- what comes in

    def saved(self, event: Saved, now: int) -> tuple[list[Effect], list[Effect]]:
        """Take in that numbers are on the disk; returns what is announced now, and the next save."""
        through, saves = self._ledger.saved(event)
        announced: list[Effect] = []
        for stream, number in through:
            key = key_of(stream, self._settings.version)
            if number > self._vector.numbers.get(key, 0):
                self._tell(key, number, now)
                announced.append(Announced(stream, number))
        return announced, saves

    def heard(self, heard: Heard, now: int) -> None:
        """Take in a vector that was merged: it may have told us our own numbers."""
        for own in self._unsettled.values():
            self._hurry(own, heard.entries, now)

    def adopt(self, key: bytes) -> list[Effect] | None:
        """Go on behind a number that others knew; None if the stream is not ours."""
        own = self._by_key.get(key)
        if own is None:
            return None
        return [] if own.settles_at >= 0 else [*self._adopt(own), _ready(own, self._vector)]

    def tick(self, now: int) -> list[Effect]:
        """Settle what has waited long enough."""
        effects: list[Effect] = []
        for own in [own for own in self._unsettled.values() if own.settles_at <= now]:
            del self._unsettled[own.stream.name]
            effects += [*self._settle(own, now), _ready(own, self._vector)]
        return effects

    def deadline(self) -> int | None:
        """When the next stream is settled."""
        return min([own.settles_at for own in self._unsettled.values()], default=None)

    # -- how it is done

    def _boot_at(self, now: int) -> int:
        """The boot time of streams that begin now."""
        ledger = self._ledger
        certain = [stream.boot for stream, _ in ledger.known() if not ledger.doubtful(stream.name)]
        afresh = max(now // SECOND, ledger.newest_boot) + 1 if ledger.damaged else now // SECOND
        return max(certain, default=0) or afresh

    def _take_on(self, name: Name, now: int) -> _Own:
        boot, number = self._ledger.get(name) or (0, 0)
        certain = not self._ledger.doubtful(name)
        if self._settings.version == 2:
            stream = Stream(name)
        else:
            if not self._boot:
                self._boot = self._boot_at(now)
            stream = Stream(name, boot if boot and certain else self._boot)
        key = key_of(stream, self._settings.version)
        if not name or len(key) > self._vector.max_key_bytes:
            limit = self._vector.max_key_bytes - len(key) + len(name.value)
            raise InvalidInput(f"{name} cannot be a stream of this group: the bytes of its name are 1 to {limit}")
        own = _Own(stream, key)
        if certain and boot == stream.boot:
            own.wanted = number
        self._streams[name] = own
        self._by_key[key] = own
        return own

    def _hurry(self, own: _Own, told: dict[bytes, int], now: int) -> None:
        """Settle it soon if somebody told its number."""
        if own.key in told:
            own.settles_at = min(own.settles_at, now + _SETTLING * self._settings.suppression_ns)

    def _settle(self, own: _Own, now: int) -> list[Effect]:
        """Believe the higher of what our disk and what the group knows."""
        own.settles_at = -1
        boot, number = self._ledger.get(own.stream.name) or (0, 0)
        if boot == own.stream.boot and number > self._vector.numbers.get(own.key, 0):
            self._tell(own.key, number, now)
        return self._adopt(own)

    def _adopt(self, own: _Own) -> list[Effect]:
        number = self._vector.numbers.get(own.key, 0)
        if number <= own.wanted:
            return []
        facts = (("group", str(self._group)), ("stream", str(own.stream)), ("number", number))
        effects: list[Effect] = [Note("own number adopted", facts)]
        with suppress(Backpressure):  # the ledger is full: who announces will be told
            effects += self._save(own, number)
        return effects

    def _save(self, own: _Own, number: int) -> list[Effect]:
        if number <= own.wanted:
            return []
        effects = self._ledger.want(own.stream, number)
        own.wanted = number
        return effects

    def _tell(self, key: bytes, number: int, now: int) -> None:
        self._vector.raise_to(key, number, now)
        self.recent.pop(key, None)
        self.recent[key] = None


def _ready(own: _Own, vector: StateVector) -> Ready:
    return Ready(own.stream, max(own.wanted, vector.numbers.get(own.key, 0)) + 1)
