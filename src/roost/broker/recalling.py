"""Delivering the past: recalls of sessions, piece by piece, as fast as their links take it.

A recall goes on for as long as its session lives, with whatever link it has; that of a persistent session has a row,
and goes on after a restart too, or at another node that its client comes to (`roost.broker.following`). No more is read
than there is room for: the past waits in the repo, not in memory. All sessions share `PIECE` messages in one call and
take turns from call to call. In one call one recall begins, for it looks at every stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from roost.broker.abroad import Abroad, Replay
from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.filters import Options
from roost.broker.link import Link
from roost.broker.message import Message
from roost.broker.recall import Recall
from roost.broker.roles.presenting import given, heard_on, is_decided
from roost.broker.session import Session
from roost.broker.since import Since
from roost.broker.unfinished import MAX_PLACES

PIECE: Final = 500  # messages in one call
SHARE: Final = 50  # of them a session has at least, when it is its turn
AHEAD: Final = 64  # that may wait in its queue


def begin(core: Core, session: Session, filter_: bytes, options: Options, since: Since) -> None:
    """Have a session get the past of a filter, then what comes."""
    if core.history is None:
        return
    _add(core, session, Recall(filter_, since, core.history, None, heard_on(core, filter_)), options)


def resume(
    core: Core, session: Session, filter_: bytes, since: Since, places: dict[bytes, int], *, is_over: bool = False
) -> None:
    """Go on with what an earlier process or another node began, once the client is here."""
    options = session.subscriptions.get(filter_)
    if options is None:
        core.ledger.forget_recall(session.client, filter_)
    elif core.history is not None:
        recall = Recall(filter_, since, core.history, places, heard_on(core, filter_))
        _add(core, session, recall, options, is_over=is_over)


def look_again(core: Core, messages: Sequence[Message], past: Mapping[bytes, int]) -> None:
    """History of streams came, where it had been before these numbers: who had asked for it gets it now.

    So it is where this node is new, and fetches what the others have had for long. With it come these messages, which
    are not delivered yet, and are left to what is begun here.
    """
    if core.history is None or not core.recalled:
        return
    first: dict[bytes, int] = {}
    for message in messages:
        if message.origin is not None and message.time >= core.began:
            first.setdefault(message.origin[1], message.origin[2])
    for number, session in list(core.recalled.items()):
        if session.gone or session.abroad is None or not session.abroad.recalled:
            del core.recalled[number]
            continue
        if session.abroad.elsewhere:
            continue
        for filter_, since in list(session.abroad.recalled.items()):
            options = session.subscriptions.get(filter_)
            if options is None:
                del session.abroad.recalled[filter_]
                continue
            heard = heard_on(core, filter_)
            if not any(core.history.has(stream, each) for stream in past for each in heard):
                continue  # seen before all streams are listed in vain
            streams = {stream for each in heard for stream in core.history.streams(each)}
            places: dict[bytes, int] = {}
            for stream in streams:
                if stream in past:
                    places[stream] = max(core.history.first(stream, since), past[stream] + 1)
                else:
                    places[stream] = first.get(stream, core.history.present(stream) + 1)
            _add(core, session, Recall(filter_, since, core.history, places, heard), options)


def _add(core: Core, session: Session, recall: Recall, options: Options, *, is_over: bool = False) -> None:
    end(core, session, recall.filter)
    abroad = session.groups()
    replay = Replay(recall, options)
    replay.is_over = is_over
    abroad.replays.append(replay)
    if not abroad.elsewhere:
        core.recalling[session.number] = session
    _save(core, session, replay)


def end(core: Core, session: Session, filter_: bytes) -> None:
    """Have a session get no more of the past of a filter."""
    abroad = session.abroad
    if abroad is None:
        return
    abroad.recalled.pop(filter_, None)
    for replay in abroad.replays:
        if replay.recall.filter == filter_:
            _drop(core, session, abroad, replay)
            return


def _drop(core: Core, session: Session, abroad: Abroad, replay: Replay) -> None:
    abroad.replays.remove(replay)
    core.ledger.forget_recall(session.client, replay.recall.filter)


def proceed(core: Core, now: int) -> bool:
    """Deliver pieces of pasts that have room; whether there is more to deliver at once."""
    more = False
    left = PIECE
    share = max(SHARE, PIECE // max(1, len(core.recalling)))
    for number, session in list(core.recalling.items()):
        if session.gone or session.abroad is None or not _is_left(core, session, session.abroad):
            del core.recalling[number]
        elif session.link is not None and left > 0:
            turn = min(share, left)
            unused = _proceed(core, session, session.link, session.abroad, turn, now)
            left = 0 if unused < 0 else left - turn + unused
            if unused <= 0:
                more = True
                del core.recalling[number]
                core.recalling[number] = session  # behind those who had no turn
        elif session.link is not None:
            more = True
    return more


def _is_left(core: Core, session: Session, abroad: Abroad) -> bool:
    """Whether there is anything of a past that is not acknowledged."""
    for replay in [each for each in abroad.replays if each.is_settled]:
        _drop(core, session, abroad, replay)
    return bool(abroad.replays)


def _proceed(core: Core, session: Session, link: Link, abroad: Abroad, left: int, now: int) -> int:
    """Deliver so many messages of a past; returns how many less it were, below 0 if others have to wait."""
    before = left
    has_begun = False  # one that had not
    ahead = min(AHEAD, core.max_queued)
    while left > 0 and (replay := abroad.under_way) and link.room > 0 and len(session.queue) < ahead:
        if session.held_bytes * 2 > core.max_queued_bytes:  # the bounds of the queue are for the living
            break
        if not is_decided(core, session, replay.recall.filter):
            break
        if not replay.recall.begun:
            if has_begun:
                break
            has_begun = True
        left_out = replay.recall.left_out
        message = replay.recall.next(link.version, now)
        core.stats.left_out += replay.recall.left_out - left_out
        left -= 1
        if message is None:
            _finish(core, session, abroad, replay)
            continue
        options = replay.options
        if options.no_local and message.publisher == session.client:  # [MQTT-3.8.3-3]
            continue
        mine = given(core, session, replay.recall.filter, message)
        if mine is not None:
            qos = min(message.qos, options.qos)
            identifiers = [options.identifier] if options.identifier else None
            deliver(core, session, mine, qos, False, identifiers, core.durable, 0, None, now)  # noqa: FBT003
            if qos and core.roaming is not None:
                core.roaming.hand(session, message)
    if left < before:
        if core.roaming is not None:
            core.roaming.progress(session)
        if abroad.under_way is not None:
            _save(core, session, abroad.under_way)
    return -1 if has_begun else left


def _finish(core: Core, session: Session, abroad: Abroad, replay: Replay) -> None:
    """A past has caught up with the present; others are told of it until all of it is acknowledged."""
    abroad.recalled[replay.recall.filter] = replay.recall.since
    core.recalled[session.number] = session
    if session.persistent and core.roaming is not None:
        replay.is_over = True
        _save(core, session, replay)
    else:
        _drop(core, session, abroad, replay)


def _save(core: Core, session: Session, replay: Replay) -> None:
    if session.persistent:
        recall = replay.recall
        places = recall.places()
        known = places if len(places) <= MAX_PLACES else {}
        core.ledger.save_recall(session.client, recall.filter, recall.since, known, is_over=replay.is_over)
