"""The prefixes an application answers for, and which of them covers a name: the longest."""

from __future__ import annotations

from typing import Final

from roost.errors import Backpressure
from roost.naming import Name


class ServedPrefixes:
    """At most `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self._prefixes: dict[bytes, Name] = {}  # bound: limit

    def add(self, prefix: Name) -> None:
        """Serve a prefix."""
        if len(self._prefixes) >= self.limit and prefix.value not in self._prefixes:
            raise Backpressure(f"{prefix} cannot be served: {self.limit} prefixes are, which is the limit", 1000)
        self._prefixes[prefix.value] = prefix

    def drop(self, prefix: Name) -> None:
        """Serve it no longer."""
        self._prefixes.pop(prefix.value, None)

    def covering(self, name: Name) -> Name | None:
        """The longest served prefix of a name."""
        for cut in reversed(name.cuts):
            prefix = self._prefixes.get(name.value[:cut])
            if prefix is not None:
                return prefix
        return None
