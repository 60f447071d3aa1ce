"""What waits for a session, within bounds: how many messages, how many bytes, and how many bytes in all sessions.

A full queue is met by the policy of the settings: the oldest message that waits goes, or the new one does, or the link
is ended (and while there is none, or it has not caught up since it came, the new message goes). When all sessions
together hold too much, the one that holds most pays first, with its oldest. What was sent counts and is never dropped.
Every drop is counted, for the session and in all, and its row goes with it.
"""

from __future__ import annotations

from typing import Final

from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.packets.reasons import QUOTA_EXCEEDED
from roost.broker.session import Delivery, Session
from roost.broker.settings import DISCONNECT, DROP_OLDEST

_STEP: Final = 64  # one search for the largest session frees this part of the whole bound, if it can


def admit(core: Core, session: Session, message: Message) -> bool:
    """Whether one more message may be held for a session; makes place for it as the policy says."""
    size = message.size
    if core.total_bytes + size > core.max_total_bytes:
        _relieve(core, size)
    if _fits(core, session, size):
        return True
    policy = core.overflow
    if policy == DROP_OLDEST:
        while session.queue and not _fits(core, session, size):
            _drop_oldest(core, session)
            core.stats.dropped_full += 1
        if _fits(core, session, size):
            return True
    elif policy == DISCONNECT and session.link is not None and not session.link.behind:
        core.doom(session.link, QUOTA_EXCEEDED, "its queue is full")
    core.stats.dropped += 1
    core.stats.dropped_full += 1
    session.dropped += 1
    return False


def enqueue(core: Core, session: Session, delivery: Delivery) -> None:
    """Put a delivery at the end of the queue."""
    if not delivery.qos:
        session.waiting += 1
    session.queue.append(delivery)
    session.held_bytes += delivery.message.size
    core.total_bytes += delivery.message.size


def over(core: Core, session: Session, delivery: Delivery) -> None:
    """A delivery is held no longer: give its place back, and its row."""
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


def _drop_oldest(core: Core, session: Session) -> None:
    delivery = session.queue.popleft()
    session.dropped += 1
    core.stats.dropped += 1
    over(core, session, delivery)


def _relieve(core: Core, size: int) -> None:
    """Take from whoever holds most until there is place, and a part of the whole bound beside."""
    goal = core.max_total_bytes - max(size, core.max_total_bytes // _STEP)
    largest: Session | None = None
    for session in core.sessions.values():
        if session.queue and (largest is None or session.held_bytes > largest.held_bytes):
            largest = session
    while largest is not None and largest.queue and core.total_bytes > goal:
        _drop_oldest(core, largest)
        core.stats.dropped_total += 1
