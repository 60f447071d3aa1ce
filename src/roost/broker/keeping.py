"""What goes on when rows are safe, and what is told when they could not be written.

Tickets are kept in their order, so one says it of all before it. What waits for a row that failed goes on waiting: the
ledger has it written again.
"""

from __future__ import annotations

from roost.broker import answers, entering
from roost.broker.core import Core
from roost.broker.delivery import pump
from roost.machine.contract import Note


def kept(core: Core, ticket: int, now: int) -> None:
    """Let go on what waited for the rows of a ticket, or for any before them."""
    core.ledger.keep(ticket)
    entering.kept(core)
    for link in list(core.holding.values()):
        answers.release(core, link)
    for client in [client for client, needed in core.ending.items() if core.ledger.safe(needed)]:
        del core.ending[client]
    awaiting = core.awaiting
    core.awaiting = {}
    for session in awaiting.values():
        pump(core, session, now)
    for link in list(core.gated.values()):
        if core.ledger.safe(link.gate) and not link.vows:
            core.unshut(link)
            if link.session is not None:
                pump(core, link.session, now)


def unkept(core: Core, ticket: int, why: str, now: int) -> None:
    """Tell that rows could not be written, and have them tried again."""
    core.stats.unkept += 1
    core.effects.append(Note("rows not written", (("reason", why),)))
    core.ledger.fail(ticket, now)
