"""Roles from a token: the answer of an OAuth 2.0 introspection endpoint, read [RFC 7662, section 2.2].

`active` is the one member that an answer must have, and only `true` is active: for anything else nobody is anybody.
`scope` is words with spaces between; another claim may be that or a list, and a dot in its name leads into an object
(`realm_access.roles`). A claim that is not there gives no roles. What cannot be read is `BadConfig`, which the driver
takes for a look-up that failed. Whether the token is the user's own is the driver's to compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.errors import BadConfig
from roost.machine import SECOND
from roost.process.roles.decision import NO_ROLES
from roost.process.roles.specification import ANYBODY, MAX_ROLES, role_name

DEFAULT_CLAIM: Final = "roles"
SCOPE: Final = "scope"


def roles_of_introspection(response: object, claim: str = DEFAULT_CLAIM) -> frozenset[str]:
    """The roles that an answer has in a claim; none if the token is not active."""
    if not is_active(response):
        return NO_ROLES
    value = _member(response, claim)
    listed = value.split() if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, list):
        raise BadConfig(f"claim {claim!r} of the introspection is {value!r:.64}; name one that is a list, or words")
    if len(listed) > MAX_ROLES:
        raise BadConfig(f"claim {claim!r} of the introspection has {len(listed)} roles, and may have {MAX_ROLES}")
    try:
        return frozenset([role_name(role) for role in listed]) - {ANYBODY}
    except BadConfig as error:
        raise BadConfig(f"claim {claim!r} of the introspection: {error}") from None


def end_of_introspection(response: object) -> int | None:
    """When the token ends (`exp`), in ns since 1970; None if that is not said."""
    end = _member(response, "exp")
    if end is None:
        return None
    if isinstance(end, bool) or not isinstance(end, int | float) or not abs(end) < 1 << 53:
        raise BadConfig(f"exp of the introspection is {end!r:.64}, not seconds since 1970")
    return int(end * SECOND)


def user_of_introspection(response: object) -> str | None:
    """Whose token it is: `username`, else `sub`; None if that is not said, or the token is not active."""
    for name in ("username", "sub") if is_active(response) else ():
        user = _member(response, name)
        if isinstance(user, str) and user:
            return user
    return None


def is_active(response: object) -> bool:
    """Whether the token is good."""
    return _member(response, "active") is True


def _member(response: object, path: str) -> object:
    """A member by its name, or by a path into objects; None if there is none."""
    if not isinstance(response, Mapping):
        raise BadConfig(f"the introspection is no object but {response!r:.64}; see that the URL is the endpoint's")
    if path in response:
        member: object = response[path]
        return member
    head, _, rest = path.partition(".")
    inner = response.get(head)
    return _member(inner, rest) if rest and isinstance(inner, Mapping) else None
