"""The promises of a building, checked: what is acknowledged is kept by all repos, and delivered as every policy says.

    promises = Promises(world, repos, published, {"c1": Subscriber(wishes, policy)})
    promises.follow()      reads what happened since the last time; what can be seen at once is held against it at once
    promises.kept()        all repos have the same readings, byte by byte, and everything that was published
    promises.delivered()   every subscriber has all it is owed

- Nothing is delivered that no panel has on its disk under that name, or that the subscriber did not ask for.
- Within one incarnation a stream is delivered in order, once, and (`sequential`, `sample`) without gaps. Across
  incarnations nothing is skipped, and only what was delivered within two syncs of the disk before a crash comes again:
  one save may be under way then, and the next one has it.
- A subscription to what is new (no `since`) is owed what was published after it was told `Subscribed`; one since a
  time begins with what retention has left when it first hears of a stream.

Exempt is what `lost` holds when everything is over: readings on a disk that was emptied or had bits flipped, when no
other repo had them yet. Promise 1 is "at least one repo", so a panel that asks for one copy takes that risk; the
scenario says whether any may be (`may_lose`). A `sequential` subscriber waits at such a reading, and is owed nothing
behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from roost.machine import MS
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.consumers.arrival import Deliver, Missing, Subscribed
from roost.pubsub.consumers.policy import LATEST, SAMPLE, Policy
from roost.pubsub.consumers.wishes import Wishes
from roost.pubsub.panels.panel import Acknowledged, Published, Refused
from roost.repo.numbering import numbered as number_in
from roost.repo.shelving import DELETED
from roost.repo.store import Damaged
from roost.repo.store_log import LoggedStore
from roost.sim.deployment import GROUP
from roost.sim.happened import Crashed, Happened, Violation
from roost.sim.houses import LOG
from roost.sim.world import World
from roost.wire import Data
from roost.wire.reading import decode_reading

_ALL: Final = 1 << 30
_REPOS: Final = GROUP.name / "Repo"
_SLACK: Final = MS  # beside the syncs of the disk


class Subscriber(NamedTuple):
    """What a consumer asked for."""

    wishes: Wishes
    policy: Policy


class _Flow:
    """One stream at one subscriber."""

    __slots__ = ("delivered", "incarnation", "last", "missing")

    def __init__(self) -> None:
        self.incarnation = 0  # that was delivered to last
        self.last = 0  # what it got then
        self.delivered: Final[dict[int, int]] = {}  # number → when it came last
        self.missing: Final[set[int]] = set()


class Promises:
    """Reads the history of a world as it grows; `published` is what panels have had on their disks."""

    def __init__(
        self,
        world: World,
        repos: Sequence[str],
        published: Mapping[bytes, bytes],
        subscribers: Mapping[str, Subscriber],
        *,
        sync_ms: float = 2.0,
        prunes: bool = False,
        may_lose: bool = False,
    ) -> None:
        self.acknowledged: Final[dict[Name, set[int]]] = {}
        self.world: Final = world
        self._repos: Final = repos
        self._published: Final = published
        self._subscribers: Final = subscribers
        self._repeatable: Final = round(2 * sync_ms * MS) + _SLACK
        self._prunes: Final = prunes
        self._may_lose: Final = may_lose
        self._read = 0
        self._flows: Final[dict[tuple[str, Name], _Flow]] = {}
        self._subscribed: Final[dict[str, int]] = {}  # since when
        self._crashes: Final[dict[str, list[int]]] = {}  # when
        self._since: Final[dict[Name, dict[int, int]]] = {}  # stream → number → when it was on its panel's disk
        self._endangered: Final[set[bytes]] = set()  # on a disk when that broke, and on no other

    # -- what breaks disks

    def on_disks(self, repos: Collection[str]) -> set[bytes]:
        """The readings that can be read on the disks of repos, up or down."""
        names: set[bytes] = set()
        for repo in repos:
            store = LoggedStore(self.world.stations[repo].disk.files().get(LOG, b""))
            names.update(name.value for name in store.scan(GROUP.name, None, _ALL))
        return names

    def broke(self, before: set[bytes]) -> None:
        """Take in that a disk broke which had all this on it."""
        self._endangered.update(before - self.on_disks(self._repos))

    # -- as it happens

    def follow(self) -> None:
        """Read on."""
        history = self.world.history
        while self._read < len(history):
            self._happened(history[self._read])
            self._read += 1

    def _happened(self, event: Happened) -> None:
        what = event.what
        if isinstance(what, Deliver):
            self._delivered(event, what)
        elif isinstance(what, Missing):
            self._missing(event, what)
        elif isinstance(what, Acknowledged):
            self.acknowledged.setdefault(what.stream, set()).update(range(what.low, what.high + 1))
        elif isinstance(what, Published):
            self._since.setdefault(what.stream, {}).setdefault(what.number, event.time)
        elif isinstance(what, Refused) and not (self._prunes and what.reason == DELETED):
            raise Violation(f"a repo refused {what.stream} {what.number}: {what.reason}", event.time)
        elif isinstance(what, Subscribed):
            self._subscribed.setdefault(event.station, event.time)
        elif isinstance(what, Crashed):
            self._crash(event.station, event.time)

    def _crash(self, station: str, time: int) -> None:
        self._crashes.setdefault(station, []).append(time)
        asked = self._subscribers.get(station)
        if asked is not None and asked.policy.live and station not in self._subscribed:
            for key in [key for key in self._flows if key[0] == station]:
                del self._flows[key]  # where it begins was not on the disk yet: it begins anew

    def _delivered(self, event: Happened, deliver: Deliver) -> None:
        arrival, asked = deliver.arrival, self._subscribers[event.station]
        stream, number = arrival.stream, arrival.number
        if self._published.get(arrival.data.name.value) != arrival.data.wire:
            raise Violation(f"{event.station} was given {arrival.data.name} as nobody published it", event.time)
        if not asked.wishes.covers(stream):
            raise Violation(f"{event.station} was given {stream}, which it did not ask for", event.time)
        flow = self._follow_on(event, stream, number)
        flow.delivered[number] = event.time

    def _missing(self, event: Happened, missing: Missing) -> None:
        if not self._prunes:
            raise Violation(f"{event.station} heard that {missing.low} to {missing.high} of {missing.stream} are gone")
        flow = self._follow_on(event, missing.stream, missing.low)
        flow.last = missing.high
        flow.missing.update(range(missing.low, missing.high + 1))

    def _follow_on(self, event: Happened, stream: Name, number: int) -> _Flow:
        """See whether a number may come next in a stream."""
        station, policy = event.station, self._subscribers[event.station].policy
        flow = self._flows.setdefault((station, stream), _Flow())
        anew = flow.incarnation != event.incarnation
        first = flow.last + 1 if flow.last else policy.from_number or number
        expected = policy.next(stream, first, number)
        if policy.kind == SAMPLE and policy.next(stream, number, number) != number:
            raise Violation(f"{station} was given {stream} {number}, which is not of its sample", event.time)
        if number <= flow.last:
            if not anew or not (number in flow.missing or self._was_unsaved(station, flow.delivered.get(number, 0))):
                raise Violation(f"{station} was given {stream} {number} again, after {flow.last}", event.time)
        elif number != expected:
            raise Violation(f"{station} was given {stream} {number}, but {expected} was next", event.time)
        flow.incarnation, flow.last = event.incarnation, number
        return flow

    def _was_unsaved(self, station: str, came: int) -> bool:
        """Whether a crash came so soon that what was delivered then need not have been on the disk as such."""
        crashes = self._crashes.get(station, [])
        after = bisect_left(crashes, came)
        return after < len(crashes) and crashes[after] <= came + self._repeatable

    # -- when all is calm

    def lost(self) -> set[bytes]:
        """What was acknowledged and is on no repo any more, through broken disks alone."""
        self.follow()
        there = self.on_disks(self._repos)
        if self._prunes:
            there |= {value for value in self._published if self._is_gone(value)}
        missing = {
            value
            for stream, numbers in self.acknowledged.items()
            for value in (numbered(stream, number).value for number in numbers)
            if value not in there
        }
        for value in sorted(missing):
            if not self._may_lose or value not in self._endangered:
                raise Violation(f"{Name(value)} was acknowledged, and is on no repo", self.world.now)
        return missing

    def kept(self, lost: Collection[bytes] = ()) -> None:
        """Check that all repos have all readings, byte by byte what was published."""
        for repo in self._repos:
            held = self._readings(repo)
            for value, wire in held.items():
                if self._published.get(value) != wire:
                    raise Violation(f"{repo} has {Name(value)} as nobody published it", self.world.now)
            for value in self._published:
                if value not in held and value not in lost and not (self._prunes and self._is_gone(value)):
                    raise Violation(f"{repo} has not got {Name(value)}", self.world.now)

    def delivered(self, lost: Collection[bytes] = ()) -> None:
        """Check that every subscriber has what it is owed."""
        self.follow()
        highest: dict[Name, int] = {}
        for stream, number in map(_reading_of, self._published):
            highest[stream] = max(number, highest.get(stream, 0))
        ends = dict(highest)
        for stream, number in map(_reading_of, lost):
            ends[stream] = min(ends[stream], number - 1)
        for station, asked in self._subscribers.items():
            for stream, high in ends.items():
                if asked.wishes.covers(stream):
                    self._owed(station, stream, high, asked.policy, complete=high == highest[stream])

    def _owed(self, station: str, stream: Name, high: int, policy: Policy, *, complete: bool) -> None:
        low = self._begin(station, stream, policy)
        if low is None or low > high:
            return
        flow = self._flows.get((station, stream), _Flow())
        if policy.kind == LATEST:
            if complete and flow.last != high:
                raise Violation(f"{station} has {stream} {flow.last}, the latest is {high}", self.world.now)
            return
        if policy.from_time and self._prunes:  # it begins with what was still there when it found its beginning
            first = min([*flow.delivered, *flow.missing], default=high + 1)
            while low < first and self._is_gone(numbered(stream, low).value):
                low += 1
        for number in range(low, high + 1):
            due = policy.next(stream, number, number) == number
            if due and number not in flow.delivered and number not in flow.missing:
                raise Violation(f"{station} was not given {stream} {number}", self.world.now)

    def _begin(self, station: str, stream: Name, policy: Policy) -> int | None:
        """The first number that a subscriber is owed."""
        if policy.from_number:
            return policy.from_number
        numbers = self._since.get(stream, {})
        if policy.from_time:
            return min([each for each in numbers if self._event_time(stream, each) >= policy.from_time], default=None)
        subscribed = self._subscribed.get(station)
        if subscribed is None:
            raise Violation(f"{station} could not subscribe", self.world.now)
        return min([number for number, time in numbers.items() if time > subscribed], default=None)

    def _event_time(self, stream: Name, number: int) -> int:
        wire = self._published[numbered(stream, number).value]
        return decode_reading(Data.decode(wire).content).time

    def _readings(self, repo: str) -> dict[bytes, bytes]:
        """The readings a repo has, records aside."""
        store = self.world.machine(repo).store
        found: dict[bytes, bytes] = {}
        for name in store.scan(GROUP.name, None, _ALL):
            if not name.starts_with(_REPOS):
                try:
                    found[name.value] = store.get(name) or b""
                except Damaged:
                    raise Violation(f"{name} is damaged at {repo}", self.world.now) from None
        return found

    def _is_gone(self, value: bytes) -> bool:
        """Whether some repo has dropped a reading on purpose."""
        stream, number = _reading_of(value)
        return any(self.world.machine(repo).part.shelf.holdings.is_gone(stream, number) for repo in self._repos)


def _reading_of(value: bytes) -> tuple[Name, int]:
    stream, number = number_in(Name(value))
    return Name(stream), number
