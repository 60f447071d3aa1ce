"""Handout: the retained messages that one subscription is still to get, and where in the trie it is.

    SUBSCRIBE ──▶ every topic that matches, in order, as it was then ──▶ deliveries, as fast as the link takes them

What was retained at the SUBSCRIBE and still is, is handed out. What was retained later (`Entry.number` tells) went to
the subscription when it came, so it is left out: else an old state could follow a new one, or come twice. Only what the
session could not get then is handed out in its newest state: QoS 0, while it had no link. A message without the retain
flag changes no state; one that is published meanwhile may come before the retained one of its topic, which is marked.
"""

from __future__ import annotations

from typing import Final

from roost.broker.message import Message
from roost.broker.patterns import matches
from roost.broker.retained import Entry, Retained
from roost.broker.session import Session

STEPS: Final = 1000  # branches of the trie that are visited in one call, for all sessions


class Handout:
    """One subscription's; `at` is the topic where an earlier process left it."""

    def __init__(
        self,
        filter_: bytes,
        store: Retained[Message],
        *,
        plain: bool,
        at: bytes = b"",
        heard_on: list[bytes] | None = None,
    ) -> None:
        self.filter: Final = filter_
        self.store: Final = store
        self.plain: Final = plain  # topics of a group are left out: the subscription has their past
        self.stored = False  # it has a row
        places = [filter_] if heard_on is None else heard_on
        self._places: Final = [place.split(b"/") for place in places]  # where it looks, one after the other
        self._turn = 0  # which of them it is at
        self._path: list[bytes] = at.split(b"/") if at else []
        self._reached = self._path
        self._number: Final = store.number  # of the last message that was there when it began
        self._missed = 0  # of the last one when its session came back, 0 if it was never away

    @property
    def place(self) -> bytes:
        """Where it is, for a row; what is not in the first of its places is begun anew after a restart."""
        return b"" if self._turn else b"/".join(self._path)

    def look(self, limit: int, now: int) -> tuple[Entry[Message] | None, int]:
        """Look for the next message, at so many branches; returns it and how many there were. `pass_by` goes there."""
        self._reached, entry, visited = self.store.next(self._places[self._turn], self._path, limit, now)
        if entry is not None and self._turn and self._was_met(entry.topic):
            entry = None
        return entry, visited

    def _was_met(self, topic: bytes) -> bool:
        levels = topic.split(b"/")
        return any(matches(place, levels) for place in self._places[: self._turn])

    def pass_by(self) -> bool:
        """Be where `look` has looked to; False if that is the end."""
        self._path = self._reached
        if not self._path and self._turn + 1 < len(self._places):
            self._turn += 1
            return True
        return bool(self._path)

    def come_back(self) -> None:
        """The session has a link again."""
        self._missed = self.store.number

    def is_due(self, entry: Entry[Message], *, fleeting: bool) -> bool:
        """Whether a message was there when it began, or came when the session was away and is not queued then."""
        return entry.number <= self._number or (fleeting and entry.number <= self._missed)


class Handing:
    """The handouts of one session, the first of them under way."""

    def __init__(self, session: Session) -> None:
        self.session: Final = session
        self.handouts: dict[bytes, Handout] = {}  # by filter; bound: settings.max_filters
