"""The port between FLIPS and what carries it: Interests and Data of (topic hash, control number), nothing else.

A binding turns `SendInterest` and `SendData` into packets, and packets into `InterestArrived` and `DataArrived`. A
`token` is whatever it needs to answer an Interest; it comes back with `SendData`. `Attract` asks for the Interests of a
topic, first on probation: then they must not take the way out from the Interests of the same name that this machine
sends itself [E10].

What an application hears comes after the dashes.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.machine import Effect
from roost.pubsub.flips.identifiers import TopicHash

# -- to the binding


@dataclass(frozen=True, slots=True)
class SendInterest(Effect):
    """Ask for a name; only a THCD_REQ has a payload."""

    hash: TopicHash
    number: int
    lifetime_ms: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class SendData(Effect):
    """Answer; a lifetime of 0 says that nobody shall keep it."""

    hash: TopicHash
    number: int
    lifetime_ms: int
    payload: bytes
    token: object = None


@dataclass(frozen=True, slots=True)
class Attract(Effect):
    """Have Interests for a topic come here, `on_probation` until the topic is known to be free."""

    hash: TopicHash
    on_probation: bool


@dataclass(frozen=True, slots=True)
class Release(Effect):
    """Have them come no longer."""

    hash: TopicHash


# -- from the binding


@dataclass(frozen=True, slots=True)
class InterestArrived:
    """Event: somebody asks."""

    hash: TopicHash
    number: int
    lifetime_ms: int
    payload: bytes = b""
    token: object = None


@dataclass(frozen=True, slots=True)
class DataArrived:
    """Event: somebody answered; `signer` is whose key it was, as far as it was verified."""

    hash: TopicHash
    number: int
    payload: bytes
    signer: str = ""


# -- to the application


@dataclass(frozen=True, slots=True)
class Registered(Effect):
    """A topic is ours to publish; `counter` contents were published before."""

    topic: str
    counter: int


@dataclass(frozen=True, slots=True)
class Collided(Effect):
    """A topic is not ours: `reason` as in a THCD_REP, `text` for people."""

    topic: str
    reason: int
    text: str


@dataclass(frozen=True, slots=True)
class Published(Effect):
    """Content is on the disk, and goes to whoever asks; `number` is that of its last packet."""

    topic: str
    number: int
    next_ms: int


@dataclass(frozen=True, slots=True)
class Subscribed(Effect):
    """A publisher answered; content comes from now on."""

    topic: str
    next_number: int


@dataclass(frozen=True, slots=True)
class Deliver(Effect):
    """Content of a topic, whole and in order; `low` to `high` are the numbers of its packets."""

    topic: str
    low: int
    high: int
    content: bytes
    next_ms: int  # when the next is due, by the publisher's clock; 0 if nobody knows
    signer: str = ""


@dataclass(frozen=True, slots=True)
class Missed(Effect):
    """Content that could not be had, or was passed over by `latest` delivery."""

    topic: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class BegunAnew(Effect):
    """The publisher lost what it had: we were at `place`, it numbers anew, and content comes from `number` on."""

    topic: str
    place: int
    number: int


@dataclass(frozen=True, slots=True)
class WentStale(Effect):
    """The publisher said when its next content comes, and it did not; or nobody answers, then `due_ms` may be 0."""

    topic: str
    number: int
    due_ms: int


@dataclass(frozen=True, slots=True)
class Revived(Effect):
    """Content comes again."""

    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class SubscriptionEnded(Effect):
    """Nobody answered, and the subscription is over."""

    topic: str
    reason: str
