"""UNSUBSCRIBE: no new messages by these filters; what is on its way is still delivered (section 3.10)."""

from __future__ import annotations

from roost.broker import recalling, vouching
from roost.broker.answers import check_size, hold
from roost.broker.core import Core
from roost.broker.explaining import ended
from roost.broker.lifetimes import bare_filter, save
from roost.broker.link import Held, Link
from roost.broker.packets.framing import UNSUBACK
from roost.broker.packets.reasons import NO_SUBSCRIPTION_EXISTED, SUCCESS
from roost.broker.packets.unsubscribe import parse_unsubscribe
from roost.broker.roaming import roams
from roost.broker.since import split_since


def handle(core: Core, link: Link, frame: bytes) -> None:
    """Remove each filter, compared byte by byte [MQTT-3.10.4-1], and answer [MQTT-3.10.4-4, 3.10.4-5]."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    packet_id, filters = parse_unsubscribe(frame, link.version)
    codes: list[int] = []
    unknown: list[tuple[bytes, str]] = []
    for filter_ in filters:
        filter_ = split_since(filter_)[1]  # noqa: PLW2901  a past is asked for once, the subscription is without it
        recalling.end(core, session, filter_)
        found = core.router.remove(filter_, bare_filter(filter_), session)
        codes.append(SUCCESS if found else NO_SUBSCRIPTION_EXISTED)
        if not found:
            unknown.append((filter_, "there is no subscription by this filter"))
    roamed = roams(session)  # it may have been shared subscriptions that made it one
    ticket = save(core, session) if SUCCESS in codes else 0
    answer = ended(link, packet_id, codes, unknown)
    check_size(link, answer)
    held = Held(UNSUBACK, packet_id, answer, ticket)
    if SUCCESS in codes and (roamed or roams(session)):
        vouching.hold(core, link, held)
    else:
        hold(core, link, held)
