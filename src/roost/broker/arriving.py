"""Clients that came to other nodes, as these tell (`roost.broker.arrivals`): who is here by the same name hangs up.

arrival ──▶ here with the same user: its will, then the connection ends [MQTT-3.1.4-3]
        ──▶ here with another user: who came first keeps the client id, and the other node hears so
a will is over there ──▶ forgotten here, and who waits for it is let in (`roost.broker.vows`)
"""

from __future__ import annotations

from roost.broker import inheriting, lifetimes, orphans, vouching, wills
from roost.broker.access import ANONYMOUS
from roost.broker.arrivals import Arrivals
from roost.broker.bequests import Bequest
from roost.broker.core import Core
from roost.broker.memory import set_will
from roost.broker.packets.reasons import SESSION_TAKEN_OVER
from roost.broker.session import Session


def hear_arrivals(core: Core, said: Arrivals, time: int, now: int) -> None:
    """Clients came to another node: hang up on whom they were here before [MQTT-3.1.4-3]; and some wills are over."""
    roaming = core.roaming
    if roaming is None:
        return
    roaming.heard(said.panel, time, now)
    is_past = time < roaming.sharing.nodes.start_of(said.panel)  # no link is older than its node
    for client, came, panel in said.over:
        if panel == said.panel:
            roaming.bequests.end(client, panel, came)
        else:
            roaming.bequests.spoken(client, panel, came)
        if roaming.is_panel(panel):
            inheriting.hear_spoken(core, client, came, now)
        else:
            vouching.will_over(core, client, panel, came, now)
    for client, arrival in said.came.items():
        session = core.sessions.get(client)
        if session is not None and not is_entitled(
            core, session, arrival.user, arrival.came, now, is_there=not is_past, is_over=is_past
        ):
            continue
        session = core.sessions.get(client)
        if session is not None and session.link is not None:
            if arrival.came <= session.here_since:
                continue
            give_up(core, session, arrival.came, now)
        orphans.hear(core, client, arrival.came, now)
        if arrival.has_will and not is_past:  # what a node told before it began anew it tells again, or it is over
            bequest = Bequest(client, said.panel, arrival.came, arrival.user, arrival.will, time)
            roaming.bequests.take(bequest)
        else:
            roaming.bequests.supersede(client, arrival.came)
    roaming.note_answer(said.panel, said.heard)


def is_entitled(
    core: Core, session: Session, user: bytes, came: int, now: int, *, is_there: bool, is_over: bool
) -> bool:
    """Whether a client that came elsewhere may have the id of one that is here.

    Another user's is refused: where it came it was not known whose the id is (`roost.broker.handlers.connect`). Of two
    who have one all the same the first keeps it, and nobody keeps it from a user; what is over elsewhere takes nothing
    from anybody.
    """
    if session.link is None or session.user == user:
        return True
    if is_over:
        return False
    if ANONYMOUS in {session.user, user}:
        is_ours = user == ANONYMOUS
    else:
        is_ours = (session.here_since, session.user) < (came, user)
    if is_ours:
        if is_there and core.roaming is not None:
            core.roaming.come(session)  # so that it hears that, and gives way
        return False
    core.stats.sessions_refused += 1
    set_will(core, session, None)
    session.expiry_s = 0
    lifetimes.hang_up(core, session.link, SESSION_TAKEN_OVER, "the client id is another user's", now)
    return True


def give_up(core: Core, session: Session, came: int, now: int) -> None:
    """Hang up on a client that came to another node; its will is older than anything that it says there."""
    if session.link is not None:
        core.stats.taken_over += 1
        wills.lost(core, session, min(now, came - 1))
        lifetimes.hang_up(core, session.link, SESSION_TAKEN_OVER, "it connected to another node", now)
