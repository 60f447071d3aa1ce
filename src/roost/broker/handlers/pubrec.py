"""PUBREC: the client has a QoS 2 message; that is made safe before it is released (section 4.3.3).

Had the release left first, a crash would send the message again to a client that has forgotten its identifier.
"""

from __future__ import annotations

from roost.broker.answers import answer
from roost.broker.core import Core
from roost.broker.delivery import acknowledged, find
from roost.broker.explaining import NO_SUCH_IDENTIFIER, acknowledgement
from roost.broker.link import Link
from roost.broker.packets.acks import ack, parse_ack
from roost.broker.packets.framing import PUBREL
from roost.broker.packets.reasons import PACKET_IDENTIFIER_NOT_FOUND, PROTOCOL_ERROR, UNSPECIFIED_ERROR, Malformed
from roost.broker.session import RECEIVED, SENT


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Answer PUBREL [MQTT-4.3.3-4], in the order of the PUBRECs [MQTT-4.6.0-4]."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    packet_id, reason = parse_ack(frame, link.version)
    delivery = find(session, packet_id)
    if delivery is None:
        core.stats.unknown_acks += 1
        if link.version == 5:
            chunk = acknowledgement(link, PUBREL, packet_id, PACKET_IDENTIFIER_NOT_FOUND, NO_SUCH_IDENTIFIER)
            core.send(link, chunk)
        else:
            core.send(link, ack(PUBREL, packet_id))
        return
    if delivery.qos != 2:
        raise Malformed(PROTOCOL_ERROR, f"PUBREC {packet_id} answers a message of QoS 1")
    if reason >= UNSPECIFIED_ERROR:  # the client refuses it, and the identifier is free again [MQTT-4.3.3-4]
        del session.inflight[packet_id]
        acknowledged(core, session, delivery, now)
        return
    if delivery.state == SENT:
        delivery.state = RECEIVED
        delivery.ticket = 0
        if delivery.stored:
            ticket = core.ledger.save_delivery(session, delivery, delivery.durable)
            if delivery.durable:
                delivery.ticket = ticket
    answer(core, link, PUBREL, packet_id, delivery.ticket)
