"""SUBSCRIBE: which topics a client wants, and the retained messages that it gets at once (section 3.8).

A filter is granted, or refused with its reason; the others of the packet are not touched by that. `$share/<name>/…`
takes turns with others and gets no retained messages [MQTT-3.8.4-4]. Who asks for the past (`roost.broker.since`) gets
that instead of them, from where it asks on.
"""

from __future__ import annotations

from roost.broker import recalling
from roost.broker.access import NOTHING
from roost.broker.answers import check_size, hold
from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.filters import Options
from roost.broker.lifetimes import save
from roost.broker.link import Held, Link
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
from roost.broker.packets.subscribe import Subscription, parse_subscribe, suback
from roost.broker.session import Session
from roost.broker.since import Since, read_since, since_of, split_since


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Grant what may be granted, answer in one SUBACK [MQTT-3.8.4-5, 3.8.4-6], then send what is retained."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    request = parse_subscribe(frame, link.version)
    if request.identifier and not core.settings.identifiers_available:
        raise Malformed(SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED, "subscription identifiers are switched off")
    codes: list[int] = []
    wanted: list[tuple[Subscription, Options, bytes]] = []  # whose retained messages are to be sent
    recalled: list[tuple[bytes, Options, Since]] = []  # whose past is to be sent
    said = since_of(request.user)
    for subscription in request.subscriptions:
        when, filter_ = split_since(subscription.filter)
        shared, bare = split_shared(filter_) if is_shared(filter_) else (None, filter_)
        refusal = _refusal(core, session, filter_, shared, bare)
        since: Since | None = None
        if not refusal and (when or said):
            try:
                since = read_since(when or said, now)
                check_filter(filter_)
            except Malformed as error:
                core.reject(link, str(error), subscription.filter)
                refusal = TOPIC_FILTER_INVALID
            if shared is not None:
                refusal = TOPIC_FILTER_INVALID
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
        if since is not None:
            recalled.append((filter_, options, since))
        elif shared is None and (subscription.retain_handling == 0 or (subscription.retain_handling == 1 and new)):
            wanted.append((subscription, options, bare))  # [MQTT-3.3.1-9 to 3.3.1-11]
    granted = any(code <= 2 for code in codes)
    ticket = save(core, session) if granted else 0
    answer = suback(link.version, request.packet_id, codes)
    check_size(link, answer)
    hold(core, link, Held(SUBACK, request.packet_id, answer, ticket))
    for _, options, bare in wanted:
        _send_retained(core, session, options, bare, now)
    for filter_, options, since in recalled:
        recalling.begin(core, session, filter_, options, since)


def _refusal(core: Core, session: Session, filter_: bytes, shared: bytes | None, bare: bytes) -> int:
    """Say why a filter is refused, 0 if it is not."""
    settings = core.settings
    if shared is not None and not settings.shared_available:
        return SHARED_SUBSCRIPTIONS_NOT_SUPPORTED
    if not settings.wildcards_available and (bare.find(b"+") >= 0 or bare.find(b"#") >= 0):
        return WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED
    if bare.count(b"/") >= settings.max_levels:
        return TOPIC_FILTER_INVALID
    if filter_ not in session.subscriptions and len(session.subscriptions) >= settings.max_filters:
        return QUOTA_EXCEEDED
    if core.access.reach(session.user, session.client, bare) == NOTHING:
        return NOT_AUTHORIZED
    return 0


def _send_retained(core: Core, session: Session, options: Options, bare: bytes, now: int) -> None:
    """Send the last message of every topic that matches, marked as retained [MQTT-3.3.1-8]."""
    found = core.system.matching(bare, now) if bare.startswith(b"$SYS") else core.retained.matching(bare, now)
    identifiers = [options.identifier] if options.identifier else None
    for topic, message in found:
        if not core.access.may_receive(session.user, session.client, topic):
            continue
        if options.no_local and message.publisher == session.client:
            continue
        deliver(core, session, message, min(message.qos, options.qos), True, identifiers, core.durable, 0, None, now)  # noqa: FBT003
