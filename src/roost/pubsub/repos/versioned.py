"""An object that changes, served by its newest version and the one before: made anew when asked for, cut and signed.

    <name>/32=metadata               CanBePrefix, MustBeFresh: which version is the newest [RDR]
    <name>                           CanBePrefix, MustBeFresh: its first segment, for who does not speak RDR
    <name>/v=<ms>/seg=<i>            a segment of a version that is kept

A version is offered for a while before another is made, however often somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.naming.conventions import METADATA, segment, version
from roost.sync.port import Reply
from roost.wire import Signer
from roost.wire.rdr import encode_metadata
from roost.wire.segment import segment_number, split

MAX_OBJECT_BYTES: Final = 1 << 24  # as much as a member of the group collects
OFFERED: Final = 2 * SECOND
_VERSIONS: Final = 2
_FRESHNESS_MS: Final = 100


class Versioned:
    """Serves what `make` returns, under one name; `metadata` if that may be asked for too."""

    def __init__(self, name: Name, signer: Signer, make: Callable[[], bytes], *, metadata: bool = True) -> None:
        self.too_large = 0
        self.name: Final = name
        self._signer: Final = signer
        self._make: Final = make
        self._metadata: Final = metadata
        self._versions: Final[dict[Name, list[bytes]]] = {}  # name with version → segments; bound: _VERSIONS
        self._newest = name
        self._made_at = 0

    def asked(self, asked: Asked, now: int) -> list[Effect] | None:
        """Answer for the object, or its metadata; None if it is not about them."""
        name = asked.interest.name
        if not name.starts_with(self.name):
            return None
        discovers = asked.interest.can_be_prefix and asked.interest.must_be_fresh
        if len(name) == len(self.name) + 2:
            return self._segment(name, asked.token)
        if discovers and name == self.name and self._refresh(now):
            return self._segment(self._newest / segment(0), asked.token)
        if discovers and self._metadata and name == self.name / METADATA and self._refresh(now):
            return [Reply(self._pointer(now), asked.token)]
        return []

    def _segment(self, name: Name, token: bytes) -> list[Effect]:
        segments = self._versions.get(name.prefix(-1), [])
        try:
            number = segment_number(name.at(-1))
        except BadPacket:
            return []
        return [Reply(segments[number], token)] if number < len(segments) else []

    def _pointer(self, now: int) -> bytes:
        final = segment(len(self._versions[self._newest]) - 1)
        return encode_metadata(self.name, self._newest, self._signer, version_number=now // MS, final_block=final)

    def _refresh(self, now: int) -> bool:
        """Make a new version if the newest is old; whether there is any."""
        if self._versions and now - self._made_at < OFFERED:
            return True
        content = self._make()
        if len(content) > MAX_OBJECT_BYTES:
            self.too_large += 1
            return bool(self._versions)
        self._newest = self.name / version(now // MS)
        self._made_at = now
        if len(self._versions) >= _VERSIONS:
            del self._versions[next(iter(self._versions))]
        self._versions[self._newest] = list(split(self._newest, content, self._signer, freshness_ms=_FRESHNESS_MS))
        return True
