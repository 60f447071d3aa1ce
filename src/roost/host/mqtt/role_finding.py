"""The roles of users at doors other than MQTT, who have no session: known to the broker, or asked for and remembered.

What an endpoint says of such a user holds as long as it would for a session. It is asked for again when somebody asks
for something new (`admit`); what is followed when the answer is too old is denied until then: fail closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.roles.ancestry import is_hidden
from roost.broker.roles.keeper import RoleKeeper
from roost.errors import BadConfig, Denied, Unreachable
from roost.host.clock import Clock
from roost.host.mqtt.roles import Endpoint
from roost.process.roles.decision import Roles
from roost.process.roles.derived import sees_all
from roost.process.roles.reach import candidates, presented, refused

MAX_GUESTS: Final = 10_000


class Guests:
    """What is known of them."""

    def __init__(self, keeper: RoleKeeper, clock: Clock, endpoint: Endpoint | None) -> None:
        self._keeper: Final = keeper
        self._clock: Final = clock
        self._endpoint: Final = endpoint
        self._known: Final[dict[bytes, tuple[Roles, str, int]]] = {}  # roles, why not, until when; bound: MAX_GUESTS

    def roles_of(self, user: bytes) -> tuple[Roles, str]:
        """What is known now."""
        if self._endpoint is None or self._keeper.is_told(user):
            return self._keeper.roles_of(user)
        roles, why, until = self._known.get(user, (None, "nobody has asked for them", 0))
        return (roles, why) if self._clock() < until else (None, why or "they are too old")

    async def find(self, user: bytes) -> tuple[Roles, str]:
        """What is known, or can be found out."""
        endpoint = self._endpoint
        if endpoint is None or self._keeper.is_told(user) or self._clock() < self._known.get(user, (None, "", 0))[2]:
            return self.roles_of(user)
        settings = self._keeper.lookup.settings
        roles: Roles = None
        why = ""
        until: int | None = None
        try:
            roles, until = await endpoint.find(user.decode(errors="replace"))
        except (BadConfig, Unreachable) as error:
            why = str(error)
        ends = self._clock() + (settings.ttl if roles else settings.negative_ttl)
        if len(self._known) >= MAX_GUESTS:
            del self._known[next(iter(self._known))]
        self._known[user] = (roles, why, ends if until is None else min(ends, until))
        return self.roles_of(user)


class RoleJudge:
    """Says what a user who asks for a topic or filter gets; satisfies `roost.host.mqtt.topic_desk.Judge`."""

    def __init__(self, core: Core, keeper: RoleKeeper, guests: Guests) -> None:
        self._core: Final = core
        self._keeper: Final = keeper
        self._guests: Final = guests

    async def admit(self, user: bytes, wanted: str) -> None:
        """Find the user's roles; raises `Denied` if they get nothing of it."""
        roles, why = await self._guests.find(user)
        if refused(self._keeper.policy, wanted, roles, self._keeper.inputs_of):
            because = f", which are not known: {why}" if roles is None else ""
            raise Denied(f"the roles of the user give nothing of {wanted}{because}")

    async def sees(self, user: bytes, inputs: Sequence[str]) -> bool:
        """Whether the user's roles may see all of these topics and filters, as they are published."""
        roles, _ = await self._guests.find(user)
        return sees_all(self._keeper.policy, inputs, roles, self._keeper.inputs_of)

    def roles_of(self, user: bytes) -> Roles:
        """The user's roles as they are known now, None if they are not."""
        return self._guests.roles_of(user)[0]

    def candidates(self, wanted: str) -> Sequence[str]:
        """Where anything can come for it, whatever the roles."""
        return candidates(self._keeper.policy, wanted)

    def presented(self, user: bytes, wanted: str, message: Message) -> str | None:
        """As which topic a message comes to the user; None if it does not, or the roles are not known."""
        roles, _ = self._guests.roles_of(user)
        if message.lineage and is_hidden(self._core, self._keeper, roles, message):
            return None
        return presented(self._keeper.policy, wanted, message.topic.decode(), roles, self._keeper.inputs_of)
