"""Roles, as the configuration says them: who gets which stream of a topic, and where it is known who has which role.

    roles:
      documents: rbps.yaml              one role-based publishing specification or a list of them, in YAML or JSON
      users: roles.yaml                 NAME: [ROLE, …]
      hold: true                        false only for experiments: what comes during a look-up is lost then
      readers: {ada: ada.cert}          who reads over NDN or in pipelines (`roost.host.mqtt.config_readers`)
      nodes: [gate2.cert]               the other nodes of the groups

In place of the file, `users` may be `{topic: 'staff/%u/roles'}`, retained messages (`roost.broker.roles.sources`), or
an introspection endpoint [RFC 7662]: `{introspection: {url: …, client_id: …, secret: FILE}}`, with `token: password` if
clients log in with tokens. docs/roles.md tells more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from roost.broker.roles.sources import FileRoles, Source, TopicRoles
from roost.errors import BadConfig
from roost.host.address import is_loopback
from roost.host.mqtt.config_readers import Readers, ReaderSettings, read_reader_settings
from roost.host.mqtt.config_values import known, path, section, text, time_s, yes_or_no
from roost.host.mqtt.users import read_text
from roost.host.mqtt.yaml_file import read_yaml
from roost.machine import SECOND
from roost.process.roles.introspection import DEFAULT_CLAIM
from roost.process.roles.lookup_port import LookupSettings
from roost.process.roles.policy import Policy
from roost.process.roles.role_file import read_roles
from roost.process.roles.specification import Specification

MAX_SECRET_BYTES: Final = 4096

_KEYS: Final = dict.fromkeys(("documents", "users", "hold", "readers", "nodes"))
_ENDPOINT_KEYS: Final = dict.fromkeys(
    ("url", "client_id", "secret", "token", "claim", "timeout", "ttl", "negative_ttl")
)
_TOKENS: Final = ("user", "password")
_OPEN_TO_OTHERS: Final = 0o077
_SHOWN: Final = "docs/roles.md shows one"

Read = TypeVar("Read")
Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """An introspection endpoint, and how long its answers hold."""

    url: str
    client_id: str
    secret: Path
    claim: str
    lookup: LookupSettings
    is_login: bool = False  # passwords are tokens; else the name of a user is taken for one

    def read_secret(self) -> str:
        """The secret, without the line's end; raises `BadConfig`."""
        return read_text(self.secret, MAX_SECRET_BYTES, _OPEN_TO_OTHERS, "put the client's secret into it").strip()


class RoleFiles(NamedTuple):
    """What the files say: documents, who has which role, None if that is known elsewhere, and who has keys."""

    documents: list[Specification]
    source: Source | None
    readers: Readers = Readers()
    warnings: tuple[str, ...] = ()  # what can be used but is hardly meant


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """Where documents are, and where roles are: a file, a topic per user, or an endpoint."""

    documents: Path | None
    users: Path | str | EndpointSettings
    hold: bool = True
    readers: ReaderSettings = field(default_factory=ReaderSettings)

    def load(self) -> RoleFiles:
        """Read all files; raises `BadConfig`."""
        documents, source, readers = self.read_documents(), self.read_source(), self.readers.load()
        return RoleFiles(documents, source, readers, (*self._strangers(documents, source), *readers.warnings))

    def _strangers(self, documents: list[Specification], source: Source | None) -> list[str]:
        """A line for each role that somebody has, and that no document mentions."""
        if not documents or not isinstance(source, FileRoles):
            return []
        mentioned = {row.role for document in documents for row in document.rows}
        return [
            f"{self.users}: role {role!r}, as {user!r} has it, is in no document of {self.documents}; right if a "
            "document that was added since mentions it, else correct the name"
            for role, user in source.roles().items()
            if role not in mentioned
        ]

    def read_documents(self) -> list[Specification]:
        """Read all documents; raises `BadConfig` that names the file, and what is wrong in it."""
        if self.documents is None:
            return []
        said = read_yaml(self.documents, _SHOWN)
        found: dict[str, Specification] = {}
        for at, each in enumerate(said if isinstance(said, list) else [said], 1):
            document = _told(f"{self.documents}, document {at}", Specification.read, each)
            if document.topic in found:
                raise BadConfig(f"{self.documents}, document {at}: there are two for {document.topic}; join them")
            found[document.topic] = document
        _told(str(self.documents), Policy, found.values())
        return list(found.values())

    def read_source(self) -> Source | None:
        """Read who has which role, None if that is known elsewhere; raises `BadConfig`."""
        if isinstance(self.users, EndpointSettings):
            return None
        if isinstance(self.users, str):
            return TopicRoles(self.users)
        said = read_yaml(self.users, _SHOWN)
        return FileRoles(_told(str(self.users), read_roles, said))


def read_role_settings(value: object, folder: Path) -> RoleSettings:
    """Read the section; raises `BadConfig`."""
    said = section("roles", value)
    known("roles", said, _KEYS)
    documents = path("roles.documents", said["documents"], folder) if "documents" in said else None
    hold = bool(yes_or_no("roles.hold", said.get("hold", True)))
    return RoleSettings(documents, _users(said.get("users"), folder), hold, read_reader_settings(said, folder))


def _users(value: object, folder: Path) -> Path | str | EndpointSettings:
    if isinstance(value, str) and value:
        return path("roles.users", value, folder)
    if value is None:
        raise BadConfig("roles.users: say who has which role: a file, {topic: …} or {introspection: {…}}")
    said = section("roles.users", value)
    known("roles.users", said, {"topic": None, "introspection": None})
    if len(said) != 1:
        raise BadConfig("roles.users: roles come from one place; name a file, a topic or an introspection endpoint")
    if "topic" in said:
        pattern = text("roles.users.topic", said["topic"])
        _told("roles.users.topic", TopicRoles, pattern)
        return pattern
    return _endpoint(said["introspection"], folder)


def _endpoint(value: object, folder: Path) -> EndpointSettings:
    key = "roles.users.introspection"
    said = section(key, value)
    known(key, said, _ENDPOINT_KEYS)
    url = text(f"{key}.url", said.get("url"))
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not host or parts.username is not None:
        raise BadConfig(f"{key}.url: {url!r} is no address of a service; write https://HOST/PATH")
    if parts.scheme == "http" and host != "localhost" and not is_loopback(host):
        raise BadConfig(f"{key}.url: the secret would go to {host} in the clear; write https://…")
    token = text(f"{key}.token", said.get("token", "user"))
    if token not in _TOKENS:
        raise BadConfig(f"{key}.token: {token!r} is neither: write user, whose name is sent, or password")
    times = {
        name: int(str(time_s(1, 86_400)(f"{key}.{name}", said[name]))) * SECOND
        for name in ("timeout", "ttl", "negative_ttl")
        if name in said
    }
    return EndpointSettings(
        url,
        text(f"{key}.client_id", said.get("client_id")),
        path(f"{key}.secret", said.get("secret"), folder),
        text(f"{key}.claim", said.get("claim", DEFAULT_CLAIM)),
        LookupSettings(**times),
        token == "password",  # noqa: S105  the name of a choice
    )


def _told(place: str, read: Callable[[Said], Read], said: Said) -> Read:
    """Read something, and say where it was if it is wrong."""
    try:
        return read(said)
    except BadConfig as error:
        raise BadConfig(str(error) if str(error).startswith(place) else f"{place}: {error}") from None
