"""Which member of a shared subscription gets a message of a group, when members may be at several nodes.

All nodes rank the members they know of by the same sum over the message's name and the client id, and the first one
that is online gets it: where two nodes know different members they still agree on most messages. A full queue here is
passed over while another member here has room. What is not done with is chosen again (`settle`) when its node is gone
or leaves it to others, and so is what waits for a member that is offline, and was not sent, once another is online.

A message of QoS 1 may so come twice. One of QoS 2 that a lost node said to have taken goes to nobody else, as when a
session ends [MQTT-4.8.2-5]: it waits in the session of its member if that lasts, and is dropped if it ended with its
node. One that it said nothing of goes to another: it can have begun it only in its last moment.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.message import Message
from roost.broker.packets.fields import split_shared
from roost.broker.queueing import keep_only, over
from roost.broker.routing import has_room, route_of
from roost.broker.session import QUEUED, Delivery, Session
from roost.broker.settings import DISK
from roost.broker.shared import Group, whole_filter
from roost.broker.sharing import SOMEWHERE, Open

_MAX_TRIES: Final = 16  # members here that are asked for room
_WORD: Final = 0xFFFF_FFFF


def share(core: Core, group: Group, message: Message, sync: bool, now: int) -> None:  # noqa: FBT001  a C call
    """Deliver to the one member that every node chooses, if it is here, or may come here."""
    if message.origin is None:
        return
    if core.roaming is not None:
        sharing, filter_ = core.roaming.sharing, whole_filter(group.name, group.filter)
        _, stream, number = message.origin
        if sharing.is_done(filter_, stream, number):
            sharing.note(filter_, stream, number, None)
            return
    chosen = _choose(core, message, _able(core, group, message))
    if chosen is not None:
        _give(core, group, chosen, message, sync, now, is_first=True)


def wants(session: Session, message: Message) -> bool:
    """Whether a session is to get a message live: not if it had it elsewhere, or a recall brings it."""
    abroad = session.abroad
    if abroad is None or message.origin is None:
        return True
    if abroad.done.get(message.origin[1], 0) >= message.origin[2]:
        return False
    return not abroad.covers(message.topic)


def _able(core: Core, group: Group, message: Message) -> list[Session]:
    """Members who may read it; only those who are online, if any is."""
    members = [core.numbers[number] for number in group.members()]
    able = [each for each in members if core.access.may_receive(each.user, each.client, message.topic)]
    return [each for each in able if _is_online(core, each)] or able


def _choose(core: Core, message: Message, pool: list[Session]) -> Session | None:
    """The first by rank; if that one is here and has no room, the first of those here who has."""
    assert message.origin is not None  # noqa: S101  it comes out of a group
    name = message.origin[1] + message.origin[2].to_bytes(8, "big")
    ranked = sorted([(_rank(name, each.client), each.client, each.number) for each in pool], reverse=True)
    first = core.numbers[ranked[0][2]] if ranked else None
    if first is None or _is_elsewhere(first) or has_room(core, first, message):
        return first
    here = [core.numbers[number] for _, _, number in ranked if not _is_elsewhere(core.numbers[number])]
    return next((each for each in here[:_MAX_TRIES] if has_room(core, each, message)), first)


def _rank(name: bytes, client: bytes) -> int:
    """A number that depends on every bit of both, for CRC-32 alone would favour some clients."""
    rank = crc32(name + client)
    rank = ((rank ^ rank >> 16) * 0x85EB_CA6B) & _WORD
    rank = ((rank ^ rank >> 13) * 0xC2B2_AE35) & _WORD
    return rank ^ rank >> 16


def _panel_of(session: Session) -> bytes:
    """By which panel the node that has a session is known, empty for this one."""
    return (session.abroad.panel or SOMEWHERE) if session.abroad is not None and session.abroad.elsewhere else b""


def _is_elsewhere(session: Session) -> bool:
    return session.abroad is not None and session.abroad.elsewhere


def _is_online(core: Core, session: Session) -> bool:
    abroad = session.abroad
    if session.link is not None or abroad is None or not abroad.elsewhere or not abroad.online:
        return session.link is not None
    return core.roaming is None or not core.roaming.sharing.is_silent(abroad.panel)


def _give(
    core: Core,
    group: Group,
    chosen: Session,
    message: Message,
    sync: bool,  # noqa: FBT001  a C call
    now: int,
    *,
    is_first: bool,
) -> None:
    """Give a message to a member, unless it is known to have had it, or has its own node to give it."""
    options = group.options_of(chosen.number)
    origin, roaming, abroad = message.origin, core.roaming, chosen.abroad
    if options is None or origin is None:
        return
    qos = min(message.qos, options.qos)
    if roaming is not None:
        panel = _panel_of(chosen)
        opened = Open(qos, chosen.client, panel) if qos else None
        roaming.sharing.note(whole_filter(group.name, group.filter), origin[1], origin[2], opened)
    if abroad is not None and (abroad.fleeting or abroad.covers(message.topic)):
        return
    if qos == 2 and is_first and not wants(chosen, message):
        return
    identifiers = [options.identifier] if options.identifier else None
    retained = message.retain and options.retain_as_published
    deliver(core, chosen, message, qos, retained, identifiers, sync, 0, (group.name, group.filter), now)
    if roaming is not None and qos:
        roaming.hand(chosen, message)


def leave_to(core: Core, session: Session, delivery: Delivery, panel: bytes) -> None:
    """A node says that a member is done with all through a number: whether it had this one, it says in its beats."""
    origin = delivery.message.origin
    if core.roaming is not None and origin is not None and delivery.shared is not None:
        filter_ = whole_filter(delivery.shared[0], delivery.shared[1])
        track = core.roaming.sharing.tracks.get((filter_, origin[1]))
        opened = None if track is None else track.open.get(origin[2])
        if opened is not None and opened.holder == session.client:
            opened.panel = panel


def let_go(core: Core, session: Session, delivery: Delivery) -> None:
    """The session of a member is over that a message of a group was for; if it was here, another member gets it."""
    origin = delivery.message.origin
    if core.roaming is None or origin is None or delivery.shared is None or _is_elsewhere(session):
        return
    filter_ = whole_filter(delivery.shared[0], delivery.shared[1])
    sharing = core.roaming.sharing
    if delivery.qos == 2 and delivery.state != QUEUED:
        sharing.note(filter_, origin[1], origin[2], None)
        return
    opened = Open(delivery.qos, session.client, b"")
    opened.is_free = True
    sharing.note(filter_, origin[1], origin[2], opened)
    sharing.is_unsettled = True


# -- choosing again


def settle(core: Core, now: int) -> None:
    """Drop what is done elsewhere, and find another member for what nobody has."""
    if core.roaming is None or not core.roaming.sharing.is_due(now):
        return
    sharing = core.roaming.sharing
    closed, sharing.closed = sharing.closed, []
    _withdraw(core, closed)
    _adopt(core)
    waiting: dict[bytes, set[tuple[bytes, int]]] = {}  # by client, what it was not sent yet
    for (filter_, stream), track in list(sharing.tracks.items()):
        if not track.open:
            continue
        name, bare = split_shared(filter_)
        group = core.router.shares.group(name, bare)
        is_served = group is not None and any(_is_online(core, core.numbers[each]) for each in group.members())
        for number, opened in list(track.open.items()):
            if group is None:  # nobody subscribes any more
                sharing.disclaim(filter_, stream, number)
            elif opened.is_free or (is_served and _is_left(core, opened, (stream, number), waiting)):
                _choose_again(core, group, stream, number, opened, now)


def _adopt(core: Core) -> None:
    """Choose for what another node awaits, and this one has forgotten since it was chosen for before a restart."""
    assert core.roaming is not None  # noqa: S101  it was looked at above
    sharing = core.roaming.sharing
    unknown, sharing.unknown = sharing.unknown, []
    for filter_, stream, number in unknown:
        name, bare = split_shared(filter_)
        if core.history is None or number > core.history.present(stream):
            continue  # it is new here, and comes
        message = _message(core, stream, number)
        if core.router.shares.group(name, bare) is not None and message is not None and message.qos == 1:
            opened = Open(1, b"", b"")
            opened.is_free = True
            sharing.restore(filter_, stream, number, opened)


def _is_left(core: Core, opened: Open, name: tuple[bytes, int], waiting: dict[bytes, set[tuple[bytes, int]]]) -> bool:
    """Whether a message is with nobody who is online, and not begun; sees where its member is now."""
    assert core.roaming is not None  # noqa: S101  it was looked at before
    holder = core.sessions.get(opened.holder)
    if holder is not None:
        if _is_elsewhere(holder):
            opened.panel = opened.panel or _panel_of(holder)
        elif holder.link is not None and (opened.panel == b"" or holder.persistent):
            opened.panel = b""
    if opened.panel:
        return core.roaming.sharing.is_silent(opened.panel)
    if holder is None or holder.link is not None:
        return False
    if opened.holder not in waiting:
        queued = [each.message.origin for each in holder.queue if each.state == QUEUED]
        waiting[opened.holder] = {(origin[1], origin[2]) for origin in queued if origin is not None}
    return name in waiting[opened.holder]


def _choose_again(core: Core, group: Group, stream: bytes, number: int, opened: Open, now: int) -> None:
    assert core.roaming is not None  # noqa: S101  it was looked at above
    sharing = core.roaming.sharing
    filter_ = whole_filter(group.name, group.filter)
    message = _message(core, stream, number)
    if message is None or message.overdue(now):  # the repo keeps it no longer, or it is not to be [MQTT-3.3.2-5]
        core.stats.expired += 1
        sharing.note(filter_, stream, number, None)
        return
    if opened.qos == 2 and opened.is_taken and not opened.is_free:
        holder = core.sessions.get(opened.holder)
        if holder is None or (holder.abroad is not None and holder.abroad.fleeting):
            core.stats.dropped += 1
            sharing.note(filter_, stream, number, None)
        return
    pool = _able(core, group, message)
    if not opened.is_free and pool and not _is_online(core, pool[0]):
        return  # who is online may not read it
    chosen = _choose(core, message, pool)
    if chosen is None:
        sharing.disclaim(filter_, stream, number)
        return
    _withdraw(core, [(opened.holder, stream, number)])
    _give(core, group, chosen, message, route_of(core, message.topic).level >= DISK, now, is_first=False)


def _message(core: Core, stream: bytes, number: int) -> Message | None:
    """The message of a name, from the repo."""
    if core.history is not None:
        for _, message in core.history.read(stream, number, number, 1):
            return message
    return None


def _withdraw(core: Core, names: list[tuple[bytes, bytes, int]]) -> None:
    """Take messages back from sessions without a link that wait for their clients."""
    by_client: dict[bytes, set[tuple[bytes, int]]] = {}
    for client, stream, number in names:
        by_client.setdefault(client, set()).add((stream, number))
    for client, wanted in by_client.items():
        session = core.sessions.get(client)
        if session is None or session.link is not None:
            continue
        gone = [each for each in [*session.again, *session.queue] if _is_among(each, wanted)]
        session.again = [each for each in session.again if not _is_among(each, wanted)]
        keep_only(core, session, [each for each in session.queue if not _is_among(each, wanted)])
        for delivery in gone:
            over(core, session, delivery)


def _is_among(delivery: Delivery, wanted: set[tuple[bytes, int]]) -> bool:
    origin = delivery.message.origin
    return delivery.shared is not None and origin is not None and (origin[1], origin[2]) in wanted
