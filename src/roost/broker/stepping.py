"""A clock that was set forward: what was to happen in a while still happens in that while.

A board that boots in 1970 learns the time from the network, a machine that slept wakes up hours later: nobody was
silent for so long, no session waited, no will is due. So keep-alive, wills and sessions go by elapsed time: what they
counted from moves with the clock. What was counted from a later time (of an earlier run, whose clock was right) stays
as it is. So do the expiry times of messages, which are dates.
"""

from __future__ import annotations

from typing import Final

from roost.broker import lifetimes
from roost.broker.core import Core
from roost.broker.session import Session
from roost.machine.contract import SECOND

_AHEAD: Final = 2 * 3600 * SECOND  # times of sessions elsewhere may be so much later than now (`roaming.REFRESH_S`)


def step(core: Core, by: int, now: int) -> None:
    """The clock was set forward, and is now at `now`."""
    core.heard = min(core.heard + by, now)
    for link in core.links.values():
        link.heard = min(link.heard + by, now)
        if link.armed:
            latest = now + (link.keep_alive or core.settings.connect_timeout())
            due = min(link.armed + by, latest)
            core.timers.disarm_link(link)
            core.timers.arm_link(link, due)
    for number, (address, since) in core.greeting.items():
        core.greeting[number] = (address, min(since + by, now))
    if core.orphaned_since:
        core.orphaned_since = min(core.orphaned_since + by, now)
    for session in core.sessions.values():
        if session.link is None:
            _move(core, session, by, now)


def _move(core: Core, session: Session, by: int, now: int) -> None:
    before = now - by
    will = session.will
    if 0 < session.ended <= before + _AHEAD:
        session.ended += by
    if will is not None and 0 < session.will_due <= before + max(0, int(will.properties.delay_s)) * SECOND:
        session.will_due += by
    core.timers.disarm_session(session)
    if session.client not in core.orphaned:  # whose time has not begun (`orphans`)
        lifetimes.arm(core, session)
    if session.stored:
        core.ledger.save_session(session, sync=False)
