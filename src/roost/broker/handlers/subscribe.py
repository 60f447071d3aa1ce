"""SUBSCRIBE: which topics a client wants, and the retained messages that it gets at once (section 3.8).

A filter is granted, or refused with its reason; the others of the packet are not touched by that. `$share/<name>/…`
takes turns with others and gets no retained messages [MQTT-3.8.4-4]. Who asks for the past (`roost.broker.since`) gets
that instead of them, from where it asks on, of topics that have one; of the others it gets what is retained.

Where roles say what a filter brings (`roost.broker.roles`), one that can bring nothing is refused, and the answer waits
until the roles of the user are known. `$raw/…` is for topics as they are published, where that is not the default.

A filter that a packet names more than once has the options of the last entry [MQTT-3.8.4-3], and one set of retained
messages. A packet may have as many entries as a session filters, or `MAX_ENTRIES`: what is beyond is refused.
"""

from __future__ import annotations

from typing import Final

from roost.broker import handing, recalling, vouching
from roost.broker.access import NOTHING
from roost.broker.answers import check_size, hold
from roost.broker.core import Core
from roost.broker.explaining import granted
from roost.broker.filters import Options
from roost.broker.lifetimes import bare_filter, save
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
from roost.broker.roaming import roams
from roost.broker.roles.keeper import MAX_ASKED, Asked, RoleKeeper
from roost.broker.roles.presenting import RAW, is_decided, is_refused
from roost.broker.session import Session
from roost.broker.since import Since, read_since, since_of, split_since

_GRANTED: Final = (0, "")
_NOT_PERMITTED: Final = (NOT_AUTHORIZED, "no permission to read anything of it")
_NOT_BY_ROLES: Final = "the roles of the user let nothing of it be seen"
MAX_ENTRIES: Final = 1000  # of a packet, where a session may have less filters


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Grant what may be granted, answer in one SUBACK [MQTT-3.8.4-5, 3.8.4-6], then send what is retained."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    request = parse_subscribe(frame, link.version)
    if request.identifier and not core.settings.identifiers_available:
        raise Malformed(SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED, "subscription identifiers are switched off")
    codes: list[int] = []
    refused: list[tuple[bytes, str]] = []  # filters, and why
    undecided: dict[int, bytes] = {}  # by place in the packet, filters of which the roles are to say whether they are
    wanted: dict[bytes, bool] = {}  # whose retained messages are to be sent; True: only of topics without a group
    recalled: dict[bytes, tuple[Options, Since]] = {}  # whose past is to be sent
    said = since_of(request.user)
    most = max(MAX_ENTRIES, core.settings.max_filters)
    for subscription in request.subscriptions:
        when, filter_ = split_since(subscription.filter)
        when = said if when is None else when
        since: Since | None = None
        shared, bare = None, filter_
        refusal, why = (QUOTA_EXCEEDED, f"it is beyond the {most} of one packet") if len(codes) >= most else (0, "")
        if when is not None and not refusal:
            try:
                since = _since(filter_, when, now)
            except Malformed as error:
                core.reject(link, str(error), subscription.filter)
                refusal, why = TOPIC_FILTER_INVALID, str(error)
        if not refusal:
            if is_shared(filter_):
                shared, bare = split_shared(filter_)
            refusal, why = _refusal(core, session, filter_, shared, bare)
        if refusal:
            codes.append(refusal)
            refused.append((subscription.filter, why))
            core.stats.filters_refused += 1
            continue
        options = Options(
            min(subscription.qos, core.maximum_qos),
            no_local=subscription.no_local,
            retain_as_published=subscription.retain_as_published,
            identifier=request.identifier,
            shared=shared,
        )
        if not is_decided(core, session, bare):
            undecided[len(codes)] = filter_
        new = core.router.add(filter_, bare, session, options)
        codes.append(options.qos)
        if new:
            handing.end(core, session, filter_)  # of an earlier subscription by this filter
        if since is not None:
            recalled[filter_] = (options, since)
        if shared is None and (subscription.retain_handling == 0 or (subscription.retain_handling == 1 and new)):
            wanted[filter_] = since is not None and wanted.get(filter_, True)  # [MQTT-3.3.1-9 to 3.3.1-11]
    check_size(link, suback(link.version, request.packet_id, codes))
    if undecided and core.roles is not None:
        core.roles.asked.append(Asked(link, session, request.packet_id, codes, undecided, refused))
    else:
        _answer(core, link, session, request.packet_id, codes, refused)
    if wanted:
        handing.begin(core, link, session, wanted, now)
    for filter_, (options, since) in recalled.items():
        recalling.begin(core, session, filter_, options, since)


