"""The look-up of roles from outside: its settings, what it asks of its driver, and what it tells whoever asked it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from roost.errors import BadConfig
from roost.machine import SECOND, Effect
from roost.process.roles.decision import Roles


@dataclass(frozen=True, slots=True)
class LookupSettings:
    """How long answers hold, in ns, and how much is kept; all above 0."""

    ttl: int = 300 * SECOND
    negative_ttl: int = 30 * SECOND  # of an answer without roles, and of none
    timeout: int = 5 * SECOND
    max_users: int = 100_000
    max_tickets: int = 1_000_000
    max_under_way: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise BadConfig(f"{field.name} of the role look-up is {getattr(self, field.name)}; write more than 0")


@dataclass(frozen=True, slots=True)
class LookUp(Effect):
    """Ask the source of roles about a user; `answered` or `failed` takes the number."""

    number: int
    user: str


@dataclass(frozen=True, slots=True)
class GiveUp(Effect):
    """Wait no longer for this one; an answer that comes all the same is not heard."""

    number: int


@dataclass(frozen=True, slots=True)
class Tell(Effect):
    """The answer to an `ask`, one for each: the roles, or None and why they are not known."""

    ticket: int
    user: str
    roles: Roles
    why: str = ""


@dataclass(frozen=True, slots=True)
class Move(Effect):
    """The roles of a user are others than was told last: what depends on them is to be decided again."""

    user: str
    roles: Roles
    why: str = ""
