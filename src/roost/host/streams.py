"""A group of streams for people: publish into it as a panel, subscribe to it, look into its past.

    group = face.group("/BigCompany/Building1/Electricity")
    async with group.panel("Panel1") as panel:
        await panel.publish("Heater/Voltage", 229.5, unit="V")
    async for reading in group.subscribe("+/Heater/#", since="24h"):
        print(reading.stream, reading.number, reading.value, reading.unit)
    newest = await group.latest("Panel1/Heater/Voltage")

A panel is in `roost.host.publishing`, a subscription in `roost.host.subscribing`, the past in `roost.host.history`,
how far all streams are in `roost.host.watch`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import BadConfig, BadTopic
from roost.host.history import History
from roost.host.inserting import INSERT_S, RunningInserter
from roost.host.joining import group_file
from roost.host.paths import home
from roost.host.publishing import RunningPanel, below
from roost.host.residence import Opening, Way
from roost.host.subscribing import ROOM, OnMissing, Opened, Subscribing, Subscription
from roost.host.watch import Watch
from roost.machine import SECOND
from roost.machine.times import moment
from roost.naming import Name, NameLike
from roost.naming.building import Group
from roost.naming.topic import TopicFilter
from roost.pubsub.consumers.arrival import Arrival
from roost.pubsub.consumers.policy import Policy, latest, sample, sequential
from roost.pubsub.consumers.wishes import Wish
from roost.pubsub.panels.panel import PanelSettings
from roost.repo.catalogue import Catalogue
from roost.sync.subscriptions import NameRange

Since: TypeAlias = datetime | timedelta | str | int
Wanted: TypeAlias = str | Name | NameRange | TopicFilter

_FORMS: Final = (
    "use 24h, 30m, 7d, a time such as 2026-05-01T08:00Z, or the number of a reading: the number 1 is all there are"
)
_LIMIT: Final = 1 << 63  # of numbers, and of ns since 1970
_SAMPLE: Final = re.compile(r"sample\((\d+)\)")


class StreamGroup:
    """A group, by its name; made by `Face.group`."""

    def __init__(
        self, group: Group, way: Callable[[], Way], show: Callable[[], None], history: History, opened: Opened
    ) -> None:
        self.group: Final = group
        self._way: Final = way
        self._show: Final = show  # our certificates
        self._history: Final = history
        self._opened: Final = opened  # of what is sealed

    @property
    def name(self) -> Name:
        """The group's name."""
        return self.group.name

    # -- into it

    def panel(
        self,
        name: str,
        *,
        folder: Path | str | None = None,
        copies: int = 1,
        durable: bool = True,
        settings: PanelSettings | None = None,
    ) -> Opening[RunningPanel]:
        """Publish as a panel: `async with group.panel("Panel1") as panel`; the key chain has to have its key.

        What no repo has confirmed is kept in `folder` (by default `panels` in the home of this user), one file per
        panel; with `durable=False` nowhere. `copies` is on how many repos a reading is to be before it is confirmed.
        """
        place = self.group.panel(name)
        path = group_file(folder or home() / "panels", place.name, "outbox") if durable else None
        chosen = settings or PanelSettings(copies=copies)

        def reach() -> RunningPanel:
            self._show()  # repos ask for them when they get the first reading
            return RunningPanel(self._way(), place, path, chosen)

        return Opening(reach)

    # -- out of it

    def subscribe(
        self,
        *wishes: Wanted,
        policy: Policy | str = "sequential",
        since: Since | None = None,
        name: str | None = None,
        folder: Path | str | None = None,
        room: int = ROOM,
        on_missing: OnMissing | None = None,
    ) -> Subscribing:
        """Subscribe: `async for reading in group.subscribe("+/Heater/#")`; without wishes, to the whole group.

        A wish is an MQTT filter relative to the group, a name or part of one relative to the group (`Panel1`: that
        stream, or all below it), or a `NameRange`.
        `policy` is `sequential`, `latest`, `sample(n)`, or one of `roost.pubsub.consumers.policy`; with `since` it
        begins in the past: at a time, so long ago (`"24h"`), or at a number. With a `name` the place is kept on the
        disk, in `folder` (by default `subscriptions` in the home of this user), and the next run goes on where this one
        stopped.
        """
        wanted = [self.wish(wish) for wish in wishes]
        kept = group_file(folder or home() / "subscriptions", self.name / name, "place") if name else None

        def reach() -> Subscription:
            way = self._way()
            chosen = chosen_policy(policy, since, way.session.clock())
            return Subscription(way, self.group, wanted, chosen, kept, self._opened, room, on_missing)

        return Subscribing(reach)

    def watch(self, *wishes: Wanted) -> Opening[Watch]:
        """Watch the highest numbers, live: `async with group.watch("+/Heater/#") as watch`; wishes as `subscribe`."""
        wanted = [self.wish(wish) for wish in wishes]
        return Opening(lambda: Watch(self._way(), self.group, wanted, self._history))

    async def latest(self, stream: NameLike, *, repo: str | None = None) -> Arrival | None:
        """The newest reading of a stream, None if there is none; `repo` asks one repo instead of the nearest."""
        return await self._history.latest(below(self.name, stream), repo)

    async def read(
        self, stream: NameLike, low: int = 1, high: int | None = None, *, repo: str | None = None
    ) -> list[Arrival]:
        """The readings low to high of a stream, or to the newest, without those that were dropped on purpose."""
        return await self._history.read(below(self.name, stream), low, high, repo)

    async def streams(self, prefix: NameLike | None = None, *, repo: str | None = None) -> dict[Name, int]:
        """All streams of the group, or at or below a prefix, each with its highest number."""
        return await self._history.streams(self.name if prefix is None else below(self.name, prefix), repo)

    async def catalogue(self, *, repo: str | None = None) -> Catalogue:
        """What the panels of the group say about their streams."""
        return await self._history.catalogue(repo)

    def wish(self, wish: Wanted) -> Wish:
        """What one word of a subscription means; raises `BadTopic` for what is no name and no filter."""
        if not isinstance(wish, str):
            return wish
        is_filter = "+" in wish or "#" in wish
        if is_filter and wish.startswith("/"):
            raise BadTopic(f"{wish!r} is no name and no filter: filters are relative to {self.name}, as '+/+/#' is")
        return below(self.name, wish) if wish and not is_filter else TopicFilter(wish)

    # -- for pipelines

    def inserter(self, panel: str, *, copies: int = 1, timeout_s: float = INSERT_S) -> Opening[RunningInserter]:
        """Have packets kept that a panel's key has signed: `async with group.inserter("Panel1") as inserter`.

        The key chain has to have the panel's key, for the commands. `timeout_s` is how long no repo may confirm any
        packet before `insert` gives up.
        """
        place = self.group.panel(panel)

        def reach() -> RunningInserter:
            self._show()  # as `panel` does
            return RunningInserter(self._way(), place, copies, timeout_s)

        return Opening(reach)


