"""What a consumer wants of a group: streams by prefix, by range, or by MQTT filter relative to the group.

    Name         all streams at or below it
    NameRange    all streams from low to high, and those below high
    TopicFilter  `+/Heater/#` in the group /BigCompany/Building1/Electricity

Repos understand ranges of names (`roost.sync.subscriptions`); a filter subscribes to what all its matches begin with,
and the rest of it is applied here. Without any wish the whole group is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, TypeAlias

from roost.errors import BadName
from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.sync.subscriptions import NameRange, RangeList

Wish: TypeAlias = Name | NameRange | TopicFilter


class Wishes:
    """Some wishes; immutable."""

    def __init__(self, group: Name, wishes: Sequence[Wish] = ()) -> None:
        self._group: Final = group
        self._wishes: Final[tuple[Wish, ...]] = tuple(wishes) or (group,)
        self.ranges: Final = tuple(dict.fromkeys(self._range_of(wish) for wish in self._wishes))
        for each in self.ranges:
            if not (each.low.starts_with(group) and each.high.starts_with(group)):
                raise BadName(f"{each} does not lie in the group {group}")

    def covers(self, stream: Name) -> bool:
        """Whether a stream is wanted."""
        return any(self._covers(wish, stream) for wish in self._wishes)

    def subscriptions(self) -> RangeList:
        """The list for partial sync."""
        return RangeList(self.ranges)

    def fingerprint(self) -> bytes:
        """What tells these wishes from others."""
        texts = [wish.text if isinstance(wish, TopicFilter) else str(wish) for wish in self._wishes]
        return sha256("\n".join(sorted(texts)).encode()).digest()

    def _covers(self, wish: Wish, stream: Name) -> bool:
        if isinstance(wish, TopicFilter):
            return stream.starts_with(self._group) and wish.matches(stream.suffix(len(self._group)))
        return wish.covers(stream) if isinstance(wish, NameRange) else stream.starts_with(wish)

    def _range_of(self, wish: Wish) -> NameRange:
        if isinstance(wish, NameRange):
            return wish
        name = self._group + wish.prefix if isinstance(wish, TopicFilter) else wish
        return NameRange(name, name)
