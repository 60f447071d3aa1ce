"""What a node says to the others, as messages for its groups: announcements of sessions, and beats.

Each is one reading, so much is said in parts. When something is said is `roost.broker.roaming`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.broker.abroad import Abroad
from roost.broker.announcement import MAX_DONE, Announcement
from roost.broker.beat import TOPIC, Beat, Share, parts
from roost.broker.message import Message
from roost.broker.session import Session

MAX_DONE_BYTES: Final = 3000  # of one announcement
_NUMBER_BYTES: Final = 12  # and the heads around

Groups = Mapping[bytes, tuple[int, bytes]]  # names of groups, each with a tree of it and our panel there
Said = list[tuple[int, Message]]  # messages, each for a tree


def beats(groups: Groups, started: int, shares: list[Share], now: int) -> Said:
    """Say that this node lives, and what became of messages."""
    found: Said = []
    for group, (tree, panel) in groups.items():
        for part in parts([share for share in shares if share.stream.startswith(group)]):
            found.append((tree, _message(TOPIC, Beat(panel, started, part).encode(), now)))
    return found


def announcements(
    groups: Groups,
    session: Session,
    abroad: Abroad,
    done: Mapping[bytes, int],
    held: frozenset[int],
    now: int,
    *,
    roams: bool,
) -> Said:
    """Say how a session is; if it does not roam, that it is over."""
    found: Said = []
    online = session.link is not None and not session.gone
    for group, (tree, panel) in groups.items():
        for number, part in enumerate(_parts(group, done)):
            said = Announcement(
                session.client,
                session.user,
                session.born,
                abroad.came if abroad.elsewhere else max(session.born, abroad.began),
                session.expiry_s if roams else 0,
                online and roams,
                dict(session.subscriptions) if number == 0 else None,
                part,
                panel,
                held,
            )
            found.append((tree, _message(said.topic, said.encode(), now)))
    return found


def done_of(session: Session) -> dict[bytes, int]:
    """Through which number what a session got of each stream since the last time is acknowledged."""
    if session.abroad is None:
        return {}
    done = dict(session.abroad.handed)
    for delivery in [*session.inflight.values(), *session.again, *session.queue]:
        origin = delivery.message.origin
        if origin is not None and delivery.qos:
            through = done.get(origin[1])
            if through is not None and origin[2] <= through:
                done[origin[1]] = origin[2] - 1
    return {stream: number for stream, number in done.items() if number > 0}


def _parts(group: bytes, done: Mapping[bytes, int]) -> list[dict[bytes, int]]:
    """What is done in a group, in parts of which each fits an announcement; at least one, which may be empty."""
    found: list[dict[bytes, int]] = [{}]
    size_bytes = 0
    for stream, number in done.items():
        if stream.startswith(group):
            size_bytes += len(stream) + _NUMBER_BYTES
            if size_bytes > MAX_DONE_BYTES or len(found[-1]) >= MAX_DONE:
                found.append({})
                size_bytes = len(stream) + _NUMBER_BYTES
            found[-1][stream] = number
    return found


def _message(topic: bytes, payload: bytes, now: int) -> Message:
    return Message(topic, payload, 1, False, b"", 0, b"", now)  # noqa: FBT003  a C call
