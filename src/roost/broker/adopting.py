"""QoS 2 messages that a client has begun to take at another node: it has them, and is only told to release them.

There the client said PUBREC, so the message must not come again under another packet identifier; here it waits in the
queue as if nothing had happened. What that node told (`Announcement.begun`) puts it where it was: released, under the
identifier that the client knows it by [MQTT-4.3.3, 4.4.0-1].
"""

from __future__ import annotations

from roost.broker.answers import answer
from roost.broker.core import Core
from roost.broker.link import Link
from roost.broker.packets.framing import PUBREL
from roost.broker.queueing import keep_only, over
from roost.broker.session import RELEASED, Delivery, Session


def adopt(core: Core, session: Session, link: Link) -> None:
    """Take up what its client has begun to take elsewhere, before anything leaves by its new link."""
    abroad = session.abroad
    if abroad is None or not abroad.begun:
        return
    begun, abroad.begun = abroad.begun, {}
    again, left = session.again, list(session.queue)
    session.again = [each for each in again if _name(each) not in begun]
    keep_only(core, session, [each for each in left if _name(each) not in begun])
    taken = {each.number for each in [*session.inflight.values(), *session.again, *session.queue]}
    taken.update(session.inflight)
    here = {_name(each): each for each in [*again, *left]}
    for name, packet_id in begun.items():
        delivery = here.get(name)
        if delivery is not None and delivery.qos == 2 and packet_id not in taken:
            _put(core, session, delivery, packet_id)
            continue
        if delivery is None:
            abroad.have(*name)  # it comes late, and not to the client
        else:
            over(core, session, delivery)
        answer(core, link, PUBREL, packet_id, 0)


def _name(delivery: Delivery) -> tuple[bytes, int]:
    origin = delivery.message.origin
    return (b"", 0) if origin is None else (origin[1], origin[2])


def _put(core: Core, session: Session, delivery: Delivery, packet_id: int) -> None:
    """Have it released under an identifier; its row says so, too."""
    is_stored = delivery.stored
    if is_stored:
        core.ledger.forget_delivery(session, delivery)
    delivery.number = packet_id
    delivery.state = RELEASED
    delivery.ticket = 0
    session.inflight[packet_id] = delivery
    if is_stored:
        core.ledger.save_delivery(session, delivery, delivery.durable)
