"""A restart: sessions, their messages, their identifiers and what was retained, from the rows of the last run.

A row that is damaged is left out and told; a row whose session is gone is deleted. A session that had a link when the
last run ended has lost it now: its will and its expiry count from the restart. A message may have been sent before, and
is marked as a repetition [MQTT-3.3.1-1], unless it came when the session had no link.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.broker import entering, orphans, recalling
from roost.broker.core import Core
from roost.broker.ledger import (
    BEGAN,
    DELIVERY,
    DOCUMENT,
    FAR,
    FILTER,
    IDENTIFIER,
    MACRO,
    POSITION,
    RECALL,
    RETAINED,
    SESSION,
)
from roost.broker.macros.record import decode_record
from roost.broker.memory import charge, set_will
from roost.broker.message import Message
from roost.broker.message_rows import read_delivery, read_identifier, read_retained
from roost.broker.queueing import enqueue
from roost.broker.recall import History
from roost.broker.roaming import Roaming
from roost.broker.routing import publish, route_of
from roost.broker.rows import BadRow, read_number, unseal
from roost.broker.session import QUEUED, RECEIVED, RELEASED, SENT, Delivery, Session, packet_id_of
from roost.broker.session_rows import read_filter, read_recall, read_session
from roost.errors import BadPacket
from roost.machine.contract import Note

_SAMPLE_BYTES: Final = 64  # of a key


def load(core: Core, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Take the rows in; those that cannot be used are counted, and told with the first effects."""
    bad: list[bytes] = []
    later: list[tuple[bytes, bytes]] = []  # rows that need their session
    for key, value in rows:
        kind = key[:1]
        try:
            if kind == SESSION:
                _load_session(core, key, value)
            elif kind == RETAINED:
                message, owner = read_retained(value)
                core.retained.set(message.topic, message, message.size, message.expires, owner)
            elif kind == POSITION:
                core.positions[key[1:]] = read_number(value)
            elif kind == BEGAN:
                core.began = read_number(value)
            elif kind == MACRO:
                if core.macros is not None:
                    core.macros.remember(decode_record(unseal(value).rest()))
            elif kind == DOCUMENT:
                if core.roles is not None:
                    core.roles.documents.load(core.roles.telling.load(key[1:], value))
            else:
                later.append((key, value))
        except (BadRow, BadPacket):
            bad.append(key)
    deliveries: dict[int, list[Delivery]] = {}
    for key, value in later:
        client, rest = _client_of(key)
        session = core.sessions.get(client)
        try:
            if session is None or key[:1] not in {FILTER, DELIVERY, IDENTIFIER, RECALL}:
                core.ledger.forget_keys([key])
            elif key[:1] == FILTER:
                bare, options = read_filter(value, rest)
                core.router.add(rest, bare, session, options)
                session.touched = []
            elif key[:1] == RECALL:
                since, places, is_over = read_recall(value)
                core.interrupted.append((session, rest, since, places, is_over))
            elif key[:1] == DELIVERY:
                deliveries.setdefault(session.number, []).append(read_delivery(value, int.from_bytes(rest, "big")))
            else:
                _load_identifier(core, session, int.from_bytes(rest, "big"), read_identifier(value))
        except BadRow:
            bad.append(key)
    for number, found in deliveries.items():
        _take_deliveries(core, core.numbers[number], found)
    core.ledger.forget_keys(bad)
    if bad:
        core.stats.bad_rows += len(bad)
        core.effects.append(Note("rows unreadable", (("rows", len(bad)), ("first", bad[0][:_SAMPLE_BYTES].hex()))))


def wake(core: Core, now: int) -> None:
    """Let sessions go on that the last run left: wills, expiry; what others may know better waits (`orphans`)."""
    for session in list(core.sessions.values()):
        if session.link is not None:
            continue
        if not session.ended:
            session.ended = now
        if session.will is not None and not session.will_due and core.gateway is not None:
            orphans.hold(core, session)
        else:
            orphans.wake(core, session, now)
    for session, packet_id, message in core.unfinished:
        tree = None if core.gateway is None else core.gateway.of(message.topic)
        if session.gone:
            continue
        if tree is not None:
            entering.restore(core, session, packet_id, tree, message)
        else:  # the topic belongs to no group any more
            ticket = core.ledger.save_identifier(session, packet_id, None)
            publish(core, message, route_of(core, message.topic), ticket, now)
            session.incoming[packet_id] = ticket
    core.unfinished = []


def join(core: Core, history: History, roaming: Roaming | None) -> None:
    """Groups are there: go on with what a restart interrupted of their past, and of what their members have to get."""
    core.history = history
    core.roaming = roaming
    core.ledger.save_beginning(core.began)
    if roaming is not None and core.gateway is not None:
        roaming.comings.tree_of = core.gateway.of
    for session, filter_, since, places, is_over in core.interrupted:
        recalling.resume(core, session, filter_, since, places, is_over=is_over)
    core.interrupted = []
    if roaming is not None:
        for session in core.sessions.values():
            roaming.resume(session)


def _load_identifier(core: Core, session: Session, packet_id: int, message: Message | None) -> None:
    session.incoming[packet_id] = 0
    session.incoming_stored[packet_id] = True
    if message is not None:
        session.incoming[packet_id] = FAR
        core.unfinished.append((session, packet_id, message))


def _client_of(key: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(key[1:3], "big")
    return key[3 : 3 + length], key[3 + length :]


def _load_session(core: Core, key: bytes, value: bytes) -> None:
    client, _ = _client_of(key)
    session, will = read_session(value, client, core.next_number())
    set_will(core, session, will)
    session.stored = True
    core.sessions[client] = session
    core.numbers[session.number] = session
    charge(core, session)


def _take_deliveries(core: Core, session: Session, found: list[Delivery]) -> None:
    found.sort(key=_number_of)
    session.next_number = found[-1].number + 1
    for delivery in found:
        if delivery.state < RECEIVED and 0 < session.ended < delivery.message.time:  # it came after the last link
            delivery.state = QUEUED
            enqueue(core, session, delivery)
            continue
        session.held_bytes += delivery.message.size
        core.total_bytes += delivery.message.size
        if delivery.state >= RECEIVED:
            delivery.state = RELEASED
            session.inflight[packet_id_of(delivery.number)] = delivery
        else:
            delivery.state = SENT
            session.again.append(delivery)


def _number_of(delivery: Delivery) -> int:
    return delivery.number
