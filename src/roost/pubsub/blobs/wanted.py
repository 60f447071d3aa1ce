"""What a subscriber wants: a topic or a producer, and filters on what is known before anything is fetched [SVS-PS §8].

    Wanted(topic=Name)       every publication whose application name is below it, whoever published it
    Wanted(producer=Name)    every publication of the nodes below it, whatever it is called; no mapping is needed

`max_size_bytes`, `max_age_ms` and `pattern` look at the mapping entry; what an entry does not say does not count
against it: rather fetched in vain than missed. A pattern is components, of which `*` stands for any one and a last `**`
for any number of them, from the first component of the name on.

Of what a producer published before, `since_us` wants what is not older, `latest` the last of each of its names; what it
publishes later is wanted in any case (`roost.pubsub.blobs.history`). `in_order` or as it comes, whole or `in_pieces`.
What nobody has holds up what is behind it for `patience_ms` (`roost.pubsub.blobs.patience`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final

from roost.errors import BadConfig
from roost.machine import MS
from roost.naming import Component, Name
from roost.pubsub.blobs.mapping import Entry
from roost.pubsub.blobs.names import is_key

ANY: Final = Component(b"*")
REST: Final = Component(b"**")
MAX_PREFETCH: Final = 16
PREFETCH_MS: Final = 4000
MIN_PREFETCH_MS: Final = 100
MAX_PREFETCH_MS: Final = 60_000
PATIENCE_MS: Final = 60_000
_US: Final = 1000


@dataclass(frozen=True)
class Wanted:
    """One subscription; `topic` or `producer`, and the filters, all of which must hold."""

    topic: Name | None = None
    producer: Name | None = None
    max_size_bytes: int = 0  # 0: any size
    max_age_ms: int = 0  # 0: any age
    pattern: Name | None = None
    prefetch: int = 0  # how many publications of a producer are asked for before they are there
    since_us: int = 0  # since 1970; 0: from the beginning
    latest: bool = False
    in_order: bool = True
    in_pieces: bool = False
    prefetch_ms: int = PREFETCH_MS  # how long such an Interest waits before it is asked again
    keys: bool = False  # only content keys, which nobody else gets
    patience_ms: int = PATIENCE_MS  # 0: without end
    replay: bool = False  # begin as if none of it had been dealt with before

    def __post_init__(self) -> None:
        if (self.topic is None) == (self.producer is None):
            raise BadConfig("a subscription is to a topic or to a producer: give one of them")
        if min(self.max_size_bytes, self.max_age_ms, self.since_us, self.patience_ms) < 0:
            raise BadConfig("max_size_bytes, max_age_ms, since_us and patience_ms are above 0, or 0 for no limit")
        if not 0 <= self.prefetch <= MAX_PREFETCH or (self.prefetch and self.needs_mapping):
            raise BadConfig(f"prefetch is 0 to {MAX_PREFETCH}, and for a producer of whom all is wanted: no filters")
        if not MIN_PREFETCH_MS <= self.prefetch_ms <= MAX_PREFETCH_MS:
            raise BadConfig(f"prefetch_ms is {MIN_PREFETCH_MS} to {MAX_PREFETCH_MS}: so long an Interest waits")
        if self.pattern is not None and REST in list(self.pattern)[:-1]:
            raise BadConfig(f"{self.pattern}: ** stands for the rest of a name, so it is the last component")

    @property
    def needs_mapping(self) -> bool:
        """Whether an entry is needed to decide."""
        return self.producer is None or bool(self.max_size_bytes or self.max_age_ms or self.pattern is not None)

    def identity(self, ordinal: int) -> bytes:
        """By which it is known again after a restart: what is wanted, not how it is asked for, nor since when.

        Those that are the same have an ordinal each, from 0 on.
        """
        parts: list[object] = [self.topic, self.producer, self.pattern, self.max_size_bytes, self.max_age_ms]
        parts += [word for word, holds in (("latest", self.latest), ("any order", not self.in_order)) if holds]
        parts += [ordinal] if ordinal else []
        return sha256("\n".join(map(str, parts)).encode()).digest()[:8]

    def concerns(self, node: Name) -> bool:
        """Whether publications of this node can be wanted."""
        return self.producer is None or node.starts_with(self.producer)

    def takes(self, entry: Entry, now: int) -> bool:
        """Whether a publication that has this entry is wanted."""
        if is_key(entry.name) != self.keys:
            return False
        if self.topic is not None and not entry.name.starts_with(self.topic):
            return False
        if self.max_size_bytes and entry.size_bytes > self.max_size_bytes:
            return False
        if self.max_age_ms and entry.time_us and now - entry.time_us * _US > self.max_age_ms * MS:
            return False
        return self.pattern is None or self._fits(entry.name)

    def _fits(self, name: Name) -> bool:
        wished = self._components
        open_end = bool(wished) and wished[-1] == REST
        if open_end:
            wished = wished[:-1]
        found = list(name)
        if len(found) < len(wished) or (len(found) > len(wished) and not open_end):
            return False
        return all(wish in (ANY, part) for wish, part in zip(wished, found, strict=False))

    @cached_property
    def _components(self) -> list[Component]:
        return [] if self.pattern is None else list(self.pattern)
