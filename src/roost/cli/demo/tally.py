"""What was said and what came, counted by whoever really takes part: nothing here believes anybody's word for it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Tally(Generic[Key]):
    """Which of the numbers 1, 2, 3 … of each key came, in whatever order; bound: the keys, and what is out of order."""

    def __init__(self) -> None:
        self.twice = 0
        self.skipped = 0  # numbers that came later than one behind them
        self._upto: Final[dict[Key, int]] = {}
        self._ahead: Final[dict[Key, set[int]]] = {}

    def take(self, key: Key, number: int) -> bool:
        """Take one in; whether it is new."""
        upto = self._upto.get(key, 0)
        ahead = self._ahead.setdefault(key, set())
        if number <= upto or number in ahead:
            self.twice += 1
            return False
        if number != upto + 1 + len(ahead):
            self.skipped += 1
        ahead.add(number)
        while upto + 1 in ahead:
            upto += 1
            ahead.discard(upto)
        self._upto[key] = upto
        return True

    def upto(self, key: Key) -> int:
        """All numbers up to this one came."""
        return self._upto.get(key, 0)

    def lacks(self, key: Key, upto: int) -> int:
        """How many of the numbers up to this one have not come."""
        came, ahead = self._upto.get(key, 0), tuple(self._ahead.get(key, ()))  # copied: clients have threads
        return max(0, upto - came - sum(number <= upto for number in ahead))

    @property
    def count(self) -> int:
        """How many different ones came."""
        return sum(self._upto.values()) + sum(map(len, self._ahead.values()))

    @property
    def gaps(self) -> int:
        """How many are missing below the highest that came."""
        return sum(max(each) - self._upto.get(key, 0) - len(each) for key, each in self._ahead.items() if each)


class Debt:
    """What was promised and is not there yet, and since when nothing of it came."""

    def __init__(self) -> None:
        self.missing = 0
        self._since: float | None = None
        self._least = 0

    def look(self, missing: int, now_s: float) -> None:
        """Take in how much is missing now; any that comes shows that it is on its way."""
        if missing <= 0:
            self._since = None
        elif self._since is None or missing < self._least:
            self._since = now_s
        self._least = missing
        self.missing = max(0, missing)

    def stuck_s(self, now_s: float) -> float:
        """For how long nothing of what is missing has come."""
        return 0.0 if self._since is None else now_s - self._since
