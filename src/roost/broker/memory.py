"""How much clients make the broker hold, beside messages: counted when something begins or ends to be held.

    what                                              of one client         of all               when it is too much
    sessions                                          …_sessions_per_user   max_sessions         CONNECT is refused
    messages that wait or were sent                   max_queued_bytes      max_total_bytes      `roost.broker.queueing`
    retained messages                                 …_bytes_per_user      max_retained_bytes   refused or not retained
    routes, which are remembered topics                                     max_routes_bytes     all are forgotten
    filters                                           max_filter_bytes      max_filters_bytes    refused
    wills                                             max_connect_bytes     max_wills_bytes      CONNECT is refused
    packets not whole, CONNECTs not judged, aliases   the packet's limits   max_links_bytes      a link is ended
    WebSocket frames that are not whole               the same, and some    with those           a link is ended

All bounds are settings. What outlives a connection is a user's, whatever its clients are called: its sessions where
they began, its retained messages where their publisher's session is known. Nothing is counted per message. A link is
ended for the bytes of all only when they are too many: one of who is not let in yet, if there is any, for these cost
nothing to make; of those the one that holds most.
"""

from __future__ import annotations

from typing import Final

from roost.broker.access import ANONYMOUS
from roost.broker.core import Core
from roost.broker.filters import cost_of
from roost.broker.link import CONNECTED, Link
from roost.broker.message import Message
from roost.broker.packets.connect import Will
from roost.broker.packets.reasons import QUOTA_EXCEEDED
from roost.broker.session import Session

TOO_MUCH_RETAINED: Final = "the user has as many bytes of retained messages as it may"
ALIAS_BYTES: Final = 100  # what an alias costs beside its topic, measured and rounded up, as the one below
_WILL_BYTES: Final = 300


def weigh(core: Core, link: Link) -> None:
    """Count what a link makes us hold, which has changed."""
    size = link.framer.held + link.frame_bytes + link.early_bytes + link.connect_bytes + link.alias_bytes
    core.links_bytes += size - link.kept_bytes
    link.kept_bytes = size
    while core.links_bytes > core.max_links_bytes:
        _end_one(core)


def weigh_no_more(core: Core, link: Link) -> None:
    """A link is over, or will be at the end of this call."""
    core.links_bytes -= link.kept_bytes
    link.kept_bytes = 0


def _end_one(core: Core) -> None:
    largest: Link | None = None
    for link in core.links.values():
        if link.kept_bytes and (largest is None or _pays_before(link, largest)):
            largest = link
    assert largest is not None  # noqa: S101  what is too much is somebody's
    core.stats.links_relieved += 1
    weigh_no_more(core, largest)
    core.reject(largest, "all connections together hold too many bytes of packets that are not whole", b"")
    core.doom(largest, QUOTA_EXCEEDED, "too many bytes of packets that are not whole")


def _pays_before(one: Link, other: Link) -> bool:
    if (one.state == CONNECTED) != (other.state == CONNECTED):
        return one.state != CONNECTED
    return one.kept_bytes > other.kept_bytes


def has_room_for_alias(core: Core, topic: bytes) -> bool:
    """Whether one more alias may be used towards a client: nobody is ended for that."""
    return core.links_bytes + len(topic) + ALIAS_BYTES <= core.max_links_bytes


def has_room_for_filter(core: Core, session: Session, filter_: bytes) -> bool:
    """Whether a session may have one more filter."""
    settings = core.settings
    size = cost_of(filter_)
    return (
        len(session.subscriptions) < settings.max_filters
        and session.filter_bytes + size <= settings.max_filter_bytes
        and core.router.filters_bytes + size <= settings.max_filters_bytes
    )


def has_room_for_session(core: Core, user: bytes) -> bool:
    """Whether one more session of a user may begin."""
    most = core.settings.max_sessions_per_user
    return user == ANONYMOUS or not most or core.owned.get(user, 0) < most


def charge(core: Core, session: Session) -> None:
    """Count a session that began here, until `discharge`."""
    session.charged = True
    core.owned[session.user] = core.owned.get(session.user, 0) + 1


def discharge(core: Core, session: Session) -> None:
    """A session is over."""
    if session.charged:
        left = core.owned.pop(session.user) - 1
        if left:
            core.owned[session.user] = left


def has_room_for_retained(core: Core, user: bytes, message: Message) -> bool:
    """Whether a user may have a message retained, if it is to be, in place of the one that its topic has."""
    most = core.settings.max_retained_bytes_per_user
    if user == ANONYMOUS or not most or not message.retain or not message.payload:
        return True
    return core.retained.held_by(user, message.topic) + message.size <= most


def has_room_for_will(core: Core, session: Session | None, will: Will) -> bool:
    """Whether a client may leave a will, in place of the one that its session has."""
    before = 0 if session is None else _size_of(session.will)
    return core.wills_bytes + _size_of(will) - before <= core.settings.max_wills_bytes


def set_will(core: Core, session: Session, will: Will | None) -> None:
    """Have a session leave a will, or none; other nodes hear that the one before is over."""
    if session.will is not None:
        core.orphaned.pop(session.client, None)
        if core.roaming is not None:
            core.roaming.comings.over(session.client)
    core.wills_bytes += _size_of(will) - _size_of(session.will)
    session.will = will


def _size_of(will: Will | None) -> int:
    if will is None:
        return 0
    return len(will.topic) + len(will.payload) + len(will.properties.kept) + _WILL_BYTES
