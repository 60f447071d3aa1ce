"""The one table of an hICN forwarder: names that somebody waits for, and Data that may be an answer again.

Keyed by the 20 bytes of the name. What the forwarder does with an entry is in `roost.hicn.forwarder`.

An Interest from a face that waits already is a retransmission, or a copy of our own that came round a loop of routes:
without a nonce only time tells. A pause must have passed since the name went on, which doubles with each time it does.
From a face that was itself asked for the name it takes the longest pause.

Who asks again when their own Interest is over has lost nothing: others have joined and prolonged the entry. That goes
on only when what was sent for all of them is over as well, or twenty who ask together would be heard twenty times.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from roost.hicn.face import HicnFaceSpec
from roost.hicn.head import Head
from roost.hicn.lately import LOOP, Lately
from roost.machine import MS
from roost.machine.timetable import Timetable

FIRST_PAUSE: Final = 20 * MS
LONGEST_PAUSE: Final = 1000 * MS  # or half a lifetime if that is less: who renews a question does it so early at most
_GO_AT_ONCE: Final = 16  # names, when there is no room


class HicnFace:
    """One face as the forwarder keeps it."""

    __slots__ = ("id", "local", "owes", "remote", "wants")

    def __init__(self, face_id: int, spec: HicnFaceSpec) -> None:
        self.id: Final = face_id
        self.remote: Final = spec.remote
        self.local: Final = spec.local
        self.wants: Final[dict[bytes, None]] = {}  # names it waits for, the first first; bound: half of pending_limit
        self.owes: Final[set[bytes]] = set()  # names this face was asked for that are pending; bound: pending_limit

    @property
    def unanswered(self) -> int:
        """How many Interests it was sent that are pending."""
        return len(self.owes)


class Pending:
    """A name that somebody waits for: who, who was asked, and until when."""

    __slots__ = ("asked", "askers", "expires", "key", "number", "pause", "sent", "sent_until")

    def __init__(self, key: bytes, number: int, expires: int) -> None:
        self.key: Final = key
        self.number: Final = number
        self.expires = expires
        self.askers: Final[dict[HicnFace, int]] = {}  # until when each waits; bound: the faces
        self.asked: list[HicnFace] = []
        self.sent = 0  # when it last went on
        self.sent_until = 0  # and when the last of what went on is over
        self.pause = FIRST_PAUSE  # after that, before an asker may have it go on again

    def goes_on_again(self, face: HicnFace, lifetime_ms: int, now: int) -> bool:
        """Whether an Interest from one of the askers is a retransmission, and no copy that came round a loop."""
        longest = min(LONGEST_PAUSE, max(LOOP, lifetime_ms * MS // 2))
        pause = longest if face in self.asked else min(self.pause, longest)
        return now - self.sent >= pause and (now < self.askers[face] or now >= self.sent_until)

    def went_on(self, lifetime_ms: int, now: int) -> None:
        """It was sent to those who are asked."""
        if self.askers:
            self.pause = min(2 * self.pause, LONGEST_PAUSE)
        self.sent = now
        self.sent_until = max(self.sent_until, now + lifetime_ms * MS)


class Cached:
    """A Data that may be an answer again, until it is stale."""

    __slots__ = ("compact", "expires", "wire")

    def __init__(self, wire: bytes, expires: int, *, compact: bool) -> None:
        self.wire: Final = wire
        self.expires: Final = expires
        self.compact: Final = compact


class HicnTable:
    """Pending and cached names, each bounded; of the cache what came first goes first."""

    def __init__(self, pending_limit: int, store_packets: int) -> None:
        self.pending: Final[dict[bytes, Pending]] = {}  # bound: pending_limit
        self.cached: Final[dict[bytes, Cached]] = {}  # bound: store_packets, what came first first
        self.lately: Final = Lately(pending_limit)
        self._pending_limit: Final = pending_limit
        self._store_packets: Final = store_packets
        self._expiry: Final = Timetable()
        self._keys: Final[dict[int, bytes]] = {}  # number of a pending name → the name
        self._next_number = 0
        self.displaced = 0

    def fresh(self, key: bytes, now: int) -> Cached | None:
        """Return what is cached under a name; what is stale goes."""
        cached = self.cached.get(key)
        if cached is not None and cached.expires <= now:
            del self.cached[key]
            return None
        return cached

    def keep(self, head: Head, now: int) -> bool:
        """Cache a Data over what is there, for its lifetime; returns whether that answers copies that come round."""
        self.cached.pop(head.key, None)
        if not head.lifetime_ms or not self._store_packets:
            return False
        if len(self.cached) >= self._store_packets:
            del self.cached[next(iter(self.cached))]
        self.cached[head.key] = Cached(head.wire, now + head.lifetime_ms * MS, compact=head.compact)
        return head.lifetime_ms * MS >= LOOP

    def living(self, key: bytes, now: int) -> Pending | None:
        """Return the entry of a name that is waited for; one that has expired goes."""
        entry = self.pending.get(key)
        if entry is not None and entry.expires <= now:
            self.forget(key)
            return None
        return entry

    def may_wait(self, face: HicnFace) -> bool:
        """Whether one more name may wait for a face, of which none may fill more than half of the table."""
        return 2 * len(face.wants) < self._pending_limit

    def make_room(self, face: HicnFace, faces: Iterable[HicnFace]) -> bool:
        """Whether there is room for one more entry, for a face.

        When the table is full, who waits for the most names loses the oldest of them, unless that is the face itself.
        """
        if not self.may_wait(face):
            return False
        if len(self.pending) >= self._pending_limit:
            largest = max(faces, key=_holdings)
            if len(largest.wants) <= len(face.wants) + _GO_AT_ONCE:
                return False
            for key in list(islice(largest.wants, _GO_AT_ONCE)):
                self.forget(key)
                self.displaced += 1
        return True

    def add(self, key: bytes, expires: int) -> Pending:
        """Make an entry for a name that has none."""
        self._next_number += 1
        entry = self.pending[key] = Pending(key, self._next_number, expires)
        self._keys[entry.number] = key
        return entry

    def join(self, entry: Pending, face: HicnFace, expires: int) -> None:
        """Have a face wait too; the expiry moves to the later one."""
        entry.expires = max(entry.expires, expires)
        self._expiry.set(entry.number, entry.expires)
        entry.askers[face] = max(entry.askers.get(face, 0), expires)
        face.wants[entry.key] = None

    def ask(self, entry: Pending, face: HicnFace) -> None:
        """Note that a face was asked."""
        if face not in entry.asked:
            entry.asked.append(face)
            face.owes.add(entry.key)

    def forget(self, key: bytes) -> None:
        """Nobody waits for a name any more."""
        entry = self.pending.pop(key, None)
        if entry is not None:
            self._expiry.drop(entry.number)
            del self._keys[entry.number]
            for face in entry.askers:
                face.wants.pop(key, None)
            for face in entry.asked:
                face.owes.discard(key)

    def drop_face(self, face: HicnFace) -> None:
        """Forget that a face asked or was asked."""
        for key in face.owes:
            self.pending[key].asked.remove(face)
        face.owes.clear()
        for key in list(face.wants):
            entry = self.pending[key]
            del entry.askers[face]
            if not entry.askers:
                self.forget(key)
        face.wants.clear()

    def expire(self, now: int) -> None:
        """Forget the questions whose time is over."""
        self.lately.expire(now)
        for number in self._expiry.overdue(now):
            self.forget(self._keys[number])

    def deadline(self) -> int | None:
        """When the next question expires."""
        return self._expiry.deadline()


def _holdings(face: HicnFace) -> int:
    return len(face.wants)
