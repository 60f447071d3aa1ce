"""The other tables: commands on next hops, strategy choice and content store [nfd-management §5].

The FIB commands are below the RIB: the next change of the RIB for the same prefix and face wins over them.
"""

from __future__ import annotations

from typing import Final

from roost.errors import InvalidInput, Refused
from roost.forwarding.control import CS_ADMIT, CS_SERVE, ControlParameters, ControlResponse, accepted, form
from roost.forwarding.datasets import store_flags
from roost.forwarding.face import INTERNAL_FACE
from roost.forwarding.replies import Asked, Handlers, Reply
from roost.forwarding.rib_commands import MAX_DEPTH
from roost.forwarding.tables import Tables
from roost.naming import Name

ERASE_LIMIT: Final = 256  # packets by one command, so that it does not hold up forwarding
MAX_CAPACITY: Final = 10_000_000


class TableCommands:
    """Commands on FIB, strategy choice and content store; `own` are the prefixes of management itself."""

    def __init__(self, tables: Tables, own: list[Name]) -> None:
        self._tables = tables
        self._own = frozenset(own)

    def handlers(self) -> Handlers:
        """List the commands."""
        return {
            ("fib", "add-nexthop"): (form("name", "face cost"), self.add_next_hop),
            ("fib", "remove-nexthop"): (form("name", "face"), self.remove_next_hop),
            ("strategy-choice", "set"): (form("name strategy"), self.set_strategy),
            ("strategy-choice", "unset"): (form("name"), self.unset_strategy),
            ("cs", "config"): (form("", "capacity flags mask"), self.configure_store),
            ("cs", "erase"): (form("name", "count"), self.erase),
        }

    def add_next_hop(self, asked: Asked, now: int) -> Reply:
        """Add a next hop to a FIB entry, or change its cost."""
        prefix, face = asked.parameters.name or Name(), asked.target()
        cost = asked.parameters.cost or 0
        if len(prefix) > MAX_DEPTH:
            return Reply(ControlResponse(414, f"FIB entry prefix cannot exceed {MAX_DEPTH} components"))
        if face not in self._tables.faces:
            return Reply(ControlResponse(410, "Face not found"))
        hops = dict(self._tables.fib.get(prefix))
        hops[face] = cost
        try:
            self._tables.fib.set(prefix, list(hops.items()), now)
        except Refused as error:
            return Reply(ControlResponse(error.code, str(error)))
        return Reply(accepted(ControlParameters(name=prefix, face=face, cost=cost)))

    def remove_next_hop(self, asked: Asked, now: int) -> Reply:
        """Remove a next hop; one that is not there is gone already."""
        prefix, face = asked.parameters.name or Name(), asked.target()
        if face == INTERNAL_FACE and prefix in self._own:
            return Reply(ControlResponse(403, "the route to management itself stays as it is"))
        hops = dict(self._tables.fib.get(prefix))
        if hops.pop(face, None) is not None:
            self._tables.fib.set(prefix, list(hops.items()), now)
        return Reply(accepted(ControlParameters(name=prefix, face=face)))

    def set_strategy(self, asked: Asked, now: int) -> Reply:  # noqa: ARG002  a handler's shape
        """Choose a strategy for a prefix."""
        prefix, strategy = asked.parameters.name or Name(), asked.parameters.strategy or Name()
        if len(prefix) > MAX_DEPTH:
            return Reply(ControlResponse(414, f"Prefix cannot exceed {MAX_DEPTH} components"))
        try:
            instance = self._tables.strategies.set(prefix, strategy)
        except Refused as error:
            return Reply(ControlResponse(error.code, str(error)))
        except InvalidInput as error:  # a version or parameter component that cannot be read
            return Reply(ControlResponse(404, f"Strategy not registered: {error}"))
        return Reply(accepted(ControlParameters(name=prefix, strategy=instance)))

    def unset_strategy(self, asked: Asked, now: int) -> Reply:  # noqa: ARG002  a handler's shape
        """Let the next shorter prefix decide."""
        prefix = asked.parameters.name or Name()
        if not prefix:
            return Reply(ControlResponse(400, "failed in validating parameters: the strategy of / can only be set"))
        self._tables.strategies.unset(prefix)
        return Reply(accepted(ControlParameters(name=prefix)))

    def configure_store(self, asked: Asked, now: int) -> Reply:  # noqa: ARG002  a handler's shape
        """Change capacity, admission and service of the content store."""
        given, store = asked.parameters, self._tables.store
        if given.capacity is not None:
            store.resize(min(given.capacity, MAX_CAPACITY))
        admit, serve = given.bit(CS_ADMIT), given.bit(CS_SERVE)
        if admit is not None:
            store.admit = admit
        if serve is not None:
            store.serve = serve
        return Reply(accepted(ControlParameters(capacity=store.capacity_packets, flags=store_flags(self._tables))))

    def erase(self, asked: Asked, now: int) -> Reply:  # noqa: ARG002  a handler's shape
        """Erase cached Data under a prefix; Capacity in the answer says that there may be more of it."""
        prefix, count = asked.parameters.name or Name(), asked.parameters.count
        if count == 0:
            return Reply(ControlResponse(400, "failed in validating parameters: count must be positive"))
        wanted = ERASE_LIMIT if count is None else min(count, ERASE_LIMIT)
        erased = self._tables.store.erase(prefix, wanted)
        more = erased == ERASE_LIMIT and (count is None or count > ERASE_LIMIT)
        return Reply(accepted(ControlParameters(name=prefix, count=erased, capacity=ERASE_LIMIT if more else None)))
