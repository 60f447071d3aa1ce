"""Wills that a crash left: spoken by the next run, unless their clients came to other nodes meanwhile.

A client whose node is killed goes to another one within seconds, and says there that it is online. So a node with
groups speaks no will of its last run before the others have told it who came to them: they do when they hear that it
began (`roost.broker.comings`). Nobody is waited for for ever: not longer than `NOBODY` if no other node is heard, nor
than `SLOW` for the last word of one that is. A node that never had others waits for nobody.
"""

from __future__ import annotations

from typing import Final

from roost.broker import lifetimes, wills
from roost.broker.core import Core
from roost.broker.memory import set_will
from roost.broker.session import Session
from roost.machine.contract import SECOND

SOON: Final = 2 * SECOND  # for those who answer to be all who live
NOBODY: Final = 10 * SECOND
SLOW: Final = 30 * SECOND
_LOOK: Final = SECOND // 4


def hold(core: Core, session: Session) -> None:
    """Have a will wait for what other nodes say."""
    core.orphaned[session.client] = session.here_since


def drop(core: Core, client: bytes) -> None:
    """A client came to another node: the will that it left here is not to be spoken."""
    if client in core.orphaned:
        set_will(core, core.sessions[client], None)  # which takes it out


def release(core: Core, client: bytes, now: int) -> None:
    """A client is back here: its will is spoken before it says anything."""
    if core.orphaned.pop(client, None) is not None:
        wake(core, core.sessions[client], now)


def hear(core: Core, client: bytes, came: int, now: int) -> None:
    """A client came to another node at a time."""
    since = core.orphaned.get(client)
    if since is not None and since < came:
        drop(core, client)
        wake(core, core.sessions[client], now)


def tick(core: Core, now: int) -> None:
    """Speak the wills if nobody can say any more that their clients are elsewhere."""
    if core.roaming is None and core.history is None:
        return  # groups are still to come
    core.orphaned_look = now + _LOOK
    if not core.orphaned_since:
        core.orphaned_since = now
    if not _is_settled(core, now):
        return
    for client in list(core.orphaned):
        release(core, client, now)


def deadline(core: Core) -> int | None:
    """When to look again."""
    return core.orphaned_look if core.orphaned else None


def _is_settled(core: Core, now: int) -> bool:
    roaming = core.roaming
    if roaming is None:
        return True
    waited = now - core.orphaned_since
    others = roaming.sharing.nodes.living()
    if not others:
        is_alone = not roaming.accompanied() and all(roaming.is_ours(stream) for stream in core.positions)
        return is_alone or waited >= NOBODY
    return waited >= SLOW or (waited >= SOON and all(panel in roaming.answered for panel in others))


def wake(core: Core, session: Session, now: int) -> None:
    """Let a session go on that the last run left: its link is lost now, at the latest."""
    if session.expiry_s == 0:
        lifetimes.end(core, session, now)
        return
    if session.will is not None and not session.will_due:
        wills.lost(core, session, now)
    lifetimes.save(core, session)
    lifetimes.fire(core, session, now)
