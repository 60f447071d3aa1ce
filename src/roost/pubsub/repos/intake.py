"""One object on its way into a repo: its segments are asked for, verified, and put on the shelf [repo.md §2.3, §3.2].

    ask (a window of them) ──▶ check ──▶ shelf ──▶ counted ──▶ … ──▶ `done`

A segment counts when it is on the disk. The object ends with the segment that was named as its end, or where a
FinalBlockId says; where nobody knows the end, with the first segment that is not to be had, which `unended` tells. The
first segment that is missing or refused otherwise ends it too, with its `text`; what came before stays stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect
from roost.naming import Name
from roost.naming.component import SEGMENT
from roost.naming.conventions import segment
from roost.pubsub.asking import Asking
from roost.pubsub.repos.permission import Permission
from roost.pubsub.repos.shelf_port import ShelfPort, is_for_now
from roost.repo.cause import INSERT
from roost.repo.commands import BUSY, COMPLETE, FAILED, REFUSED
from roost.wire import Data
from roost.wire.data import NACK

LAST_NUMBER: Final = (1 << 64) - 1  # that a segment can have

Done: TypeAlias = Callable[[int], list[Effect]]


@dataclass(frozen=True, slots=True)
class Target:
    """An object: one Data of exactly this name, or with `start` its segments up to `end`, None where nobody knows."""

    name: Name
    start: int | None = None
    end: int | None = None
    hints: tuple[Name, ...] = ()

    def at(self, number: int) -> Name:
        """The name of a segment, or of the one Data."""
        return self.name if self.start is None else self.name / segment(number)


@dataclass(frozen=True, slots=True)
class Pace:
    """How an object is fetched."""

    window: int
    lifetime_ms: int
    tries: int


class Intake:
    """The fetching of one object; `code` is 0 until it is over, then what became of it."""

    def __init__(self, asking: Asking, shelf: ShelfPort, permission: Permission, target: Target, pace: Pace) -> None:
        self.target: Final = target
        self.inserted = 0
        self.deleted: Final = None
        self.code = 0
        self.text = ""
        self.unended = False
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._permission: Final = permission
        self._pace: Final = pace
        self._done: Done | None = None
        self._next = target.start or 0
        self._end = 0 if target.start is None else target.end
        self._flying: Final[dict[int, int]] = {}  # segment → ticket, 0 while it is being checked; bound: the window
        self._shelving = 0  # bound: the window, together with those above
        self._trouble = 0

    @property
    def open_ended(self) -> bool:
        """Whether nobody has said yet where it ends."""
        return self._end is None

    def start(self, done: Done, now: int) -> list[Effect]:
        """Begin; `done` is called once, when it is over."""
        self._done = done
        refusal = self._permission.to_keep(self.target.name)
        if self._end is not None and self._end < self._next:
            refusal = f"{self.target.name} cannot end with segment {self._end} if it starts with {self._next}"
        if refusal:
            return self.stop(REFUSED, refusal, now)
        return self._go_on(now)

    def stop(self, code: int, text: str, now: int) -> list[Effect]:
        """Ask for nothing more; it is over when what has come is on the disk."""
        if self._trouble or self.code:
            return []
        self._trouble, self.text = code, text
        return self._cancel_from(0) + self._go_on(now)

    def _go_on(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        while (
            not self._trouble
            and self._next <= (LAST_NUMBER if self._end is None else self._end)
            and len(self._flying) + self._shelving < self._pace.window
        ):
            number = self._next
            self._next += 1
            self._flying[number] = 0
            question = Question(
                self.target.at(number),
                lifetime_ms=self._pace.lifetime_ms,
                tries=self._pace.tries,
                hints=self.target.hints,
            )
            effects += self._asking.ask(question, partial(self._answered, number), now)
            if number in self._flying:  # not refused at once
                self._flying[number] = self._asking.last_ticket
        if self._flying or self._shelving or self.code:
            return effects
        self.code = self._trouble or COMPLETE
        return effects + (self._done(now) if self._done is not None else [])

    def _answered(self, number: int, event: Delivered | Failed, now: int) -> list[Effect]:
        if number not in self._flying:
            return []
        if isinstance(event, Failed):
            return self._missing(number, event.reason, now)
        if event.data.content_type == NACK:
            return self._missing(number, f"the producer says that there is no {event.data.name}", now)
        self._flying[number] = 0
        return self._asking.check(event.data, partial(self._checked, number, event.data), now)

    def _checked(self, number: int, data: Data, refusal: str, now: int) -> list[Effect]:
        if self._flying.pop(number, None) is None:
            return []
        if refusal:
            return [self._asking.rejected(data, refusal), *self.stop(REFUSED, refusal, now)]
        self._shelving += 1
        effects = self._final(data, now)
        effects += self._shelf.put([data], INSERT, self._shelved, now)
        return effects + self._go_on(now)

    def _shelved(self, refusals: list[str], now: int) -> list[Effect]:
        self._shelving -= 1
        if refusals[0]:
            code = BUSY if is_for_now(refusals[0]) else REFUSED
            return self.stop(code, refusals[0], now) + self._go_on(now)
        self.inserted += 1
        return self._go_on(now)

    def _missing(self, number: int, reason: str, now: int) -> list[Effect]:
        del self._flying[number]
        if self._end is not None and not self.unended:
            return self.stop(FAILED, reason, now)
        self.unended = True
        return self._ends_at(number - 1) + self._go_on(now)

    # -- where it ends

    def _final(self, data: Data, now: int) -> list[Effect]:
        """Believe what a verified segment says about the last one."""
        last = data.final_block
        if self.target.start is None or last is None or last.type != SEGMENT or len(last.value) not in {1, 2, 4, 8}:
            return []
        end = last.number()
        if self.unended and self._end is not None and self._end < end:
            return self.stop(FAILED, f"{self.target.at(self._end + 1)} did not come, the last segment is {end}", now)
        self.unended = False
        return self._ends_at(end)

    def _ends_at(self, end: int) -> list[Effect]:
        self._end = end if self._end is None else min(end, self._end)
        return self._cancel_from(self._end + 1)

    def _cancel_from(self, low: int) -> list[Effect]:
        effects: list[Effect] = []
        for number in [number for number in self._flying if number >= low]:
            effects += self._asking.cancel(self._flying.pop(number))
        return effects
