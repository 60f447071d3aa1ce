"""Messages of shared subscriptions that are chosen for again, for those who were to get them do not.

    their member's session is over, or its node is gone, or leaves them to others   ─┐
    they wait for a member that is offline, not sent yet, and another is online now ─┴▶ another member

A message of QoS 1 may so come twice. One of QoS 2 that a lost node said to have taken goes to nobody else, as when a
session ends [MQTT-4.8.2-5]: it waits in the session of its member if that lasts, and is dropped if it ended with its
node. One that it said nothing of goes to another: it can have begun it only in its last moment.
"""

from __future__ import annotations

from roost.broker.choosing import able, choose, give, is_elsewhere, is_online, panel_of
from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.packets.fields import split_shared
from roost.broker.queueing import keep_only, over
from roost.broker.routing import route_of
from roost.broker.session import QUEUED, Delivery, Session
from roost.broker.settings import DISK
from roost.broker.shared import Group, whole_filter
from roost.broker.track import Open


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
    if core.roaming is None or origin is None or delivery.shared is None or is_elsewhere(session):
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
        is_served = group is not None and any(is_online(core, core.numbers[each]) for each in group.members())
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
        if is_elsewhere(holder):
            opened.panel = opened.panel or panel_of(holder)
        elif holder.link is not None and (opened.panel == b"" or holder.persistent):
            opened.panel = b""
    if opened.panel:
        return core.roaming.sharing.nodes.is_silent(opened.panel)
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
    pool = able(core, group, message)
    if not opened.is_free and pool and not is_online(core, pool[0]):
        return  # who is online may not read it
    chosen = choose(core, message, pool)
    if chosen is None:
        sharing.disclaim(filter_, stream, number)
        return
    _withdraw(core, [(opened.holder, stream, number)])
    give(core, group, chosen, message, route_of(core, message.topic).level >= DISK, now, is_first=False)


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
