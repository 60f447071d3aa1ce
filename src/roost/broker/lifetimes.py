"""How links and sessions begin and end: take-over, expiry, and who is told (MQTT 5.0 sections 3.1.4, 4.1, 4.13).

A link ends for one of three reasons: the client said goodbye, the network or the client failed, or the broker hangs
up. A session ends with its link when it is not persistent, else when its expiry is over, or when a clean start
replaces it.
"""

from __future__ import annotations

from roost.broker import wills
from roost.broker.core import Core
from roost.broker.delivery import detach
from roost.broker.effects import Hangup
from roost.broker.goodbye import send_goodbye, send_refusal
from roost.broker.link import CLOSED, CONNECTED, Link, Peer
from roost.broker.memory import discharge, weigh_no_more
from roost.broker.packet_sizes import largest_of_address
from roost.broker.packets.fields import split_shared
from roost.broker.packets.reasons import KEEP_ALIVE_TIMEOUT, UNSPECIFIED_ERROR
from roost.broker.routing import deliver_shared, route_of
from roost.broker.session import QUEUED, Delivery, Session
from roost.broker.settings import NEVER
from roost.broker.settling import let_go
from roost.machine.contract import SECOND, Effect, Rejected


def begin(core: Core, number: int, peer: Peer, now: int) -> list[Effect]:
    """There is a new connection; it may be one too many."""
    counted, since = core.greeting.pop(number, ("", 0))
    if since and counted != peer.address:
        core.limiter.disconnect(counted)  # by way of a proxy, which has said now for whom it asks
    if (not since or counted != peer.address) and not core.limiter.connect(peer.address, now):
        return _refused(core, number, peer.address)
    core.stats.links_opened += 1
    most = min(core.settings.max_packet_bytes, core.settings.max_connect_bytes)  # until it is let in
    largest = largest_of_address(core.limiter.limits, peer.address, most)
    link = Link(number, peer, largest, core.high_water_bytes, now)
    core.links[number] = link
    core.timers.arm_link(link, (since or now) + core.settings.connect_timeout())
    return []


def knock(core: Core, number: int, address: str, now: int) -> list[Effect]:
    """Somebody shakes hands: who only does that fills the place of others as much as who has done it."""
    if not core.limiter.connect(address, now):
        return _refused(core, number, address)
    core.greeting[number] = (address, now)
    return []


def turn_back(core: Core, number: int) -> None:
    """A connection is over that only shook hands, if there was one."""
    address, since = core.greeting.pop(number, ("", 0))
    if since:
        core.limiter.disconnect(address)


def _refused(core: Core, number: int, address: str) -> list[Effect]:
    core.stats.links_refused += 1
    return [Rejected(address, core.limiter.why), Hangup(number)]


def hang_up(core: Core, link: Link, reason: int, why: str, now: int) -> None:
    """End a link, and say why where the version has words for it [MQTT-4.13.1-1, 4.13.2-1]."""
    if link.state == CLOSED:
        return
    if link.id in core.gated:
        pass  # it has not heard of a connection yet
    elif link.state == CONNECTED:
        if link.version == 5:
            send_goodbye(core, link, reason, why)
    elif link.version:
        send_refusal(core, link, reason, why)
    link.hanging = True
    core.touch(link)
    leave(core, link, now)


def leave(core: Core, link: Link, now: int) -> None:
    """A link is over: its session goes on without it, or ends; a will that still stands is spoken."""
    if link.state == CLOSED:
        return
    link.state = CLOSED
    link.held.clear()
    core.router.left(link)
    weigh_no_more(core, link)
    core.holding.pop(link.id, None)
    core.links.pop(link.id, None)
    if core.gated.pop(link.id, None) is not None:
        link.out = []
    core.timers.disarm_link(link)
    if link.congested:
        core.stats.slow -= 1
    core.limiter.disconnect(link.peer.address)
    if link.entered:
        core.limiter.leave(link.user)
    session = link.session
    link.session = None
    if session is None:
        return
    core.stats.connected -= 1
    session.link = None
    session.ended = now
    detach(core, session)
    if session.expiry_s == 0:
        end(core, session, now)
        return
    wills.lost(core, session, now)
    arm(core, session)
    save(core, session)


def tick(core: Core, now: int) -> None:
    """See whose time has come."""
    link = core.timers.due_link(now)
    while link is not None:
        _look_at(core, link, now)
        link = core.timers.due_link(now)
    session = core.timers.due_session(now)
    while session is not None:
        fire(core, session, now)
        session = core.timers.due_session(now)


