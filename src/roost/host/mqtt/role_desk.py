"""The desk of roles: what HTTP and the command line ask of a broker's RBPS documents (`roost.host.desk.RoleDesk`).

The documents file of the configuration is the base; what is put or taken back here stands on top of it, in rows of the
broker's store (`roost.broker.roles.documents`), and is answered when it is on the disk. The other nodes of its groups
hear of it (`roost.broker.roles.telling`).
"""

from __future__ import annotations

from typing import Final

from roost.broker.broker import Broker
from roost.broker.effects import Keep
from roost.broker.roles.keeper import RoleKeeper
from roost.errors import NoRules, RulesExist
from roost.host.mqtt.role_finding import Guests
from roost.host.mqtt.server import Server
from roost.naming.topic import name_of_topic
from roost.process.definition import PREFIX
from roost.process.roles.decision import Roles
from roost.process.roles.explanation import explain
from roost.process.roles.specification import Specification

_NOBODY: Final = b""  # the client id, which nobody has here


class BrokerRoles:
    """The documents of a running broker; satisfies `RoleDesk`."""

    def __init__(self, broker: Broker, keeper: RoleKeeper, server: Server, guests: Guests) -> None:
        self._broker: Final = broker
        self._keeper: Final = keeper
        self._server: Final = server
        self._guests: Final = guests

    def topics(self) -> list[str]:
        """All that have a document."""
        return sorted(self._keeper.policy.documents)

    def shown(self, topic: str) -> dict[str, object]:
        """Tell the document; raises `NoRules`."""
        document = self._keeper.policy.documents.get(topic)
        if document is None:
            raise NoRules(f"{topic}: there is no document for exactly this topic")
        return document.mapping()

    async def put(self, mapping: object, *, new: bool | None, user: bytes) -> dict[str, object]:
        """Take a document in."""
        del user  # the door has asked whether they may
        document = Specification.read(mapping)
        if new and document.topic in self._keeper.policy.documents:
            raise RulesExist(f"{document.topic}: there is such a document; replace it with PUT")
        if new is False:
            self.shown(document.topic)
        await self._change(document.topic, document)
        return document.mapping()

    async def delete(self, topic: str, *, user: bytes) -> dict[str, object]:
        """Take a document back; what it was."""
        del user
        said = self.shown(topic)
        await self._change(topic, None)
        return said

    async def explain(self, user: bytes, topic: str) -> str:
        """Say what a user gets of a topic, and why; raises `BadTopic` if it is none, such as a filter."""
        name_of_topic(topic)
        roles, why = await self._guests.find(user)
        keeper = self._keeper
        lines = explain(keeper.policy, user.decode(errors="replace"), topic, roles, why, keeper.inputs_of)
        lines += self._missing(topic, roles)
        may = self._broker.core.access.may_receive(user, _NOBODY, topic.encode())
        lines.append(f"permissions: {'may' if may else 'may not'} read {topic}")
        return "\n".join(lines)

    def _missing(self, topic: str, roles: Roles) -> list[str]:
        """What to know of a stream that is given in place of a topic, and that nothing makes."""
        decision, macros = self._keeper.policy.decide(topic, roles), self._broker.core.macros
        stream = None if decision is None else decision.stream
        if macros is None or stream is None or not stream.startswith(PREFIX):
            return []
        name = stream.removeprefix(PREFIX)
        known = macros.known.get(name)
        if known is not None and not known.is_deleted:
            return []
        return [f"but: {name}: there is no such macro yet, so nothing comes"]

    async def _change(self, topic: str, document: Specification | None) -> None:
        now = self._server.clock()
        effects = self._broker.document_changed(topic, document, now)
        tickets = [effect.ticket for effect in effects if isinstance(effect, Keep)]
        self._server.execute(effects, now)
        ledger = self._broker.core.ledger
        await self._server.until.so(lambda: not tickets or ledger.safe(tickets[-1]))
