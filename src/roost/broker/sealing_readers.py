"""Who may open what is sealed: this node, the other nodes of its groups, and readers whom roles and permissions let.

A reader is a user with keys of its own, who fetches named Data instead of asking a door. It gets the keys of the
streams that it may have at the doors: those that its roles may see as they are published, and of which the permissions
let it read the topic, or the topic in whose place its roles are given the stream. Roles that are not known see nothing.

What nodes tell each other of macros says what these remember of their inputs, and what they tell of clients that come
has their wills, so both are for nodes alone as soon as there is any document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.broker.announcement import RESERVED
from roost.broker.arrivals import TOPIC as ARRIVALS
from roost.broker.core import Core
from roost.broker.macros.record import TOPICS as RECORDS
from roost.broker.roles.keeper import RoleKeeper
from roost.process.roles.reach import sees
from roost.process.wildcards import is_wild
from roost.trust.wrapping import Recipient

_NOBODY: Final = b""  # there is no client id here: a permission with %c grants nothing


class CoreReadership:
    """As a broker's documents, roles and permissions have it; `own` are the keys of this node."""

    def __init__(self, core: Core, own: Sequence[Recipient]) -> None:
        self._core: Final = core
        self._own: Final = {each.digest: each for each in own}

    def governs(self, topic: bytes) -> bool:
        """Whether there is somebody who may not see what is on a topic."""
        keeper = self._core.roles
        if keeper is None or not keeper.policy.documents:
            return False
        if topic.startswith(RESERVED):
            return topic == ARRIVALS or topic.startswith(RECORDS)
        return not sees(keeper.policy, topic.decode(), None, keeper.inputs_of)

    def recipients(self, topic: bytes) -> dict[bytes, Recipient]:
        """For whom the keys of a governed topic are, by the digests of their own."""
        keeper = self._core.roles
        found = dict(self._own)
        if keeper is None:
            return found
        found |= {each.digest: each for each in keeper.nodes}
        if topic.startswith(RESERVED):
            return found
        for user, keys in keeper.readers.items():
            if self._may_read(keeper, user, topic):
                found |= {each.digest: each for each in keys}
        return found

    def _may_read(self, keeper: RoleKeeper, user: bytes, topic: bytes) -> bool:
        roles, _ = keeper.roles_of(user)
        text = topic.decode()
        if not sees(keeper.policy, text, roles, keeper.inputs_of):
            return False
        access = self._core.access
        if access.may_receive(user, _NOBODY, topic):
            return True
        for origin in keeper.policy.origins(text):
            decision = keeper.policy.decide(origin, roles)
            is_default = decision is not None and decision.stream == text
            if is_default and not is_wild(origin) and access.may_receive(user, _NOBODY, origin.encode()):
                return True
        return False
