"""What goes into a fetch and comes out of it: settings, the events of its driver, the effects for its driver.

The machine between them is `roost.pubsub.fetch`, from which all of these can be imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig
from roost.machine import Effect
from roost.naming import Name
from roost.pubsub import discovery
from roost.wire import Data

UNANSWERED: Final = "unanswered"  # nobody answered often enough, or with Nacks only
UNTRUSTED: Final = "untrusted"  # what came failed verification
DENIED: Final = "denied"  # the producer says it does not have it
UNUSABLE: Final = "unusable"  # an answer that cannot be right


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How to fetch; the defaults suit a building network."""

    discovery: str = discovery.AUTO
    algorithm: str = "cubic"
    capacity: int = 1024
    tries: int = 10
    lifetime_ms: int = 4000
    hints: tuple[Name, ...] = ()  # where to look, if not where the name leads; the driver's to heed

    def __post_init__(self) -> None:
        for field in ("capacity", "tries", "lifetime_ms"):
            value = getattr(self, field)
            if value < 1:
                raise BadConfig(f"{field}={value} would fetch nothing: it is at least 1")


@dataclass(frozen=True, slots=True)
class Express(Effect):
    """Send an Interest with a fresh Nonce; an earlier one of the same name is forgotten."""

    name: Name
    can_be_prefix: bool
    must_be_fresh: bool
    lifetime_ms: int


@dataclass(frozen=True, slots=True)
class Forget(Effect):
    """No longer wait for this name: it lies behind the end of the object."""

    name: Name


@dataclass(frozen=True, slots=True)
class Segment(Effect):
    """The next segment, in order."""

    number: int
    data: Data


@dataclass(frozen=True, slots=True)
class Finished(Effect):
    """Every segment has been delivered."""

    name: Name
    segments: int


@dataclass(frozen=True, slots=True)
class GaveUp(Effect):
    """The object cannot be had; `kind` is one of the four above, `nack` the code of the Nack that came last, or -1."""

    reason: str
    nack: int = -1
    kind: str = UNANSWERED


@dataclass(frozen=True, slots=True)
class Answered:
    """Event: a verified Data came."""

    data: Data
    congested: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Event: an Interest was nacked."""

    name: Name
    reason: int


@dataclass(frozen=True, slots=True)
class Distrusted:
    """Event: a Data came for an Interest and failed verification; `reason` says by which rule."""

    name: Name
    reason: str
