"""Sessions that roam: what this node tells the others of its persistent sessions, and when.

    connected, subscribed, left, over ──▶ marked ──▶ tick ──▶ an announcement into every group (`broker.announcement`)

Everything is told within `PAUSE` of its change, however often it changes; what is done (acknowledged through which
number) is told with it. A session that is online is told again before it could expire elsewhere. What other nodes tell
is `roost.broker.hearing`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.broker.announcement import MAX_DONE, Announcement
from roost.broker.message import Message
from roost.broker.session import Session
from roost.machine.contract import SECOND

PAUSE: Final = SECOND // 2
REFRESH_S: Final = 3600  # at most, between two announcements of a session that is online
MAX_PAYLOAD_BYTES: Final = 7000  # of an announcement, which is one reading
MAX_DONE_BYTES: Final = 3000
_MIN_REFRESH_S: Final = 5
_NUMBER_BYTES: Final = 12  # and the heads around
_FILTERS: Final = 1
_DONE: Final = 2


class Roaming:
    """What is to be told; `groups` are the names of groups, each with a tree of it and our panel there."""

    def __init__(self, groups: Mapping[bytes, tuple[int, bytes]]) -> None:
        self.told = 0
        self.too_large = 0  # sessions with so many subscriptions that they stay where they are
        self._groups: Final = groups
        self._marked: dict[bytes, tuple[Session, int]] = {}  # by client; bound: the sessions, and those that ended
        self._refresh: dict[bytes, int] = {}  # by client that is online, when to tell again; bound: the sessions
        self._due: int | None = None

    def is_ours(self, stream: bytes) -> bool:
        """Whether a stream is one of our panels'."""
        return any(stream.startswith(panel) for _, panel in self._groups.values())

    def changed(self, session: Session, now: int) -> None:
        """A session came, left, is over, or has other subscriptions."""
        self._mark(session, _FILTERS, now)

    def progressed(self, session: Session, now: int) -> None:
        """More of what a session got is done."""
        if session.roams:
            self._mark(session, _DONE, now)

    def _mark(self, session: Session, what: int, now: int) -> None:
        if not self._groups:
            return
        known = self._marked.get(session.client)
        self._marked[session.client] = (session, what if known is None else known[1] | what)
        if self._due is None:
            self._due = now + PAUSE

    def deadline(self) -> int | None:
        """When something is to be told."""
        refresh = min(self._refresh.values(), default=None)
        if self._due is None or refresh is None:
            return self._due if refresh is None else refresh
        return min(self._due, refresh)

    def tick(self, sessions: Mapping[bytes, Session], now: int) -> list[tuple[int, Message]]:
        """What is to be told now: announcements, each for a tree."""
        for client in [client for client, due in self._refresh.items() if due <= now]:
            session = sessions.get(client)
            del self._refresh[client]
            if session is not None and session.link is not None:
                self._mark(session, _FILTERS, now)
                self._due = now
        if self._due is None or self._due > now:
            return []
        self._due = None
        marked, self._marked = self._marked, {}
        found: list[tuple[int, Message]] = []
        for session, what in marked.values():
            found += self._announced(session, what, now)
        self.told += len(found)
        return found

    def _announced(self, session: Session, what: int, now: int) -> list[tuple[int, Message]]:
        online = session.link is not None
        persistent = session.expiry_s > 0 and not session.gone
        if not persistent and not session.roams:
            return []  # nobody has heard of it
        session.roams = persistent
        if online and persistent:
            self._refresh[session.client] = now + SECOND * min(REFRESH_S, max(_MIN_REFRESH_S, session.expiry_s // 2))
        else:
            self._refresh.pop(session.client, None)
        filters = dict(session.subscriptions) if what & _FILTERS and persistent else None
        done = done_of(session)
        found: list[tuple[int, Message]] = []
        for group, (tree, _) in self._groups.items():
            expiry_s = session.expiry_s if persistent else 0
            for part, through in enumerate(_parts(group, done)):
                told = filters if part == 0 else None
                said = Announcement(session.client, session.user, expiry_s, online, told, through)
                payload = said.encode()
                if len(payload) > MAX_PAYLOAD_BYTES:
                    self.too_large += 1
                else:
                    found.append((tree, Message(said.topic, payload, 1, False, b"", 0, b"", now)))  # noqa: FBT003
        session.handed = {stream: high for stream, high in session.handed.items() if done.get(stream, 0) < high}
        return found


def _parts(group: bytes, done: Mapping[bytes, int]) -> list[dict[bytes, int]]:
    """What is done in a group, in parts of which each fits an announcement; at least one, which may be empty."""
    parts: list[dict[bytes, int]] = [{}]
    size_bytes = 0
    for stream, number in done.items():
        if stream.startswith(group):
            size_bytes += len(stream) + _NUMBER_BYTES
            if size_bytes > MAX_DONE_BYTES or len(parts[-1]) >= MAX_DONE:
                parts.append({})
                size_bytes = len(stream) + _NUMBER_BYTES
            parts[-1][stream] = number
    return parts


def done_of(session: Session) -> dict[bytes, int]:
    """Through which number what a session got of each stream since the last time is acknowledged."""
    done = dict(session.handed)
    for delivery in [*session.inflight.values(), *session.queue]:
        origin = delivery.message.origin
        if origin is not None and delivery.qos:
            through = done.get(origin[1])
            if through is not None and origin[2] <= through:
                done[origin[1]] = origin[2] - 1
    return {stream: number for stream, number in done.items() if number > 0}
