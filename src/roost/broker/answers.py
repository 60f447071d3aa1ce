"""Acknowledgements that wait: for the disk, for a group, or for one of their kind that stands before them.

Acknowledgements of one kind leave a link in the order of the packets that they answer [MQTT-4.6.0-2 to 4.6.0-4], and
none before what it acknowledges is as safe as the settings promise. One that waits holds back those of its own kind,
nothing else. When the link is lost they go with it: the client asks again.
"""

from __future__ import annotations

from collections import deque

from roost.broker.core import Core
from roost.broker.link import Held, Link
from roost.broker.packets.acks import ack
from roost.broker.packets.framing import PUBACK, PUBREL
from roost.broker.packets.reasons import PACKET_TOO_LARGE, Malformed
from roost.broker.session import RECEIVED, RELEASED


def answer(core: Core, link: Link, kind: int, packet_id: int, ticket: int) -> None:
    """Acknowledge with success once a ticket is kept."""
    hold(core, link, Held(kind, packet_id, ack(kind, packet_id), ticket))


def check_size(link: Link, chunk: bytes) -> None:
    """See that a client takes an answer that has to be sent whole, or give it up [MQTT-3.1.2-24]."""
    if len(chunk) > link.max_packet_bytes:
        raise Malformed(PACKET_TOO_LARGE, "an answer is larger than the client's maximum")


def hold(core: Core, link: Link, held: Held) -> None:
    """Send an acknowledgement as soon as what it waits for is done, and those before it."""
    queue = link.held.get(held.kind)
    if queue is None:
        if not held.entering and held.ticket <= core.ledger.kept:
            _leave(core, link, held)
            return
        queue = deque()
        link.held[held.kind] = queue
        core.holding[link.id] = link
    queue.append(held)
    if held.kind == PUBACK:
        link.unacknowledged += 1


def release(core: Core, link: Link) -> None:
    """Send what waits no longer."""
    for kind in list(link.held):
        queue = link.held[kind]
        while queue and not queue[0].entering and queue[0].ticket <= core.ledger.kept:
            held = queue.popleft()
            if kind == PUBACK:
                link.unacknowledged -= 1
            _leave(core, link, held)
        if not queue:
            del link.held[kind]
    if not link.held:
        core.holding.pop(link.id, None)


def _leave(core: Core, link: Link, held: Held) -> None:
    if held.kind == PUBREL and link.session is not None:
        delivery = link.session.inflight.get(held.packet_id)
        if delivery is not None and delivery.state == RECEIVED:
            delivery.state = RELEASED
    core.send(link, held.chunk)
