"""The Interests an application has asked and that are unanswered: by ticket, by name and by time.

Matching is the specification's [interest §matching]: exact name, CanBePrefix, implicit digest; exact names do not pay
for the other two. What happens when one is answered or due is decided in `roost.forwarding.endpoint`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.machine import MS
from roost.machine.timetable import Timetable
from roost.naming import Name
from roost.wire import Data, Interest, encode_interest
from roost.wire.interest import decode_interest, matches


@dataclass(frozen=True, slots=True)
class Question:
    """An Interest to ask; `wire`, if given, is a whole Interest without a Nonce (a signed one) and wins."""

    name: Name
    can_be_prefix: bool = False
    must_be_fresh: bool = False
    lifetime_ms: int = 4000
    tries: int = 1
    hints: tuple[Name, ...] = ()
    hop_limit: int = -1
    parameters: bytes | None = None
    wire: bytes = b""

    def encoded(self) -> bytes:
        """Write the Interest, without a Nonce."""
        return self.wire or encode_interest(
            self.name,
            can_be_prefix=self.can_be_prefix,
            must_be_fresh=self.must_be_fresh,
            hints=self.hints,
            lifetime_ms=self.lifetime_ms,
            hop_limit=self.hop_limit,
            parameters=self.parameters,
        )


class Pending:
    """One unanswered Interest and its history."""

    __slots__ = ("interest", "last", "nack", "nonce", "pausing", "sent", "since", "ticket", "tried", "tries")

    def __init__(self, ticket: int, question: Question, now: int) -> None:
        self.ticket: Final = ticket
        self.interest: Final[Interest] = decode_interest(question.encoded())  # without a Nonce
        self.tries: Final = question.tries
        self.since: Final = now
        self.nonce = b""
        self.tried = 0  # lifetimes begun, sent or not
        self.sent = 0
        self.pausing = False  # after a Nack: its timer says when to send again, not when it expires
        self.last = ""  # what the last Nack said
        self.nack = -1

    def history(self, now: int, where: str, trouble: str) -> str:
        """Say what became of it on the face to `where`; `trouble` says what is wrong with that, empty if it is up."""
        asked = f"{self.interest.name}: no answer in {(now - self.since) // MS} ms"
        if not self.sent:
            return f"{asked}; it never left this machine, because {trouble}"
        times = "once" if self.sent == 1 else f"{self.sent} times"
        came = f"the last answer was a Nack: {self.last}" if self.last else "nothing came back"
        return f"{asked}; sent {times} over {where}, {came}" + (f"; since then {trouble}" if trouble else "")


class PendingTable:
    """All of them; the bound is the owner's to keep, on `len`."""

    def __init__(self) -> None:
        self._pending: dict[int, Pending] = {}
        self._by_name: dict[bytes, list[int]] = {}
        self._prefixes = 0  # how many set CanBePrefix
        self._digests = 0  # how many end in an implicit digest
        self._timers: Final = Timetable()

    def __len__(self) -> int:
        return len(self._pending)

    def __contains__(self, ticket: int) -> bool:
        return ticket in self._pending

    def everything(self) -> list[Pending]:
        """All that is pending."""
        return list(self._pending.values())

    def add(self, ticket: int, question: Question, now: int) -> Pending:
        """Take in a question; it has no timer yet."""
        pending = Pending(ticket, question, now)
        self._pending[ticket] = pending
        self._by_name.setdefault(pending.interest.name.value, []).append(ticket)
        self._prefixes += pending.interest.can_be_prefix
        self._digests += _names_digest(pending.interest.name)
        return pending

    def drop(self, ticket: int) -> bool:
        """Forget a question; whether it was there."""
        pending = self._pending.pop(ticket, None)
        if pending is None:
            return False
        self._timers.drop(ticket)
        key = pending.interest.name.value
        tickets = self._by_name[key]
        tickets.remove(ticket)
        if not tickets:
            del self._by_name[key]
        self._prefixes -= pending.interest.can_be_prefix
        self._digests -= _names_digest(pending.interest.name)
        return True

    def named(self, name: Name) -> list[Pending]:
        """All whose Interest has exactly this name."""
        return [self._pending[ticket] for ticket in self._by_name.get(name.value, ())]

    def answered_by(self, data: Data) -> list[int]:
        """The tickets that a Data answers."""
        value = data.name.value
        tickets = list(self._by_name.get(value, ()))
        if self._digests:
            tickets += self._by_name.get(data.full_name.value, ())
        if self._prefixes:
            for cut in data.name.cuts[:-1]:
                tickets += self._by_name.get(value[:cut], ())
        digest = data.implicit_digest if self._digests else b""
        return [ticket for ticket in tickets if matches(self._pending[ticket].interest, data.name, digest)]

    def set_timer(self, pending: Pending, due: int) -> None:
        """Have it come out of `overdue` at a time, instead of any earlier one."""
        self._timers.set(pending.ticket, due)

    def overdue(self, now: int) -> list[Pending]:
        """Those whose time has come; each needs a new timer or has to be dropped."""
        return [self._pending[ticket] for ticket in self._timers.overdue(now)]

    def deadline(self) -> int | None:
        """When the next one is due."""
        return self._timers.deadline()


def _names_digest(name: Name) -> bool:
    return name.value[-34:-32] == b"\x01\x20"
