"""SUBSCRIBE: which topics a client wants, and the retained messages that it gets at once (section 3.8).

A filter is granted, or refused with its reason; the others of the packet are not touched by that. `$share/<name>/…`
takes turns with others and gets no retained messages [MQTT-3.8.4-4]. Who asks for the past (`roost.broker.since`) gets
that instead of them, from where it asks on, of topics that have one; of the others it gets what is retained.

A filter that a packet names more than once has the options of the last entry [MQTT-3.8.4-3], and one set of retained
messages. A packet may have as many entries as a session filters, or `MAX_ENTRIES`: what is beyond is refused.
"""

from __future__ import annotations

from typing import Final

from roost.broker import handing, recalling
from roost.broker.access import NOTHING
from roost.broker.answers import check_size, hold
from roost.broker.core import Core
from roost.broker.filters import Options
from roost.broker.lifetimes import save
from roost.broker.link import Held, Link
from roost.broker.memory import has_room_for_filter
from roost.broker.packets.fields import check_filter, is_shared, split_shared
from roost.broker.packets.framing import SUBACK
from roost.broker.packets.reasons import (
    NOT_AUTHORIZED,
    QUOTA_EXCEEDED,
    SHARED_SUBSCRIPTIONS_NOT_SUPPORTED,
    SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED,
    TOPIC_FILTER_INVALID,
    WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED,
    Malformed,
)
from roost.broker.packets.subscribe import parse_subscribe, suback
from roost.broker.session import Session
from roost.broker.since import Since, read_since, since_of, split_since

MAX_ENTRIES: Final = 1000  # of a packet, where a session may have less filters


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Grant what may be granted, answer in one SUBACK [MQTT-3.8.4-5, 3.8.4-6], then send what is retained."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    request = parse_subscribe(frame, link.version)
    if request.identifier and not core.settings.identifiers_available:
        raise Malformed(SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED, "subscription identifiers are switched off")
    codes: list[int] = []
    wanted: dict[bytes, bool] = {}  # whose retained messages are to be sent; True: only of topics without a group
    recalled: dict[bytes, tuple[Options, Since]] = {}  # whose past is to be sent
    said = since_of(request.user)
    most = max(MAX_ENTRIES, core.settings.max_filters)
    for subscription in request.subscriptions:
        when, filter_ = split_since(subscription.filter)
        when = said if when is None else when
        since: Since | None = None
        shared, bare = None, filter_
        refusal = QUOTA_EXCEEDED if len(codes) >= most else 0
        if when is not None and not refusal:
            try:
                since = _since(filter_, when, now)
            except Malformed as error:
                core.reject(link, str(error), subscription.filter)
                refusal = TOPIC_FILTER_INVALID
        if not refusal:
            if is_shared(filter_):
                shared, bare = split_shared(filter_)
            refusal = _refusal(core, session, filter_, shared, bare)
        if refusal:
            codes.append(refusal)
            core.stats.filters_refused += 1
            continue
        options = Options(
            min(subscription.qos, core.maximum_qos),
            no_local=subscription.no_local,
            retain_as_published=subscription.retain_as_published,
            identifier=request.identifier,
            shared=shared,
        )
        new = core.router.add(filter_, bare, session, options)
        codes.append(options.qos)
        if new:
            handing.end(core, session, filter_)  # of an earlier subscription by this filter
        if since is not None:
            recalled[filter_] = (options, since)
        if shared is None and (subscription.retain_handling == 0 or (subscription.retain_handling == 1 and new)):
            wanted[filter_] = since is not None and wanted.get(filter_, True)  # [MQTT-3.3.1-9 to 3.3.1-11]
    granted = any(code <= 2 for code in codes)
    ticket = save(core, session) if granted else 0
    answer = suback(link.version, request.packet_id, codes)
    check_size(link, answer)
    hold(core, link, Held(SUBACK, request.packet_id, answer, ticket))
    if wanted:
        handing.begin(core, link, session, wanted, now)
    for filter_, (options, since) in recalled.items():
        recalling.begin(core, session, filter_, options, since)


def _since(filter_: bytes, when: bytes, now: int) -> Since:
    """Read since when a filter is wanted; raises `Malformed` if it cannot be."""
    check_filter(filter_)
    if is_shared(filter_):
        raise Malformed(TOPIC_FILTER_INVALID, "a shared subscription has no past")
    return read_since(when, now)


def _refusal(core: Core, session: Session, filter_: bytes, shared: bytes | None, bare: bytes) -> int:
    """Say why a filter is refused, 0 if it is not."""
    settings = core.settings
    if shared is not None and not settings.shared_available:
        return SHARED_SUBSCRIPTIONS_NOT_SUPPORTED
    if not settings.wildcards_available and (bare.find(b"+") >= 0 or bare.find(b"#") >= 0):
        return WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED
    if bare.count(b"/") >= settings.max_levels:
        return TOPIC_FILTER_INVALID
    if filter_ not in session.subscriptions and not has_room_for_filter(core, session, filter_):
        return QUOTA_EXCEEDED
    if core.access.reach(session.user, session.client, bare) == NOTHING:
        return NOT_AUTHORIZED
    return 0
