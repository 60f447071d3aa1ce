"""How long readings are kept: rules by stream pattern, and the decision which of the oldest may go [NDN-PS §V].

A rule bounds a stream by the age, the count and the bytes of its readings; whatever is over one bound goes, the lowest
numbers first. The first rule that matches a stream is its rule, and a stream without one is kept for ever. Patterns are
topic filters relative to the group.

- With `replaced_by`, a reading goes only if a reading of a stream that matches it names it among its inputs, and is
  kept here. The first one that nothing replaces keeps all behind it: a stream is dropped from below, without holes.
- The newest reading of a stream never goes: its number is how a panel that lost its disk finds its place. So it is
  not among the oldest that `due` is asked about.

Who may publish on a stream that matches `replaced_by` can have readings dropped: choose it as you choose a key. Walking
over the streams and dropping is `roost.pubsub.repos.pruning`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from roost.errors import BadConfig
from roost.machine import MS
from roost.naming import Name
from roost.naming.topic import TopicFilter

DAY_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Rule:
    """The bounds of the streams that match a pattern; 0 is no bound."""

    pattern: TopicFilter
    max_age_ms: int = 0
    max_count: int = 0
    max_bytes: int = 0
    replaced_by: TopicFilter | None = None

    def __post_init__(self) -> None:
        if min(self.max_age_ms, self.max_count, self.max_bytes) < 0:
            raise BadConfig(f"retention of {self.pattern.text!r}: a bound is above 0, or 0 for none")

    @property
    def bounds(self) -> bool:
        """Whether there is any bound: a rule without one keeps its streams from the rules behind it."""
        return bool(self.max_age_ms or self.max_count or self.max_bytes)


RECORDS: Final = Rule(TopicFilter("Repo/+"), max_age_ms=7 * DAY_MS, max_count=10_000)  # of all repos of the group


class Held(NamedTuple):
    """One of the oldest readings of a stream; `time` is 0 where it has none, which no age is held against."""

    number: int
    time: int
    size_bytes: int
    replaced: bool = False


class Rules:
    """The rules of a group, in the order in which they are tried; those of records come last."""

    def __init__(self, group: Name, rules: Iterable[Rule] = ()) -> None:
        self.group: Final = group
        self.rules: Final = (*rules, RECORDS)

        self.replacing: Final = any(rule.replaced_by is not None for rule in self.rules)

    def of(self, stream: Name) -> Rule | None:
        """The rule of a stream."""
        if not stream.starts_with(self.group):
            return None
        name = stream.suffix(len(self.group))
        for rule in self.rules:
            if rule.pattern.matches(name):
                return rule
        return None

    def may_replace(self, stream: Name) -> bool:
        """Whether readings of a stream may replace others."""
        if not stream.starts_with(self.group):
            return False
        name = stream.suffix(len(self.group))
        return any(rule.replaced_by is not None and rule.replaced_by.matches(name) for rule in self.rules)

    def replaces(self, aggregate: Name, stream: Name) -> bool:
        """Whether readings of `aggregate` count as replacing readings of `stream`."""
        rule = self.of(stream)
        if rule is None or rule.replaced_by is None or not aggregate.starts_with(self.group):
            return False
        return rule.replaced_by.matches(aggregate.suffix(len(self.group)))


def due(rule: Rule, count: int, size_bytes: int, oldest: Sequence[Held], now: int) -> int:
    """How many of the oldest readings go, of a stream that has `count` readings with `size_bytes`."""
    horizon = now - rule.max_age_ms * MS
    going = 0
    for held in oldest:
        over = (
            (rule.max_count and count > rule.max_count)
            or (rule.max_bytes and size_bytes > rule.max_bytes)
            or (rule.max_age_ms and 0 < held.time < horizon)
        )
        if not over or (rule.replaced_by is not None and not held.replaced):
            break
        going += 1
        count -= 1
        size_bytes -= held.size_bytes
    return going
