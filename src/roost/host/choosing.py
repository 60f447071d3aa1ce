"""Having a forwarder on this machine send what a sync group says to all members: the multicast strategy [NFD mgmt §6].

Any other strategy hands an Interest to one of them. A forwarder on another machine is its operator's, so a line in the
log says that it is to be done there.
"""

from __future__ import annotations

import asyncio
from typing import Final

from roost.errors import Refused, RoostError
from roost.forwarding.control import ControlParameters
from roost.forwarding.pending import Question
from roost.forwarding.registrar import COMMAND_LIFETIME_MS, FORBIDDEN
from roost.forwarding.requests import LOCALHOST, CommandWriter, read_response
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.host.session import Session
from roost.naming import Name

_MULTICAST: Final = STRATEGY_PREFIX / "multicast"
_SET: Final = LOCALHOST / "strategy-choice" / "set"
_PAUSES_S: Final = (0.1, 0.2, 0.4)


async def choose_multicast(session: Session, commands: CommandWriter, prefix: Name) -> None:
    """Set the strategy of a prefix, or say why that is left to somebody else."""
    if not session.is_local:
        where = session.endpoint.where
        session.journal.warn("%s needs the multicast strategy on %s: set it there", prefix, where)
        return
    try:
        for pause_s in _PAUSES_S:
            try:
                await _choose(session, commands, prefix)
            except Refused as error:  # it may mean that another program with the same key was faster
                if error.code != FORBIDDEN:
                    raise
                await asyncio.sleep(pause_s)
            else:
                return
        await _choose(session, commands, prefix)
    except RoostError as error:
        session.journal.warn("the multicast strategy of %s is to be set by hand: %s", prefix, error)


async def _choose(session: Session, commands: CommandWriter, prefix: Name) -> None:
    parameters = ControlParameters(name=prefix, strategy=_MULTICAST)
    wire = commands.sign(_SET, parameters, session.clock(), COMMAND_LIFETIME_MS)
    read_response(await session.exchange(Question(Name(), wire=wire))).expect()
