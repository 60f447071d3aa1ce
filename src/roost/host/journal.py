"""What a driver says in its log: notes as they come, refused packets at most once every ten seconds per peer.

Counters are exact; only the lines are rationed, so a peer that sends garbage costs its packets and not the disk.
"""

from __future__ import annotations

import logging
from typing import Final

from roost.machine import SECOND, Effect, Note, Rejected
from roost.pubsub.repos.disk_watch import REFUSES_WRITES, TAKES_WRITES

INTERVAL: Final = 10 * SECOND
MAX_SOURCES: Final = 1024

_FOR_PEOPLE: Final = (REFUSES_WRITES, TAKES_WRITES)  # notes that somebody should read

_log: Final = logging.getLogger("roost.node")


class Journal:
    """Counts and writes; one per driver."""

    def __init__(self, interval: int = INTERVAL) -> None:
        self.rejected = 0
        self._interval: Final = interval
        self._sources: dict[str, tuple[int, int]] = {}  # peer → (quiet until, kept back); bound: MAX_SOURCES

    def write(self, effect: Effect, now: int) -> None:
        """Log a `Note` or a `Rejected`."""
        if isinstance(effect, Rejected):
            self._rejected(effect, now)
        elif isinstance(effect, Note):
            facts = " ".join(f"{key}={value}" for key, value in effect.facts)
            level = logging.WARNING if effect.event in _FOR_PEOPLE else logging.INFO
            _log.log(level, "%s %s", effect.event, facts)

    def say(self, message: str, *arguments: object) -> None:
        """Log a line of the driver's own."""
        _log.info(message, *arguments)

    def warn(self, message: str, *arguments: object) -> None:
        """Log a line that somebody should read."""
        _log.warning(message, *arguments)

    def _rejected(self, effect: Rejected, now: int) -> None:
        self.rejected += 1
        quiet_until, kept_back = self._sources.get(effect.source, (0, 0))
        if now < quiet_until:
            self._sources[effect.source] = (quiet_until, kept_back + 1)
            return
        if effect.source not in self._sources and len(self._sources) >= MAX_SOURCES:
            del self._sources[next(iter(self._sources))]
        self._sources[effect.source] = (now + self._interval, 0)
        more = f" ({kept_back} more since the last line)" if kept_back else ""
        _log.warning("refused a packet of %s: %s%s [%s]", effect.source, effect.reason, more, effect.sample[:32].hex())
