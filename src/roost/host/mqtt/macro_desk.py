"""The desk of macros: what HTTP and the command line ask of the broker's macros (`roost.host.desk.MacroDesk`).

A definition that came in is answered when it is on the disk, and when the node that runs it has said from which
readings on it holds; if that takes too long, the answer says so. Macros in Python are the configuration's alone.

Who defines a macro gets to see what it reads, so they have to be permitted to read all that it refers to, and what its
state may be made of. Names that a run computes are not known then. So the definition says which they may be, and its
author has to be permitted to read these; where they may not read everything, a definition that says nothing of it is
kept to what it refers to.

A run shows what it was given, so who sees it has to be one who could read that: by roles, as with results that no
document names, and by permissions, but for who may change the macro.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from roost.broker.access import WHOLE
from roost.broker.broker import Broker
from roost.broker.macros.macros import Known, Macros
from roost.broker.macros.record import Record
from roost.errors import BadMacro, Denied, MacroExists, Unreachable
from roost.host.mqtt.server import Server
from roost.machine import SECOND, Effect
from roost.naming import Name
from roost.process.definition import ANYTHING, PREFIX, PYTHON, SPARK, Definition, definition_of
from roost.process.telling import run_told
from roost.process.trace import Run

_NOBODY: Final = b""  # the client id, which nobody has here
ANSWER_S: Final = 3  # that the node which runs a macro has to say from which readings on a change holds
SPARK_SILENCE: Final = 30 * SECOND  # of `roost macro spark`, which asks about once a second
_NOT_RUN: Final = (
    f"nobody has asked this node for it in the last {SPARK_SILENCE // SECOND} s, so nothing may run it: "
    "start `roost macro spark` with the address of this node"
)
_PENDING: Final = "the node that runs it has not said yet from which readings on the last change holds"


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
        self._asked_for_spark = 0  # when a job last asked for what it is to run

    def names(self, engine: str = "") -> list[str]:
        """All of them, or those of an engine; who asks for those on Spark runs them."""
        if engine == SPARK:
            self._asked_for_spark = self._server.clock()
        there = [known.record for known in self._macros.known.values() if not known.is_deleted]
        return sorted([each.name for each in there if not engine or _engine_of(each) == engine])

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
            "position": _uris(dict(record.standing.position)),
            "runs_on": "here" if known.is_here else str(Name(record.runner)) if record.runner else definition.engine,
        }
        said |= _effective(known, "effective")
        if definition.engine == SPARK and not 0 <= self._server.clock() - self._asked_for_spark < SPARK_SILENCE:
            said["warning"] = _NOT_RUN
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
        definition = self.permitted(definition, user)
        await self._do(definition.name, lambda now: self._broker.define_macro(definition, now))
        return self.shown(definition.name)

    def permitted(self, definition: Definition, user: bytes) -> Definition:
        """What a user wants, if they may read all that it ever will."""
        _, references = self._macros.processor.load(definition)
        topics = tuple(dict.fromkeys([each.topic for each in references]))
        for topic in topics:
            if not self._may_read(user, topic):
                raise Denied(f"{definition.name}: it refers to {topic}, which takes the permission to read {topic}")
        self._check_state(definition, user)
        beyond = [each for each in definition.computed if not self._may_read(user, each)]
        if definition.computed == ANYTHING and beyond:
            return replace(definition, computed=topics)
        for each in beyond:
            raise Denied(f"{definition.name}: `computed` has {each}, which takes the permission to read {each}")
        return definition

    async def delete(self, name: str, *, user: bytes) -> dict[str, object]:
        """End one; what it was, and how far it came."""
        del user
        said = self.shown(name)
        known = self._macros.find(name)
        await self._do(name, lambda now: self._broker.delete_macro(name, now))
        del said["position"]
        return said | _effective(known, "position")

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

    def _check_state(self, definition: Definition, user: bytes) -> None:
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
        with suppress(Unreachable):
            await self._server.until.so(lambda: not known.is_asked, ANSWER_S)


def _effective(known: Known, key: str) -> dict[str, object]:
    """The last readings before the last change, or that they are not known yet."""
    return {"pending": _PENDING} if known.is_asked else {key: _uris(known.record.effective)}


def _engine_of(record: Record) -> str:
    return "" if record.definition is None else record.definition.engine


def _uris(numbers: dict[bytes, int]) -> dict[str, int]:
    return {str(Name(stream)): number for stream, number in sorted(numbers.items())}
