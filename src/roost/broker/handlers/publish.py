"""PUBLISH: a client has something to say (sections 3.3 and 4.3).

A message of QoS 0 that changes nothing on its way is relayed as the very bytes it came in. All others become a
`Message`. QoS 1 is acknowledged when the message is as safe as promised; QoS 2 too, and nobody sees it before its
identifier is safe, so that a client that sends it again after a crash is recognised. What belongs to a group goes
there first (`roost.broker.entering`), unless another node of it has it already (`roost.broker.receipts`).
"""

from __future__ import annotations

from mypy_extensions import i64

from roost.broker.answers import hold
from roost.broker.core import Core
from roost.broker.entering import again, enter
from roost.broker.explaining import acknowledgement
from roost.broker.ledger import FAR
from roost.broker.link import Held, Link
from roost.broker.memory import ALIAS_BYTES, TOO_MUCH_RETAINED, has_room_for_retained, weigh
from roost.broker.message import Message
from roost.broker.packets.acks import ack, ack_v5
from roost.broker.packets.fields import check_topic
from roost.broker.packets.framing import PUBACK, PUBREC, body_of
from roost.broker.packets.publish import Publish, parse_publish
from roost.broker.packets.reasons import (
    NO_MATCHING_SUBSCRIBERS,
    NOT_AUTHORIZED,
    QOS_NOT_SUPPORTED,
    QUOTA_EXCEEDED,
    RECEIVE_MAXIMUM_EXCEEDED,
    RETAIN_NOT_SUPPORTED,
    TOPIC_ALIAS_INVALID,
    TOPIC_NAME_INVALID,
    Malformed,
)
from roost.broker.routes import Route
from roost.broker.routing import deliver_to, publish, route_of
from roost.broker.session import MAX_PACKET_ID, Session
from roost.broker.settings import DISK
from roost.machine.contract import SECOND


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Route a message, and acknowledge it."""
    core.stats.publish_received += 1
    core.stats.publish_received_bytes += len(frame)
    if frame[0] == 0x30:
        size: i64 = len(frame)
        at: i64 = 2 if frame[1] < 128 else body_of(frame)
        if at + 2 <= size:
            high: i64 = frame[at]
            low: i64 = frame[at + 1]
            end: i64 = at + 2 + (high << 8 | low)
            if end < size and (link.version != 5 or frame[end] == 0):
                found = link.routes.get(frame[at + 2 : end])
                if found is not None and found.valid and found.plain:
                    _relay(core, link, found, frame, end, now)
                    return
    _handle_any(core, link, frame, now)


def _relay(core: Core, link: Link, route: Route, frame: bytes, end: i64, now: int) -> None:
    """Pass a plain QoS 0 message on as it is to whoever takes it so."""
    size = len(frame)
    version = link.version
    message: Message | None = None
    for target in route.targets:
        session = target.session
        to = session.link
        if (
            to is not None
            and target.simple
            and to.version == version
            and to.room > 0
            and session.waiting == 0
            and to.alias_maximum == 0
            and size <= to.max_packet_bytes
        ):
            core.stats.publish_sent += 1
            core.send(to, frame)
            continue
        if message is None:
            payload_at = end + 1 if version == 5 else end
            message = Message(route.topic, frame[payload_at:], 0, False, b"", 0, link.client, now)  # noqa: FBT003
        deliver_to(core, target, message, False, 0, now)  # noqa: FBT003  a C call


def _handle_any(core: Core, link: Link, frame: bytes, now: int) -> None:
    packet = parse_publish(frame, link.version)
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    topic = packet.topic
    if packet.alias:
        topic = _aliased(core, link, packet)
    qos = packet.qos
    if qos > core.maximum_qos:
        raise Malformed(QOS_NOT_SUPPORTED, f"QoS {qos} is above the server's maximum [MQTT-3.2.2-11]")
    if packet.retain and not core.retain_available:
        raise Malformed(RETAIN_NOT_SUPPORTED, "retained messages are switched off [MQTT-3.2.2-14]")
    payload = frame[packet.payload_at :]
    if qos == 2 and packet.packet_id in session.incoming and not _is_free(core, session, packet, topic, payload):
        ticket = session.incoming[packet.packet_id]  # sent again: it was routed then [MQTT-4.3.3-10]
        if ticket == FAR:
            again(core, link, session, packet.packet_id)
        else:
            hold(core, link, Held(PUBREC, packet.packet_id, ack(PUBREC, packet.packet_id), ticket))
        return
    route = link.routes.get(topic)
    if route is None or not route.valid:
        route = _learn(core, link, topic)
        if route is None:
            _deny(core, link, session, packet, topic)
            return
    if qos:
        _check_window(core, link, session)
    expires = now + packet.expiry_s * SECOND if packet.expiry_s >= 0 else 0
    if route.tree is not None:
        roams = packet.packet_id if qos == 2 and session.persistent else 0
        if roams and _was_received(core, session, packet, topic, payload, now):
            ticket = core.ledger.save_identifier(session, packet.packet_id, None)
            session.incoming[packet.packet_id] = ticket
            hold(core, link, Held(PUBREC, packet.packet_id, ack(PUBREC, packet.packet_id), ticket))
            return
        message = Message(topic, payload, qos, packet.retain, packet.kept, expires, link.client, now, None, roams)
        enter(core, link, session, route.tree, message, packet.packet_id)
        return
    message = Message(topic, payload, qos, packet.retain, packet.kept, expires, link.client, now)
    if qos and link.version == 5 and not has_room_for_retained(core, link.user, message):
        _turn_away(core, link, packet)
        return
    ticket = 0
    if qos == 2:  # its identifier is remembered until it is released [MQTT-4.3.3-8, 4.3.3-10]
        if session.expiry_s > 0 and route.level >= DISK:
            ticket = core.ledger.save_identifier(session, packet.packet_id, None)
        ticket = max(ticket, publish(core, message, route, ticket, now))
        session.incoming[packet.packet_id] = ticket
    else:
        ticket = publish(core, message, route, 0, now)
    if qos:
        _acknowledge(core, link, PUBACK if qos == 1 else PUBREC, packet.packet_id, route, ticket)


def _turn_away(core: Core, link: Link, packet: Publish) -> None:
    """Refuse what cannot be retained as it should; to who cannot be told, it is delivered, and not retained."""
    core.stats.retained_refused_user += 1
    kind = PUBACK if packet.qos == 1 else PUBREC
    chunk = acknowledgement(link, kind, packet.packet_id, QUOTA_EXCEEDED, TOO_MUCH_RETAINED)
    hold(core, link, Held(kind, packet.packet_id, chunk, 0))


def _is_free(core: Core, session: Session, packet: Publish, topic: bytes, payload: bytes) -> bool:
    """Whether an identifier that we hold for an earlier link was released at another node that we do not hear.

    What its client had not released it sends again as it was, marked as a repetition [MQTT-3.3.1-1].
    """
    abroad = session.abroad
    packet_id = packet.packet_id
    if abroad is None or packet_id not in abroad.earlier or session.incoming[packet_id] == FAR:
        return False
    abroad.earlier.discard(packet_id)
    noted = _noted(core, session, packet_id)
    return not packet.dup or (noted is not None and not _is_same(noted, packet, topic, payload))


def _noted(core: Core, session: Session, packet_id: int) -> Message | None:
    """The message that an identifier stands for, as a reading of a group, if it is one."""
    receipt = None if core.roaming is None else core.roaming.receipts.find(session.client, packet_id)
    if receipt is not None and core.history is not None:
        for _, message in core.history.read(receipt.stream, receipt.number, receipt.number, 1):
            return message
    return None


def _is_same(noted: Message, packet: Publish, topic: bytes, payload: bytes) -> bool:
    said = (noted.topic, noted.payload, noted.retain, noted.kept)
    return said == (topic, payload, packet.retain, packet.kept)


def _was_received(core: Core, session: Session, packet: Publish, topic: bytes, payload: bytes, now: int) -> bool:
    """Whether a node of the group has a QoS 2 message already; if not, what had its identifier is done with."""
    roaming = core.roaming
    if roaming is None:
        return False
    noted = _noted(core, session, packet.packet_id) if packet.dup else None
    if noted is not None and _is_same(noted, packet, topic, payload):
        roaming.receipts.recognised += 1
        return True
    roaming.receipts.release(session.client, packet.packet_id)
    if session.abroad is not None:
        session.abroad.spoke = now
    return False


def _acknowledge(core: Core, link: Link, kind: int, packet_id: int, route: Route, ticket: int) -> None:
    if link.version == 5 and not route.targets and not route.groups:
        chunk = ack_v5(kind, packet_id, NO_MATCHING_SUBSCRIBERS)
    else:
        chunk = ack(kind, packet_id)
    if not link.held and ticket <= core.ledger.kept:
        core.send(link, chunk)
    else:
        hold(core, link, Held(kind, packet_id, chunk, ticket))


def _check_window(core: Core, link: Link, session: Session) -> None:
    """See that a client keeps to our Receive Maximum [MQTT-3.3.4-7]; 3.1.1 has only its packet identifiers."""
    allowed = core.receive_maximum if link.version == 5 else MAX_PACKET_ID
    if len(session.incoming) + link.unacknowledged >= allowed:
        raise Malformed(RECEIVE_MAXIMUM_EXCEEDED, f"more than {allowed} messages are not acknowledged")


def _aliased(core: Core, link: Link, packet: Publish) -> bytes:
    """Give the topic that an alias stands for, or learn one [MQTT-3.3.2-7, 3.3.2-9]."""
    if packet.alias > core.settings.topic_alias_maximum:
        raise Malformed(TOPIC_ALIAS_INVALID, f"topic alias {packet.alias} is above the maximum")
    if packet.topic:
        before = link.known.get(packet.alias)
        if before != packet.topic:
            link.known[packet.alias] = packet.topic
            link.alias_bytes += len(packet.topic) + ALIAS_BYTES - (0 if before is None else len(before) + ALIAS_BYTES)
            weigh(core, link)
        return packet.topic
    topic = link.known.get(packet.alias)
    if topic is None:
        raise Malformed(TOPIC_ALIAS_INVALID, f"topic alias {packet.alias} was never given a topic")
    return topic


def _learn(core: Core, link: Link, topic: bytes) -> Route | None:
    """Find the route of a topic that this client may publish to, and remember it; None if it may not."""
    check_topic(topic)
    if topic.count(b"/") >= core.settings.max_levels:
        raise Malformed(TOPIC_NAME_INVALID, f"a topic has more than {core.settings.max_levels} levels")
    if core.is_reserved(topic) or not core.access.may_publish(link.user, link.client, topic):
        return None
    route = route_of(core, topic)
    core.router.remember_for(link, route)
    return route


def _deny(core: Core, link: Link, session: Session, packet: Publish, topic: bytes) -> None:
    """Drop what may not be published; say so where the version can [MQTT-3.3.5-2]."""
    core.stats.denied += 1
    kind = PUBACK if packet.qos == 1 else PUBREC
    if link.version != 5:
        if not core.settings.drop_denied:
            raise Malformed(NOT_AUTHORIZED, "it may not publish this")
        if packet.qos == 2:
            session.incoming[packet.packet_id] = 0
    if packet.qos:
        chunk = ack(kind, packet.packet_id)
        if link.version == 5:
            why = "the topic is the server's own" if core.is_reserved(topic) else "no permission to publish this topic"
            chunk = acknowledgement(link, kind, packet.packet_id, NOT_AUTHORIZED, why)
        hold(core, link, Held(kind, packet.packet_id, chunk, 0))
