"""Messages that come out of groups, published here or at another node: who gets them.

Unlike messages of plain topics they have a name (stream and number), so what a session has had elsewhere is not
delivered again, and what a recall will bring is left to it. Of several nodes with members of a shared subscription one
delivers: all choose by the same sum over the message's name and the members they know of. The last retained message of
a topic is the one with the latest time, whatever the order of arrival.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from roost.broker import hearing
from roost.broker.announcement import RESERVED, SESSIONS, decode_announcement
from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.message import Message
from roost.broker.routing import deliver_to, retain, route_of
from roost.broker.session import Session
from roost.broker.settings import DISK
from roost.broker.shared import Group
from roost.errors import BadPacket
from roost.machine.contract import Rejected

MAX_CLEARED: Final = 10_000  # topics of which it is known when their retained message was taken away


def emerge(core: Core, message: Message, now: int) -> None:
    """Give a message of a group to everyone who gets it at this node."""
    if message.topic.startswith(RESERVED):
        _hear(core, message, now)
        return
    route = route_of(core, message.topic)
    sync = route.level >= DISK
    if message.retain and not _is_outdated(core, message, now):
        retain(core, message, False)  # noqa: FBT003  it is in the group, and found again
    if message.time < core.began:
        return  # it is history here, and only holds on
    for target in route.targets:
        if _wants(target.session, message):
            deliver_to(core, target, message, sync, 0, now)
            if core.roaming is not None and target.qos and message.qos:
                core.roaming.hand(target.session, message)
    for group in route.groups:
        _share(core, group, message, sync, now)


def _wants(session: Session, message: Message) -> bool:
    abroad = session.abroad
    if abroad is None or message.origin is None:
        return True
    if abroad.done.get(message.origin[1], 0) >= message.origin[2]:
        return False
    return not abroad.covers(message.topic)


def _share(core: Core, group: Group, message: Message, sync: bool, now: int) -> None:  # noqa: FBT001  a C call
    """Deliver to the one member that every node chooses, if it is a member here, or may come here."""
    members = sorted([core.numbers[number] for number in group.members()], key=_client_of)
    able = [each for each in members if core.access.may_receive(each.user, each.client, message.topic)]
    pool = [each for each in able if _is_online(each)] or able
    if not pool or message.origin is None:
        return
    chosen = pool[crc32(message.origin[1] + message.origin[2].to_bytes(8, "big")) % len(pool)]
    options = group.options_of(chosen.number)
    if options is None or (chosen.abroad is not None and chosen.abroad.fleeting) or not _wants(chosen, message):
        return
    identifiers = [options.identifier] if options.identifier else None
    retained = message.retain and options.retain_as_published
    by = (group.name, group.filter)
    qos = min(message.qos, options.qos)
    deliver(core, chosen, message, qos, retained, identifiers, sync, 0, by, now)
    if core.roaming is not None and qos:
        core.roaming.hand(chosen, message)


def _client_of(session: Session) -> bytes:
    return session.client


def _is_online(session: Session) -> bool:
    return session.link is not None or (
        session.abroad is not None and session.abroad.elsewhere and session.abroad.online
    )


def _is_outdated(core: Core, message: Message, now: int) -> bool:
    """Whether a later message of the topic is retained already, or has cleared it."""
    if message.origin is None:
        return False
    last = core.cleared.get(message.topic, (0, b""))
    for _, retained in core.retained.matching(message.topic, now):
        if retained.origin is not None:
            last = max(last, (retained.time, retained.origin[1]))
    if last > (message.time, message.origin[1]):
        return True
    if message.payload:
        core.cleared.pop(message.topic, None)
    else:
        if len(core.cleared) >= MAX_CLEARED:
            del core.cleared[next(iter(core.cleared))]
        core.cleared[message.topic] = (message.time, message.origin[1])
    return False


def _hear(core: Core, message: Message, now: int) -> None:
    origin = message.origin
    if core.roaming is None or origin is None or core.roaming.is_ours(origin[1]):
        return
    if message.topic.startswith(SESSIONS):
        try:
            said = decode_announcement(message.payload)
        except BadPacket as error:
            core.effects.append(Rejected("another node", str(error), message.payload[:64]))
            return
        hearing.hear(core, said, origin[1], message.time, now)
