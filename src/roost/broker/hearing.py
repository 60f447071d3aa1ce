"""What other nodes tell of their sessions, taken in: each is a session here too, without a link, ready to go on here.

    announcement ──▶ a session without link, its subscriptions, its queue less what is done
    the client comes here ──▶ its session is present; the node it left hears of it, and hangs up [MQTT-3.1.4-3]

So every node of a group queues for every persistent session of it, and forgets what another node has delivered. What
was delivered in the last moments of a node that died may come again (QoS 1 may, and so may QoS 2 in this one case:
which of its packets the client has seen is known to the dead node only).
"""

from __future__ import annotations

from typing import Final

from roost.broker import lifetimes
from roost.broker.abroad import Abroad
from roost.broker.announcement import Announcement
from roost.broker.core import Core
from roost.broker.filters import Options
from roost.broker.packets.reasons import SESSION_TAKEN_OVER
from roost.broker.queueing import over
from roost.broker.roaming import FLEETING_REFRESH_S
from roost.broker.session import Delivery, Session

FLEETING_S: Final = 3 * FLEETING_REFRESH_S  # how long a session that ends with its link is believed to be there


def hear(core: Core, said: Announcement, time: int, now: int) -> None:
    """Take in what another node announced at a time."""
    session = core.sessions.get(said.client)
    if session is not None and session.link is not None:
        began = session.born if session.abroad is None else max(session.born, session.abroad.began)
        if not said.online or time < began:
            return  # it left there, and is here
        core.stats.taken_over += 1
        lifetimes.hang_up(core, session.link, SESSION_TAKEN_OVER, "it connected to another node", now)
        session = core.sessions.get(said.client)
    if session is not None and (session.born != said.born or session.user != said.user):
        if session.born > said.born:
            return
        _end(core, session, now)
        session = None
    if not said.online and said.expiry_s == 0:
        if session is not None:
            _end(core, session, now)
        return
    if session is None:
        session = _begin(core, said)
        if session is None:
            return
    abroad = session.groups()
    if time >= abroad.heard:
        abroad.heard = time
        abroad.elsewhere = True
        abroad.online = said.online
        abroad.fleeting = said.expiry_s == 0
        session.expiry_s = said.expiry_s or FLEETING_S
        session.ended = now
        session.will = None  # it is the other node's to speak
        session.will_due = 0
        if said.filters is not None:
            _subscribe(core, session, said.filters)
    _forget_done(core, session, abroad, said.done)
    lifetimes.arm(core, session)
    lifetimes.save(core, session)


def _begin(core: Core, said: Announcement) -> Session | None:
    if len(core.sessions) >= core.settings.max_sessions:
        core.stats.sessions_refused += 1
        return None
    session = Session(said.client, core.next_number(), said.user)
    session.born = said.born
    core.sessions[said.client] = session
    core.numbers[session.number] = session
    return session


def _end(core: Core, session: Session, now: int) -> None:
    """End a session that is over elsewhere: nobody has to hear that from us."""
    session.will = None
    session.groups().told = False
    lifetimes.end(core, session, now)


def _subscribe(core: Core, session: Session, filters: dict[bytes, Options]) -> None:
    for filter_ in list(session.subscriptions):
        if filter_ not in filters:
            core.router.remove(filter_, lifetimes.bare_filter(filter_), session)
    for filter_, options in filters.items():
        core.router.add(filter_, lifetimes.bare_filter(filter_), session, options)


def _forget_done(core: Core, session: Session, abroad: Abroad, done: dict[bytes, int]) -> None:
    """Drop from the queue what was delivered elsewhere, and have nothing of it queued that comes late."""
    if not done:
        return
    for stream, number in done.items():
        abroad.note_done(stream, number)
    left: list[Delivery] = []
    for delivery in session.queue:
        origin = delivery.message.origin
        if origin is not None and origin[2] <= done.get(origin[1], 0):
            over(core, session, delivery)
        else:
            left.append(delivery)
    session.queue.clear()
    session.queue.extend(left)
