"""Topics and filters with something kept at each, found again by topic, the most specific first [MQTT-4.7].

Two filters that match the same topic are compared level by level from the left: a level that is written out comes
before `+`, `+` before `#`, and the end before `#`. So what has no wildcard comes first of all, then what has the longer
written beginning.

A topic without wildcards is one look into a dictionary, however many there are; a filter is found as
`roost.process.wildcards` finds it. How much is kept is bounded by whoever keeps it.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from roost.process.wildcards import Wildcards, is_wild

Kept = TypeVar("Kept")

_RANKS: Final = {"+": 2, "#": 3}
_END: Final = 1
_WRITTEN: Final = 0


class Patterns(Generic[Kept]):
    """Topic or filter → what is kept there."""

    def __init__(self) -> None:
        self._kept: Final[dict[str, Kept]] = {}
        self._wildcards: Final = Wildcards()
        self._wild = 0  # how many of them are filters with wildcards

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, pattern: str) -> Kept | None:
        """What is kept at this very pattern."""
        return self._kept.get(pattern)

    def put(self, pattern: str, kept: Kept) -> None:
        """Keep something at a pattern, in place of what was there."""
        if pattern not in self._kept and is_wild(pattern):
            self._wildcards.add(pattern)
            self._wild += 1
        self._kept[pattern] = kept

    def remove(self, pattern: str) -> None:
        """Keep nothing at a pattern at which something is kept."""
        del self._kept[pattern]
        if is_wild(pattern):
            self._wildcards.remove(pattern)
            self._wild -= 1

    def matching(self, topic: str) -> list[Kept]:
        """What is kept at every pattern that matches the topic, the most specific first."""
        found = [self._kept[topic]] if topic in self._kept else []
        if self._wild:
            found += [self._kept[each] for each in sorted(self._wildcards.matching(topic), key=_ranks)]
        return found


def intersects(one: str, other: str) -> bool:
    """Whether there is a topic that both match; with a topic on one side, whether the other matches it."""
    mine, theirs = one.split("/"), other.split("/")
    if _passes_by(mine[0], theirs[0]) or _passes_by(theirs[0], mine[0]):
        return False
    for left, right in zip(mine, theirs, strict=False):
        if "#" in {left, right}:
            return True
        if left != right and "+" not in {left, right}:
            return False
    longer = mine[len(theirs) :] or theirs[len(mine) :]
    return longer in ([], ["#"])


def _passes_by(level: str, other: str) -> bool:
    return level in {"+", "#"} and other.startswith("$")


def _ranks(pattern: str) -> list[int]:
    return [*[_RANKS.get(level, _WRITTEN) for level in pattern.split("/")], _END]
