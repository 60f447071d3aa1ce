"""Pasts that a client gets at another node, followed here: if it comes, its recalls go on from the place that was told.

    announcement: recalls ──▶ recalls that rest here ──▶ the client comes ──▶ they run
                    └ one is not told any more: all of it was acknowledged ──▶ what came behind it is queued

Messages of a recall's topics are not queued where it rests: it brings them. So nothing has two ways to the client. What
was under way when the client left comes again from the place, and waits no more. Of a session that went from here
its node knows best until it has told its last word (`Roaming.owes`): what others say of its recalls comes too early.
"""

from __future__ import annotations

from roost.broker import recalling
from roost.broker.announcement import Recalls
from roost.broker.core import Core
from roost.broker.queueing import take_back
from roost.broker.recall import Recall
from roost.broker.session import Delivery, Session


def is_awaited(session: Session) -> bool:
    """Whether a client is here, and the last word of the node is awaited that had it: nothing leaves yet."""
    return session.link is not None and session.link.vows > 0


def follow(core: Core, session: Session, told: Recalls, stream: bytes, since: int) -> None:
    """Have a session get what a node, in a stream of its own, says that it is still to get of its pasts.

    Of what it does not tell any more messages are queued that came since a time, or from the last place on.
    """
    abroad, roaming = session.groups(), core.roaming
    group = b"" if roaming is None else roaming.group_of(stream)
    known = {replay.recall.filter: replay.recall for replay in abroad.replays}
    for filter_, recall in known.items():
        if filter_ not in told:
            recalling.end(core, session, filter_)
            core.unheard.append((session, filter_, since, recall.places()))
    for filter_, (start, places) in told.items():
        for each, number in places.items():
            if number > 1 and abroad.elsewhere:
                abroad.note_done(each, number - 1)
            elif number > 1:
                abroad.hand(each, number - 1)  # others may not hear of it but from this node
        before = known.get(filter_)
        if before is not None and before.since == start:
            others = {each: number for each, number in before.places().items() if not each.startswith(group)}
            recalling.resume(core, session, filter_, start, others | places)  # another stream tells of each group
        else:
            recalling.resume(core, session, filter_, start, places)
    for replay in abroad.replays:
        _leave_to(core, session, replay.recall)


def _leave_to(core: Core, session: Session, recall: Recall) -> None:
    """Have nothing wait that a recall brings, or that was taken before it came to its place."""
    places = recall.places()

    def is_brought(delivery: Delivery) -> bool:
        origin = delivery.message.origin
        if origin is None or delivery.shared is not None or not recall.brings(origin[1]):
            return False
        return origin[1] in places or origin[2] >= recall.first(origin[1])

    take_back(core, session, is_brought)
