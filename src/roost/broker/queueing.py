"""What waits for a session, within bounds: how many messages, how many bytes, and how many bytes in all sessions.

A full queue is met by the policy of the settings: the oldest messages that wait go, or the new one does, or the link
is ended (and while there is none, or it has not caught up since it came, the new message goes). When all sessions
together hold too much, those whose queues are largest pay first, with their oldest. What was sent counts and is never
dropped; so nothing is dropped for a message that has no place even then. Every drop is counted, for the session and in
all, and its row goes with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.packets.reasons import QUOTA_EXCEEDED
from roost.broker.session import Delivery, Session
from roost.broker.settings import DISCONNECT, DROP_OLDEST

_STEP: Final = 64  # one look at all sessions frees this part of the whole bound; it is not worth it for less


def admit(core: Core, session: Session, message: Message) -> bool:
    """Whether one more message may be held for a session; makes place for it as the policy says."""
    size = message.size
    sent_bytes = session.held_bytes - session.queued_bytes
    if core.total_bytes + size > core.max_total_bytes and sent_bytes + size <= core.max_queued_bytes:
        _relieve(core, size)
    if _fits(core, session, size):
        return True
    policy = core.overflow
    if policy == DROP_OLDEST:
        if _could_fit(core, session, size):
            while session.queue and not _fits(core, session, size):
                _drop_oldest(core, session)
                core.stats.dropped_full += 1
            return True
    elif policy == DISCONNECT and session.link is not None and not session.link.behind:
        core.doom(session.link, QUOTA_EXCEEDED, "its queue is full")
    core.stats.dropped += 1
    core.stats.dropped_full += 1
    session.dropped += 1
    return False


def enqueue(core: Core, session: Session, delivery: Delivery) -> None:
    """Put a delivery at the end of the queue."""
    size = delivery.message.size
    if not delivery.qos:
        session.waiting += 1
    session.put(delivery)
    session.queued_bytes += size
    core.queued_bytes += size
    session.held_bytes += size
    core.total_bytes += size


def take(core: Core, session: Session) -> None:
    """Take out what is to be sent next; it is still held."""
    if session.again:
        del session.again[0]
        return
    size = session.queue.popleft().message.size
    session.queued_bytes -= size
    core.queued_bytes -= size


def keep_only(core: Core, session: Session, left: list[Delivery]) -> None:
    """Have no more in the queue than these of it; what is out of it is still held."""
    size = 0
    for delivery in left:
        size += delivery.message.size
    core.queued_bytes -= session.queued_bytes - size
    session.queued_bytes = size
    session.queue.clear()
    for delivery in left:
        session.put(delivery)


def take_back(core: Core, session: Session, is_had: Callable[[Delivery], bool]) -> list[Delivery]:
    """Have what its client had, or gets otherwise, neither wait nor be sent again; returns it."""
    gone = [delivery for delivery in [*session.again, *session.queue] if is_had(delivery)]
    if gone:
        session.again = [delivery for delivery in session.again if not is_had(delivery)]
        keep_only(core, session, [delivery for delivery in session.queue if not is_had(delivery)])
    for delivery in gone:
        over(core, session, delivery)
    return gone


def over(core: Core, session: Session, delivery: Delivery) -> None:
    """A delivery that is in the queue no more is held no longer: give its place back, and its row."""
    if not delivery.qos:
        session.waiting -= 1
    session.held_bytes -= delivery.message.size
    core.total_bytes -= delivery.message.size
    if delivery.stored:
        core.ledger.forget_delivery(session, delivery)


def _fits(core: Core, session: Session, size: int) -> bool:
    return (
        len(session.queue) < core.max_queued
        and session.held_bytes + size <= core.max_queued_bytes
        and core.total_bytes + size <= core.max_total_bytes
    )


def _could_fit(core: Core, session: Session, size: int) -> bool:
    """Whether there is place for so much in an empty queue."""
    return (
        core.max_queued > 0
        and session.held_bytes - session.queued_bytes + size <= core.max_queued_bytes
        and core.total_bytes - session.queued_bytes + size <= core.max_total_bytes
    )


def _drop_oldest(core: Core, session: Session) -> None:
    delivery = session.queue.popleft()
    session.queued_bytes -= delivery.message.size
    core.queued_bytes -= delivery.message.size
    session.dropped += 1
    core.stats.dropped += 1
    over(core, session, delivery)


def _relieve(core: Core, size: int) -> None:
    """Take from those who have most waiting until there is place, and a part of the whole bound beside."""
    goal = core.max_total_bytes - max(size, core.max_total_bytes // _STEP)
    if core.total_bytes - core.queued_bytes > goal:
        return  # nearly all of it was sent: so little could go that every message would look at every session
    largest = [session for session in core.sessions.values() if session.queue]
    largest.sort(key=_queued_bytes, reverse=True)
    for session in largest:
        while session.queue and core.total_bytes > goal:
            _drop_oldest(core, session)
            core.stats.dropped_total += 1
        if core.total_bytes <= goal:
            return


def _queued_bytes(session: Session) -> int:
    return session.queued_bytes
