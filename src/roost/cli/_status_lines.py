"""What status datasets say, as people read it and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any, Final

from roost.forwarding.control import CAPTURE, CHILD_INHERIT, CS_ADMIT, CS_SERVE, ORIGIN_NAMES
from roost.forwarding.records import Record
from roost.forwarding.status import CsInfo, FaceStatus, FibEntry, GeneralStatus, RibEntry, RouteStatus, StrategyChoice

_SCOPES: Final = ("non-local", "local")
_PERSISTENCIES: Final = ("persistent", "on-demand", "permanent")
_LINK_TYPES: Final = ("point-to-point", "multi-access", "ad-hoc")
_FACE_FLAGS: Final = ((1, "local-fields"), (2, "reliability"), (4, "congestion-marking"))
_ROUTE_FLAGS: Final = ((CHILD_INHERIT, "child-inherit"), (CAPTURE, "capture"))
_STORE_FLAGS: Final = ((CS_ADMIT, "admit"), (CS_SERVE, "serve"))


def describe(records: Sequence[Record]) -> list[str]:
    """Write records for people, one line or a few each."""
    return [line for record in records for line in _lines(record)] or ["(nothing)"]


def told(record: Record) -> dict[str, Any]:
    """A record with the words of the specification; records in it likewise."""
    found = {field.attribute: getattr(record, field.attribute) for field in record.FIELDS}
    return {key: [told(each) for each in one] if isinstance(one, tuple) else one for key, one in found.items()}


@singledispatch
def _lines(record: Record) -> list[str]:
    return [str(record)]


@_lines.register
def _(status: GeneralStatus) -> list[str]:
    started = datetime.fromtimestamp(status.started_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return [
        f"version     {status.version}",
        f"started     {started}, {_duration(status.now_ms - status.started_ms)} ago",
        f"entries     {status.fib_entries} FIB, {status.pit_entries} PIT, {status.store_entries} content store",
        f"interests   {status.in_interests} in, {status.out_interests} out",
        f"answered    {status.satisfied} satisfied, {status.unsatisfied} unsatisfied",
        f"data        {status.in_data} in, {status.out_data} out",
        f"nacks       {status.in_nacks} in, {status.out_nacks} out",
    ]


@_lines.register
def _(status: FaceStatus) -> list[str]:
    words = [
        _word(_SCOPES, status.scope),
        _word(_PERSISTENCIES, status.persistency),
        _word(_LINK_TYPES, status.link_type),
        *_flags(_FACE_FLAGS, status.flags),
    ]
    if status.mtu is not None:
        words.append(f"mtu {status.mtu}")
    if status.expiration_ms is not None:
        words.append(f"ends in {_duration(status.expiration_ms)}")
    return [
        f"{status.face:<6} {status.uri}  at {status.local_uri}",
        f"       {', '.join(words)}",
        f"       in  {_counts(status.in_interests, status.in_data, status.in_nacks, status.in_bytes)}",
        f"       out {_counts(status.out_interests, status.out_data, status.out_nacks, status.out_bytes)}",
    ]


@_lines.register
def _(entry: FibEntry) -> list[str]:
    return [f"{entry.name}", *[f"       face {hop.face}, cost {hop.cost}" for hop in entry.next_hops]]


@_lines.register
def _(entry: RibEntry) -> list[str]:
    return [f"{entry.name}", *[f"       {_route(route)}" for route in entry.routes]]


def _route(route: RouteStatus) -> str:
    words = [
        f"face {route.face}",
        f"cost {route.cost}",
        f"from {ORIGIN_NAMES.get(route.origin, str(route.origin))}",
        *_flags(_ROUTE_FLAGS, route.flags),
    ]
    if route.expiration_ms is not None:
        words.append(f"ends in {_duration(route.expiration_ms)}")
    return ", ".join(words)


@_lines.register
def _(choice: StrategyChoice) -> list[str]:
    return [f"{choice.name}", f"       {choice.strategy}"]


@_lines.register
def _(info: CsInfo) -> list[str]:
    return [
        f"packets     {info.entries} of {info.capacity}",
        f"does        {', '.join(_flags(_STORE_FLAGS, info.flags)) or 'nothing'}",
        f"asked       {info.hits} hits, {info.misses} misses",
    ]


def _counts(interests: int, data: int, nacks: int, size_bytes: int) -> str:
    return f"{interests} Interests, {data} Data, {nacks} Nacks, {size_bytes} bytes"


def _word(words: tuple[str, ...], number: int) -> str:
    return words[number] if number < len(words) else str(number)


def _flags(names: tuple[tuple[int, str], ...], flags: int) -> list[str]:
    return [name for bit, name in names if flags & bit]


def _duration(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h"
