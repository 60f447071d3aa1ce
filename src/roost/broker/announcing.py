"""What a node says to the others, as messages for its groups: announcements of sessions, and beats.

Each is one reading, so much is said in parts. When something is said is `roost.broker.roaming`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from roost.broker.abroad import Abroad
from roost.broker.announcement import MAX_BEGUN, MAX_DONE, MAX_FILTERS, Announcement, Recalls
from roost.broker.arrivals import TOPIC as ARRIVALS
from roost.broker.arrivals import Arrivals
from roost.broker.beat import TOPIC, Beat, Share, parts
from roost.broker.filters import Options
from roost.broker.message import Message
from roost.broker.session import RECEIVED, Session

MAX_DONE_BYTES: Final = 2000  # of one announcement
MAX_FILTERS_BYTES: Final = 3500
MAX_BEGUN_BYTES: Final = 1000
MAX_RECALLS_BYTES: Final = 5000  # of a part that has nothing else
_NUMBER_BYTES: Final = 12  # and the heads around
_OPTIONS_BYTES: Final = 16
_RECALL_BYTES: Final = 36

Key = TypeVar("Key")
Value = TypeVar("Value")
Groups = Mapping[bytes, tuple[int, bytes]]  # names of groups, each with a tree of it and our panel there
Said = list[tuple[int, Message, bytes]]  # messages, each for a tree, and of which client it tells


def beats(groups: Groups, started: int, shares: list[Share], now: int) -> Said:
    """Say that this node lives, and what became of messages."""
    found: Said = []
    for group, (tree, panel) in groups.items():
        for part in parts([share for share in shares if share.stream.startswith(group)]):
            found.append((tree, _message(TOPIC, Beat(panel, started, part).encode(), now), b""))
    return found


def arrivals_of(said: list[tuple[int, Arrivals]], now: int) -> Said:
    """Say which clients came, and what becomes of wills."""
    return [(tree, _message(ARRIVALS, each.encode(), now), b"") for tree, each in said]


def announcements(
    groups: Groups,
    session: Session,
    abroad: Abroad,
    done: Mapping[bytes, int],
    held: frozenset[int],
    now: int,
    *,
    roams: bool,
    is_whole: bool,
) -> Said:
    """Say how a session is, with its filters if that is to be whole; if it does not roam, that it is over."""
    found: Said = []
    online = session.link is not None and not session.gone
    filters = _filters(session) if is_whole else []
    for group, (tree, panel) in groups.items():
        through, begun = _done(group, done), _begun(group, session)
        recalls = _recalls(group, abroad.recounted)
        before = max(1, len(filters), len(through), len(begun))
        count = before + len(recalls)
        for at in range(count):
            said = Announcement(
                session.client,
                session.user,
                session.born,
                abroad.came if abroad.elsewhere else session.here_since,
                session.expiry_s if roams else 0,
                online and roams,
                filters[at] if at < len(filters) else None,
                through[at] if at < len(through) else {},
                panel,
                held,
                (at, count),
                begun[at] if at < len(begun) else {},
                recalls[at - before] if at >= before else {},
            )
            found.append((tree, _message(said.topic, said.encode(), now), session.client))
    return found


def done_of(session: Session) -> dict[bytes, int]:
    """Through which number what a session got of each stream since the last time is acknowledged.

    Nothing is said of streams of a past that is being delivered: `unfinished` says how far these are.
    """
    if session.abroad is None:
        return {}
    running = session.abroad.running
    handed = session.abroad.handed.items()
    done = {stream: number for stream, number in handed if not any(recall.brings(stream) for recall in running)}
    for delivery in [*session.inflight.values(), *session.again, *session.queue]:
        origin = delivery.message.origin
        if origin is not None and delivery.qos:
            through = done.get(origin[1])
            if through is not None and origin[2] <= through:
                done[origin[1]] = origin[2] - 1
    return {stream: number for stream, number in done.items() if number > 0}


def _filters(session: Session) -> list[dict[bytes, Options]]:
    """The subscriptions, in parts; at least one."""
    sizes = {each: len(each) + _OPTIONS_BYTES for each in session.subscriptions}
    return _in_parts(session.subscriptions, sizes, MAX_FILTERS_BYTES, MAX_FILTERS) or [{}]


def _done(group: bytes, done: Mapping[bytes, int]) -> list[dict[bytes, int]]:
    """What is done in a group, in parts."""
    mine = {stream: number for stream, number in done.items() if stream.startswith(group)}
    return _in_parts(mine, {each: len(each) + _NUMBER_BYTES for each in mine}, MAX_DONE_BYTES, MAX_DONE)


def _begun(group: bytes, session: Session) -> list[dict[tuple[bytes, int], int]]:
    """Which QoS 2 messages of a group the client has begun to take, in parts."""
    mine: dict[tuple[bytes, int], int] = {}
    for packet_id, delivery in session.inflight.items():
        origin = delivery.message.origin
        if delivery.state >= RECEIVED and origin is not None and origin[1].startswith(group):
            mine[origin[1], origin[2]] = packet_id
    return _in_parts(mine, {each: len(each[0]) + _NUMBER_BYTES for each in mine}, MAX_BEGUN_BYTES, MAX_BEGUN)


def _recalls(group: bytes, recalls: Recalls) -> list[Recalls]:
    """All recalls, and how far they are in a group, in parts."""
    mine: dict[tuple[bytes, bytes], int] = {}
    for filter_, (_, places) in recalls.items():
        mine[filter_, b""] = 0  # so that it is named if it has no places
        mine.update({(filter_, stream): number for stream, number in places.items() if stream.startswith(group)})
    sizes = {(filter_, stream): len(filter_) + len(stream) + _RECALL_BYTES for filter_, stream in mine}
    found: list[Recalls] = []
    for part in _in_parts(mine, sizes, MAX_RECALLS_BYTES, MAX_DONE):
        found.append({})
        for (filter_, stream), number in part.items():
            places = found[-1].setdefault(filter_, (recalls[filter_][0], {}))[1]
            if stream:
                places[stream] = number
    return found


def _in_parts(whole: Mapping[Key, Value], sizes: Mapping[Key, int], room: int, most: int) -> list[dict[Key, Value]]:
    """A mapping in pieces that have room for so many bytes and items; no piece of nothing."""
    found: list[dict[Key, Value]] = []
    left = 0
    for key, value in whole.items():
        if not found or sizes[key] > left or len(found[-1]) >= most:
            found.append({})
            left = room
        found[-1][key] = value
        left -= sizes[key]
    return found


def _message(topic: bytes, payload: bytes, now: int) -> Message:
    return Message(topic, payload, 1, False, b"", 0, b"", now)  # noqa: FBT003  a C call
