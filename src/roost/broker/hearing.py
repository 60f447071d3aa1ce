"""What other nodes tell of their sessions, taken in: each is a session here too, without a link, ready to go on here.

    announcement ──▶ a session without link, its subscriptions, its queue less what is done
    the client comes here ──▶ its session is present; the node it left hears of it, and hangs up [MQTT-3.1.4-3]

So every node of a group queues for every persistent session of it, also what came in the moments before it heard of a
subscription (`catch_up`), and forgets what another node has delivered. What was delivered in the last moments of a node
that died, before it could tell (`roaming.ROUND`, or `PAUSE` for a session that gets much), may come again: QoS 1 may,
and so may QoS 2 in this one case, for which packets the client has seen is known to that node only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from zlib import crc32

from roost.broker import lifetimes, orphans, wills
from roost.broker.abroad import Abroad
from roost.broker.announcement import Announcement
from roost.broker.arriving import give_up, is_entitled
from roost.broker.beat import Beat
from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.filters import Options
from roost.broker.following import follow, is_awaited
from roost.broker.memory import has_room_for_filter, set_will
from roost.broker.message import Message
from roost.broker.queueing import take_back
from roost.broker.receipts import Told
from roost.broker.roaming import FLEETING_REFRESH_S, PAUSE, refresh_s
from roost.broker.roles.presenting import given, heard_on, is_decided
from roost.broker.session import MAX_PACKET_ID, Delivery, Session
from roost.broker.settling import leave_to
from roost.broker.since import Since
from roost.machine.contract import SECOND

SLACK: Final = 2 * PAUSE  # between a subscription and its announcement
MAX_CAUGHT_UP: Final = 10_000  # messages of a stream, or of all that were left to a recall
FLEETING_S: Final = 3 * FLEETING_REFRESH_S  # how long a session that ends with its link is believed to be there


def hear(core: Core, said: Announcement, stream: bytes, time: int, now: int) -> None:
    """Take in what another node announced at a time, in a stream of its own."""
    if core.roaming is not None:
        core.roaming.heard(said.panel, time, now)
        if said.online and time < core.roaming.sharing.nodes.start_of(said.panel):
            said = replace(said, online=False)  # no link is older than its node
    is_over = not said.online and said.expiry_s == 0
    session = core.sessions.get(said.client)
    if session is not None and not is_entitled(
        core, session, said.user, said.began, now, is_there=said.online, is_over=is_over
    ):
        return
    session = core.sessions.get(said.client)
    if session is not None and session.link is not None:
        is_there = said.online or said.born > session.born  # or was, and ended what is here
        if not is_there or not _is_later(core, said, stream, session):
            if session.born == said.born:  # it left there, and is here
                _hear_released(core, said, stream, time, is_latest=False)
                _hear_where_it_left(core, session, session.groups(), said, stream, time)
            return
        give_up(core, session, said.began, now)
        session = core.sessions.get(said.client)
    if session is not None and (session.born != said.born or session.user != said.user):
        if session.born > said.born:
            return
        orphans.drop(core, said.client)
        wills.speak(core, session, min(now, said.born - 1))  # a clean start elsewhere ended it [MQTT-3.1.2-8]
        _end(core, session, now)
        session = None
    if session is None:
        session = None if is_over else _begin(core, said, stream)
        if session is None:
            return
    abroad = session.groups()
    is_latest = (said.began, time) >= (abroad.began, abroad.heard)
    _hear_released(core, said, stream, time, is_latest=is_latest)
    if is_latest:
        if is_over:
            _end(core, session, now)
            return
        _believe(core, session, abroad, said, stream, time, now)
    _forget_done(core, session, abroad, said)
    lifetimes.arm(core, session)
    if session.stored or not abroad.fleeting:
        lifetimes.save(core, session)
    elif core.roaming is not None:
        core.roaming.changed(session)


def hear_beat(core: Core, beat: Beat, now: int) -> None:
    """Take in that a node lives, and what it says of messages of shared subscriptions."""
    roaming = core.roaming
    if roaming is None:
        return
    roaming.sharing.heard(beat.panel, now)  # whatever its clock says: it is found lost if no more come
    if not roaming.sharing.hear(beat):
        return
    roaming.bequests.restarted(beat.panel, beat.started)
    roaming.tell_members(core.sessions)
    roaming.answer(beat.panel, beat.started, core.sessions.values())
    for session in list(core.sessions.values()):
        abroad = session.abroad
        if abroad is not None and abroad.elsewhere and abroad.panel == beat.panel and abroad.heard < beat.started:
            abroad.online = False
            if abroad.fleeting:
                _end(core, session, now)


def _is_later(core: Core, said: Announcement, stream: bytes, session: Session) -> bool:
    """Whether the client came there later than here."""
    panel = b"" if core.roaming is None else core.roaming.panel_of(stream)
    return (said.began, stream) > (session.here_since, panel)


def _hear_where_it_left(
    core: Core, session: Session, abroad: Abroad, said: Announcement, stream: bytes, time: int
) -> None:
    """Take in what a node says that a client left which is here; until its last word it may go on here as it says."""
    _forget_done(core, session, abroad, said)
    if not said.online:
        abroad.begun.update(said.begun)  # until all parts are in
        if said.is_last:
            core.last_words.append((said.client, said.panel, said.began))
    whole = abroad.gather(said)
    if whole is not None and is_awaited(session) and said.began == abroad.left:
        follow(core, session, whole.recalls, stream, time - SLACK)


def _believe(
    core: Core, session: Session, abroad: Abroad, said: Announcement, stream: bytes, time: int, now: int
) -> None:
    """Have a session be what the node says that has it."""
    if not abroad.elsewhere:
        abroad.came = max(session.born, abroad.began)
    abroad.began = said.began
    abroad.heard = time
    abroad.elsewhere = True
    abroad.online = said.online
    abroad.panel = said.panel
    abroad.fleeting = said.expiry_s == 0
    session.expiry_s = said.expiry_s or FLEETING_S
    session.ended = now + refresh_s(said.expiry_s) * SECOND if said.online else min(time, now)
    orphans.drop(core, session.client)
    set_will(core, session, None)  # it is the other node's to speak
    session.will_due = 0
    if said.part[0] == 0:
        abroad.begun = {}
    abroad.begun.update(said.begun)
    whole = abroad.gather(said)
    if whole is None:
        return
    if whole.filters is not None:
        shared = {filter_: options for filter_, options in whole.filters.items() if options.shared is not None}
        _subscribe(core, session, shared if abroad.fleeting else whole.filters, time)
    if core.roaming is not None and not core.roaming.owes(session):  # which knows better until it has told
        follow(core, session, whole.recalls, stream, time - SLACK)


def _hear_released(core: Core, said: Announcement, stream: bytes, time: int, *, is_latest: bool) -> None:
    if core.roaming is not None:
        told = Told(said.panel, said.began, time, said.held)
        core.roaming.receipts.hear(said.client, core.roaming.group_of(stream), told, is_latest=is_latest)


def _drop_identifiers(core: Core, session: Session) -> None:
    """Which QoS 2 messages of its client are not released is known elsewhere: if it comes back, receipts say it."""
    for packet_id in list(session.incoming):
        core.ledger.forget_identifier(session, packet_id)
    session.incoming.clear()


def _begin(core: Core, said: Announcement, stream: bytes) -> Session | None:
    if len(core.sessions) >= core.settings.max_sessions:
        core.stats.sessions_refused += 1
        return None
    session = Session(said.client, core.next_number(), said.user)
    session.born = said.born
    panel = b"" if core.roaming is None else core.roaming.panel_of(stream)
    session.next_number = 1 + crc32(panel + said.client) % MAX_PACKET_ID  # not those that it has in flight elsewhere
    core.sessions[said.client] = session
    core.numbers[session.number] = session
    return session


def _end(core: Core, session: Session, now: int) -> None:
    """End a session that is over elsewhere: nobody has to hear that from us."""
    set_will(core, session, None)
    session.groups().told = False
    if core.roaming is not None:
        core.roaming.receipts.forget(session.client)
    lifetimes.end(core, session, now)


def _subscribe(core: Core, session: Session, filters: dict[bytes, Options], time: int) -> None:
    for filter_ in list(session.subscriptions):
        if filter_ not in filters:
            core.router.remove(filter_, lifetimes.bare_filter(filter_), session)
    for filter_, options in filters.items():
        known = session.subscriptions.get(filter_)
        if known is not None and _wishes(known) == _wishes(options):
            continue
        if known is None and not has_room_for_filter(core, session, filter_):
            core.stats.filters_refused += 1
            continue
        is_new = core.router.add(filter_, lifetimes.bare_filter(filter_), session, options)
        if is_new and options.shared is None:
            core.unheard.append((session, filter_, time - SLACK, {}))


def _wishes(options: Options) -> tuple[int, bool, bool, int]:
    """What makes two subscriptions by one filter the same."""
    return options.qos, options.no_local, options.retain_as_published, options.identifier


def catch_up(core: Core, now: int) -> None:
    """Queue what came for other nodes' sessions before their subscriptions were heard of, or was left to a recall.

    That is what came since a time, or in some streams from a number on.
    """
    unheard, core.unheard = core.unheard, []
    for session, filter_, time, places in unheard:
        options = session.subscriptions.get(filter_)
        is_here = session.link is not None and not is_awaited(session)
        if core.history is None or options is None or session.gone or is_here:
            continue
        if not is_decided(core, session, filter_):
            core.unheard.append((session, filter_, time, places))
            continue
        held = {each.message.origin for each in [*session.inflight.values(), *session.again, *session.queue]}
        since, left = max(1, time), MAX_CAUGHT_UP
        for stream in streams_of(core, filter_):
            place = places.get(stream, 0)
            low, high = place or core.history.first(stream, Since(since)), core.history.present(stream)
            earliest = 0 if place else max(since, core.began)
            if not places:
                left = MAX_CAUGHT_UP
            while low <= high and left > 0 and (read := core.history.read(stream, low, high, left)):
                left -= len(read)
                low = read[-1][0] + 1
                for _, message in read:
                    if message is not None and message.origin not in held and message.time >= earliest:
                        _queue(core, session, filter_, options, message, now)


def streams_of(core: Core, filter_: bytes) -> list[bytes]:
    """The streams on which anything can have come for a filter."""
    history = core.history
    found = [] if history is None else [each for heard in heard_on(core, filter_) for each in history.streams(heard)]
    return list(dict.fromkeys(found))


def _queue(core: Core, session: Session, filter_: bytes, options: Options, message: Message, now: int) -> None:
    qos = min(message.qos, options.qos)
    if not qos or session.groups().leaves(message):
        return
    if options.no_local and message.publisher == session.client:
        return
    mine = given(core, session, filter_, message)
    if mine is not None:
        identifiers = [options.identifier] if options.identifier else None
        deliver(core, session, mine, qos, False, identifiers, core.durable, 0, None, now)  # noqa: FBT003
        if core.roaming is not None:
            core.roaming.hand(session, message)


def _forget_done(core: Core, session: Session, abroad: Abroad, said: Announcement) -> None:
    """Drop from the queue what was delivered elsewhere, and have nothing of it queued that comes late."""
    done = said.done
    if not done:
        return
    for stream, number in done.items():
        abroad.note_done(stream, number)
    for delivery in take_back(core, session, lambda each: _is_done(each, done)):
        leave_to(core, session, delivery, said.panel)


def _is_done(delivery: Delivery, done: dict[bytes, int]) -> bool:
    origin = delivery.message.origin
    return origin is not None and origin[2] <= done.get(origin[1], 0)
