"""The wills of a lost node's clients: one of the nodes that are left speaks them (`roost.broker.bequests`).

    a node says nothing for `ABSENCE` ─▶ the living node of highest rank speaks the wills of its clients, each when its
    delay is over too ─▶ it tells that they are over ─▶ the others, and the lost node when it is back, forget them

A node that could not be reached, and was not lost, hangs up on those whose wills were spoken for it: so a will was
spoken and the connection lost, as one belongs to the other, and the client says anew how it is.
"""

from __future__ import annotations

from typing import Final

from roost.broker import lifetimes, orphans, wills
from roost.broker.bequests import Bequest
from roost.broker.choosing import rank
from roost.broker.core import Core
from roost.broker.memory import set_will
from roost.broker.packets.reasons import SERVER_UNAVAILABLE
from roost.broker.roaming import Roaming
from roost.machine.contract import SECOND

ABSENCE: Final = 15 * SECOND
_LOOK: Final = SECOND


def tick(core: Core, now: int) -> None:
    """Speak the wills that are due of clients of lost nodes, if that is this node's to do."""
    roaming = core.roaming
    if roaming is None:
        return
    lost = {panel: roaming.sharing.nodes.lost_since(panel) for panel in roaming.bequests.panels}
    silent = {panel: since + ABSENCE for panel, since in lost.items() if since}
    roaming.inherit_at = max(now + _LOOK, min(silent.values())) if silent else None
    for panel, due in silent.items():
        if due > now or not _is_ours(roaming, panel, lost[panel]):
            continue
        for bequest in roaming.bequests.of(panel):
            if due + max(0, _delay_s(bequest)) * SECOND <= now:
                _speak(core, roaming, bequest, now)


def hear_spoken(core: Core, client: bytes, came: int, now: int) -> None:
    """Another node has spoken the will of a client of this one."""
    session = core.sessions.get(client)
    if session is None or session.will is None or session.here_since > came:
        return
    set_will(core, session, None)
    session.will_due = 0
    if session.link is not None:
        lifetimes.hang_up(core, session.link, SERVER_UNAVAILABLE, "its will was spoken by another node", now)
    elif core.orphaned.pop(client, None) is not None:
        orphans.wake(core, session, now)
    else:
        lifetimes.save(core, session)


def _is_ours(roaming: Roaming, panel: bytes, since: int) -> bool:
    """Whether this node is the one of those that live, and ran when that one was lost; all rank them alike."""
    nodes, group = roaming.sharing.nodes, roaming.group_of(panel)
    heirs = [each for each in nodes.living() if roaming.group_of(each) == group and 0 < nodes.start_of(each) <= since]
    ours = roaming.panel_of(panel)
    return max([ours, *heirs], key=lambda each: (rank(panel, each), each)) == ours


def _delay_s(bequest: Bequest) -> int:
    return -1 if bequest.will is None else int(bequest.will.properties.delay_s)


def _speak(core: Core, roaming: Roaming, bequest: Bequest, now: int) -> None:
    roaming.bequests.spoken(bequest.client, bequest.panel, bequest.came)
    if bequest.will is None:
        return
    roaming.inherited += 1
    wills.execute(core, bequest.client, bequest.user, bequest.will, now)
    roaming.comings.spoke(bequest.client, bequest.panel, bequest.came)
