"""Our state vector: how far every stream has come, as far as we know; merged with and compared to what is heard.

Merging takes the maximum per stream, so it does not matter in which order, or how often, vectors are heard. Raising a
number costs a few dictionary operations however many streams there are; only a new stream moves others in the list that
keeps the canonical order. Comparing costs what the heard vector is long: as all it lists is merged first, counting
tells whether anything of ours is missing in it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Final

from roost.sync.vector_format import Heard, encode_vector, entry_bytes

# How a heard vector stands to ours, in `StateVector.lag`.
FRESH: Final = 0  # it has all that we have
IN_FLIGHT: Final = 1  # what it lacks is so young that its sender may not have heard of it
OUTDATED: Final = 2


class Comparison:
    """What a heard vector has that we did not have, and the other way round."""

    __slots__ = ("fresh", "lower", "news", "refused")

    def __init__(self) -> None:
        self.news: Final[list[tuple[bytes, int, int]]] = []  # key, low, high: what was new to us
        self.fresh = 0  # how many of the news are about streams that we did not know
        self.lower: Final[list[bytes]] = []  # streams it lists with a lower number than ours
        self.refused = 0  # streams that found no room here


class StateVector:
    """The highest known number of every stream, and when each was last raised."""

    __slots__ = (
        "longest",
        "max_key_bytes",
        "max_streams",
        "numbers",
        "order",
        "revision",
        "size_bytes",
        "updated",
        "version",
    )

    def __init__(self, version: int, max_streams: int, max_key_bytes: int) -> None:
        self.version: Final = version
        self.max_streams: Final = max_streams
        self.max_key_bytes: Final = max_key_bytes
        self.numbers: Final[dict[bytes, int]] = {}  # bound: max_streams, and our own beyond it
        self.order: Final[list[bytes]] = []  # the same keys in canonical order
        self.updated: Final[dict[bytes, int]] = {}  # when each was raised, in this order
        self.size_bytes = 0  # encoded, at most
        self.longest = 0  # key
        self.revision = 0

    def load(self, entries: dict[bytes, int]) -> None:
        """Begin with what was known before: all at once, and none of it in flight."""
        self.numbers.update(entries)
        self.order.extend(sorted(entries))
        for key, number in entries.items():
            self.updated[key] = 0
            self.size_bytes += entry_bytes(key, number, self.version)
            self.longest = max(self.longest, len(key))
        self.revision += 1

    def raise_to(self, key: bytes, number: int, now: int) -> None:
        """Set a number that is higher than the known one."""
        known = self.numbers.get(key, 0)
        if known:
            del self.updated[key]
            self.size_bytes -= entry_bytes(key, known, self.version)
        else:
            insort(self.order, key)
            self.longest = max(self.longest, len(key))
        self.numbers[key] = number
        self.updated[key] = now
        self.size_bytes += entry_bytes(key, number, self.version)
        self.revision += 1

    def merge(self, heard: Heard, now: int) -> Comparison:
        """Take the maximum of each entry, and say what was new and what it has lower than we have."""
        found = Comparison()
        numbers = self.numbers
        for key, number in heard.entries.items():
            known = numbers.get(key, 0)
            if number == known:
                continue
            if number < known:
                found.lower.append(key)
                continue
            if not known:
                if len(numbers) >= self.max_streams or len(key) > self.max_key_bytes:
                    found.refused += 1
                    continue
                found.fresh += 1
            found.news.append((key, known + 1, number))
            self.raise_to(key, number, now)
        return found

    def lag(self, heard: Heard, found: Comparison, since: int, *, listed_only: bool) -> int:
        """How a vector that was merged stands to ours; what was raised after `since` is in flight.

        With `listed_only` nothing is concluded from a stream that it does not list.
        """
        verdict = FRESH
        updated = self.updated
        for key in found.lower:
            if updated[key] <= since:
                return OUTDATED
            verdict = IN_FLIGHT
        if listed_only:
            return verdict
        low, high = self._stretch(heard)
        if high - low == heard.inside and not found.refused:  # all it lists we have, so nothing of ours is missing
            return verdict
        for index in range(low, high):
            key = self.order[index]
            if key not in heard.entries:
                if updated[key] <= since:
                    return OUTDATED
                verdict = IN_FLIGHT
        return verdict

    def lacking(self, heard: Heard, found: Comparison, *, listed_only: bool) -> list[bytes]:
        """Which streams it has lower than we have, or not at all, in canonical order."""
        if listed_only:
            return found.lower
        low, high = self._stretch(heard)
        missing = [key for key in self.order[low:high] if key not in heard.entries]
        return sorted(found.lower + missing) if found.lower else missing

    def strike(self, lacking: dict[bytes, None], heard: Heard) -> bool:
        """Take out of `lacking` what this vector tells as well as we could; returns whether it told any."""
        before = len(lacking)
        for key in list(lacking) if before < len(heard.entries) else heard.entries:
            if key in lacking and heard.entries.get(key, 0) >= self.numbers[key]:
                del lacking[key]
        return len(lacking) < before

    def encode(self, keys: list[bytes]) -> bytes:
        """Write a StateVector of these streams, which are in canonical order."""
        return encode_vector(keys, self.numbers, self.version)

    def _stretch(self, heard: Heard) -> tuple[int, int]:
        """Between which positions of `order` the vector speaks of all streams."""
        if not heard.windowed:
            return 0, len(self.order)
        low = bisect_right(self.order, heard.after)
        return low, len(self.order) if heard.upto is None else bisect_right(self.order, heard.upto, low)