def chosen_policy(policy: Policy | str, since: Since | None, now: int) -> Policy:
    """The policy that is meant by a word, beginning in the past if that is wanted."""
    chosen = _policy_called(policy) if isinstance(policy, str) else policy
    if since is None:
        return chosen
    if isinstance(since, int):
        if not 0 < since < _LIMIT:
            raise BadConfig(f"since {since}: the readings of a stream are numbered from 1 on, and 1 is all there are")
        return chosen.since(number=since)
    return chosen.since(time_ns=time_of(since, now, _FORMS))


def time_of(since: datetime | timedelta | str, now: int, forms: str) -> int:
    """The time that is meant, in ns; `forms` says what can be given."""
    if isinstance(since, str):
        time_ns = moment(since, now, "since", forms)
    elif isinstance(since, timedelta):
        time_ns = now - round(since.total_seconds() * SECOND)
    elif not isinstance(since, datetime):
        raise BadConfig(f"since {since!r} is no time: {forms}")
    elif since.tzinfo is None:
        raise BadConfig(f"since {since} could be anywhere: give it a time zone, as in datetime.now(UTC)")
    else:
        time_ns = round(since.timestamp() * SECOND)
    if not 0 < time_ns < _LIMIT:
        raise BadConfig(f"since {since} is before 1970 or too far ahead: {forms}")
    return time_ns


def _policy_called(word: str) -> Policy:
    if word == "sequential":
        return sequential()
    if word == "latest":
        return latest()
    asked = _SAMPLE.fullmatch(word)
    if asked is None:
        raise BadConfig(f"policy {word!r} is unknown: use sequential, latest or sample(n)")
    return sample(int(asked[1]))
