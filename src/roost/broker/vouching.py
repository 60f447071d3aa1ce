"""Having answers wait until the other nodes know (`roost.broker.vows`), and what follows when they do.

    SUBSCRIBE ─▶ SUBACK held ─▶ told at the next round ─▶ every repo that answers has it ─▶ SUBACK
    CONNECT of a client that another node has ─▶ CONNACK held ─▶ that node's last word ─▶ CONNACK, and what is left
    CONNECT that is news to other nodes, for its session was elsewhere or ends an earlier one ─▶ as with SUBSCRIBE

Without other repos in its groups a node has nobody to wait for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.broker import answers
from roost.broker.adopting import adopt
from roost.broker.bequests import Bequest
from roost.broker.core import Core
from roost.broker.delivery import resume
from roost.broker.link import Held, Link
from roost.broker.session import Session
from roost.broker.vows import Vow
from roost.machine.contract import Note

_SHOWN: Final = 64  # characters of a client id


def hold(core: Core, link: Link, held: Held) -> None:
    """Send an answer once the other nodes know what it says, and what else it waits for is done."""
    if is_accompanied(core) and core.vows.add(Vow(link, held)):
        held.entering = True
    answers.hold(core, link, held)


def welcome(
    core: Core, link: Link, elsewhere: tuple[bytes, int] | None, bequest: Bequest | None, *, is_news: bool
) -> None:
    """Have a CONNACK wait: for the last word of the node that has the client, and until what is news is told.

    `elsewhere` is that node's panel, and when the client came there; `bequest` is the will that it left there.
    """
    if not is_accompanied(core):
        return
    vows: list[Vow] = []
    if elsewhere is not None:
        vows.append(Vow(link, None, *elsewhere))
    elif bequest is not None and not _is_silent(core, bequest.panel):
        vows.append(Vow(link, None, bequest.panel, bequest.came, is_for_will=True))
    if is_news:
        vows.append(Vow(link, None))
    link.vows += sum([core.vows.add(vow) for vow in vows])


def is_accompanied(core: Core) -> bool:
    """Whether there are other nodes to tell."""
    return core.roaming is not None and core.roaming.accompanied()


def tell(core: Core, now: int) -> None:
    """Let time pass: tell other nodes what is due, and let go what waited for that, or for too long."""
    roaming = core.roaming
    if roaming is not None:
        too_large, rounds = roaming.too_large, roaming.rounds
        tickets: dict[bytes, set[int]] = {}
        is_spread = roaming.accompanied()
        for tree, message, client in roaming.tick(core.sessions, now):
            ticket = core.insert(tree, message, is_spread and bool(client))
            if client:
                tickets.setdefault(client, set()).add(ticket)
        if roaming.rounds > rounds:
            _let_go(core, core.vows.told(tickets), now)
        if roaming.too_large > too_large:
            shown = roaming.largest.decode(errors="replace")[:_SHOWN]
            core.effects.append(Note("session not told", (("client", shown), ("reason", "its names are too long"))))
    _let_go(core, core.vows.expire(now), now)


def inserted(core: Core, ticket: int, now: int) -> None:
    """Every node that answers has what was told."""
    if core.roaming is not None:
        core.roaming.inserted(ticket)
    _let_go(core, core.vows.inserted(ticket), now)


def heard(core: Core, client: bytes, panel: bytes, began: int, now: int) -> None:
    """A node has said its last word of a client."""
    _let_go(core, core.vows.heard(client, panel, began), now)


def will_over(core: Core, client: bytes, panel: bytes, came: int, now: int) -> None:
    """A node has said that the will of a client is over."""
    _let_go(core, core.vows.heard(client, panel, came, is_of_will=True), now)


def _is_silent(core: Core, panel: bytes) -> bool:
    return core.roaming is None or core.roaming.sharing.nodes.is_silent(panel)


def _begin(core: Core, session: Session, link: Link, now: int) -> None:
    """Go on with a session; the CONNACK leaves, and what follows it, unless it waits for the disk too."""
    adopt(core, session, link)
    if core.ledger.safe(link.gate):
        core.unshut(link)
    resume(core, session, link, now)


def _let_go(core: Core, vows: Iterable[Vow], now: int) -> None:
    for vow in vows:
        link = vow.link
        if core.links.get(link.id) is not link:
            continue
        if vow.held is not None:
            vow.held.entering = False
            answers.release(core, link)
            continue
        link.vows -= 1
        if not link.vows and link.session is not None:
            _begin(core, link.session, link, now)
