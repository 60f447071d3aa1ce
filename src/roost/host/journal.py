"""What a driver says in its log: notes as they come, complaints at most once every ten seconds per peer and kind.

The first of its kind is written at once. What follows within ten seconds is counted, and told when they are over, also
if nothing else happens by then. Counters are exact; only the lines are rationed, so a peer that sends garbage costs its
packets and not the disk. The kind of a complaint is how it begins: up to a digit, a quote, a slash or a parenthesis,
which is where our words end and those of the peer may begin.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from typing import Final

from roost.machine import SECOND, Effect, Note, Rejected
from roost.pubsub.repos.disk_watch import REFUSES_WRITES, TAKES_WRITES

INTERVAL: Final = 10 * SECOND
MAX_QUIET: Final = 1024  # complaints that are remembered; while there are so many, others are only counted

_FOR_PEOPLE: Final = (REFUSES_WRITES, TAKES_WRITES, "macro not run")  # notes that somebody should read
_OURS: Final = re.compile(r"""[^0-9'"/(]*""")

_log: Final = logging.getLogger("roost.node")


class _Quiet:
    """A complaint that was written: until when those like it are counted, and how many were."""

    __slots__ = ("kept_back", "line", "until")

    def __init__(self, line: str, until: int) -> None:
        self.line: Final = line
        self.until: Final = until
        self.kept_back = 0

    def tell(self) -> None:
        """Write how many more there were, if there were any."""
        if self.kept_back:
            _log.warning("%s (%d more of this kind since)", self.line, self.kept_back)


class Journal:
    """Counts and writes; one per driver. In an event loop it needs nobody to wake it."""

    def __init__(self, interval: int = INTERVAL) -> None:
        self.rejected = 0
        self.last_rejected: Rejected | None = None
        self.unwritten = 0  # complaints, by MAX_QUIET
        self._interval: Final = interval
        self._quiet: Final[dict[tuple[str, str], _Quiet]] = {}  # by peer and kind, the oldest first; bound: MAX_QUIET
        self._timer: asyncio.TimerHandle | None = None

    def write(self, effect: Effect, now: int) -> None:
        """Log a `Note` or a `Rejected`."""
        if isinstance(effect, Rejected):
            self.rejected += 1
            self.last_rejected = effect
            sample = f" [{effect.sample[:32].hex()}]" if effect.sample else ""
            self.complain(f"refused a packet of {effect.source}: ", effect.reason, now, sample, peer=effect.source)
        elif isinstance(effect, Note):
            facts = " ".join(f"{key}={value}" for key, value in effect.facts)
            level = logging.WARNING if effect.event in _FOR_PEOPLE else logging.INFO
            more = {"event": effect.event, "facts": dict(effect.facts)}
            _log.log(level, "%s %s", effect.event, facts, extra=more)

    def say(self, message: str, *arguments: object) -> None:
        """Log a line of the driver's own."""
        _log.info(message, *arguments)

    def warn(self, message: str, *arguments: object) -> None:
        """Log a line that somebody should read."""
        _log.warning(message, *arguments)

    def complain(self, about: str, reason: str, now: int, sample: str = "", *, peer: str = "") -> None:
        """Log a line about a peer, unless one of the same kind was written of late."""
        self._flush(now)
        ours = _OURS.match(reason)
        kind = about, ours[0] if ours is not None else ""
        quiet = self._quiet.get(kind)
        if quiet is not None:
            quiet.kept_back += 1
        elif len(self._quiet) >= MAX_QUIET:
            self.unwritten += 1
        else:
            self._quiet[kind] = _Quiet(f"{about}{reason}", now + self._interval)
            more = {"reason": reason} | ({"peer": peer} if peer else {})
            _log.warning("%s%s%s", about, reason, sample, extra=more)
            self._wake(now)

    def finish(self) -> None:
        """Tell at once what would be told later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for quiet in self._quiet.values():
            quiet.tell()
        self._quiet.clear()

    def _flush(self, now: int) -> None:
        """Tell how often complaints came again whose time is over."""
        while self._quiet:
            kind = next(iter(self._quiet))
            if now < self._quiet[kind].until:
                return
            self._quiet.pop(kind).tell()

    def _wake(self, now: int) -> None:
        """Have somebody look when the time of the oldest is over; without an event loop the next complaint does."""
        if self._timer is None and self._quiet:
            until = next(iter(self._quiet.values())).until
            with suppress(RuntimeError):
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later((until - now) / SECOND, self._look, until)

    def _look(self, now: int) -> None:
        self._timer = None
        self._flush(now)
        self._wake(now)
