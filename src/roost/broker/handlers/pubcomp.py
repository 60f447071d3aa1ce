"""PUBCOMP: the client is through with a QoS 2 message, so its identifier is free [MQTT-4.3.3-6]."""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.delivery import acknowledged
from roost.broker.link import Link
from roost.broker.packets.acks import parse_ack
from roost.broker.packets.reasons import PROTOCOL_ERROR, Malformed
from roost.broker.session import RECEIVED


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Forget the message, and send what waited for its place."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    packet_id, _ = parse_ack(frame, link.version)
    delivery = session.inflight.get(packet_id)
    if delivery is None:
        core.stats.unknown_acks += 1
        return
    if delivery.state < RECEIVED:
        raise Malformed(PROTOCOL_ERROR, f"PUBCOMP {packet_id} answers a message that was not released")
    del session.inflight[packet_id]
    acknowledged(core, session, delivery, now)
