"""From a session to its link: queues, the window of what is in flight, and the packets themselves.

MQTT 5.0 sections 4.3, 4.4, 4.6 and 4.9. A message goes out at once when the link has room and nothing waits before it;
otherwise it waits in the session's queue, whose bounds and policy are in `roost.broker.queueing`. `pump` sends what may
go. When the link is lost, what was sent and not acknowledged is put before the queue (`again`), and is sent again,
marked, with the same packet identifier [MQTT-4.4.0-1, 4.6.0-1].
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from roost.broker.answers import answer
from roost.broker.core import Core
from roost.broker.link import Link
from roost.broker.memory import ALIAS_BYTES, has_room_for_alias, weigh
from roost.broker.message import Message, alias_property, expiry_property, identifier_properties
from roost.broker.packets.framing import PUBREL
from roost.broker.queueing import admit, enqueue, keep_only, over, take
from roost.broker.session import QUEUED, SENT, Delivery, Session, packet_id_of

MAX_AGAIN: Final = 1024  # how far an acknowledgement is looked for among what is to be sent again
_JOINED_BYTES: Final = 1024  # a payload up to this is copied into its packet, a larger one is sent as it is


def deliver(
    core: Core,
    session: Session,
    message: Message,
    qos: int,
    retain: bool,  # noqa: FBT001  a C call
    identifiers: list[int] | None,
    sync: bool,  # noqa: FBT001  a C call
    hold: int,
    shared: tuple[bytes, bytes] | None,
    now: int,
) -> int:
    """Give a message to a session; returns the ticket that its publisher's acknowledgement waits for, 0 for none."""
    link = session.link
    if qos == 0:
        if link is None and not core.queue_qos0:
            return 0
        delivery = Delivery(message, 0, retain, identifiers)
        delivery.ticket = hold
        if link is not None and link.room > 0 and session.waiting == 0 and hold <= core.ledger.kept:
            _transmit(core, session, link, delivery, now)
        elif admit(core, session, message):
            _wait(core, session, delivery)
        return 0
    if not admit(core, session, message):
        return 0
    delivery = Delivery(message, qos, retain, identifiers)
    delivery.number = session.number_next()
    delivery.shared = shared
    delivery.ticket = hold
    wait = 0
    if session.expiry_s > 0 and core.ledger.active:
        delivery.durable = sync
        ticket = core.ledger.save_delivery(session, delivery, sync)
        if sync:
            wait = ticket
            if qos == 2:  # its identifier means this message once the client has seen it
                delivery.ticket = ticket
    if (
        link is not None
        and not session.queue
        and not session.again
        and link.room > 0
        and delivery.ticket <= core.ledger.kept
        and len(session.inflight) < link.quota
        and packet_id_of(delivery.number) not in session.inflight
    ):
        session.held_bytes += message.size
        core.total_bytes += message.size
        _transmit(core, session, link, delivery, now)
    else:
        _wait(core, session, delivery)
    return wait


def _wait(core: Core, session: Session, delivery: Delivery) -> None:
    enqueue(core, session, delivery)
    if delivery.ticket > core.ledger.kept:
        core.awaiting[session.number] = session


def pump(core: Core, session: Session, now: int) -> None:
    """Send what the link, its window and the disk allow."""
    link = session.link
    if link is None:
        return
    while link.room > 0:
        if session.again:
            delivery = session.again[0]
        elif session.queue:
            delivery = session.queue[0]
        else:
            link.behind = False
            return
        if delivery.ticket > core.ledger.kept:
            core.awaiting[session.number] = session
            return
        if delivery.state == QUEUED and delivery.message.overdue(now):  # what was begun is finished
            take(core, session)
            core.stats.expired += 1
            over(core, session, delivery)
            continue
        if delivery.qos and (
            len(session.inflight) >= link.quota or packet_id_of(delivery.number) in session.inflight
        ):  # [MQTT-3.3.4-9]
            return
        take(core, session)
        if delivery.qos == 0:
            over(core, session, delivery)
        _transmit(core, session, link, delivery, now)


def find(session: Session, packet_id: int) -> Delivery | None:
    """Find what a client acknowledges: in flight, or sent by an earlier link and not yet again."""
    delivery = session.inflight.get(packet_id)
    if delivery is not None:
        return delivery
    for waiting in islice(session.again, MAX_AGAIN):
        if packet_id_of(waiting.number) == packet_id:
            session.again.remove(waiting)
            session.inflight[packet_id] = waiting
            return waiting
    return None


