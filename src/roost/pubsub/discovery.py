"""Which version of a segmented object to fetch: what to ask, and what the answer means.

Three ways, tried in this order by `AUTO`:
- `EXACT`: the name already ends in a version; nothing to ask.
- `METADATA`: Realtime Data Retrieval, `<name>/32=metadata` with CanBePrefix and MustBeFresh; the content of the answer
  is the versioned name [RDR]; one that is not under the asked name is refused.
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


class Discovery:
    """One search for a version: the way that is tried, and those that are left."""

    def __init__(self, name: Name, mode: str) -> None:
        self.name: Final = name
        if mode == AUTO:
            exact = len(name) > 0 and name.at(-1).type == VERSION
            self.left = [] if exact else [PREFIX]
            self.way = EXACT if exact else METADATA
        elif mode in {EXACT, METADATA, PREFIX}:
            self.left = []
            self.way = mode
        else:
            raise BadConfig(f"there is no discovery called {mode!r}: use {AUTO}, {EXACT}, {METADATA} or {PREFIX}")

    def give_way(self) -> None:
        """Try the next way."""
        self.way = self.left.pop(0)

    @property
    def asked(self) -> Name:
        """The name of the Interest (CanBePrefix, MustBeFresh) that discovers."""
        return discovery_name(self.name) if self.way == METADATA else self.name

    def versioned(self, data: Data) -> Name:
        """Read the versioned name out of an answer; raises `BadPacket` when there is none in it."""
        name = self.name
        # The bare name may be answered by metadata that a cache holds, which says it as well.
        if self.way == PREFIX and not data.name.starts_with(discovery_name(name)):
            if len(data.name) <= len(name) or data.name.at(-1).type != SEGMENT:
                raise BadPacket(
                    f"the answer {data.name} does not end in a segment number, so it is not a segmented object"
                )
            return data.name.prefix(-1)
        found = decode_metadata(data).name
        # Its signer may speak for the name it was asked about, and for no other.
        about = discovery_name(name).prefix(-1)
        if not found or not found.starts_with(about):
            raise BadPacket(f"the metadata {data.name} points to {found}, which is not under {about}")
        return found
