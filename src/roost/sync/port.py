"""The one small port of all sync protocols: join a group, announce, learn what is new.

    member.start(now)                     join the group
    member.produce(stream, now)           these numbers are ours to give  → Ready(stream, next number)
    member.announce(stream, high, now)    the stream has come to `high`   → Save … Saved → Announced, the group hears
    Learned(stream, low, high)            somebody's stream has news: numbers low to high, both inclusive
    member.latest()                       the highest known number of every stream, ours included

Whoever publishes stores the Data first, announces it then and serves it once it is `Announced`: a number that others
have seen is on the disk, so a restarted member never gives it twice.

A member speaks packets, but has no face: its driver (`roost.pubsub.membership`) sends what it expresses with a fresh
Nonce, hands in what arrives, and verifies first. `evidence` says what of an Interest has to be verified before
`receive` may see it; Data are verified before they are `Answered` or `Collected`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from roost.machine import Effect
from roost.machine.disk import Saved
from roost.naming import Name
from roost.wire import Data, Interest


class Stream(NamedTuple):
    """Whose numbers: a name, and with SVS v3 the time in seconds at which its numbers began; 0 elsewhere."""

    name: Name
    boot: int = 0

    def __str__(self) -> str:
        return f"{self.name}@{self.boot}" if self.boot else str(self.name)


# -- what a member tells


@dataclass(frozen=True, slots=True)
class Learned(Effect):
    """Another member's stream has come to `high`; everything from `low` on is new to us."""

    stream: Stream
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Ready(Effect):
    """A stream of ours goes on with this number: told once per `produce`, again if others knew more than our disk."""

    stream: Stream
    number: int


@dataclass(frozen=True, slots=True)
class Announced(Effect):
    """Our stream's numbers up to `high` are on the disk, and the group is being told: serve them from now on."""

    stream: Stream
    high: int


# -- what a member asks of its driver


@dataclass(frozen=True, slots=True)
class Express(Effect):
    """Send an Interest (whole, without a Nonce) once; under ticket 0 no answer is expected, nor wanted."""

    ticket: int
    interest: bytes


@dataclass(frozen=True, slots=True)
class Forget(Effect):
    """No longer wait for the answer of this ticket."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Collect(Effect):
    """Fetch the segments of the object with this versioned name; answer with `Collected` or `Unanswered`."""

    ticket: int
    name: Name


@dataclass(frozen=True, slots=True)
class Reply(Effect):
    """Send a Data, with the token of the Interest it answers."""

    packet: bytes
    token: bytes


# -- what the driver hands in


@dataclass(frozen=True, slots=True)
class Asked:
    """Event: an Interest under the member's prefix came, and its evidence, if any, was verified."""

    interest: Interest
    token: bytes = b""


@dataclass(frozen=True, slots=True)
class Answered:
    """Event: a verified Data came for a ticket."""

    ticket: int
    data: Data


@dataclass(frozen=True, slots=True)
class Collected:
    """Event: all segments of an object came and were verified; this is their content."""

    ticket: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Event: nothing that can be used came for a ticket: expired, nacked or not trusted."""

    ticket: int
    reason: str


Event: TypeAlias = Asked | Answered | Collected | Unanswered | Saved


class Listener(Protocol):
    """Somebody who learns what is new in a group, whatever protocol the group speaks."""

    @property
    def group(self) -> Name: ...
    @property
    def prefix(self) -> Name: ...  # Interests under it are for `receive`
    @property
    def route(self) -> Name | None: ...  # what to register, so that they come; None: none come unasked
    @property
    def multicast(self) -> Name | None: ...  # what has to be sent to all members; None: any one will do
    def evidence(self, interest: Interest) -> Interest | Data | None: ...  # None: nothing to verify
    def latest(self) -> Mapping[Stream, int]: ...

    def start(self, now: int) -> list[Effect]: ...
    def receive(self, event: Event, now: int) -> list[Effect]: ...
    def tick(self, now: int) -> list[Effect]: ...
    def deadline(self) -> int | None: ...


class Member(Listener, Protocol):
    """A listener that has streams of its own to announce."""

    def produce(self, stream: Name, now: int) -> list[Effect]: ...
    def announce(self, stream: Name, high: int, now: int) -> list[Effect]: ...
