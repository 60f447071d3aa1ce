"""Messages on their way into a group, and the acknowledgements that wait for them.

    QoS 0, 1:  Insert ………………………………………………………… inserted ─▶ PUBACK
    QoS 2:     identifier and message on the disk ─▶ Insert …… inserted ─▶ identifier alone on the disk ─▶ PUBREC

A QoS 2 message is on the disk before the group gets it, with its identifier: a client that sends it again is known, and
what a crash cut off is inserted again at the next start, as the very same message, publisher and time included: by
these `roost.broker.insertion` knows it, should it be in the group already.
"""

from __future__ import annotations

from typing import Final

from roost.broker.answers import hold, release
from roost.broker.core import Core, Entry
from roost.broker.explaining import acknowledgement
from roost.broker.ledger import FAR
from roost.broker.link import Held, Link
from roost.broker.memory import TOO_MUCH_RETAINED, has_room_for_retained
from roost.broker.message import Message
from roost.broker.packets.acks import ack
from roost.broker.packets.framing import PUBACK, PUBREC
from roost.broker.packets.reasons import QUOTA_EXCEEDED, TOPIC_NAME_INVALID, UNSPECIFIED_ERROR
from roost.broker.session import Session
from roost.broker.trees import why_no_stream

_SHOWN: Final = 64  # characters of a topic


def enter(core: Core, link: Link, session: Session, tree: int, message: Message, packet_id: int) -> None:
    """Bring a client's message into a group."""
    refusal = "" if core.gateway is None else core.gateway.refusal_of(tree, message)
    if refusal:
        core.stats.unfit += 1
        _turn_away(core, link, message, packet_id, refusal)
        return
    if not has_room_for_retained(core, link.user, message):  # nor would other nodes have it, once it is in the group
        core.stats.retained_refused_user += 1
        _turn_away(core, link, message, packet_id, TOO_MUCH_RETAINED)
        return
    if message.qos == 0:
        core.insert(tree, message)
        return
    if message.qos == 1:
        held = Held(PUBACK, packet_id, ack(PUBACK, packet_id), 0, entering=True)
        hold(core, link, held)
        _insert(core, Entry(session, 0, tree, message, link, held))
        return
    ticket = 0
    if session.persistent:
        ticket = core.ledger.save_identifier(session, packet_id, message)
    session.incoming[packet_id] = FAR
    held = Held(PUBREC, packet_id, ack(PUBREC, packet_id), ticket, entering=True)
    entry = Entry(session, packet_id, tree, message, link, held)
    core.entries[(session.number, packet_id)] = entry
    hold(core, link, held)
    if core.ledger.safe(ticket):
        _insert(core, entry)
    else:
        core.entering.setdefault(ticket, []).append(entry)


def _turn_away(core: Core, link: Link, message: Message, packet_id: int, refusal: str) -> None:
    """Tell a publisher that its message does not come into the group.

    3.1.1 has no words for that. It gets no answer, for the server does not take it over [3.1.1 MQTT-4.3.2-2]; hung up
    on, the client would come back and send it again, and nothing else of it would ever come through.
    """
    core.reject(link, f"{refusal}: topic {message.topic.decode()[:_SHOWN]!r}", b"")
    reason = TOPIC_NAME_INVALID if why_no_stream(message.topic) else QUOTA_EXCEEDED
    if message.qos == 0:
        core.stats.dropped += 1
    elif link.version == 5:
        kind = PUBACK if message.qos == 1 else PUBREC
        chunk = acknowledgement(link, kind, packet_id, reason, refusal)
        hold(core, link, Held(kind, packet_id, chunk, 0))


def again(core: Core, link: Link, session: Session, packet_id: int) -> None:
    """A client sends once more what is on its way: it is answered when that has arrived, by the link it has now."""
    entry = core.entries.get((session.number, packet_id))
    if entry is not None and entry.link is not link:
        held = Held(PUBREC, packet_id, ack(PUBREC, packet_id), 0, entering=True)
        entry.link = link
        entry.held = held
        hold(core, link, held)


def restore(core: Core, session: Session, packet_id: int, tree: int, message: Message) -> None:
    """Insert again what the last run did not see arrive; what can be no reading any more its publisher sends again."""
    if core.gateway is not None and core.gateway.refusal_of(tree, message):
        session.incoming.pop(packet_id, None)
        core.ledger.forget_identifier(session, packet_id)
        return
    core.restoring = True
    entry = Entry(session, packet_id, tree, message, None, None)
    core.entries[(session.number, packet_id)] = entry
    _insert(core, entry)


def _insert(core: Core, entry: Entry) -> None:
    ticket = core.insert(entry.tree, entry.message)
    core.inserting.setdefault(ticket, []).append(entry)


def kept(core: Core) -> None:
    """What is on the disk now goes to its group."""
    for due in [due for due in core.entering if due <= core.ledger.kept]:
        for entry in core.entering.pop(due):
            _insert(core, entry)


def inserted(core: Core, ticket: int, refusal: str) -> None:
    """A group has the messages of an Insert, or refuses them: their publishers are told."""
    for entry in core.inserting.pop(ticket, []):
        held, link = entry.held, entry.link
        if refusal:
            _forget(core, entry)
            if held is not None and link is not None and core.links.get(link.id) is link:
                _refuse(core, link, held, refusal)
            continue
        safe_at = _arrived(core, entry)
        if held is not None and link is not None:
            held.entering = False
            held.ticket = safe_at
            if core.links.get(link.id) is link:
                release(core, link)


def _arrived(core: Core, entry: Entry) -> int:
    """The group has a message: from now on its identifier is all there is to keep; returns what PUBREC waits for."""
    session, packet_id = entry.session, entry.packet_id
    core.entries.pop((session.number, packet_id), None)
    if session.gone or session.incoming.get(packet_id, 0) != FAR:
        return 0
    ticket = core.ledger.save_identifier(session, packet_id, None) if packet_id in session.incoming_stored else 0
    session.incoming[packet_id] = ticket
    return ticket


def _forget(core: Core, entry: Entry) -> None:
    session, packet_id = entry.session, entry.packet_id
    if core.entries.pop((session.number, packet_id), None) is not None and not session.gone:
        session.incoming.pop(packet_id, None)
        core.ledger.forget_identifier(session, packet_id)


def _refuse(core: Core, link: Link, held: Held, refusal: str) -> None:
    """Tell a publisher that its message is not safe; 3.1.1 has no words for that, so the client must come again."""
    if link.version == 5:
        held.chunk = acknowledgement(link, held.kind, held.packet_id, QUOTA_EXCEEDED, refusal)
        held.entering = False
        release(core, link)
    else:
        core.doom(link, UNSPECIFIED_ERROR, refusal)