def conclude(core: Core, asked: Asked) -> None:
    """The roles of a user are known: take back what they refuse, and answer."""
    link, session, codes = asked.link, asked.session, asked.codes
    if session.gone:
        return
    for place, filter_ in asked.granted.items():
        bare = bare_filter(filter_)
        if is_refused(core, session, bare):
            codes[place] = NOT_AUTHORIZED
            asked.refused.append((filter_, _NOT_BY_ROLES))
            core.stats.filters_refused += 1
            recalling.end(core, session, filter_)
            handing.end(core, session, filter_)
            core.router.remove(filter_, bare, session)
    if session.link is link:
        _answer(core, link, session, asked.packet_id, codes, asked.refused)
    else:  # who asked is gone, and what was granted stands
        save(core, session)


def _answer(
    core: Core, link: Link, session: Session, packet_id: int, codes: list[int], refused: list[tuple[bytes, str]]
) -> None:
    is_granted = any(code <= 2 for code in codes)
    ticket = save(core, session) if is_granted else 0
    held = Held(SUBACK, packet_id, granted(link, packet_id, codes, refused), ticket)
    if is_granted and roams(session):
        vouching.hold(core, link, held)
    else:
        hold(core, link, held)


def _since(filter_: bytes, when: bytes, now: int) -> Since:
    """Read since when a filter is wanted; raises `Malformed` if it cannot be."""
    check_filter(filter_)
    if is_shared(filter_):
        raise Malformed(TOPIC_FILTER_INVALID, "a shared subscription has no past")
    return read_since(when, now)


def _refusal(core: Core, session: Session, filter_: bytes, shared: bytes | None, bare: bytes) -> tuple[int, str]:
    """Say why a filter is refused, 0 if it is not."""
    settings = core.settings
    if shared is not None and not settings.shared_available:
        return SHARED_SUBSCRIPTIONS_NOT_SUPPORTED, "shared subscriptions are switched off"
    if not settings.wildcards_available and (bare.find(b"+") >= 0 or bare.find(b"#") >= 0):
        return WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED, "wildcards are switched off"
    if bare.count(b"/") >= settings.max_levels:
        return TOPIC_FILTER_INVALID, f"a filter has {settings.max_levels} levels at most"
    if filter_ not in session.subscriptions and not has_room_for_filter(core, session, filter_):
        return QUOTA_EXCEEDED, "there is no room for more filters"
    if core.roles is not None:
        return _refusal_by_roles(core, core.roles, session, bare)
    return _NOT_PERMITTED if core.access.reach(session.user, session.client, bare) == NOTHING else _GRANTED


def _refusal_by_roles(core: Core, keeper: RoleKeeper, session: Session, bare: bytes) -> tuple[int, str]:
    """The same where roles are configured; while they are not known nothing is refused by them."""
    topics = bare.removeprefix(RAW)
    if topics != bare and (not topics or topics.startswith(b"$")):
        return TOPIC_FILTER_INVALID, "a filter of topics stands behind $raw/, without a $ of its own"
    if core.access.reach(session.user, session.client, topics) == NOTHING:
        return _NOT_PERMITTED
    if is_decided(core, session, bare):
        return (NOT_AUTHORIZED, _NOT_BY_ROLES) if is_refused(core, session, bare) else _GRANTED
    if len(keeper.asked) >= MAX_ASKED or not keeper.await_roles(session):
        return QUOTA_EXCEEDED, "too many wait for the roles of their users; try again later"
    return _GRANTED
