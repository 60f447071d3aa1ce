"""PUBACK: the client has a QoS 1 message, or refuses it; either way its delivery is over [MQTT-4.3.2-3]."""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.delivery import acknowledged, find
from roost.broker.link import Link
from roost.broker.packets.acks import parse_ack
from roost.broker.packets.reasons import PROTOCOL_ERROR, Malformed


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Forget the message, and send what waited for its place."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    packet_id, _ = parse_ack(frame, link.version)
    delivery = find(session, packet_id)
    if delivery is None:
        core.stats.unknown_acks += 1
        return
    if delivery.qos != 1:
        raise Malformed(PROTOCOL_ERROR, f"PUBACK {packet_id} answers a message of QoS 2")
    del session.inflight[packet_id]
    acknowledged(core, session, delivery, now)
