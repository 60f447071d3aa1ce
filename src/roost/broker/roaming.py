"""Sessions that roam: what this node tells the others of its persistent sessions, and when.

    connected, subscribed, left, over ──▶ marked ──▶ tick ──▶ an announcement into every group (`broker.announcement`)

Everything is told within `PAUSE` of its change, however often it changes; what is done (acknowledged through which
number) is told with it. A session that is online is told again before it could expire elsewhere. Sessions that end
with their links are told of only if they have shared subscriptions, for nodes to agree who is a member. What other
nodes tell is `roost.broker.hearing`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Final

from roost.broker.announcement import MAX_DONE, Announcement
from roost.broker.message import Message
from roost.broker.session import Session
from roost.machine.contract import SECOND, earliest

PAUSE: Final = SECOND // 2
REFRESH_S: Final = 3600  # at most, between two announcements of a session that is online
MAX_PAYLOAD_BYTES: Final = 7000  # of an announcement, which is one reading
MAX_DONE_BYTES: Final = 3000
FLEETING_REFRESH_S: Final = 60  # the same for one that ends with its link
_MIN_REFRESH_S: Final = 5
_NUMBER_BYTES: Final = 12  # and the heads around


class Roaming:
    """What is to be told; `groups` are the names of groups, each with a tree of it and our panel there."""

    def __init__(self, groups: Mapping[bytes, tuple[int, bytes]]) -> None:
        self.told = 0
        self.too_large = 0  # sessions with so many subscriptions that they stay where they are
        self._groups: Final = groups
        self._changed: dict[bytes, Session] = {}  # by client; bound of both: the sessions, and those that ended
        self._progressed: dict[bytes, Session] = {}
        self._refresh: dict[bytes, int] = {}  # by client that is online, when to tell again; bound: the sessions
        self._refreshing: list[tuple[int, bytes]] = []  # the same as a heap, with some that are out of date
        self._due: int | None = None

    def is_ours(self, stream: bytes) -> bool:
        """Whether a stream is one of our panels'."""
        return any(stream.startswith(panel) for _, panel in self._groups.values())

    def panel_of(self, stream: bytes) -> bytes:
        """Our panel in the group of a stream."""
        return next((panel for group, (_, panel) in self._groups.items() if stream.startswith(group)), b"")

    def changed(self, session: Session) -> None:
        """A session came, left, is over, or has other subscriptions."""
        abroad = session.abroad
        if abroad is None or not abroad.elsewhere or session.gone:
            self._changed[session.client] = session
            if abroad is not None and abroad.returned:
                self.resume(session)

    def resume(self, session: Session) -> None:
        """A session goes on here with what an earlier run or another node left it to get."""
        if session.abroad is not None:
            session.abroad.returned = False
        for delivery in [*session.inflight.values(), *session.again, *session.queue]:
            if delivery.qos:
                self.hand(session, delivery.message)

    def hand(self, session: Session, message: Message) -> None:
        """A session gets a message that other nodes may hold for it too: they are told when it is done."""
        if message.origin is not None and session.persistent:
            abroad = session.groups()
            if not abroad.elsewhere:
                abroad.hand(message.origin[1], message.origin[2])
                self._progressed[session.client] = session

    def schedule(self, now: int) -> None:
        """End of a call: see that what was marked is told."""
        if self._due is None and (self._changed or self._progressed):
            self._due = now + PAUSE

    def deadline(self) -> int | None:
        """When something is to be told."""
        return earliest(self._due, self._refreshing[0][0] if self._refreshing else None)

    def tick(self, sessions: Mapping[bytes, Session], now: int) -> list[tuple[int, Message]]:
        """What is to be told now: announcements, each for a tree."""
        while self._refreshing and self._refreshing[0][0] <= now:
            due, client = heappop(self._refreshing)
            session = sessions.get(client)
            if self._refresh.get(client) == due and session is not None and session.link is not None:
                self._changed[client] = session
                self._due = now
        if self._due is None or self._due > now:
            return []
        self._due = None
        changed, self._changed = self._changed, {}
        progressed, self._progressed = self._progressed, {}
        found: list[tuple[int, Message]] = []
        for session in changed.values():
            found += self._announced(session, now, has_changed=True)
        for client, session in progressed.items():
            if client not in changed and not session.gone:
                found += self._announced(session, now, has_changed=False)
        self.told += len(found)
        return found

    def _announced(self, session: Session, now: int, *, has_changed: bool) -> list[tuple[int, Message]]:
        online = session.link is not None and not session.gone
        lasts = (session.persistent or online) and not session.gone
        shares = any(options.shared is not None for options in session.subscriptions.values())
        roams = lasts and (session.persistent or shares)
        if not roams and (session.abroad is None or not session.abroad.told):
            return []  # nobody has heard of it
        abroad = session.groups()
        abroad.told = roams
        expiry_s = session.expiry_s if roams else 0
        if online and roams:
            self._refresh[session.client] = now + SECOND * refresh_s(expiry_s)
            heappush(self._refreshing, (self._refresh[session.client], session.client))
        else:
            self._refresh.pop(session.client, None)
        done = done_of(session)
        if not has_changed and not done:
            self._progressed[session.client] = session
            return []
        found: list[tuple[int, Message]] = []
        for group, (tree, _) in self._groups.items():
            for part, through in enumerate(_parts(group, done)):
                told = dict(session.subscriptions) if part == 0 else None
                said = Announcement(
                    session.client,
                    session.user,
                    session.born,
                    max(session.born, abroad.began),
                    expiry_s,
                    online and roams,
                    told,
                    through,
                )
                payload = said.encode()
                if len(payload) > MAX_PAYLOAD_BYTES:
                    self.too_large += 1
                else:
                    found.append((tree, Message(said.topic, payload, 1, False, b"", 0, b"", now)))  # noqa: FBT003
        abroad.handed = {stream: high for stream, high in abroad.handed.items() if done.get(stream, 0) < high}
        if abroad.handed and not session.gone:
            self._progressed[session.client] = session
        return found


def refresh_s(expiry_s: int) -> int:
    """How long after an announcement of a session that is online the next one comes, at the latest."""
    return min(REFRESH_S, max(_MIN_REFRESH_S, expiry_s // 2)) if expiry_s else FLEETING_REFRESH_S


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
    if session.abroad is None:
        return {}
    done = dict(session.abroad.handed)
    for delivery in [*session.inflight.values(), *session.again, *session.queue]:
        origin = delivery.message.origin
        if origin is not None and delivery.qos:
            through = done.get(origin[1])
            if through is not None and origin[2] <= through:
                done[origin[1]] = origin[2] - 1
    return {stream: number for stream, number in done.items() if number > 0}
