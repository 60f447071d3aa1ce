"""The rows of the index (`roost.web.index`): a stream, a panel, a group, each with what is shown of it."""

from __future__ import annotations

from typing import Final

from roost.machine import SECOND
from roost.naming import Name
from roost.pubsub.repos.repo import Repo
from roost.repo.catalogue import Catalogue
from roost.web.index_rhythm import Rhythm

RATE_S: Final = 10  # over which readings are counted


class StreamRow:
    """One stream. What it is about is `learnt` from one of its readings, when somebody asks."""

    __slots__ = (
        "group",
        "heard",
        "learnt",
        "name",
        "number",
        "panel",
        "rhythm",
        "sealed",
        "stale",
        "subjects",
        "text",
        "time",
        "topic",
        "virtual",
    )

    def __init__(self, group: GroupRow, name: Name, number: int) -> None:
        self.group: Final = group
        self.name: Final = name
        self.text: Final = str(name)
        self.panel: Final = str(name.at(len(group.name)))
        self.number = number  # the highest
        self.time = 0  # event time of the newest that has one here, 0 if it is not known
        self.heard = 0  # when something came last
        self.rhythm: Rhythm | None = None  # how often readings come, once there were two
        self.stale = False
        self.learnt = 0  # from the readings up to this number
        self.subjects: tuple[str, ...] = ()  # topics that who sees it has to be permitted to read; none: nobody knows
        self.topic: str | None = None  # that of MQTT, if it came from there
        self.virtual = False  # a macro or a pipeline made it
        self.sealed = False  # nothing here opens it

    @property
    def interval(self) -> int:
        """Between readings, learnt; 0 if it is not known."""
        return 0 if self.rhythm is None else self.rhythm.interval

    def __lt__(self, other: StreamRow) -> bool:
        return self.text < other.text


class PanelRow:
    """One panel of a group."""

    __slots__ = ("heard", "name", "posts", "stale", "streams", "time")

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.streams = 0
        self.stale = 0  # of them
        self.time = 0
        self.heard = 0
        self.posts = False  # its readings are MQTT messages

    @property
    def health(self) -> str:
        """What can be said of it by its streams: ok, lagging if some are stale, silent if all are, or unknown."""
        if not self.time and not self.heard:
            return "unknown"
        return "ok" if not self.stale else "silent" if self.stale >= self.streams else "lagging"


class GroupRow:
    """One group that a repo of this node keeps."""

    def __init__(self, repo: Repo) -> None:
        self.repo: Final = repo
        self.name: Final = repo.place.group.name
        self.text: Final = str(self.name)
        self.rows: Final[list[StreamRow]] = []  # by name; bound: MAX_STREAMS of the index
        self.panels: Final[dict[str, PanelRow]] = {}  # bound: as above
        self.catalogue: Final = Catalogue(self.name)
        self.time = 0  # event time of the newest reading
        self.stale = 0  # streams
        self._counts: Final = [0] * (RATE_S + 1)  # readings of each of the last seconds, the running one too
        self._second = 0

    @property
    def label(self) -> str:
        """What people call it: the last component."""
        return str(self.name.at(-1))

    @property
    def building(self) -> str:
        """The component behind the company, empty for a group of the whole company."""
        return str(self.name.at(1)) if len(self.name) > 2 else ""

    def count(self, readings: int, now: int) -> None:
        """Take in that so many came."""
        self._turn(now)
        self._counts[self._second % len(self._counts)] += readings

    def rate(self, now: int) -> float:
        """Readings a second over the last whole seconds."""
        self._turn(now)
        return (sum(self._counts) - self._counts[self._second % len(self._counts)]) / RATE_S

    def _turn(self, now: int) -> None:
        """Forget the seconds that are too long ago."""
        second = now // SECOND
        for passed in range(max(self._second, second - len(self._counts)) + 1, second + 1):
            self._counts[passed % len(self._counts)] = 0
        self._second = max(self._second, second)
