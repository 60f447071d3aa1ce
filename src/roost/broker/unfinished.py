"""What a session is still to get of the pasts that it asked for, as numbers: so another node can go on with them.

A past is unfinished until all that it brought is acknowledged. While it is delivered, its readings and live messages
of its streams are told by their place only: the first number of each stream that was not taken. What the client has
begun to take (`Announcement.begun`) counts as taken. When it has caught up, messages come live behind it, and its place
moves on with what is done of them (`announcing.done_of`) until its last readings are acknowledged.
"""

from __future__ import annotations

from typing import Final

from roost.broker.abroad import Abroad
from roost.broker.announcement import Recalls
from roost.broker.recall import Recall
from roost.broker.session import RECEIVED, Session

MAX_PLACES: Final = 2000  # of one session, told or in a row: a recall that has more begins anew elsewhere


def recount(session: Session) -> Recalls:
    """See how far the recalls of a session are: what others have to know of them, in their order."""
    abroad = session.abroad
    if abroad is None or not abroad.replays or not session.persistent:
        return {}
    left = _left_by(session, abroad)
    found: Recalls = {}
    room = MAX_PLACES
    for replay in abroad.replays:
        recall = replay.recall
        places, untaken = recall.places(), left[recall]
        if replay.is_over:
            replay.is_settled = not any(number < places.get(stream, 0) for stream, number in untaken.items())
            if replay.is_settled:
                continue
            _move_on(abroad, recall, places)
        for stream, number in untaken.items():
            places[stream] = min(number, places[stream] if stream in places else recall.first(stream))
        if len(places) > room:
            places = {}
        room -= len(places)
        found[recall.filter] = recall.since, places
    return found


def _move_on(abroad: Abroad, recall: Recall, places: dict[bytes, int]) -> None:
    """Have the places of a recall be behind what came live after it had caught up."""
    for stream in [*places, *abroad.handed, *abroad.done]:
        if recall.brings(stream):
            through = max(abroad.handed.get(stream, 0), abroad.done.get(stream, 0))
            places[stream] = max(places.get(stream, 1), through + 1)


def _left_by(session: Session, abroad: Abroad) -> dict[Recall, dict[bytes, int]]:
    """By recall, the first number of each stream that is not taken; of one that several bring, the first running."""
    lowest: dict[bytes, int] = {}
    for delivery in [*session.inflight.values(), *session.again, *session.queue]:
        origin = delivery.message.origin
        if origin is not None and delivery.qos and delivery.state < RECEIVED and delivery.shared is None:
            lowest[origin[1]] = min(origin[2], lowest.get(origin[1], origin[2]))
    found: dict[Recall, dict[bytes, int]] = {replay.recall: {} for replay in abroad.replays}
    recalls = [*abroad.running, *[replay.recall for replay in abroad.replays if replay.is_over]]
    for stream, number in lowest.items():
        recall = next((each for each in recalls if each.brings(stream)), None)
        if recall is not None:
            found[recall][stream] = number
    return found
