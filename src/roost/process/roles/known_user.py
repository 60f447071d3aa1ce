"""One user in the look-up of roles: what is known, for how long, and who wants to know."""

from __future__ import annotations

from typing import Final

from roost.machine import Effect
from roost.process.roles.decision import Roles
from roost.process.roles.lookup_port import Move


class KnownUser:
    """Kept by `roost.process.roles.lookup`, which alone changes it."""

    __slots__ = (
        "asked_at",
        "fresh",
        "name",
        "number",
        "refresh_at",
        "roles",
        "row",
        "tickets",
        "until",
        "waiting",
        "why",
    )

    def __init__(self, name: str, row: int) -> None:
        self.name: Final = name
        self.row: Final = row  # in the timetable
        self.roles: Roles = None
        self.why = ""  # they are not known
        self.fresh = False  # whether this may be told to who asks now
        self.until = 0  # what is known holds before this
        self.refresh_at = 0  # when to look up again, if somebody holds a ticket
        self.asked_at: int | None = None  # since when a look-up is under way, or waits for its turn
        self.number = 0  # of the one under way
        self.tickets: Final[dict[int, None]] = {}  # bound: settings.max_tickets, over all users
        self.waiting: Final[dict[int, None]] = {}  # those of them that were told nothing yet

    def become(self, roles: Roles, why: str) -> list[Effect]:
        """Have other roles; who was told is told."""
        moved = roles != self.roles and len(self.waiting) < len(self.tickets)
        self.roles, self.why = roles, why
        return [Move(self.name, roles, why)] if moved else []
