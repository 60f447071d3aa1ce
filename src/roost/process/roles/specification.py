"""A role-based publishing specification (RBPS): which streams of a topic each role may see, and which it gets [IV].

    {"topic": "t",
     "roles": {"developer": {"streams": ["raw", "t/anonymize"], "default": "raw"},
               "customer":  {"streams": ["t/anonymize"], "default": "t/anonymize"},
               "visitor":   {"streams": []},
               "*":         {"streams": ["t/daily"]}}}

- The topic may be a filter. A stream is `raw`, which is the topic itself, or the name of a macro, whose results are on
  `Noctua/<name>`; a level `{topic}` in the name stands for the topic, so that one document serves all that its filter
  matches. A macro that is called `raw` cannot be named here.
- The default is one of the streams, and is what who subscribes to the topic gets; with one stream it need not be said.
- A role without streams is denied, and so is one that is not mentioned. `*` is for users who have none of the roles
  that are mentioned, wherever it stands. It is not for users whose roles are not known.
- The order of the roles counts: see `roost.process.roles.policy`.

A document is read from a mapping, as JSON and YAML give it, and written back as one. Whether the macros exist is not
asked: they may come later, and until then there is nothing on their topics.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig, BadTopic
from roost.naming.topic import TopicFilter, name_of_topic
from roost.process.definition import PREFIX

RAW: Final = "raw"
ANYBODY: Final = "*"
TOPIC: Final = "{topic}"

MAX_ROLES: Final = 256  # in a document, and of a user
MAX_STREAMS: Final = 64  # of a role
MAX_ROLE_BYTES: Final = 256
MAX_LEVELS: Final = 128  # as of every topic of the broker's

_KEYS: Final = ("topic", "roles")
_ROW_KEYS: Final = ("streams", "default")
_PREFIXES: Final = ("$share/", "$since/", "$raw/")


@dataclass(frozen=True, slots=True)
class Row:
    """What one role may see; the default is empty if that is nothing."""

    role: str
    streams: tuple[str, ...]
    default: str


@dataclass(frozen=True, slots=True)
class Specification:
    """One document, in the order in which it was written."""

    topic: str
    rows: tuple[Row, ...]

    @staticmethod
    def read(document: object) -> Specification:
        """Read a mapping, or raise `BadConfig` with what is wrong, where, and what to write."""
        entries = _mapping(document, "the document", _KEYS)
        topic = _topic(entries.get("topic"))
        try:
            return Specification(topic, _rows(entries.get("roles")))
        except BadConfig as error:
            raise BadConfig(f"{topic}: {error}") from None

    def mapping(self) -> dict[str, object]:
        """Write it as `read` takes it."""
        return {"topic": self.topic, "roles": {row.role: _row_mapping(row) for row in self.rows}}

    @property
    def streams(self) -> tuple[str, ...]:
        """Every stream that some role may see, in the order of the document."""
        return tuple(dict.fromkeys([stream for row in self.rows for stream in row.streams]))

    def rows_of(self, roles: Collection[str]) -> list[Row]:
        """The rows that are for a user with these roles, in the order of the document."""
        rows = [row for row in self.rows if row.role in roles and row.role != ANYBODY]
        return rows or [row for row in self.rows if row.role == ANYBODY]


def stream_topic(stream: str, topic: str) -> str:
    """The topic, or the filter, on which a stream of a topic or a filter is found.

    Behind a `#` nothing can follow, so what would follow it is left off: the filter matches more than the stream then.
    """
    if stream == RAW:
        return topic
    levels = stream.split("/")
    if TOPIC not in levels:
        return PREFIX + stream
    if topic.endswith("#"):
        levels = levels[: levels.index(TOPIC) + 1]
    return PREFIX + "/".join([topic if level == TOPIC else level for level in levels])


def role_name(role: object) -> str:
    """Check the name of a role; raises `BadConfig`."""
    if not isinstance(role, str):
        raise BadConfig(f"{role!r} is no name for a role: it is not text; put it in quotes")
    if not role or not role.isprintable() or role != role.strip():
        raise BadConfig(f"{role!r} is no name for a role: write one or more printable letters without space around")
    if len(role.encode()) > MAX_ROLE_BYTES:
        raise BadConfig(f"role {role[:32]!r}…: a name has at most {MAX_ROLE_BYTES} bytes; shorten it")
    return role


def _mapping(value: object, where: str, keys: Sequence[str]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise BadConfig(f"{where}: write a mapping with {' and '.join(keys)}")
    for key in value:
        if key not in keys:
            raise BadConfig(f"{where}: there is no key {key!r}; write {' or '.join(keys)}")
    return value


def _topic(topic: object) -> str:
    if not isinstance(topic, str):
        raise BadConfig("topic: write the topic or the filter that the document is for, as text")
    try:
        TopicFilter(topic)
    except BadTopic as error:
        raise BadConfig(f"topic: {error}") from None
    for prefix in _PREFIXES:
        if topic.startswith(prefix):
            raise BadConfig(f"topic: {topic!r} begins as a subscription does; write the topic without {prefix}…")
    if topic.count("/") >= MAX_LEVELS:
        raise BadConfig(f"topic: it has {topic.count('/') + 1} levels, and may have {MAX_LEVELS}")
    return topic


def _rows(roles: object) -> tuple[Row, ...]:
    if not isinstance(roles, Mapping) or not roles:
        raise BadConfig('roles: write a mapping of one role at least, as in {"developer": {"streams": ["raw"]}}')
    if len(roles) > MAX_ROLES:
        raise BadConfig(f"roles: there are {len(roles)}, a document has at most {MAX_ROLES}")
    return tuple([_row(role, row) for role, row in roles.items()])


def _row(role: object, value: object) -> Row:
    where = f"role {role_name(role)!r}"
    entries = _mapping(value, where, _ROW_KEYS)
    listed = entries.get("streams")
    if not isinstance(listed, list | tuple):
        raise BadConfig(f"{where}: streams is a list; write [raw], the names of macros, or [] to deny")
    if len(listed) > MAX_STREAMS:
        raise BadConfig(f"{where}: streams has {len(listed)} entries, and may have {MAX_STREAMS}")
    streams = tuple(dict.fromkeys([_stream(stream, where) for stream in listed]))
    default = entries.get("default")
    if default is None and len(streams) <= 1:
        default = streams[0] if streams else ""
    elif default is None:
        raise BadConfig(f"{where}: there are several streams; write default, one of {', '.join(streams)}")
    elif default not in streams:
        raise BadConfig(f"{where}: default {default!r} is none of its streams; write {_one_of(streams)}")
    return Row(str(role), streams, str(default))


def _row_mapping(row: Row) -> dict[str, object]:
    listed = list(row.streams)
    return {"streams": listed, "default": row.default} if listed else {"streams": listed}


def _stream(stream: object, where: str) -> str:
    if not isinstance(stream, str):
        raise BadConfig(f"{where}: stream {stream!r} is not text; write raw, or the name of a macro in quotes")
    if not stream or stream.startswith((PREFIX, "$")):
        raise BadConfig(f"{where}: stream {stream!r} is no name of a macro; write it without {PREFIX} and '$' before")
    for level in stream.split("/"):
        if level != TOPIC and (TOPIC in level or (level.startswith("{") and level.endswith("}"))):
            raise BadConfig(f"{where}: stream {stream!r}: the only placeholder is {TOPIC}, alone in its level")
    if stream.split("/").count(TOPIC) > 1:
        raise BadConfig(f"{where}: stream {stream!r}: write {TOPIC} once")
    try:
        name_of_topic(PREFIX + stream)
    except BadTopic as error:
        raise BadConfig(f"{where}: stream {stream!r} is no name of a macro: {error}") from None
    return stream


def _one_of(streams: tuple[str, ...]) -> str:
    return f"one of {', '.join(streams)}" if streams else "no default, or streams"
