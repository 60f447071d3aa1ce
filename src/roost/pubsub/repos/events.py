"""Notifications of a repo: whatever comes into its store or leaves it, as a stream to subscribe to [NDN-PS §IV].

    <repo>/32=events                            CanBePrefix, MustBeFresh: the newest notification
    <repo>/32=events/t=<start s>/seq=<n>        notification n of this run, from 1; the next one is answered when it is
    <repo>/32=events/32=snapshot                CanBePrefix, MustBeFresh: the latest reading of each stream, in segments

A notification is a batch (`roost.repo.event`), closed after 50 ms, at 4400 bytes or when the cause changes. The last
1000 stay, so that a gap is repaired by their exact names; who is further behind, or sees another start time, reads the
snapshot and goes on behind the number that it covers. A notification is signed when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from roost.errors import BadName
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, SECOND, Effect
from roost.naming.component import SEQUENCE
from roost.naming.conventions import keyword, sequence, timestamp
from roost.naming.name import Name
from roost.pubsub.repos.versioned import Versioned
from roost.repo.cause import DELETE
from roost.repo.event import encode_event, encode_snapshot
from roost.repo.shelf_effects import Dropped, Kept
from roost.sync.port import Reply
from roost.wire.data import encode_data
from roost.wire.signature import Signer

EVENTS: Final = keyword("events")
SNAPSHOT: Final = keyword("snapshot")
BATCH: Final = 50 * MS
BATCH_BYTES: Final = 4400
MAX_KEPT: Final = 1000
MAX_WAITING: Final = 256
FRESHNESS_MS: Final = 1000


class Events:
    """The stream of notifications of one run; packets of up to `carry_bytes` go along whole, the rest is named."""

    def __init__(
        self, repo: Name, signer: Signer, latest: Callable[[], Iterable[Name]], now: int, *, carry_bytes: int = 0
    ) -> None:
        self.turned_away = 0  # subscribers that wait, beyond the bound
        self.last = 0  # the newest notification
        self._place: Final = repo / EVENTS
        self._stream: Final = self._place / timestamp(now // SECOND)
        self._signer: Final = signer
        self._carry_bytes: Final = carry_bytes
        self._contents: Final[dict[int, bytes]] = {}  # bound: MAX_KEPT
        self._packets: Final[dict[int, bytes]] = {}  # those that are signed; bound: as above
        self._waiting: Final[dict[bytes, int]] = {}  # token → when its Interest ends; bound: MAX_WAITING
        self._parts: Final[list[bytes]] = []  # of the next one; bound: BATCH_BYTES
        self._size = 0
        self._cause = 0
        self._due: int | None = None
        snapshot = self._place / SNAPSHOT
        self._snapshot: Final = Versioned(
            snapshot, signer, lambda: encode_snapshot(self.last, latest()), metadata=False
        )

    def kept(self, told: Kept, now: int) -> list[Effect]:
        """Tell what came into the store."""
        carry = self._carry_bytes
        parts = [entry.wire if 0 < len(entry.wire) <= carry else entry.name.wire for entry in told.entries]
        return self._tell(parts, told.cause, now)

    def dropped(self, told: Dropped, now: int) -> list[Effect]:
        """Tell what left it; whoever wanted that, its cause is DELETE."""
        return self._tell([name.wire for name in told.names], DELETE, now)

    def asked(self, asked: Asked, now: int) -> list[Effect] | None:
        """Answer a subscriber; None if this Interest is no business of ours."""
        interest = asked.interest
        name = interest.name
        if not name.starts_with(self._place):
            return None
        answer = self._snapshot.asked(asked, now)
        if answer is not None:
            return answer
        if name in {self._place, self._stream} and interest.can_be_prefix:
            number = max(1, self.last)
        elif len(name) == len(self._stream) + 1 and name.starts_with(self._stream):
            number = _number(name)
        else:
            return []
        if number in self._contents:
            return [Reply(self._packet(number), asked.token)]
        return self._wait(asked.token, now + interest.lifetime_ms * MS, now) if number == self.last + 1 else []

    def tick(self, now: int) -> list[Effect]:
        """Close a batch that is old enough."""
        return self._close(now) if self._due is not None and now >= self._due else []

    def deadline(self) -> int | None:
        """When the batch is closed."""
        return self._due

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "notifications": (len(self._contents), MAX_KEPT),
            "subscribers waiting": (len(self._waiting), MAX_WAITING),
        }

    # -- batches

    def _tell(self, parts: list[bytes], cause: int, now: int) -> list[Effect]:
        effects: list[Effect] = []
        for part in parts:
            if self._parts and (cause != self._cause or self._size + len(part) > BATCH_BYTES):
                effects += self._close(now)
            if not self._parts:
                self._cause = cause
                self._due = now + BATCH
            self._parts.append(part)
            self._size += len(part)
        return effects

    def _close(self, now: int) -> list[Effect]:
        self.last += 1
        self._contents[self.last] = encode_event(self._cause, self._parts)
        self._contents.pop(self.last - MAX_KEPT, None)
        self._packets.pop(self.last - MAX_KEPT, None)
        self._parts.clear()
        self._size = 0
        self._due = None
        waiting = [token for token, ends in self._waiting.items() if now < ends]
        self._waiting.clear()
        return [Reply(self._packet(self.last), token) for token in waiting]

    def _packet(self, number: int) -> bytes:
        packet = self._packets.get(number)
        if packet is None:
            name = self._stream / sequence(number)
            packet = encode_data(name, self._contents[number], self._signer, freshness_ms=FRESHNESS_MS)
            self._packets[number] = packet
        return packet

    # -- who waits for the next one

    def _wait(self, token: bytes, ends: int, now: int) -> list[Effect]:
        if len(self._waiting) >= MAX_WAITING:
            for old, when in list(self._waiting.items()):
                if when <= now:
                    del self._waiting[old]
        if len(self._waiting) >= MAX_WAITING:
            self.turned_away += 1
        else:
            self._waiting[token] = ends
        return []


def _number(name: Name) -> int:
    """The number of the notification that is asked for, 0 for what is none."""
    last = name.at(-1)
    try:
        return last.number() if last.type == SEQUENCE else 0
    except BadName:
        return 0
