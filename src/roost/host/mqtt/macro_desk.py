"""The desk of macros: what HTTP and the command line ask of the broker's macros (`roost.host.desk.MacroDesk`).

A definition that came in is answered when it is on the disk. Macros in Python are the configuration's alone.

Who defines a macro gets to see what it reads, so they have to be permitted to read all that it refers to, and what its
state may be made of. Names that a run computes are not known then, and nobody is asked about them.

A run shows what it was given, so who sees it has to be one who could read that: by roles, as with results that no
document names, and by permissions, but for who may change the macro.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from roost.broker.access import WHOLE
from roost.broker.broker import Broker
from roost.broker.macros.macros import Macros
from roost.errors import BadMacro, Denied, MacroExists
from roost.host.mqtt.server import Server
from roost.machine import Effect
from roost.naming import Name
from roost.process.definition import PREFIX, PYTHON, Definition, definition_of
from roost.process.telling import run_told
from roost.process.trace import Run

_NOBODY: Final = b""  # the client id, which nobody has here


class Sight(Protocol):
    """Roles: who may see what (`roost.host.mqtt.role_finding.RoleJudge`)."""

    async def sees(self, user: bytes, inputs: Sequence[str]) -> bool:
        """Whether a user may see all of these topics and filters, as they are published."""
        ...


class BrokerMacros:
    """The macros of a running broker; satisfies `MacroDesk`."""

    def __init__(self, broker: Broker, macros: Macros, server: Server, sight: Sight | None = None) -> None:
        self._broker: Final = broker
        self._macros: Final = macros
        self._server: Final = server
        self._sight: Final = sight  # None: there are no roles

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
        """Make one, or another version of one; the door has asked whether they may, but for what it reads: `Denied`."""
        definition = definition_of(mapping)
        if definition.language == PYTHON:
            raise BadMacro("macros in Python are for operators: put it into a file that the configuration names")
        known = self._macros.known.get(definition.name)
        is_there = known is not None and not known.is_deleted
        if new and is_there:
            raise MacroExists(f"{definition.name}: there is such a macro; change it with PUT")
        if new is False:
            self._macros.find(definition.name)
        self._check_reads(definition, user)
        await self._do(definition.name, lambda now: self._broker.define_macro(definition, now))
        return self.shown(definition.name)

    async def delete(self, name: str, *, user: bytes) -> dict[str, object]:
        """End one; what it was."""
        del user
        said = self.shown(name)
        await self._do(name, lambda now: self._broker.delete_macro(name, now))
        return said

    async def trace(self, name: str, *, user: bytes) -> list[dict[str, object]]:
        """List its last runs, newest first, as far as the user may read what they were given."""
        known = self._macros.find(name)
        runs = self._macros.processor.trace(name).runs() if known.is_here else []
        return [run_told(each) for each in runs if await self._is_shown(each, known.record.name, user)]

    async def last_failure(self, name: str, *, user: bytes) -> dict[str, object] | None:
        """The last run that failed, if there is one and the user may read what it was given."""
        known = self._macros.find(name)
        run = self._macros.processor.trace(name).last_failure if known.is_here else None
        return None if run is None or not await self._is_shown(run, name, user) else run_told(run)

    def _check_reads(self, definition: Definition, user: bytes) -> None:
        _, references = self._macros.processor.load(definition)
        for topic in [each.topic for each in references]:
            if not self._may_read(user, topic):
                raise Denied(f"{definition.name}: it refers to {topic}, which takes the permission to read {topic}")
        known = self._macros.known.get(definition.name)
        if known is None or known.is_deleted or not self._macros.standing(known).standing.state:
            return
        for topic in self._macros.sources_of(definition.topic) or ():
            if not self._may_read(user, topic):
                raise Denied(
                    f"{definition.name}: its state may hold something of {topic}, which takes the permission to read "
                    f"{topic}; a macro that is ended and made anew has no state"
                )

    def _may_read(self, user: bytes, topic: str) -> bool:
        """Whether a user may read all that a topic or filter matches."""
        return self._broker.core.access.reach(user, _NOBODY, topic.encode()) == WHOLE

    async def _is_shown(self, run: Run, name: str, user: bytes) -> bool:
        topic = PREFIX + name
        inputs = [*[each.topic for each in run.inputs], *(self._macros.sources_of(topic) or ())]
        if self._sight is not None and not await self._sight.sees(user, inputs):
            return False
        if self._broker.core.access.may_publish(user, _NOBODY, topic.encode()):
            return True
        return all(self._may_read(user, each) for each in inputs)

    def _counted(self, name: str) -> dict[str, object]:
        macro = self._macros.processor.macro(name)
        counters = ("activations", "runs", "results", "failures", "waited", "limited", "repeated")
        return {"counters": {each: getattr(macro, each) for each in counters}}

    async def _do(self, name: str, change: Callable[[int], list[Effect]]) -> None:
        """Have the broker do something with a macro, and wait until it is on the disk."""
        now = self._server.clock()
        self._server.execute(change(now), now)
        known, ledger = self._macros.known[name], self._broker.core.ledger
        await self._server.until.so(lambda: ledger.safe(known.ticket))


def _uris(numbers: dict[bytes, int]) -> dict[str, int]:
    return {str(Name(stream)): number for stream, number in sorted(numbers.items())}
