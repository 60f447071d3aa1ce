"""The status datasets: the forwarder's tables, written as records [nfd-management §5].

Each function takes the tables as they are now and returns the content of one dataset. Cutting it into segments is the
shelf's work. Measurements and a name tree do not exist here; their counts say 0 and the number of prefixes and PIT
entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from roost.forwarding.control import CS_ADMIT, CS_SERVE
from roost.forwarding.rib import Rib
from roost.forwarding.status import (
    SCOPE_LOCAL,
    SCOPE_NON_LOCAL,
    ChannelStatus,
    CsInfo,
    FaceEvent,
    FaceQuery,
    FaceStatus,
    FibEntry,
    GeneralStatus,
    NextHop,
    RibEntry,
    RouteStatus,
    StrategyChoice,
)
from roost.forwarding.tables import FaceRecord, Tables
from roost.machine import MS
from roost.wire.tlv import MAX_PACKET_BYTES


def general(tables: Tables, now: int) -> bytes:
    """Write `status/general`."""
    counters = tables.counters
    return GeneralStatus(
        version=tables.version,
        started_ms=tables.started // MS,
        now_ms=now // MS,
        name_tree_entries=len(tables.fib) + len(tables.pit),
        fib_entries=len(tables.fib),
        pit_entries=len(tables.pit),
        measurement_entries=0,
        store_entries=len(tables.store),
        in_interests=counters.in_interests,
        in_data=counters.in_data,
        in_nacks=counters.in_nacks,
        out_interests=counters.out_interests,
        out_data=counters.out_data,
        out_nacks=counters.out_nacks,
        satisfied=counters.satisfied,
        unsatisfied=counters.unsatisfied,
    ).value()


def link_mtu(face: FaceRecord) -> int:
    """Return the MTU management reports: a stream, which has none, counts as one whole packet."""
    return min(face.mtu, MAX_PACKET_BYTES) if face.mtu > 0 else MAX_PACKET_BYTES


def face_status(face: FaceRecord, now: int) -> FaceStatus:
    """Describe one face."""
    return FaceStatus(
        face=face.id,
        uri=face.spec.remote_uri,
        local_uri=face.spec.local_uri,
        expiration_ms=None if face.expires is None else max(0, face.expires - now) // MS,
        scope=SCOPE_LOCAL if face.spec.local else SCOPE_NON_LOCAL,
        persistency=face.persistency,
        link_type=face.spec.link_type,
        congestion_interval_ns=face.congestion_interval_ns,
        congestion_threshold_bytes=face.congestion_threshold_bytes,
        mtu=link_mtu(face),
        in_interests=face.in_interests,
        in_data=face.in_data,
        in_nacks=face.in_nacks,
        out_interests=face.out_interests,
        out_data=face.out_data,
        out_nacks=face.out_nacks,
        in_bytes=face.in_bytes,
        out_bytes=face.out_bytes,
        flags=face.flags,
    )


def face_event(face: FaceRecord, kind: int) -> FaceEvent:
    """Describe what happened to a face."""
    return FaceEvent(
        kind=kind,
        face=face.id,
        uri=face.spec.remote_uri,
        local_uri=face.spec.local_uri,
        scope=SCOPE_LOCAL if face.spec.local else SCOPE_NON_LOCAL,
        persistency=face.persistency,
        link_type=face.spec.link_type,
        flags=face.flags,
    )


def faces(tables: Tables, now: int, query: FaceQuery | None = None) -> bytes:
    """Write `faces/list`, or `faces/query` with a filter."""
    statuses = [face_status(face, now) for _, face in sorted(tables.faces.items())]
    return b"".join([status.encode() for status in statuses if query is None or query.matches(status)])


def channels(local_uris: Iterable[str]) -> bytes:
    """Write `faces/channels`."""
    return b"".join([ChannelStatus(uri).encode() for uri in local_uris])


def fib(tables: Tables) -> bytes:
    """Write `fib/list`."""
    return b"".join(
        [
            FibEntry(name, tuple([NextHop(face, cost) for face, cost in hops])).encode()
            for name, hops in tables.fib.entries()
        ]
    )


def rib(table: Rib, now: int) -> bytes:
    """Write `rib/list`."""
    out: list[bytes] = []
    for name, routes in table.entries():
        statuses = [
            RouteStatus(
                route.face,
                route.origin,
                route.cost,
                route.flags,
                None if route.expires is None else max(0, route.expires - now) // MS,
            )
            for route in routes
        ]
        out.append(RibEntry(name, tuple(statuses)).encode())
    return b"".join(out)


def strategies(tables: Tables) -> bytes:
    """Write `strategy-choice/list`."""
    return b"".join([StrategyChoice(name, instance).encode() for name, instance in tables.strategies.entries()])


def store_flags(tables: Tables) -> int:
    """Return the flags of the content store."""
    return CS_ADMIT * tables.store.admit + CS_SERVE * tables.store.serve


def store(tables: Tables) -> bytes:
    """Write `cs/info`."""
    info = tables.store
    return CsInfo(info.capacity_packets, store_flags(tables), len(info), info.hits, info.misses).encode()


Channels = Callable[[], Iterable[str]]

DATASETS: Final[dict[tuple[str, str], Callable[[Tables, Rib, Channels, int], bytes]]] = {
    ("status", "general"): lambda tables, _rib, _channels, now: general(tables, now),
    ("faces", "list"): lambda tables, _rib, _channels, now: faces(tables, now),
    ("faces", "channels"): lambda _tables, _rib, listening, _now: channels(listening()),
    ("fib", "list"): lambda tables, _rib, _channels, _now: fib(tables),
    ("rib", "list"): lambda _tables, table, _channels, now: rib(table, now),
    ("strategy-choice", "list"): lambda tables, _rib, _channels, _now: strategies(tables),
    ("cs", "info"): lambda tables, _rib, _channels, _now: store(tables),
}