def _look_at(core: Core, link: Link, now: int) -> None:
    """A link's timer is due: it was silent for too long, or is looked at again."""
    if link.state == CLOSED or link.doomed:
        return
    if link.state != CONNECTED:
        core.reject(link, "no CONNECT came in time, or nobody vouched for it", b"")
        core.doom(link, UNSPECIFIED_ERROR, "")
    elif link.keep_alive:
        due = max(link.heard, core.heard) + link.keep_alive
        if core.deaf:
            core.timers.arm_link(link, now + link.keep_alive)
        elif due <= now:  # [MQTT-3.1.2-22]
            core.doom(link, KEEP_ALIVE_TIMEOUT, "")
        else:
            core.timers.arm_link(link, due)


def end(core: Core, session: Session, now: int) -> None:
    """A session is over: forget it and its rows; its client is told only when these are gone (`core.ending`)."""
    wills.speak(core, session, now)
    if core.roaming is not None:
        core.roaming.changed(session)
    for filter_ in list(session.subscriptions):
        core.router.remove(filter_, bare_filter(filter_), session)
    session.gone = True
    discharge(core, session)
    core.timers.disarm_session(session)
    del core.sessions[session.client]
    del core.numbers[session.number]
    core.awaiting.pop(session.number, None)
    core.total_bytes -= session.held_bytes
    core.queued_bytes -= session.queued_bytes
    if session.stored:
        ticket = core.ledger.forget_session(session, sync=core.durable)
        if core.durable:
            core.ending[session.client] = ticket
    unserved = [delivery for delivery in session.inflight.values() if delivery.shared is not None]
    unserved += [delivery for delivery in session.again if delivery.shared is not None]
    unserved += [delivery for delivery in session.queue if delivery.shared is not None]
    for delivery in unserved:
        if delivery.message.origin is not None and core.roaming is not None:
            let_go(core, session, delivery)
        else:
            _hand_on(core, delivery, now)
    if core.roles is not None:
        core.roles.left(session)


def _hand_on(core: Core, delivery: Delivery, now: int) -> None:
    """Give what a shared subscription's member left to another one, unless it may have it [MQTT-4.8.2-5]."""
    if delivery.shared is None or (delivery.qos == 2 and delivery.state != QUEUED):
        return
    if delivery.message.overdue(now):  # [MQTT-3.3.2-5]
        core.stats.expired += 1
        return
    group = core.router.shares.group(delivery.shared[0], delivery.shared[1])
    if group is not None:
        sync = route_of(core, delivery.message.stream or delivery.message.topic).level > 0
        deliver_shared(core, group, delivery.message, sync, 0, now)


def save(core: Core, session: Session) -> int:
    """Write a session's row, if it has or needs one, and have other nodes hear of it; returns what to wait for.

    A will needs one, however short its session: a crash must not swallow it [MQTT-3.1.2-8].
    """
    if core.roaming is not None:
        core.roaming.changed(session)
    if not core.ledger.active or not (session.persistent or session.stored or session.will is not None):
        session.touched = []
        return 0
    if not session.stored:
        session.stored = True
        session.touched = list(session.subscriptions)
    ticket = core.ledger.save_session(session, sync=core.durable)
    return ticket if core.durable else 0


def arm(core: Core, session: Session) -> None:
    """Have a session without link looked at when its will or its end is due."""
    due = expires(session)
    if session.will_due and (due == 0 or session.will_due < due):
        due = session.will_due
    if due:
        core.timers.arm_session(session, due)


def expires(session: Session) -> int:
    """When a session without link ends, 0 for never."""
    return 0 if session.expiry_s == NEVER else session.ended + session.expiry_s * SECOND


def fire(core: Core, session: Session, now: int) -> None:
    """A session's timer is due: speak its will, end it, or look again later."""
    if session.gone or session.link is not None:
        return
    if session.will_due and session.will_due <= now:
        wills.speak(core, session, now)
        save(core, session)
    due = expires(session)
    if due and due <= now:
        core.stats.sessions_expired += 1
        end(core, session, now)
    else:
        arm(core, session)


def bare_filter(filter_: bytes) -> bytes:
    """A filter without `$share/<name>/`."""
    return split_shared(filter_)[1] if filter_.startswith(b"$share/") else filter_
