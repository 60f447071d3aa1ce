"""Everything that says who may come in, read from its files together and swapped at once.

    users, permissions, certificates, hook, roles ──read all──▶ Security ──adopt──▶ current
                                              └──anything wrong──▶ BadConfig with all of it; current stays

So a reload never leaves new users with old permissions, and a mistake in a file never locks anyone out or lets anyone
in. Reading takes a while and is done beside the event loop; adopting is one step of the loop's own, so nobody is judged
by what is half new. What is connected stays connected: new TLS contexts count for connections that come after, new
permissions for the next packet, and `gone` says whose password is no longer what it was, for who wants to hang up on
them.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.broker.access import LOOPBACK_ONLY, Access
from roost.broker.permissions import Permissions
from roost.errors import BadConfig
from roost.host.mqtt.config_roles import RoleFiles
from roost.host.mqtt.hook import Hook
from roost.host.mqtt.users import Users, read_text, read_users

MAX_PERMISSIONS_BYTES: Final = 16 << 20
_WRITABLE_BY_OTHERS: Final = 0o022


def no_hook() -> Hook | None:
    """Passwords and certificates are enough."""
    return None


def no_roles() -> RoleFiles | None:
    """Permissions are enough."""
    return None


@dataclass(frozen=True, slots=True)
class Sources:
    """Where it all is; `contexts` reads the certificates of the listeners, and raises `BadConfig` or `OSError`."""

    users: Path | None = None
    permissions: Path | None = None
    contexts: Callable[[], Mapping[str, ssl.SSLContext]] = dict
    hook: Callable[[], Hook | None] = no_hook  # raises `BadConfig`
    roles: Callable[[], RoleFiles | None] = no_roles  # as above


@dataclass(frozen=True, slots=True)
class Security:
    """What the files said, all of one moment."""

    users: Users
    access: Access
    contexts: Mapping[str, ssl.SSLContext]  # by listener
    warnings: tuple[str, ...] = ()  # what can be used but is hardly meant
    hook: Hook | None = None  # who answers for other methods than passwords
    roles: RoleFiles | None = None  # who gets which stream, where that is configured


class Reloader:
    """Holds what counts now; `read` and then `adopt` replace it."""

    def __init__(self, sources: Sources) -> None:
        self.current = load(sources)
        self.gone: list[bytes] = []  # by the latest reload
        self.reloads = 0
        self.failures = 0

    def read(self, sources: Sources) -> Security:
        """Read all files again; `BadConfig` says all that is wrong. Nothing changes yet."""
        try:
            return load(sources)
        except BadConfig:
            self.failures += 1
            raise

    def adopt(self, fresh: Security) -> None:
        """Have what was read count from now on."""
        self.gone = fresh.users.gone(self.current.users)
        self.current = fresh
        self.reloads += 1


def load(sources: Sources) -> Security:
    """Read all files, every one of them even if another is wrong; `BadConfig` has a line for each mistake."""
    mistakes: list[str] = []
    users = Users({})
    permissions: Permissions | None = None
    contexts: Mapping[str, ssl.SSLContext] = {}
    hook: Hook | None = None
    roles: RoleFiles | None = None
    if sources.users is not None:
        try:
            users, _ = read_users(sources.users)
        except BadConfig as error:
            mistakes.append(str(error))
        if sources.permissions is None:
            mistakes.append(
                f"there are users ({sources.users}) but no permissions, so nobody could do anything; name a "
                "permissions file, which for every user to do everything says: all, and below it: readwrite #"
            )
    if sources.permissions is not None:
        try:
            permissions = read_permissions(sources.permissions)
        except BadConfig as error:
            mistakes.append(str(error))
    try:
        contexts = sources.contexts()
    except (BadConfig, OSError) as error:  # what `ssl` raises is an OSError
        mistakes.append(str(error))
    try:
        hook = sources.hook()
    except BadConfig as error:
        mistakes.append(str(error))
    try:
        roles = sources.roles()
    except BadConfig as error:
        mistakes.append(str(error))
    if mistakes:
        raise BadConfig("\n".join(mistakes))
    warnings = [] if roles is None else list(roles.warnings)
    if permissions is None:
        return Security(users, LOOPBACK_ONLY, contexts, tuple(warnings), hook, roles)
    strangers = [user for user in permissions.lines_of if sources.users is not None and user not in users]
    warnings += [
        f"{sources.permissions}, line {permissions.lines_of[user]}: {user.decode()!r} is not in {sources.users}; right "
        "if certificates or a hook name this user, else correct the name or add the user"
        for user in strangers
    ]
    return Security(users, permissions, contexts, tuple(warnings), hook, roles)


def read_permissions(path: Path) -> Permissions:
    """Read a permissions file; `BadConfig` names the file and the line."""
    text = read_text(path, MAX_PERMISSIONS_BYTES, _WRITABLE_BY_OTHERS, "docs/mqtt-security.md shows one")
    try:
        return Permissions.parse(text)
    except BadConfig as error:
        raise BadConfig(f"{path}, {error}") from None
