"""One client of /live or /events: what it wants, and what waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from roost.host.http.answers import Problem, encoded_reading
from roost.web.index_rows import StreamRow

MAX_WAITING: Final = 20_000  # readings for one client
MAX_WAITING_BYTES: Final = 16 << 20  # of topics, whose readings may be large; one more than that may wait
MAX_NAMES: Final = 10_000  # streams and filters that a client may name
MAX_SENT: Final = 2000  # readings in one message
LEAST_MS: Final = 50
MOST_MS: Final = 60_000
_KEYS: Final = frozenset({"streams", "topics", "all", "latest", "every_ms"})


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client wants."""

    streams: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    all: bool = False
    latest: bool = False
    every_ms: int = LEAST_MS

    @property
    def wants(self) -> bool:
        """Whether there is anything in it."""
        return bool(self.streams or self.topics or self.all)


class Refused(NamedTuple):
    """A part of a wish that a client does not get."""

    kind: str  # stream or topic
    name: str
    status: int
    error: str


def wish_of(said: object) -> Wish:
    """Read what a client says; raises `Problem`."""
    if not isinstance(said, dict) or not said.keys() <= _KEYS:
        raise Problem(400, f'say {{"streams": […]}}, with any of {", ".join(sorted(_KEYS))}')
    names: dict[str, tuple[str, ...]] = {}
    for key in ("streams", "topics"):
        listed = said.get(key, [])
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise Problem(400, f"{key} is a list of texts")
        if len(listed) > MAX_NAMES:
            raise Problem(400, f"{key} has at most {MAX_NAMES:,} entries, not {len(listed):,}")
        names[key] = tuple(dict.fromkeys(listed))
    for key in ("all", "latest"):
        if not isinstance(said.get(key, False), bool):
            raise Problem(400, f"{key} is true or false")
    every = said.get("every_ms", LEAST_MS)
    if isinstance(every, bool) or not isinstance(every, int) or not LEAST_MS <= every <= MOST_MS:
        raise Problem(400, f"every_ms is {LEAST_MS} to {MOST_MS:,}")
    return Wish(names["streams"], names["topics"], said.get("all", False), said.get("latest", False), every)


class Client:
    """One that follows: what waits for it."""

    def __init__(self, user: bytes) -> None:
        self.user: Final = user
        self.wish = Wish()
        self.dropped = 0
        self.told = 0  # of those
        self.arrived: Final = asyncio.Event()
        self.alerts: list[dict[str, object]] | None = None  # that are to be told
        self.ended = False
        self.stops: list[Callable[[], None]] = []  # of topics that it follows; bound: MAX_NAMES
        self._waiting: deque[tuple[StreamRow, int] | bytes] = deque()  # bound: MAX_WAITING and MAX_WAITING_BYTES
        self._waiting_bytes = 0
        self._latest: dict[StreamRow, int] = {}  # the same, if only the newest of each counts; bound: the index

    def hear(self, row: StreamRow, number: int) -> None:
        """A reading of a stream has come."""
        if self.wish.latest:
            self._latest[row] = max(number, self._latest.get(row, 0))
        else:
            self._put((row, number))
        self.arrived.set()

    def take(self, reading: dict[str, object]) -> None:
        """A reading of a topic has come."""
        self._put(encoded_reading({"stream": None, "number": None} | reading))
        self.arrived.set()

    def _put(self, item: tuple[StreamRow, int] | bytes) -> None:
        self._waiting.append(item)
        self._waiting_bytes += _size(item)
        while len(self._waiting) > MAX_WAITING or (self._waiting_bytes > MAX_WAITING_BYTES and len(self._waiting) > 1):
            self._taken()
            self.dropped += 1

    def _taken(self) -> tuple[StreamRow, int] | bytes:
        item = self._waiting.popleft()
        self._waiting_bytes -= _size(item)
        return item

    def next(self) -> list[tuple[StreamRow, int] | bytes]:
        """What is to be sent next."""
        found: list[tuple[StreamRow, int] | bytes] = []
        while self._waiting and len(found) < MAX_SENT:
            found.append(self._taken())
        while self._latest and len(found) < MAX_SENT:
            row = next(iter(self._latest))  # who waits longest has its turn, however quick others are
            found.append((row, self._latest.pop(row)))
        if not self._waiting and not self._latest and self.alerts is None:
            self.arrived.clear()
        return found


def _size(item: tuple[StreamRow, int] | bytes) -> int:
    """The bytes of a reading of a topic; one of a stream is read when it is sent."""
    return len(item) if isinstance(item, bytes) else 0
