"""Finding out which roles users have, from a source that is slow and may be down [Noctua, section IV, steps 3 and 4].

    ask ──▶ known, and fresh ──▶ Tell
        └─▶ LookUp …… answered ──▶ Tell, to all who wait
                   └─ failed, or no answer in time ──▶ Tell with None: not known, so denied

- One look-up per user is under way, whoever waits for it. So many in all go on at once, the others queue, and the
  timeout runs while they do.
- An answer is kept for `ttl`, one without roles for `negative_ttl`; the source may say a nearer end. That nobody knows
  is kept for `negative_ttl` too, so that a source that is down is not asked by every subscription.
- Who asked holds the ticket until `release`. As long as somebody does, the user is looked up again before the answer is
  too old; another answer is a `Move`. Meanwhile the old one holds, never beyond its time: a source that falls silent
  costs users their roles (`Move` to None), and gives none to anybody.
- `changed` is the source's word that roles are others now. New questions wait for the new answer; who was told keeps
  the old one until it comes, for `timeout` at most. An answer that was on its way is not heard, it may be the old one.

The clock is the driver's, and so is the source: a file, a group, or a service over HTTP.
"""

from __future__ import annotations

from typing import Final

from roost.machine import SECOND, Effect, earliest
from roost.machine.timetable import Timetable
from roost.process.roles.decision import NO_ROLES, Roles
from roost.process.roles.known_user import KnownUser
from roost.process.roles.lookup_port import GiveUp, LookUp, LookupSettings, Tell

TOO_OLD: Final = "the roles could not be confirmed before they were too old"
ENDED: Final = "the source of roles says what has ended already"
FULL: Final = "the roles of too many users are in use"

_AT_LEAST: Final = SECOND // 4  # between an answer and the next question, however near the end of it is


