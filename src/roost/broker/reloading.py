"""Other permissions, settings and limits while links are open: they count from now on, and may cost some their link."""

from __future__ import annotations

from collections.abc import Iterable

from roost.broker.access import Access
from roost.broker.core import Core
from roost.broker.limits import Limits
from roost.broker.link import CONNECTED
from roost.broker.packets.reasons import NOT_AUTHORIZED
from roost.broker.settings import BrokerSettings


def go_by(
    core: Core, access: Access, settings: BrokerSettings, limits: Limits | None, gone: Iterable[bytes], now: int
) -> None:
    """Take them over; without limits the old ones stay. `gone` are users whose password is no longer what it was."""
    core.access = access
    core.configure(settings)
    core.router.decide_anew()
    if limits is not None:
        core.limiter.reloaded(limits, now)
    strangers = frozenset(gone)
    for link in core.links.values():
        link.routes.clear()
        if link.state != CONNECTED:
            continue
        if limits is not None:
            core.limit(link, now)
        if settings.drop_disallowed and (
            (link.by_password and link.user in strangers)
            or not access.may_connect(link.user, loopback=link.peer.loopback)
        ):
            core.doom(link, NOT_AUTHORIZED, "the user may not connect any more")
