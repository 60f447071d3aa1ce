"""What another part of the program adds to the door: routes of its own, built once the node runs.

The layers right of `host` (the API and the page in `roost.web`, the demo's panel in `roost.cli`) know the node, and the
node does not know them. So whoever runs a node may hand in builders, and the door serves what they build. A wing may
also know people by more than a name and a password, and has its say in what the door counts, and in how it ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aiohttp import web

Identify: TypeAlias = Callable[[web.Request], Awaitable[bytes]]


def _none() -> int:
    return 0


def _nothing() -> None:
    """Nobody stays."""


@dataclass(frozen=True, slots=True)
class Wing:
    """Routes, and which of them are for everybody: those whose path begins with one of these words."""

    routes: Sequence[web.AbstractRouteDef] = ()
    public: frozenset[str] = frozenset()  # first parts of paths; "" is the path /
    identify: Identify | None = None  # finds who asks, in place of the gate; raises `Denied`, or a `Problem`
    following: Callable[[], int] = _none  # requests that stay for long, and have a bound of their own
    counts: Callable[[], dict[str, int]] = dict  # what happened so far, by the ends of `$SYS` topics
    end: Callable[[], None] = _nothing  # have those who stay go: the door closes


def joined(wings: Sequence[Wing]) -> Wing:
    """Take several as one; who asks is found out by the first that can."""

    def counts() -> dict[str, int]:
        return {name: count for wing in wings for name, count in wing.counts().items()}

    def end() -> None:
        for wing in wings:
            wing.end()

    return Wing(
        routes=[route for wing in wings for route in wing.routes],
        public=frozenset[str]().union(*(wing.public for wing in wings)),
        identify=next((wing.identify for wing in wings if wing.identify is not None), None),
        following=lambda: sum([wing.following() for wing in wings]),
        counts=counts,
        end=end,
    )
