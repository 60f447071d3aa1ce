"""Handing out retained messages: to all who subscribed, piece by piece, as fast as their links take them.

A SUBSCRIBE of `#` may mean every topic of a campus. So a session gets no more at a time than its link and its queue
have place for, and what is not handed out waits in the trie, where nothing drops it. All sessions share `STEPS`
branches of the trie in one call, and take turns from call to call: nobody's filters hold up the others.

Handouts (`roost.broker.handout`) last as long as their subscriptions. A session that loses its link gets the rest when
it is back, of QoS 1 and 2 after a restart too: such a handout has a row, in the same Keep as those of what was handed
out. After a restart it may repeat what came live before, and loses nothing.
"""

from __future__ import annotations

from typing import Final

from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.filters import Options
from roost.broker.handout import STEPS, Handing, Handout
from roost.broker.link import Link
from roost.broker.message import Message
from roost.broker.retained import Entry
from roost.broker.roles.presenting import given, heard_on, is_decided
from roost.broker.session import Session
from roost.broker.since import Since

SHARE: Final = 100  # steps that a session has at least, when it is its turn
AHEAD: Final = 64  # messages that may wait in its queue, and half of what it holds: the rest is for the living
_SYSTEM: Final = b"$SYS/"
_ROW: Final = b"#/"  # before the filter in the key of its row, which is a recall's: no filter begins like that


def begin(core: Core, link: Link, session: Session, filters: dict[bytes, bool], now: int) -> None:
    """Have a session get what is retained of new subscriptions: all of it, or (True) only topics without a group."""
    rouse(core, link)
    handing = core.handing.get(session.number)
    if handing is None:
        handing = Handing(session)
        core.handing[session.number] = handing
    for filter_, plain in filters.items():
        end(core, session, filter_)
        store = core.system if filter_.startswith(_SYSTEM) else core.retained
        handing.handouts[filter_] = Handout(filter_, store, plain=plain, heard_on=heard_on(core, filter_))
    core.steps = _turn(core, handing, core.steps, now)
    for filter_ in filters:
        handout = handing.handouts.get(filter_)
        if handout is not None:
            _save(core, session, handout)


def end(core: Core, session: Session, filter_: bytes) -> None:
    """Have a session get no more of what is retained of a filter."""
    handing = core.handing.get(session.number) or core.resting.get(session.number)
    handout = None if handing is None else handing.handouts.get(filter_)
    if handing is not None and handout is not None:
        _finish(core, handing, handout)


def rouse(core: Core, link: Link) -> None:
    """Go on with a session that rested, if it is at this link."""
    session = link.session
    handing = None if session is None else core.resting.pop(session.number, None)
    if handing is not None:
        for handout in handing.handouts.values():
            handout.come_back()
        core.handing[handing.session.number] = handing