def acknowledged(core: Core, session: Session, delivery: Delivery, now: int) -> None:
    """A delivery is complete: forget it, and send what waited for its place."""
    over(core, session, delivery)
    if session.queue or session.again:
        pump(core, session, now)


def detach(core: Core, session: Session) -> None:
    """The link is lost: what was sent and not acknowledged will be sent again, what was released stays so."""
    again = [delivery for delivery in session.inflight.values() if delivery.state <= SENT]
    for delivery in again:
        del session.inflight[packet_id_of(delivery.number)]
    session.again = again + session.again
    if session.waiting and not core.queue_qos0:
        dropped = [delivery for delivery in session.queue if not delivery.qos]
        keep_only(core, session, [delivery for delivery in session.queue if delivery.qos])
        for delivery in dropped:
            over(core, session, delivery)


def resume(core: Core, session: Session, link: Link, now: int) -> None:
    """Go on with what an earlier link left: releases first, then messages in their order [MQTT-4.4.0-1]."""
    for packet_id, delivery in session.inflight.items():
        answer(core, link, PUBREL, packet_id, delivery.ticket)
    link.behind = True
    pump(core, session, now)


# -- packets


def _transmit(core: Core, session: Session, link: Link, delivery: Delivery, now: int) -> None:
    """Send a PUBLISH; one that is too large for the client is dropped as if it had been sent [MQTT-3.1.2-25]."""
    message = delivery.message
    qos = delivery.qos
    version = link.version
    if (version == 5 and (message.expires or delivery.identifiers is not None or link.alias_maximum)) or (
        delivery.state == SENT
    ):
        _transmit_dressed(core, session, link, delivery, now)
        return
    if not message.shared:
        message.shared = True
        core.encoded.append(message)
    if qos == 0:
        packet = message.encode(version, 0, True, False, 0, b"") if delivery.retain else message.plain(version)  # noqa: FBT003
        if len(packet) <= link.max_packet_bytes:
            core.stats.publish_sent += 1
            core.send(link, packet)
        else:
            _too_large(core, session, delivery)
        return
    packet_id = packet_id_of(delivery.number)
    head, tail = message.split(version, qos, delivery.retain)
    if len(head) + 2 + len(tail) > link.max_packet_bytes:
        _too_large(core, session, delivery)
        return
    delivery.state = SENT
    session.inflight[packet_id] = delivery
    core.stats.publish_sent += 1
    if len(tail) <= _JOINED_BYTES:
        core.send(link, head + packet_id.to_bytes(2, "big") + tail)
    else:
        core.send(link, head + packet_id.to_bytes(2, "big"))
        core.send(link, tail)


def _transmit_dressed(core: Core, session: Session, link: Link, delivery: Delivery, now: int) -> None:
    """Send a PUBLISH that has something of its own: properties, an alias or the mark of a repetition."""
    message = delivery.message
    packet_id = packet_id_of(delivery.number) if delivery.qos else 0
    dup = delivery.state == SENT  # [MQTT-3.3.1-1]; never with QoS 0 [MQTT-3.3.1-2]
    added = b""
    alias = 0
    known = False
    if link.version == 5:
        if message.expires:
            added = expiry_property(message.remaining_s(now))
        if delivery.identifiers is not None:
            added += identifier_properties(delivery.identifiers)
        if link.alias_maximum:  # the first topics that come have one, up to the client's maximum [MQTT-3.1.2-26, 27]
            alias = link.aliases.get(message.topic, 0)
            known = alias != 0
            if not known and len(link.aliases) < link.alias_maximum and has_room_for_alias(core, message.topic):
                alias = len(link.aliases) + 1
            if alias:
                added += alias_property(alias)
    if known:
        packet = message.encode_aliased(delivery.qos, delivery.retain, dup, packet_id, added)
    else:
        packet = message.encode(link.version, delivery.qos, delivery.retain, dup, packet_id, added)
    if len(packet) > link.max_packet_bytes:
        _too_large(core, session, delivery)
        return
    if alias and not known:
        link.aliases[message.topic] = alias
        link.alias_bytes += len(message.topic) + ALIAS_BYTES
        weigh(core, link)
    if delivery.qos:
        delivery.state = SENT
        session.inflight[packet_id] = delivery
    core.stats.publish_sent += 1
    core.send(link, packet)


def _too_large(core: Core, session: Session, delivery: Delivery) -> None:
    core.stats.dropped += 1
    core.stats.dropped_large += 1
    session.dropped += 1
    if delivery.qos:
        over(core, session, delivery)
