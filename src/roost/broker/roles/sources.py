"""Sources of roles that are at hand whenever they are asked: a file that was read, or retained messages.

    users: roles.yaml                   NAME: [ROLE, …], see `roost.process.roles.role_file`
    users: {topic: 'staff/%u/roles'}    the retained message of a user's topic is the list: JSON, or words with spaces

With a topic the roles of a user are other ones as soon as that topic has another retained message, published here or at
another node of its group. Who may publish there gives roles away: that is the permissions' to say. A user whose name
cannot be a level of a topic has no roles; neither has one whose topic has no message. A message that cannot be read
makes the roles unknown, and so denies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Protocol

from roost.broker.message import Message
from roost.broker.retained import Retained
from roost.errors import BadConfig
from roost.process.roles.decision import NO_ROLES, Roles
from roost.process.roles.specification import ANYBODY, MAX_ROLES, role_name

USER: Final = "%u"
_NO_LEVEL: Final = frozenset("/+#\0")


class Source(Protocol):
    """Where roles are found at once."""

    def find(self, user: str) -> tuple[Roles, str]:
        """The roles of a user; None if they cannot be known, and why."""
        ...

    def user_of(self, topic: bytes) -> bytes | None:
        """Whose roles the retained message of a topic tells, None if nobody's."""
        ...


class FileRoles:
    """What a roles file says."""

    def __init__(self, users: Mapping[str, frozenset[str]]) -> None:
        self._users: Final = users

    def roles(self) -> dict[str, str]:
        """Every role, with a user who has it."""
        return {role: user for user, roles in self._users.items() for role in sorted(roles)}

    def find(self, user: str) -> tuple[Roles, str]:
        return self._users.get(user, NO_ROLES), ""

    def user_of(self, topic: bytes) -> bytes | None:
        del topic
        return None


class TopicRoles:
    """What retained messages say; the broker that has them sets `retained`."""

    def __init__(self, pattern: str) -> None:
        """Raises `BadConfig` if the pattern is not one level `%u` among levels that are written out."""
        levels = pattern.split("/")
        if levels.count(USER) != 1 or any(set(level) & set("+#\0") for level in levels) or pattern.startswith("$"):
            raise BadConfig(
                f"{pattern!r} is no topic per user; write one level {USER} and no wildcards: staff/%u/roles"
            )
        self.retained: Retained[Message] | None = None
        self._levels: Final = levels
        self._at: Final = levels.index(USER)

    def find(self, user: str) -> tuple[Roles, str]:
        if not user or set(user) & _NO_LEVEL or (user.startswith("$") and self._at == 0) or self.retained is None:
            return NO_ROLES, ""
        topic = "/".join([user if level == USER else level for level in self._levels])
        for _, message in self.retained.matching(topic.encode(), 0):  # what expired is taken out, and heard of
            try:
                return _listed(message.payload), ""
            except (BadConfig, ValueError, RecursionError) as error:
                return None, f"what is retained on {topic} is no list of roles: {error}"
        return NO_ROLES, ""

    def user_of(self, topic: bytes) -> bytes | None:
        levels = topic.split(b"/")
        if len(levels) != len(self._levels):
            return None
        for at, level in enumerate(self._levels):
            if at != self._at and levels[at] != level.encode():
                return None
        return levels[self._at]


def _listed(payload: bytes) -> frozenset[str]:
    text = payload.decode().strip()
    listed = json.loads(text) if text.startswith(("[", '"')) else text.split()
    roles = [listed] if isinstance(listed, str) else listed
    if not isinstance(roles, list) or len(roles) > MAX_ROLES:
        raise BadConfig(f"write a list of at most {MAX_ROLES}, as in: [developer, tester]")
    return frozenset([role_name(role) for role in roles]) - {ANYBODY}