def proceed(core: Core, now: int) -> bool:
    """Hand out what this call has steps for; whether there is more to hand out at once."""
    _look_at_one_who_rests(core)
    left, core.steps = core.steps, STEPS
    more = left <= 0
    share = max(SHARE, left // max(1, len(core.handing)))
    for number, handing in list(core.handing.items()):
        session = handing.session
        if session.gone or session.link is None or not handing.handouts:
            del core.handing[number]
            if session.gone:
                _forget(core, handing)
            elif handing.handouts:
                core.resting[number] = handing
        elif left > 0:
            turn = min(share, left)
            unused = max(0, _turn(core, handing, turn, now))
            left -= turn - unused
            if not unused and handing.handouts:
                more = True
                del core.handing[number]
                core.handing[number] = handing  # behind those who had no turn
        else:
            more = True
    return more


def _look_at_one_who_rests(core: Core) -> None:
    """In each call one, for sessions end also without a link."""
    if core.resting:
        number = next(iter(core.resting))
        handing = core.resting.pop(number)
        if handing.session.gone:
            _forget(core, handing)
        else:
            core.resting[number] = handing


def resume(core: Core) -> None:
    """Go on with what an earlier process began."""
    interrupted, core.interrupted = core.interrupted, []
    for session, key, since, places, is_over in interrupted:
        if not key.startswith(_ROW):
            core.interrupted.append((session, key, since, places, is_over))
            continue
        filter_ = key[len(_ROW) :]
        place, born = next(iter(places.items()), (b"", 0))
        if filter_ not in session.subscriptions or born != session.born:
            core.ledger.forget_recall(session.client, key)
            continue
        handing = core.resting.setdefault(session.number, Handing(session))
        heard = heard_on(core, filter_)
        handout = Handout(filter_, core.retained, plain=since.number > 0, at=place, heard_on=heard)
        handout.stored = True
        handing.handouts[filter_] = handout


# -- one session


def _turn(core: Core, handing: Handing, steps: int, now: int) -> int:
    """Hand out what the steps, the link and the queue allow; returns the steps that are left."""
    session = handing.session
    link = session.link
    moved: Handout | None = None
    while steps > 0 and link is not None and handing.handouts and _has_place(core, session, link):
        handout = next(iter(handing.handouts.values()))
        options = session.subscriptions.get(handout.filter)
        if options is None:
            steps -= 1
            _finish(core, handing, handout)
            continue
        if not is_decided(core, session, handout.filter):
            break
        entry, visited = handout.look(steps, now)
        steps -= max(1, visited)
        message = None if entry is None else _wanted(core, session, handout, options, entry)
        if message is not None:
            if not _fits(core, session, message):
                break
            _give(core, session, options, message, now)
        moved = handout
        if not handout.pass_by():
            moved = None
            _finish(core, handing, handout)
    if moved is not None:
        _save(core, session, moved)
    return steps


def _has_place(core: Core, session: Session, link: Link) -> bool:
    return link.room > 0 and len(session.queue) < min(AHEAD, max(1, core.max_queued // 2))


def _fits(core: Core, session: Session, message: Message) -> bool:
    """Whether nothing has to be dropped for a message; to a session that has nothing else it goes in any case."""
    return session.held_bytes == 0 or (
        session.held_bytes + message.size <= core.max_queued_bytes
        and core.total_bytes + message.size <= core.max_total_bytes
    )


def _wanted(core: Core, session: Session, handout: Handout, options: Options, entry: Entry[Message]) -> Message | None:
    """What a session is given of a retained message, None if nothing."""
    message = entry.message
    fleeting = min(message.qos, options.qos) == 0 and not core.queue_qos0
    if (
        not handout.is_due(entry, fleeting=fleeting)
        or (options.no_local and message.publisher == session.client)  # [MQTT-3.8.3-3]
        or (handout.plain and core.gateway is not None and core.gateway.of(entry.topic) is not None)
    ):
        return None
    return given(core, session, handout.filter, message)


def _give(core: Core, session: Session, options: Options, message: Message, now: int) -> None:
    """Deliver a message, marked as retained [MQTT-3.3.1-8]."""
    identifiers = [options.identifier] if options.identifier else None
    deliver(core, session, message, min(message.qos, options.qos), True, identifiers, core.durable, 0, None, now)  # noqa: FBT003


# -- rows


def _save(core: Core, session: Session, handout: Handout) -> None:
    options = session.subscriptions.get(handout.filter)
    if session.persistent and options is not None and options.qos and handout.store is core.retained:
        since = Since(number=1 if handout.plain else 0)
        core.ledger.save_recall(session.client, _ROW + handout.filter, since, {handout.place: session.born})
        handout.stored = True


def _finish(core: Core, handing: Handing, handout: Handout) -> None:
    del handing.handouts[handout.filter]
    if handout.stored:
        core.ledger.forget_recall(handing.session.client, _ROW + handout.filter)


def _forget(core: Core, handing: Handing) -> None:
    """Delete the rows of a session that is gone, but not those of the next one of its client."""
    following = core.sessions.get(handing.session.client)
    for handout in handing.handouts.values():
        if handout.stored and (following is None or handout.filter not in following.subscriptions):
            core.ledger.forget_recall(handing.session.client, _ROW + handout.filter)
