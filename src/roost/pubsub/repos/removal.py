"""One object on its way out of a repo: its segments are dropped from the shelf [repo.md §2.3, §3.2].

It stops at the first segment that is not there. That has to be looked up before: a shelf remembers what it has dropped,
to refuse it from then on, and would remember segments that nobody ever had.
"""

from __future__ import annotations

from typing import Final

from roost.machine import Effect
from roost.pubsub.repos.intake import LAST_NUMBER, Done, Target
from roost.pubsub.repos.permission import Permission
from roost.pubsub.repos.shelf_port import ShelfPort
from roost.repo.commands import COMPLETE, FAILED, REFUSED
from roost.repo.store import Damaged
from roost.wire import SignatureInfo

AT_ONCE: Final = 256  # segments dropped in one write


class Removal:
    """The deleting of one object for whoever signed; `code` is 0 until it is over, then what became of it."""

    def __init__(self, shelf: ShelfPort, permission: Permission, target: Target, by: SignatureInfo | None) -> None:
        self.target: Final = target
        self.inserted: Final = None
        self.deleted = 0
        self.code = 0
        self.text = ""
        self.unended: Final = False
        self.open_ended: Final = False  # whatever its end, it takes no longer than the disk does
        self._shelf: Final = shelf
        self._permission: Final = permission
        self._by: Final = by
        self._done: Done | None = None
        self._next = target.start or 0
        self._end = 0 if target.start is None else target.end

    def start(self, done: Done, now: int) -> list[Effect]:
        """Begin; `done` is called once, when it is over."""
        self._done = done
        refusal = self._permission.to_delete(self.target.name, self._by)
        if self._end is not None and self._end < self._next:
            refusal = f"{self.target.name} cannot end with segment {self._end} if it starts with {self._next}"
        return self._over(REFUSED, refusal, now) if refusal else self._drop(now)

    def stop(self, code: int, text: str, now: int) -> list[Effect]:
        """Nothing stops it: what is being written is written."""
        del code, text, now
        return []

    def _drop(self, now: int) -> list[Effect]:
        low = self._next
        while self._next < low + AT_ONCE and self._is_there():
            self._next += 1
        if self._next > low:
            names = [self.target.at(number) for number in range(low, self._next)]
            return self._shelf.drop(names, self._dropped, now)
        if self.deleted and (self._end is None or self._next > self._end):
            return self._over(COMPLETE, "", now)
        return self._over(FAILED, f"{self.target.at(self._next)} is not here", now)

    def _is_there(self) -> bool:
        if self._next > (LAST_NUMBER if self._end is None else self._end):
            return False
        try:
            return self._shelf.store.get(self.target.at(self._next)) is not None
        except Damaged:
            return True

    def _dropped(self, refusals: list[str], now: int) -> list[Effect]:
        self.deleted += refusals.count("")
        trouble = next((refusal for refusal in refusals if refusal), "")
        return self._over(FAILED, trouble, now) if trouble else self._drop(now)

    def _over(self, code: int, text: str, now: int) -> list[Effect]:
        self.code, self.text = code, text
        return self._done(now) if self._done is not None else []
