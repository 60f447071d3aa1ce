"""PUBREL: the client forgets a QoS 2 message; so do we, and that is safe before PUBCOMP leaves (section 4.3.3).

What another node received before its client came here is released here, and all nodes are told (`broker.receipts`).
Had PUBCOMP left first, a crash would take the client's next message with this identifier for the one before.
"""

from __future__ import annotations

from roost.broker.answers import answer, hold
from roost.broker.core import Core
from roost.broker.explaining import NO_SUCH_IDENTIFIER, acknowledgement
from roost.broker.link import Held, Link
from roost.broker.packets.acks import ack, parse_ack
from roost.broker.packets.framing import PUBCOMP
from roost.broker.packets.reasons import PACKET_IDENTIFIER_NOT_FOUND


def handle(core: Core, link: Link, frame: bytes) -> None:
    """Free the identifier and answer PUBCOMP [MQTT-4.3.3-11]."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    packet_id, _ = parse_ack(frame, link.version)
    is_noted = core.roaming is not None and core.roaming.release(session, packet_id)
    if session.incoming.pop(packet_id, -1) >= 0 or is_noted:
        answer(core, link, PUBCOMP, packet_id, core.ledger.forget_identifier(session, packet_id))
        return
    core.stats.unknown_acks += 1
    chunk = ack(PUBCOMP, packet_id)
    if link.version == 5:
        chunk = acknowledgement(link, PUBCOMP, packet_id, PACKET_IDENTIFIER_NOT_FOUND, NO_SUCH_IDENTIFIER)
    ticket = core.ledger.barrier() if session.stored else 0  # it may have been freed a moment ago
    hold(core, link, Held(PUBCOMP, packet_id, chunk, ticket))
