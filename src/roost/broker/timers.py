"""When links and sessions want to be looked at again: a heap of each, with at most one useful entry for each of them.

Moving a timer to later costs nothing: its entry fires when it was due first, whoever looks finds that there is time,
and arms it again. So a link that is heard all the time leaves the heap alone. Entries that are of no use any more are
swept when they are the greater part.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from roost.broker.link import Link
from roost.broker.session import Session

_SLACK: Final = 1024


def earlier(one: int | None, other: int | None) -> int | None:
    """The first of two deadlines, by a C call: a driver asks after every wake-up."""
    if one is None or other is None:
        return one if other is None else other
    return one if one <= other else other  # noqa: FURB136  `min` is no C call


class Timers:
    """Both heaps; bound: twice the links and sessions there are, plus slack."""

    def __init__(self) -> None:
        self._links: list[tuple[int, int, Link]] = []
        self._sessions: list[tuple[int, int, Session]] = []
        self._armed_links = 0
        self._armed_sessions = 0
        self._serial = 0

    def arm_link(self, link: Link, due: int) -> None:
        """Look at a link then, or earlier."""
        if link.armed:
            if link.armed <= due:
                return
        else:
            self._armed_links += 1
        link.armed = due
        self._serial += 1
        heappush(self._links, (due, self._serial, link))
        if len(self._links) > 2 * self._armed_links + _SLACK:
            self._links = [entry for entry in self._links if entry[0] == entry[2].armed]
            heapify(self._links)

    def arm_session(self, session: Session, due: int) -> None:
        """Look at a session then, or earlier."""
        if session.armed:
            if session.armed <= due:
                return
        else:
            self._armed_sessions += 1
        session.armed = due
        self._serial += 1
        heappush(self._sessions, (due, self._serial, session))
        if len(self._sessions) > 2 * self._armed_sessions + _SLACK:
            self._sessions = [entry for entry in self._sessions if entry[0] == entry[2].armed]
            heapify(self._sessions)

    def disarm_link(self, link: Link) -> None:
        """Look at a link no more."""
        if link.armed:
            link.armed = 0
            self._armed_links -= 1

    def disarm_session(self, session: Session) -> None:
        """Look at a session no more."""
        if session.armed:
            session.armed = 0
            self._armed_sessions -= 1

    def due_link(self, now: int) -> Link | None:
        """Take out a link that wants to be looked at."""
        while self._links and self._links[0][0] <= now:
            due, _, link = heappop(self._links)
            if link.armed == due:
                self.disarm_link(link)
                return link
        return None

    def due_session(self, now: int) -> Session | None:
        """Take out a session that wants to be looked at."""
        while self._sessions and self._sessions[0][0] <= now:
            due, _, session = heappop(self._sessions)
            if session.armed == due:
                self.disarm_session(session)
                return session
        return None

    def deadline(self) -> int | None:
        """When the first of them is due."""
        if not self._links:
            return self._sessions[0][0] if self._sessions else None
        if not self._sessions:
            return self._links[0][0]
        return min(self._links[0][0], self._sessions[0][0])
