"""The desk of macros: what HTTP and the command line ask of the broker's macros (`roost.host.desk.MacroDesk`).

A definition that came in is answered when it is on the disk. Macros in Python are the configuration's alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.broker.broker import Broker
from roost.broker.macros.macros import Macros
from roost.errors import BadMacro, MacroExists
from roost.host.mqtt.server import Server
from roost.machine import Effect
from roost.naming import Name
from roost.process.definition import PYTHON, definition_of
from roost.process.telling import run_told


class BrokerMacros:
    """The macros of a running broker; satisfies `MacroDesk`."""

    def __init__(self, broker: Broker, macros: Macros, server: Server) -> None:
        self._broker: Final = broker
        self._macros: Final = macros
        self._server: Final = server

    def names(self) -> list[str]:
        """All of them."""
        return sorted(name for name, known in self._macros.known.items() if not known.is_deleted)

    def shown(self, name: str) -> dict[str, object]:
        """Tell all about one; raises `NoMacro`."""
        known = self._macros.find(name)
        record = self._macros.standing(known)
        definition = record.definition
        assert definition is not None  # noqa: S101  else it is deleted
        said: dict[str, object] = {
            "definition": definition.mapping(),
            "topic": definition.topic,
            "version": record.version,
            "digest": definition.digest.hex(),
            "effective": _uris(record.effective),
            "position": _uris(dict(record.standing.position)),
            "runs_on": "here" if known.is_here else str(Name(record.runner)) if record.runner else definition.engine,
        }
        if known.refusal:
            said["refusal"] = known.refusal
        if known.is_here:
            said |= self._counted(name)
        return said

    async def define(self, mapping: object, *, new: bool | None, user: bytes) -> dict[str, object]:
        """Make one, or another version of one."""
        del user  # the door has asked whether they may
        definition = definition_of(mapping)
        if definition.language == PYTHON:
            raise BadMacro("macros in Python are for operators: put it into a file that the configuration names")
        known = self._macros.known.get(definition.name)
        is_there = known is not None and not known.is_deleted
        if new and is_there:
            raise MacroExists(f"{definition.name}: there is such a macro; change it with PUT")
        if new is False:
            self._macros.find(definition.name)
        await self._do(definition.name, lambda now: self._broker.define_macro(definition, now))
        return self.shown(definition.name)

    async def delete(self, name: str, *, user: bytes) -> dict[str, object]:
        """End one; what it was."""
        del user
        said = self.shown(name)
        await self._do(name, lambda now: self._broker.delete_macro(name, now))
        return said

    def trace(self, name: str) -> list[dict[str, object]]:
        """List its last runs, newest first."""
        known = self._macros.find(name)
        if not known.is_here:
            return []
        return [run_told(each) for each in self._macros.processor.trace(name).runs()]

    def _counted(self, name: str) -> dict[str, object]:
        macro = self._macros.processor.macro(name)
        counters = ("activations", "runs", "results", "failures", "waited", "limited", "repeated")
        said: dict[str, object] = {"counters": {each: getattr(macro, each) for each in counters}}
        if macro.trace.last_failure is not None:
            said["last_failure"] = run_told(macro.trace.last_failure)
        return said

    async def _do(self, name: str, change: Callable[[int], list[Effect]]) -> None:
        """Have the broker do something with a macro, and wait until it is on the disk."""
        now = self._server.clock()
        self._server.execute(change(now), now)
        known, ledger = self._macros.known[name], self._broker.core.ledger
        await self._server.until.so(lambda: ledger.safe(known.ticket))


def _uris(numbers: dict[bytes, int]) -> dict[str, int]:
    return {str(Name(stream)): number for stream, number in sorted(numbers.items())}
