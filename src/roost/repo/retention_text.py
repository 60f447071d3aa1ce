"""Rules of retention as people write them: `PATTERN BOUND… [replaced-by FILTER]`.

+/+/temp 30d              a bound is an age (30d), a count (1000) or a size (10MB)
# 1000 10MB               several bounds: what breaks one of them goes
+/+/raw 7d replaced-by Hourly/#
+/+/alarm forever         for streams that a later rule would match
"""

from __future__ import annotations

import re
from typing import Final

from roost.errors import BadConfig
from roost.naming.topic import TopicFilter
from roost.repo.retention import Rule

_FOREVER: Final = "forever"
_BOUND: Final = re.compile(r"([0-9]{1,15})(s|m|h|d|w|kB|MB|GB)?")
_AGES_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_BYTES: Final = {"kB": 1000, "MB": 1000**2, "GB": 1000**3}


def rule_of(text: str) -> Rule:
    """Read a rule of retention; raises `BadConfig` with what to write."""
    pattern, *words = text.split() or [""]
    if not words or _BOUND.fullmatch(pattern):
        raise BadConfig(f'retention {text!r}: a pattern comes first, then a bound, as in "+/+/temp 30d" or "# 1000"')
    replaced_by = None
    if len(words) >= 2 and words[-2] == "replaced-by":
        replaced_by = TopicFilter(words[-1])
        words = words[:-2]
    if words == [_FOREVER] and replaced_by is None:
        return Rule(TopicFilter(pattern))
    bounds: dict[str, int] = {}
    for word in words:
        found = _BOUND.fullmatch(word)
        if found is None or not int(found[1]):
            raise BadConfig(f"retention {text!r}: {word!r} is no bound; write an age (30d), a count or a size (10MB)")
        number, unit = int(found[1]), found[2] or ""
        kind = "age" if unit in _AGES_MS else "size" if unit else "count"
        if kind in bounds:
            raise BadConfig(f"retention {text!r} has two bounds of one kind: leave out one {kind}")
        bounds[kind] = number * (_AGES_MS | _BYTES).get(unit, 1)
    if not bounds:
        raise BadConfig(f"retention {text!r} has no bound: write an age (30d), a count or a size (10MB) before it")
    return Rule(TopicFilter(pattern), bounds.get("age", 0), bounds.get("count", 0), bounds.get("size", 0), replaced_by)