class RoleLookup:
    """The machine."""

    def __init__(self, settings: LookupSettings | None = None) -> None:
        self.settings: Final = settings or LookupSettings()
        self.look_ups = 0
        self.hits = 0  # questions that were answered at once
        self.coalesced = 0  # questions that joined a look-up
        self.timeouts = 0
        self.failures = 0  # timeouts not among them
        self.late = 0  # answers that nobody waited for any more
        self.turned_away = 0  # questions that found no room
        self.forgotten = 0  # users that made room for others
        self._users: Final[dict[str, KnownUser]] = {}  # bound: settings.max_users
        self._rows: Final[dict[int, KnownUser]] = {}  # the same, by their rows
        self._idle: Final[dict[str, None]] = {}  # those that nobody holds, the longest first
        self._queue: Final[dict[str, KnownUser]] = {}  # those whose look-up waits for its turn, the first first
        self._under_way: Final[dict[int, KnownUser]] = {}  # bound: settings.max_under_way
        self._due: Final = Timetable()
        self._held = 0  # tickets
        self._last = 0  # row or number that was given out

    # -- commands

    def ask(self, user: str, ticket: int, now: int) -> list[Effect]:
        """Want the roles of a user; the ticket is told once, and holds until `release`."""
        if not user:  # who proved no name has no roles, and nobody need be asked
            return [Tell(ticket, user, NO_ROLES)]
        known = None if self._held >= self.settings.max_tickets else self._users.get(user) or self._admit(user)
        if known is None:
            self.turned_away += 1
            return [Tell(ticket, user, None, FULL)]
        self._held += ticket not in known.tickets
        known.tickets[ticket] = None
        self._idle.pop(user, None)
        if known.fresh and now < known.until:
            self.hits += 1
            self._set_due(known)
            return [Tell(ticket, user, known.roles, known.why)]
        known.waiting[ticket] = None
        if known.asked_at is None:
            self._want(known, now)
        else:
            self.coalesced += 1
        return self._go_on()

    def release(self, user: str, ticket: int) -> None:
        """Care no longer, and be told no more."""
        known = self._users.get(user)
        if known is None or ticket not in known.tickets:
            return
        del known.tickets[ticket]
        known.waiting.pop(ticket, None)
        self._held -= 1
        if not known.tickets and self._queue.pop(user, None) is not None:
            known.asked_at = None
        self._rest(known)

    def answered(self, number: int, roles: frozenset[str], now: int, until: int | None = None) -> list[Effect]:
        """Take what the source says; `until` is when it says this ends, if it does."""
        known = self._under_way.get(number)
        if known is None:
            self.late += 1
            return []
        ends = now + (self.settings.ttl if roles else self.settings.negative_ttl)
        if until is not None:
            ends = min(ends, until)
        if ends <= now:
            return self.failed(number, ENDED, now)
        ahead = min(max(self.settings.timeout, (ends - now) // 4), (ends - now) // 2)  # time for an answer, or a retry
        known.refresh_at = max(ends - ahead, now + _AT_LEAST)
        return self._learn(known, roles, "", ends)

    def failed(self, number: int, why: str, now: int) -> list[Effect]:
        """The source cannot say."""
        known = self._under_way.get(number)
        if known is None:
            self.late += 1
            return []
        self.failures += 1
        return self._miss(known, why, now)

    def changed(self, user: str, now: int) -> list[Effect]:
        """The roles of a user are others than they were, says the source."""
        known = self._users.get(user)
        if known is None:
            return []
        if not known.tickets and known.asked_at is None:
            self._forget(known)
            return []
        effects = self._give_up(known)
        known.fresh = False
        known.until = min(known.until, now + self.settings.timeout)
        self._want(known, now)
        return effects + self._go_on()

    # -- time

    def tick(self, now: int) -> list[Effect]:
        """Give up what takes too long, look up what gets old, and forget what nobody needs."""
        effects: list[Effect] = []
        for row in self._due.overdue(now):
            known = self._rows[row]
            if known.asked_at is not None and now >= known.asked_at + self.settings.timeout:
                self.timeouts += 1
                effects += self._give_up(known)
                effects += self._miss(known, f"no answer in {self.settings.timeout / SECOND:g} s", now)
            if known.roles is not None and now >= known.until:
                effects += known.become(None, TOO_OLD)
                known.refresh_at = now
            if known.asked_at is None and known.tickets and now >= known.refresh_at:
                self._want(known, now)
            if known.asked_at is None and not known.tickets and now >= known.until:
                self._forget(known)
            else:
                self._set_due(known)
        return effects + self._go_on()

    def deadline(self) -> int | None:
        """When the next user wants attention."""
        return self._due.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "users": (len(self._users), self.settings.max_users),
            "tickets": (self._held, self.settings.max_tickets),
            "under way": (len(self._under_way), self.settings.max_under_way),
        }

    # -- look-ups

    def _want(self, known: KnownUser, now: int) -> None:
        known.asked_at = now
        self._queue[known.name] = known
        self._set_due(known)

    def _go_on(self) -> list[Effect]:
        """Begin the look-ups whose turn it is."""
        effects: list[Effect] = []
        while self._queue and len(self._under_way) < self.settings.max_under_way:
            known = self._queue.pop(next(iter(self._queue)))
            self._last += 1
            self.look_ups += 1
            known.number = self._last
            self._under_way[known.number] = known
            effects.append(LookUp(known.number, known.name))
        return effects

    def _give_up(self, known: KnownUser) -> list[Effect]:
        self._queue.pop(known.name, None)
        if not known.number:
            return []
        del self._under_way[known.number]
        number, known.number = known.number, 0
        return [GiveUp(number)]

    def _miss(self, known: KnownUser, why: str, now: int) -> list[Effect]:
        """Go on without an answer: with the old one as long as it holds, else with none."""
        retry_at = now + self.settings.negative_ttl
        known.refresh_at = retry_at
        if known.fresh and known.roles is not None and now < known.until:
            return self._learn(known, known.roles, "", known.until)
        return self._learn(known, None, why, retry_at)

    def _learn(self, known: KnownUser, roles: Roles, why: str, until: int) -> list[Effect]:
        """Know something until then, tell it to all who wait, and have the next look-up begin."""
        self._under_way.pop(known.number, None)
        known.number = 0
        known.asked_at = None
        known.fresh = True
        known.until = until
        effects = known.become(roles, why)
        effects += [Tell(ticket, known.name, roles, why) for ticket in known.waiting]
        known.waiting.clear()
        self._rest(known)
        return effects + self._go_on()

    # -- users

    def _admit(self, user: str) -> KnownUser | None:
        if len(self._users) >= self.settings.max_users:
            if not self._idle:
                return None
            self.forgotten += 1
            self._forget(self._users[next(iter(self._idle))])
        self._last += 1
        known = KnownUser(user, self._last)
        self._users[user] = known
        self._rows[known.row] = known
        return known

    def _rest(self, known: KnownUser) -> None:
        if not known.tickets and known.asked_at is None:
            self._idle[known.name] = None
        self._set_due(known)

    def _forget(self, known: KnownUser) -> None:
        del self._users[known.name], self._rows[known.row]
        self._idle.pop(known.name, None)
        self._due.drop(known.row)

    def _set_due(self, known: KnownUser) -> None:
        asked = known.asked_at is not None
        due = earliest(
            None if known.asked_at is None else known.asked_at + self.settings.timeout,
            known.refresh_at if known.tickets and not asked else None,
            known.until if known.roles is not None or not (known.tickets or asked) else None,
        )
        if due is not None:
            self._due.set(known.row, due)
