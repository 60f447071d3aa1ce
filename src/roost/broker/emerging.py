"""Messages that come out of groups, published here or at another node: who gets them.

Unlike messages of plain topics they have a name (stream and number), so what a session has had elsewhere is not
delivered again, and what a recall will bring is left to it. Of several nodes with members of a shared subscription one
delivers (`roost.broker.choosing`). The last retained message of a topic is the one with the latest time, whatever the
order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.broker import arriving, hearing, vouching
from roost.broker.announcement import RESERVED, SESSIONS, decode_announcement
from roost.broker.arrivals import TOPIC as ARRIVALS
from roost.broker.arrivals import decode_arrivals
from roost.broker.beat import TOPIC, decode_beat
from roost.broker.choosing import share, wants
from roost.broker.core import Core
from roost.broker.macros import claiming
from roost.broker.macros.record import TOPICS
from roost.broker.macros.repeating import arrive, is_repeated
from roost.broker.message import Message
from roost.broker.receipts import Receipt
from roost.broker.roles import governing
from roost.broker.roles.document_record import TOPICS as DOCUMENTS
from roost.broker.roles.presenting import is_kept_back
from roost.broker.routing import deliver_to, hold_for, retain, route_of
from roost.broker.settings import DISK
from roost.errors import BadPacket
from roost.machine.contract import Rejected

MAX_CLEARED: Final = 10_000  # topics of which it is known when their retained message was taken away


def take_in(core: Core, messages: list[Message], positions: Mapping[bytes, int], now: int) -> None:
    """Messages came out of groups; so far their streams are handed on."""
    if core.macros is not None:
        arrive(core.macros, messages)
    for message in messages:
        _emerge(core, message, now)
    hearing.catch_up(core, now)
    last_words, core.last_words = core.last_words, []
    for client, panel, began in last_words:  # now that what they leave to this node waits here
        vouching.heard(core, client, panel, began, now)
    for stream, number in positions.items():
        core.ledger.save_position(stream, number)


def _emerge(core: Core, message: Message, now: int) -> None:
    """Give a message of a group to everyone who gets it at this node."""
    if message.topic.startswith(RESERVED):
        _hear(core, message, now)
        return
    route = route_of(core, message.topic)
    sync = route.level >= DISK
    if message.retain and not _is_outdated(core, message, now):
        retain(core, message, False)  # noqa: FBT003  it is in the group, and found again
    if message.packet_id:
        _note(core, message)
    if message.time < core.began:
        return  # it is history here, and only holds on
    if core.macros is not None:
        if message.lineage and is_repeated(core, core.macros, message):
            return
        if route.touched:
            core.macros.collect(message)
    if core.listened:
        core.told.append(message)
    roaming = core.roaming if message.qos else None
    for target in route.targets:
        session = target.session
        if message.lineage and is_kept_back(core, session, message):
            continue
        if session.abroad is None or wants(session, message):
            deliver_to(core, target, message, sync, 0, now)
            if roaming is not None and target.qos and session.expiry_s:
                roaming.hand(session, message)
    for group in route.groups:
        share(core, group, message, sync, now)
    if route.waiting:
        hold_for(core, route, message)


def _note(core: Core, message: Message) -> None:
    """Remember a QoS 2 message that its client may send again, here or after it comes here."""
    origin, roaming = message.origin, core.roaming
    if origin is None or roaming is None:
        return
    client, packet_id, receipts = message.publisher, message.packet_id, roaming.receipts
    receipt = Receipt(origin[1], origin[2], message.time)
    session = core.sessions.get(client)
    is_ours = roaming.is_ours(origin[1])
    if session is not None and not is_ours:
        session.groups().taken = max(session.groups().taken, message.time + 1)
    abroad = None if session is None else session.abroad
    if session is None or (abroad is not None and abroad.elsewhere):
        wanted = receipts.is_open(client, packet_id, roaming.group_of(origin[1]), receipt)
    elif is_ours:
        wanted = packet_id in session.incoming
    else:  # from where its client was before it spoke here, or is now
        wanted = abroad is not None and receipt.time > abroad.spoke
    if wanted:
        receipts.note(client, packet_id, receipt)


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
    try:
        if message.topic == TOPIC:
            hearing.hear_beat(core, decode_beat(message.payload), now)
        elif message.topic == ARRIVALS:
            arriving.hear_arrivals(core, decode_arrivals(message.payload), message.time, now)
        elif message.topic.startswith(TOPICS):
            said = None if core.macros is None else core.macros.parts.take(origin[1], message.payload)
            if said is not None and core.macros is not None:
                claiming.hear(core, core.macros, said, now)
                core.macros.hear_read(said.name, said.read)
        elif message.topic.startswith(DOCUMENTS):
            if core.roles is not None:
                governing.hear(core, core.roles, origin[1], message.payload, now)
        elif message.topic.startswith(SESSIONS):
            hearing.hear(core, decode_announcement(message.payload), origin[1], message.time, now)
    except BadPacket as error:
        core.effects.append(Rejected("another node", str(error), message.payload[:64]))
