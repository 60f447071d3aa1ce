"""An inserter for people: `async with group.inserter("Panel1") as inserter`, then `await inserter.insert(packets)`.

For those who number and sign by themselves, because the name of a value follows from its inputs: pipelines. `insert`
returns when a repo has each packet on its disk, or has said why not; the same packets may be inserted again and again.
How packets are made is in `roost.pipeline.virtual`; the machine is `roost.pubsub.inserter`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from roost.errors import BadName, InvalidInput, Unreachable
from roost.host.residence import Residence, Way
from roost.machine import MS, Effect, Note
from roost.naming import Name, building
from roost.naming.building import numbered
from roost.pubsub.inserter import Inserter, make_inserter
from roost.pubsub.orders import Inserted, Outcome
from roost.pubsub.panels.dispatch import MIN_PAUSE, UNCONFIRMED
from roost.repo.catalogue import catalogue_of
from roost.wire import Data, Signer, tlv
from roost.wire.certificate import key_name_of
from roost.wire.signature import signature_info

INSERT_S: Final = 60.0
_SLICE: Final = 1024  # packets of one order, so that several calls share the room


class RunningInserter(Residence[Inserter]):
    """An inserter on a face; made by `StreamGroup.inserter`."""

    def __init__(self, way: Way, place: building.Panel, copies: int, timeout_s: float) -> None:
        self._place: Final = place
        self._timeout_s: Final = timeout_s
        self._outcomes: Final[dict[int, Outcome]] = {}  # of orders that a call waits for; bound: as many
        self._unconfirmed = ""  # why, the last time that nothing was

        def make(_found: bytes) -> Inserter:
            # Commands are signed as readings are: this home may also have the key of a repo, or of the group.
            commands = way.signers(numbered(catalogue_of(place.name), 1), way.session.clock())
            key = _key_of(commands)
            shown = [key] if key is not None and way.desk.serves(key) else []
            randomness = way.session.randomness
            return make_inserter(place, way.verifier, commands, randomness, copies=copies, shown=shown)

        super().__init__(way, make, None)

    @property
    def name(self) -> Name:
        """The name of the panel whose streams are inserted."""
        return self._place.name

    async def insert(self, packets: Sequence[Data]) -> Outcome:
        """Have packets kept; returns what became of them.

        Raises `Unreachable` if for so long as the inserter was told no repo confirmed any: then insert all of them
        again later, those that are there do no harm.
        """
        for data in packets:
            if not data.name.starts_with(self.name):
                raise InvalidInput(f"{data.name} is not of {self.name}: insert it as the panel that it belongs to")
        orders: list[int] = []
        outcome = Outcome()
        try:
            for low in range(0, len(packets), _SLICE):
                some = packets[low : low + _SLICE]
                while len(some) > self.part.orders.room:
                    await self._progress()
                self.act(partial(self.part.insert, some))
                orders.append(self.part.orders.last)
            for order in orders:
                while order not in self._outcomes:
                    await self._progress()
                outcome = outcome.plus(self._outcomes[order])
        finally:
            for order in orders:
                if self._outcomes.pop(order, None) is None and not self.closed:
                    self.part.abandon(order)
                    self._told()  # there is room again
        return outcome

    def note(self, effect: Effect) -> bool:
        """Take in what the machine tells; that nothing is confirmed wakes nobody, and goes to the log as well."""
        if isinstance(effect, Inserted):
            self._outcomes[effect.order] = effect.outcome
            return True
        if isinstance(effect, Note) and effect.event == UNCONFIRMED:
            facts = dict(effect.facts)
            self._unconfirmed = str(facts["reason"])
            if int(facts["pause_ms"]) * MS > MIN_PAUSE:
                waiting = len(self.part.orders)
                self._session.journal.warn("%s: %d readings wait for a repo: %s", self.name, waiting, self._unconfirmed)
        return False

    async def _progress(self) -> None:
        """Wait until an order is done; raises `Unreachable` when no packet was for too long."""
        while True:
            settled = self.part.orders.settled
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self.told()
            except TimeoutError:
                if self.part.orders.settled == settled:
                    waiting, group = len(self.part.orders), self._place.group.name
                    raise Unreachable(
                        f"{waiting} readings wait, and no repo of {group} confirmed any for {self._timeout_s:g} s: "
                        f"{self._unconfirmed or 'none answered'}"
                    ) from None
            else:
                return


def _key_of(signer: Signer) -> Name | None:
    wire = tlv.number(tlv.SIGNATURE_TYPE, signer.signature_type) + signer.key_locator
    locator = signature_info(wire, 0, len(wire)).key_name
    try:
        return None if locator is None else key_name_of(locator)
    except BadName:
        return None
