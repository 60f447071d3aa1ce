"""How the broker is: gauges, how full its tables are, and the `$SYS` topics that tell it every so often."""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.routing import publish, route_of
from roost.broker.statistics import topics
from roost.machine.contract import SECOND


def measure(core: Core) -> None:
    """Take the gauges."""
    stats = core.stats
    stats.sessions = len(core.sessions)
    stats.subscriptions = len(core.router.subscriptions) + len(core.router.shares)
    stats.shared = len(core.router.shares)
    stats.retained = len(core.retained)
    stats.retained_bytes = core.retained.held_bytes
    stats.retained_refused = core.retained.turned_away
    stats.queued_bytes = core.total_bytes
    stats.queued_most = max([session.held_bytes for session in core.sessions.values()], default=0)


def tell(core: Core, now: int) -> None:
    """Publish what changed since the last time."""
    measure(core)
    for topic, payload in topics(core.stats, core.settings.release, now - core.started):
        found = core.system.matching(topic, now)
        if found and found[0][1].payload == payload:
            continue
        message = Message(topic, payload, 0, False, b"", 0, b"", now)  # noqa: FBT003  a C call
        core.system.set(topic, message, message.size)
        publish(core, message, route_of(core, topic), 0, now)


def next_time(core: Core, now: int) -> int:
    """When to tell next, 0 for never."""
    return now + core.settings.sys_interval_s * SECOND if core.settings.sys_interval_s else 0


def sizes(core: Core) -> dict[str, tuple[int, int]]:
    """How full the tables are: now, and at most."""
    settings = core.settings
    return {
        **core.limiter.sizes(),
        "sessions": (len(core.sessions), settings.max_sessions),
        "queued bytes": (core.total_bytes, settings.max_total_bytes),
        "retained": (len(core.retained), settings.max_retained),
        "retained bytes": (core.retained.held_bytes, settings.max_retained_bytes),
        "routes": (len(core.router.routes), settings.max_routes),
    }
