"""Which version of a segmented object to fetch: what to ask, and what the answer means. Pure functions.

Three ways, tried in this order by `AUTO`:
- `EXACT`: the name already ends in a version; nothing to ask.
- `METADATA`: Realtime Data Retrieval, `<name>/32=metadata` with CanBePrefix and MustBeFresh; the content of the answer
  is the versioned name [RDR].
- `PREFIX`: the name itself with CanBePrefix and MustBeFresh; everything but the last component of the answer's name is
  the versioned name [ndn-cxx SegmentFetcher].
Timers and retries are in `roost.pubsub.fetch`.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadConfig, BadPacket
from roost.naming import Name
from roost.naming.component import SEGMENT, VERSION
from roost.wire import Data
from roost.wire.rdr import decode_metadata, discovery_name

AUTO: Final = "auto"
EXACT: Final = "exact"
METADATA: Final = "metadata"
PREFIX: Final = "prefix"


def ways(name: Name, mode: str) -> list[str]:
    """Say which ways to try, in order."""
    if mode == AUTO:
        return [EXACT] if len(name) and name.at(-1).type == VERSION else [METADATA, PREFIX]
    if mode not in {EXACT, METADATA, PREFIX}:
        raise BadConfig(f"there is no discovery called {mode!r}: use {AUTO}, {EXACT}, {METADATA} or {PREFIX}")
    return [mode]


def asked(name: Name, way: str) -> Name:
    """Name the Interest (CanBePrefix, MustBeFresh) that discovers."""
    return discovery_name(name) if way == METADATA else name


def versioned(name: Name, way: str, data: Data) -> Name:
    """Read the versioned name out of an answer; raises `BadPacket` when there is none in it."""
    # The bare name may be answered by metadata that a cache holds, which says it as well.
    if way == PREFIX and not data.name.starts_with(discovery_name(name)):
        if len(data.name) <= len(name) or data.name.at(-1).type != SEGMENT:
            raise BadPacket(f"the answer {data.name} does not end in a segment number, so it is not a segmented object")
        return data.name.prefix(-1)
    found = decode_metadata(data).name
    if not found:
        raise BadPacket(f"the metadata {data.name} names nothing")
    return found
