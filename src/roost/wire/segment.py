"""Segmented objects: content of any size as `/<name>/v=<version>/seg=<n>`, and back [naming conventions rev3].

Segments are numbered from 0 and every one says which is the last (FinalBlockId), so a consumer can start anywhere.
Fetching is `roost.host`'s; here segments are only cut, signed, checked and joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.errors import BadName, BadPacket
from roost.naming.component import SEGMENT, Component
from roost.naming.conventions import segment, version
from roost.naming.name import Name
from roost.wire.data import BLOB, Data, encode_data
from roost.wire.signature import Signer
from roost.wire.tlv import MAX_PACKET_BYTES

SEGMENT_BYTES: Final = 8000
FRESHNESS_MS: Final = 1000  # above 0, or a discovery with MustBeFresh would not be answered from a cache
MAX_SEGMENTS: Final = 1 << 20
MAX_OBJECT_BYTES: Final = 1 << 30
_OVERHEAD: Final = 80  # segment number, MetaInfo, SignatureInfo and the lengths of all elements
_SIGNATURE_BYTES: Final = 512  # RSA with 4096 bits, the largest in use


def split(
    name: Name,
    content: bytes,
    signer: Signer,
    *,
    version_number: int = -1,
    segment_bytes: int = 0,
    freshness_ms: int = FRESHNESS_MS,
    content_type: int = BLOB,
) -> Iterator[bytes]:
    """Cut, name and sign content, one Data after the other; without `version_number`, `name` is taken as it is."""
    prefix = name if version_number < 0 else name / version(version_number)
    size = segment_bytes or default_bytes(prefix, signer)
    if size < 1:
        raise BadPacket(f"segments of {size} bytes cannot be: the name is too long, or segment_bytes is wrong")
    last = max(0, len(content) - 1) // size
    return _segments(prefix, content, signer, size, last, freshness_ms, content_type)


def default_bytes(prefix: Name, signer: Signer) -> int:
    """How much content a segment can hold so that its packet stays within the limit, at most 8000."""
    overhead = len(prefix.value) + len(signer.key_locator) + _SIGNATURE_BYTES + _OVERHEAD
    return min(SEGMENT_BYTES, MAX_PACKET_BYTES - overhead)


def _segments(
    prefix: Name, content: bytes, signer: Signer, size: int, last: int, freshness_ms: int, content_type: int
) -> Iterator[bytes]:
    final = segment(last)
    for number in range(last + 1):
        yield encode_data(
            prefix / segment(number),
            content[number * size : (number + 1) * size],
            signer,
            freshness_ms=freshness_ms,
            content_type=content_type,
            final_block=final,
        )


def segment_number(component: Component) -> int:
    """Read `seg=<n>`."""
    if component.type != SEGMENT:
        raise BadPacket(f"{component} is no segment number, seg=<n> was expected")
    try:
        return component.number()
    except BadName as error:
        raise BadPacket(str(error)) from None


class Joiner:
    """Collects the segments of one object, in any order, and says which are missing. Signatures are the caller's."""

    def __init__(self, prefix: Name, *, max_segments: int = MAX_SEGMENTS, max_bytes: int = MAX_OBJECT_BYTES) -> None:
        self.prefix: Final = prefix
        self.final = -1  # the number of the last segment, -1 while unknown
        self.size_bytes = 0
        self._max_segments: Final = max_segments
        self._max_bytes: Final = max_bytes
        self._parts: dict[int, bytes] = {}
        self._highest = -1

    def add(self, data: Data) -> bool:
        """Take a segment; returns whether it is new, raises `BadPacket` if it cannot belong to this object."""
        if len(data.name) != len(self.prefix) + 1 or not data.name.starts_with(self.prefix):
            raise BadPacket(f"{data.name} is no segment of {self.prefix}")
        number = segment_number(data.name.at(-1))
        final = -1 if data.final_block is None else segment_number(data.final_block)
        if final >= 0 and self.final >= 0 and final != self.final:
            raise BadPacket(f"{data.name} says the last segment is {final}, others said {self.final}")
        last = final if final >= 0 else self.final
        if last >= 0 and max(number, self._highest) > last:
            raise BadPacket(f"segment {max(number, self._highest)} of {self.prefix} lies behind the last one, {last}")
        if max(number, last) >= self._max_segments:
            raise BadPacket(f"{self.prefix} has more than {self._max_segments} segments, the limit here")
        if number in self._parts:
            return False
        content = data.content
        if self.size_bytes + len(content) > self._max_bytes:
            raise BadPacket(f"{self.prefix} has more than {self._max_bytes} bytes, the limit here")
        self.final = last
        self._highest = max(self._highest, number)
        self._parts[number] = content
        self.size_bytes += len(content)
        return True

    @property
    def received(self) -> int:
        """How many segments are here."""
        return len(self._parts)

    @property
    def complete(self) -> bool:
        return self.final >= 0 and len(self._parts) == self.final + 1

    def missing(self, limit: int = 1000) -> list[int]:
        """The first `limit` segments not here, up to the last one or, while that is unknown, the highest seen."""
        found: list[int] = []
        for number in range((self.final if self.final >= 0 else self._highest) + 1):
            if len(found) >= limit:
                break
            if number not in self._parts:
                found.append(number)
        return found

    def content(self) -> bytes:
        """The whole object."""
        if not self.complete:
            raise BadPacket(
                f"{self.prefix} is not complete: {self.received} segments are here, the last is {self.final}"
            )
        return b"".join([self._parts[number] for number in range(self.final + 1)])
