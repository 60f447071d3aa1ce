"""The roles file: users and their roles, as a mapping of JSON or YAML.

    alice: [developer, tester]
    bob: customer
    carol: []

Who is not in it has no roles. The file is read whole or not at all. Reading and watching it is the host's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.errors import BadConfig
from roost.process.roles.specification import ANYBODY, MAX_ROLES, role_name

MAX_USERS: Final = 100_000

_FORM: Final = "write NAME: [ROLE, …]"


def read_roles(document: object) -> dict[str, frozenset[str]]:
    """Read the mapping, None if the file is empty; raises `BadConfig` with the user and what to write."""
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise BadConfig(f"the roles file is no mapping of users to roles; {_FORM}")
    if len(document) > MAX_USERS:
        raise BadConfig(
            f"the roles file has {len(document):,} users, and may have {MAX_USERS:,}; use a service instead"
        )
    return {_user(user): _roles(user, listed) for user, listed in document.items()}


def differing(before: Mapping[str, frozenset[str]], after: Mapping[str, frozenset[str]]) -> list[str]:
    """The users whose roles are not the same in both, in the order of the files."""
    nothing: frozenset[str] = frozenset()
    return [user for user in {**before, **after} if before.get(user, nothing) != after.get(user, nothing)]


def _user(user: object) -> str:
    if not isinstance(user, str):
        raise BadConfig(f"user {user!r} is not text; put the name in quotes")
    if not user:
        raise BadConfig("there is a user without a name, and who has none has no roles; take the line out")
    return user


def _roles(user: object, listed: object) -> frozenset[str]:
    roles = [listed] if isinstance(listed, str) else listed
    if not isinstance(roles, list | tuple):
        raise BadConfig(f"user {user!r}: {listed!r} is no list of roles; {_FORM}")
    if len(roles) > MAX_ROLES:
        raise BadConfig(f"user {user!r} has {len(roles)} roles, and may have {MAX_ROLES}")
    try:
        found = frozenset([role_name(role) for role in roles])
    except BadConfig as error:
        raise BadConfig(f"user {user!r}: {error}") from None
    if ANYBODY in found:
        raise BadConfig(f"user {user!r}: {ANYBODY!r} is for who has no role of a document; name a role, or write []")
    return found
