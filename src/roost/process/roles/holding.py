"""What keeps readings from being lost while a role is looked up: they are held, and released once it is known.

The paper subscribes a user when the authorisation service has answered. What comes before is lost: for a look-up of
mean τ and a stream at rate ρ that is 1/(1 − exp(−1/τρ)) − 1 readings on average [equation 3]. Here a subscription holds
from its own moment on. Whatever comes on any topic that may turn out to be its stream (`reach.candidates`) is kept for
it in the order in which it came. When the role is known, `release` gives what belongs to the stream that was decided,
and drops the rest. A message that came once is held once, however many of the filters match it.

    begin ──▶ arrived … arrived ──▶ release      what to deliver now; what comes after it comes the ordinary way
                                └─▶ cancel       nothing: the role may see nothing, or the client is gone

With `hold` off nothing is held, which is the paper's arrangement: for its experiment, and for nothing else.

When there is no room the oldest of the same subscription goes first, and is counted there and in all. What a message
is, and what it weighs, is its owner's business. A message that is held for several is counted for each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from roost.process.roles.patterns import Patterns

Message = TypeVar("Message")


@dataclass(frozen=True, slots=True)
class HoldingSettings:
    """How much is held."""

    hold: bool = True
    max_pending: int = 10_000  # subscriptions
    max_messages: int = 10_000  # for one of them, as the next
    max_bytes: int = 4 << 20
    max_total_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Released(Generic[Message]):
    """What was held of the decided streams, in order, and how many messages are missing before it."""

    messages: tuple[Message, ...]
    dropped: int  # of all streams that might have been it: there was no room, or nothing is held at all


class Holding(Generic[Message]):
    """All pending subscriptions of a node."""

    def __init__(self, settings: HoldingSettings | None = None) -> None:
        self.settings: Final = settings or HoldingSettings()
        self.dropped = 0  # messages, counted for each subscription they were held for
        self.turned_away = 0  # subscriptions that found no room
        self._pending: Final[dict[int, _Pending[Message]]] = {}  # by ticket; bound: settings.max_pending
        self._wanted: Final[Patterns[dict[int, None]]] = Patterns()  # topic or filter → tickets
        self._bytes = 0  # bound: settings.max_total_bytes

    def __len__(self) -> int:
        """How many subscriptions are pending; with none, nothing need be offered."""
        return len(self._pending)

    def __contains__(self, ticket: int) -> bool:
        """Whether this subscription is pending."""
        return ticket in self._pending

    def begin(self, ticket: int, topics: Sequence[str]) -> bool:
        """Hold from now on what comes on these topics and filters; False if there is no room for one more."""
        if len(self._pending) >= self.settings.max_pending:
            self.turned_away += 1
            return False
        pending: _Pending[Message] = _Pending(tuple(dict.fromkeys(topics)))
        self._pending[ticket] = pending
        for topic in pending.topics:
            tickets = self._wanted.get(topic)
            if tickets is None:
                tickets = {}
                self._wanted.put(topic, tickets)
            tickets[ticket] = None
        return True

    def arrived(self, topic: str, message: Message, size_bytes: int) -> None:
        """Hold a message for every pending subscription that may want it."""
        tickets = dict.fromkeys([ticket for wanting in self._wanted.matching(topic) for ticket in wanting])
        for ticket in tickets:
            self._hold(self._pending[ticket], _Held(topic, message, size_bytes))

    def keep(self, ticket: int, topic: str, message: Message, size_bytes: int) -> None:
        """Hold a message for one pending subscription, by whoever knows himself that it may want it."""
        self._hold(self._pending[ticket], _Held(topic, message, size_bytes))

    def release(self, ticket: int, admits: Callable[[str], bool]) -> Released[Message]:
        """End a pending subscription with what it was holding on the topics that turned out to be its own."""
        pending = self._end(ticket)
        return Released(tuple([each.message for each in pending.held if admits(each.topic)]), pending.dropped)

    def cancel(self, ticket: int) -> None:
        """End a pending subscription with nothing."""
        self._end(ticket)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "pending": (len(self._pending), self.settings.max_pending),
            "bytes": (self._bytes, self.settings.max_total_bytes),
        }

    def _hold(self, pending: _Pending[Message], new: _Held[Message]) -> None:
        if not self.settings.hold or new.size_bytes > self.settings.max_bytes:
            self._drop(pending)
            return
        pending.held.append(new)
        self._weigh(pending, new.size_bytes)
        while pending.held and self._is_over(pending):
            self._weigh(pending, -pending.held.popleft().size_bytes)
            self._drop(pending)

    def _is_over(self, pending: _Pending[Message]) -> bool:
        settings = self.settings
        return (
            len(pending.held) > settings.max_messages
            or pending.bytes > settings.max_bytes
            or self._bytes > settings.max_total_bytes
        )

    def _weigh(self, pending: _Pending[Message], size_bytes: int) -> None:
        pending.bytes += size_bytes
        self._bytes += size_bytes

    def _drop(self, pending: _Pending[Message]) -> None:
        pending.dropped += 1
        self.dropped += 1

    def _end(self, ticket: int) -> _Pending[Message]:
        pending = self._pending.pop(ticket)
        self._bytes -= pending.bytes
        for topic in pending.topics:
            tickets = self._wanted.get(topic)
            if tickets is not None:
                del tickets[ticket]
                if not tickets:
                    self._wanted.remove(topic)
        return pending


class _Pending(Generic[Message]):
    """One subscription whose role is looked up."""

    __slots__ = ("bytes", "dropped", "held", "topics")

    def __init__(self, topics: tuple[str, ...]) -> None:
        self.topics: Final = topics
        self.held: Final[deque[_Held[Message]]] = deque()  # bound: settings.max_messages and max_bytes
        self.bytes = 0
        self.dropped = 0


class _Held(Generic[Message]):
    """One message, and where it came."""

    __slots__ = ("message", "size_bytes", "topic")

    def __init__(self, topic: str, message: Message, size_bytes: int) -> None:
        self.topic: Final = topic
        self.message: Final = message
        self.size_bytes: Final = size_bytes
