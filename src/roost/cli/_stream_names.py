"""Names of streams as verbs see them: which one somebody may have meant, and which are Roost's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.errors import Unreachable
    from roost.naming import Name


def absent(group: Name, stream: Name, there: Iterable[Name]) -> Unreachable:
    """That there is no such stream, with how many there are and the nearest."""
    from roost.cli._verbs import nearest
    from roost.errors import Unreachable

    names = [str(each) for each in there if not is_internal(group, each)]
    told = f"it has {len(names)}{nearest(str(stream), names)}" if names else "it has none"
    return Unreachable(f"there is no stream {stream} in the group {group}: {told}")


def is_internal(group: Name, stream: Name) -> bool:
    """Whether a stream is no measurement but what nodes keep for themselves, right below its panel (`$roost`)."""
    from roost.repo.payloads import PLACE

    at = len(group) + 1
    return len(stream) > at and stream.at(at) == PLACE.at(0)
