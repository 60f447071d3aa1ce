"""How the broker is: gauges, how full its tables are, and the `$SYS` topics that tell it every so often."""

from __future__ import annotations

import json
from heapq import nsmallest
from typing import Final

from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.roaming import Roaming
from roost.broker.routing import publish, route_of
from roost.broker.session import Session
from roost.broker.statistics import PREFIX, topics
from roost.machine.contract import SECOND

MAX_WORST: Final = 10  # clients that are told by name


def measure(core: Core) -> None:
    """Take the gauges."""
    stats = core.stats
    stats.sessions = len(core.sessions)
    stats.subscriptions = len(core.router.subscriptions) + len(core.router.shares)
    stats.shared = len(core.router.shares)
    stats.retained = len(core.retained)
    stats.retained_bytes = core.retained.held_bytes
    stats.retained_refused = core.retained.turned_away + stats.retained_refused_user
    stats.queued_bytes = core.total_bytes
    stats.queued_most = max([session.held_bytes for session in core.sessions.values()], default=0)


def tell(core: Core, now: int) -> None:
    """Publish what changed since the last time."""
    measure(core)
    told = topics(core.stats, _counted_by_parts(core), core.settings.release, now - core.started)
    told.append((PREFIX + b"clients/dropped", _worst(core)))
    for topic, payload in told:
        found = core.system.matching(topic, now)
        if found and found[0][1].payload == payload:
            continue
        message = Message(topic, payload, 0, False, b"", 0, b"", now)  # noqa: FBT003  a C call
        core.system.set(topic, message, message.size)
        publish(core, message, route_of(core, topic), 0, now)


def counts(core: Core) -> dict[str, int]:
    """All numbers that are told, as they are now, by the ends of their topics."""
    measure(core)
    told = topics(core.stats, _counted_by_parts(core), "", 0)
    return {topic[len(PREFIX) :].decode(): int(payload) for topic, payload in told if payload.isdigit()}


def _counted_by_parts(core: Core) -> list[tuple[str, int]]:
    """What the parts of the broker count themselves, and the driver."""
    limiter = core.limiter
    roaming = Roaming({}) if core.roaming is None else core.roaming  # without groups everything is 0
    return [
        ("connections/refused/total", limiter.refused_in_all),
        ("connections/refused/address", limiter.refused_by_address),
        ("connections/refused/rate", limiter.refused_by_rate),
        ("connections/refused/failures", limiter.refused_by_failures),
        ("connections/refused/user", limiter.refused_by_user),
        ("connections/addresses/forgotten", limiter.forgotten),
        ("connections/bytes", core.links_bytes),
        ("subscriptions/bytes", core.router.filters_bytes),
        ("wills/bytes", core.wills_bytes),
        ("routes/count", len(core.router.routes)),
        ("routes/bytes", core.router.routes_bytes),
        *_counted_by_nodes(core, roaming),
        *([] if core.roles is None else core.roles.counts()),
        *([] if core.macros is None else core.macros.counts()),
        *core.outside.items(),
    ]


def _counted_by_nodes(core: Core, roaming: Roaming) -> list[tuple[str, int]]:
    """What is counted between the nodes of groups."""
    receipts, sharing = roaming.receipts, roaming.sharing
    return [
        ("roaming/told", roaming.told),
        ("roaming/large", roaming.too_large),
        ("roaming/overdue", core.vows.overdue),
        ("roaming/unheard", core.vows.turned_away),
        ("roaming/wills", len(roaming.bequests)),
        ("roaming/wills/inherited", roaming.inherited),
        ("roaming/wills/forgotten", roaming.bequests.turned_away),
        ("roaming/wills/untold", roaming.comings.untold),
        ("roaming/nodes", len(sharing.nodes)),
        ("roaming/nodes/forgotten", sharing.nodes.forgotten),
        ("roaming/receipts", len(receipts)),
        ("roaming/receipts/forgotten", receipts.turned_away),
        ("roaming/receipts/recognised", receipts.recognised),
        ("shared_subscriptions/unwatched", sharing.turned_away),
    ]


def _worst(core: Core) -> bytes:
    """The clients that lost most messages, and how many each."""
    losers = [session for session in core.sessions.values() if session.dropped]
    worst = nsmallest(MAX_WORST, losers, key=_rank)
    names = [{"client": session.client.decode(), "dropped": session.dropped} for session in worst]
    return json.dumps(names, ensure_ascii=False).encode()


def _rank(session: Session) -> tuple[int, bytes]:
    return -session.dropped, session.client


def next_time(core: Core, now: int) -> int:
    """When to tell next, 0 for never."""
    return now + core.settings.sys_interval_s * SECOND if core.settings.sys_interval_s else 0


def sizes(core: Core) -> dict[str, tuple[int, int]]:
    """How full the tables are: now, and at most."""
    settings = core.settings
    return {
        **core.limiter.sizes(),
        "sessions": (len(core.sessions), settings.max_sessions),
        "users of sessions": (len(core.owned), settings.max_sessions),
        "queued bytes": (core.total_bytes, settings.max_total_bytes),
        "retained": (len(core.retained), settings.max_retained),
        "retained bytes": (core.retained.held_bytes, settings.max_retained_bytes),
        "routes": (len(core.router.routes), settings.max_routes),
        "routes bytes": (core.router.routes_bytes, settings.max_routes_bytes),
        "filters bytes": (core.router.filters_bytes, settings.max_filters_bytes),
        "wills bytes": (core.wills_bytes, settings.max_wills_bytes),
        "links bytes": (core.links_bytes, settings.max_links_bytes),
    }
