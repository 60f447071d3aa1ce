"""What holds on from before a node served a group: the last retained message of each stream, however far back it is.

A node that joins a group has its streams from others, and hands on only the last readings of each (`succession.LAST`).
A message that is retained may stand before thousands that are not: it is looked for from the end, a slice at a time,
until there is one. Readings of sensors are never retained, so their streams are left at the first slice. What is large
(`roost.broker.large`) is joined only if it is what was looked for; if its parts are not all here they are waited for
for a while, since what is older does not hold any more.
"""

from __future__ import annotations

from typing import Final

from roost.broker.large import Joining, Leaving, PartsMissing
from roost.broker.message import Message
from roost.broker.readable import Joins, Opens, message_of
from roost.errors import NoKey
from roost.naming.name import Name
from roost.naming.topic import topic_of_name
from roost.pubsub.repos.repo import Repo

SLICE: Final = 256


class Earlier:
    """The streams that are looked through; bound: those whose position is known."""

    def __init__(self, parts: int, repo: Repo, opening: Opens | None, joining: Joining, patience: int) -> None:
        self.incomplete = 0  # large ones to which not all parts came in time
        self._parts: Final = parts  # of the group's name
        self._repo: Final = repo
        self._opening: Final = opening
        self._joining: Final = joining
        self._patience: Final = patience
        self._through: Final[dict[bytes, int]] = {}  # by stream, the last number that was not looked at
        self._partial: Final[dict[bytes, tuple[int, int]]] = {}  # until when a number waits for its parts; same bound

    def __bool__(self) -> bool:
        """Whether there is more to look at, at once."""
        return bool(self._through)

    def waits(self) -> bool:
        """Whether something waits for its parts."""
        return bool(self._partial)

    def deadline(self) -> int | None:
        """Until when the first waits for its parts."""
        return min([until for until, _ in self._partial.values()], default=None)

    def look(self, stream: bytes, through: int) -> None:
        """Look for what holds on among the first readings of a stream."""
        self._through[stream] = through

    def leave(self, stream: bytes) -> None:
        """A later message of the stream is retained."""
        self._through.pop(stream, None)
        self._partial.pop(stream, None)

    def came(self, stream: bytes) -> None:
        """There are more parts to a stream's readings: look again, if one waits for its own."""
        if stream in self._partial:
            self._through[stream] = self._partial[stream][1]

    def tick(self, now: int) -> None:
        """Look again at what has waited long enough."""
        for stream, (until, number) in self._partial.items():
            if until <= now:
                self._through[stream] = number

    def proceed(self, now: int) -> tuple[bytes, Message | None]:
        """Look at one slice: its stream, and what was found there."""
        stream, through = self._through.popitem()
        waited = self._partial.pop(stream, (0, 0))
        name = Name(stream)
        low = max(1, through - SLICE + 1)
        is_sensor = False
        leaving = Leaving()
        for number, wire in reversed(self._repo.store.range(name, low, through, SLICE)):
            message = self._message(name, number, wire, leaving)
            if message is not None and message.retain:
                try:
                    whole = self._message(name, number, wire, self._joining) if leaving.number == number else message
                except PartsMissing:
                    until = waited[0] if waited[1] == number else now + self._patience
                    if until > now:
                        self._partial[stream] = until, number
                        return stream, None
                    self.incomplete += 1
                    continue
                if whole is not None:
                    return stream, whole
            is_sensor = message is not None and message.topic == topic_of_name(name).encode()
        held = self._repo.shelf.holdings.of(name).held
        if low > 1 and not is_sensor and held and held[0][0] < low:
            self._through[stream] = low - 1
        return stream, None

    def _message(self, stream: Name, number: int, wire: bytes, joins: Joins) -> Message | None:
        try:
            return message_of(self._parts, stream, number, wire, self._opening, joins)
        except NoKey:
            return None
