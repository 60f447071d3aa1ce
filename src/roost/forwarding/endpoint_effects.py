"""What an application's face hands to its driver: answers, failures, Interests to answer. Made by `endpoint`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.machine import Effect
from roost.naming import Name
from roost.wire import Data, Interest

TIMED_OUT: Final = "timed out"
NACKED: Final = "nacked"
OVERFLOWED: Final = "overflowed"


@dataclass(frozen=True, slots=True)
class Delivered(Effect):
    """The Data for a ticket; `congested` if the network marked it."""

    ticket: int
    data: Data
    congested: bool


@dataclass(frozen=True, slots=True)
class Failed(Effect):
    """No Data for a ticket: `kind` is one of the three above, `nack` the reason code of a Nack or -1."""

    ticket: int
    kind: str
    reason: str
    nack: int = -1


@dataclass(frozen=True, slots=True)
class Asked(Effect):
    """Somebody asks for a name under a served prefix; answer with `reply`, and the token."""

    prefix: Name
    interest: Interest
    token: bytes
