"""What the status datasets and the face events are made of, record by record [nfd-management §4, §5].

TLV-TYPE numbers are reused with other meanings from record to record; each table stands for itself. `GeneralStatus` is
the one record that is written bare, without a type and length of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from roost.forwarding.records import NAME, Field, Record
from roost.naming import Name

SCOPE_NON_LOCAL: Final = 0
SCOPE_LOCAL: Final = 1

CREATED: Final = 1
DESTROYED: Final = 2

_FACE: Final = Field("face", 105)
_COST: Final = Field("cost", 106)
_FLAGS: Final = Field("flags", 108)
_EXPIRATION: Final = Field("expiration_ms", 109, required=False)
_STRATEGY: Final = Field("strategy", 107, "wrapped name")
_PACKETS: Final = (
    Field("in_interests", 144),
    Field("in_data", 145),
    Field("in_nacks", 151),
    Field("out_interests", 146),
    Field("out_data", 147),
    Field("out_nacks", 152),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralStatus(Record):
    """`status/general`: the forwarder as a whole."""

    version: str
    started_ms: int
    now_ms: int
    name_tree_entries: int
    fib_entries: int
    pit_entries: int
    measurement_entries: int
    store_entries: int
    in_interests: int
    in_data: int
    in_nacks: int
    out_interests: int
    out_data: int
    out_nacks: int
    satisfied: int
    unsatisfied: int

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", 128, "text"),
        Field("started_ms", 129),
        Field("now_ms", 130),
        Field("name_tree_entries", 131),
        Field("fib_entries", 132),
        Field("pit_entries", 133),
        Field("measurement_entries", 134),
        Field("store_entries", 135),
        *_PACKETS,
        Field("satisfied", 153),
        Field("unsatisfied", 154),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceStatus(Record):
    """One face of `faces/list` and `faces/query`."""

    face: int
    uri: str
    local_uri: str
    expiration_ms: int | None = None
    scope: int
    persistency: int
    link_type: int
    congestion_interval_ns: int | None = None
    congestion_threshold_bytes: int | None = None
    mtu: int | None = None
    in_interests: int
    in_data: int
    in_nacks: int
    out_interests: int
    out_data: int
    out_nacks: int
    in_bytes: int
    out_bytes: int
    flags: int

    TYPE: ClassVar[int] = 128
    FIELDS: ClassVar[tuple[Field, ...]] = (
        _FACE,
        Field("uri", 114, "text"),
        Field("local_uri", 129, "text"),
        _EXPIRATION,
        Field("scope", 132),
        Field("persistency", 133),
        Field("link_type", 134),
        Field("congestion_interval_ns", 135, required=False),
        Field("congestion_threshold_bytes", 136, required=False),
        Field("mtu", 137, required=False),
        *_PACKETS,
        Field("in_bytes", 148),
        Field("out_bytes", 149),
        _FLAGS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceQuery(Record):
    """The filter of `faces/query`: what is absent is not asked for."""

    face: int | None = None
    scheme: str | None = None
    uri: str | None = None
    local_uri: str | None = None
    scope: int | None = None
    persistency: int | None = None
    link_type: int | None = None

    TYPE: ClassVar[int] = 150
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("face", 105, required=False),
        Field("scheme", 131, "text", required=False),
        Field("uri", 114, "text", required=False),
        Field("local_uri", 129, "text", required=False),
        Field("scope", 132, required=False),
        Field("persistency", 133, required=False),
        Field("link_type", 134, required=False),
    )

    def matches(self, status: FaceStatus) -> bool:
        """Whether a face is one of those asked for."""
        if self.scheme is not None and self.scheme not in {_scheme(status.uri), _scheme(status.local_uri)}:
            return False
        for attribute in ("face", "uri", "local_uri", "scope", "persistency", "link_type"):
            asked = getattr(self, attribute)
            if asked is not None and asked != getattr(status, attribute):
                return False
        return True


@dataclass(frozen=True, slots=True)
class ChannelStatus(Record):
    """One listener of `faces/channels`."""

    local_uri: str

    TYPE: ClassVar[int] = 130
    FIELDS: ClassVar[tuple[Field, ...]] = (Field("local_uri", 129, "text"),)


@dataclass(frozen=True, slots=True)
class NextHop(Record):
    """One next hop of a FIB entry."""

    face: int
    cost: int

    FIELDS: ClassVar[tuple[Field, ...]] = (_FACE, _COST)


@dataclass(frozen=True, slots=True)
class FibEntry(Record):
    """One prefix of `fib/list`."""

    name: Name
    next_hops: tuple[NextHop, ...]

    TYPE: ClassVar[int] = 128
    FIELDS: ClassVar[tuple[Field, ...]] = (NAME, Field("next_hops", 129, "records", of=NextHop))


@dataclass(frozen=True, slots=True)
class RouteStatus(Record):
    """One route of a RIB entry."""

    face: int
    origin: int
    cost: int
    flags: int
    expiration_ms: int | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (_FACE, Field("origin", 111), _COST, _FLAGS, _EXPIRATION)


@dataclass(frozen=True, slots=True)
class RibEntry(Record):
    """One prefix of `rib/list`."""

    name: Name
    routes: tuple[RouteStatus, ...]

    TYPE: ClassVar[int] = 128
    FIELDS: ClassVar[tuple[Field, ...]] = (NAME, Field("routes", 129, "records", of=RouteStatus))


@dataclass(frozen=True, slots=True)
class StrategyChoice(Record):
    """One prefix of `strategy-choice/list`."""

    name: Name
    strategy: Name

    TYPE: ClassVar[int] = 128
    FIELDS: ClassVar[tuple[Field, ...]] = (NAME, _STRATEGY)


@dataclass(frozen=True, slots=True)
class CsInfo(Record):
    """`cs/info`: the content store."""

    capacity: int
    flags: int
    entries: int
    hits: int
    misses: int

    TYPE: ClassVar[int] = 128
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("capacity", 131),
        _FLAGS,
        Field("entries", 135),
        Field("hits", 129),
        Field("misses", 130),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceEvent(Record):
    """One notification of `faces/events`."""

    kind: int
    face: int
    uri: str
    local_uri: str
    scope: int
    persistency: int
    link_type: int
    flags: int

    TYPE: ClassVar[int] = 192
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("kind", 193),
        _FACE,
        Field("uri", 114, "text"),
        Field("local_uri", 129, "text"),
        Field("scope", 132),
        Field("persistency", 133),
        Field("link_type", 134),
        _FLAGS,
    )


def _scheme(uri: str) -> str:
    return uri.partition("://")[0]
