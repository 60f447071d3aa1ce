"""Alerts: what somebody should look at, since when, and what to do about it. A machine without a clock.

    take(conditions, now)  ──▶  a condition that has held for its time is an alert, and one that has ended is none
    told()                 ──▶  the alerts, the worst and oldest first

Whoever watches says at each look what is wrong now. A condition that comes and goes within its time never becomes an
alert, and an alert is not over before its condition has been away for as long: so a page does not flicker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

WARNING: Final = "warning"
CRITICAL: Final = "critical"
STALE: Final = "stale"
MACRO: Final = "macro"
REPO: Final = "repo"
PIPELINE: Final = "pipeline"
DISK: Final = "disk"
SECURITY: Final = "security"

MAX_ALERTS: Final = 500
_ORDER: Final = {CRITICAL: 0, WARNING: 1}


@dataclass(frozen=True, slots=True)
class Condition:
    """What is wrong now. `subject` is what it is about; `wait` how long it has to hold, or be away, to count."""

    kind: str
    severity: str
    subject: str
    text: str
    remedy: str
    link: str
    since: int = 0  # if that is known better than by when it was seen
    wait: int = 0

    @property
    def id(self) -> str:
        """The same for the same trouble of the same thing."""
        return f"{self.kind}:{self.subject}"


class _Held:
    """A condition that was seen."""

    __slots__ = ("condition", "first", "is_alert", "seen", "since")

    def __init__(self, condition: Condition, now: int) -> None:
        self.condition = condition
        self.since = condition.since or now
        self.first: Final = now
        self.seen = now
        self.is_alert = False


class Alerting:
    """The machine."""

    def __init__(self, max_alerts: int = MAX_ALERTS) -> None:
        self.max_alerts: Final = max_alerts
        self.left_out = 0  # conditions at the last look that there was no room for
        self.raised = 0  # alerts, all in all
        self._held: Final[dict[str, _Held]] = {}  # by id; bound: max_alerts

    def take(self, conditions: Iterable[Condition], now: int) -> bool:
        """Take in all that is wrong now; whether the alerts are others than before."""
        is_changed = False
        self.left_out = 0
        for condition in conditions:
            held = self._held.get(condition.id)
            if held is None:
                if len(self._held) >= self.max_alerts:
                    self.left_out += 1
                    continue
                held = self._held[condition.id] = _Held(condition, now)
            elif held.is_alert and (held.condition.severity, held.condition.text) != (
                condition.severity,
                condition.text,
            ):
                is_changed = True
            held.condition = condition
            held.seen = now
            if not held.is_alert and now - held.first >= condition.wait:
                held.is_alert = is_changed = True
                self.raised += 1
        for id_, held in list(self._held.items()):
            if held.seen != now and (not held.is_alert or now - held.seen >= held.condition.wait):
                is_changed = is_changed or held.is_alert
                del self._held[id_]
        return is_changed

    def told(self) -> list[tuple[Condition, int]]:
        """The alerts and since when each is one, the worst and oldest first."""
        alerts = [(held.condition, held.since) for held in self._held.values() if held.is_alert]
        return sorted(alerts, key=lambda alert: (_ORDER[alert[0].severity], alert[1], alert[0].id))
