"""What a face serves ready-made: segmented objects, with the answer to "which version is the newest?".

Segments are signed once, when it is made, and kept in memory. Discovery is answered both ways: RDR metadata and the
first segment for the bare name [ndn-packets §5]. Fetching is in `roost.host.fetching`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.errors import NoKey
from roost.machine import MS
from roost.naming import Name
from roost.naming.conventions import segment, version
from roost.wire import Data, Interest, Signer
from roost.wire.rdr import discovery_name, encode_metadata
from roost.wire.segment import split


class ServedObject:
    """One version of one object; `answer` is its handler."""

    def __init__(
        self,
        name: Name,
        content: bytes,
        signer_for: Callable[[Name], Signer],
        clock: Callable[[], int],
        *,
        version_number: int | None = None,
        segment_bytes: int = 0,
        freshness_ms: int = 1000,
    ) -> None:
        number = clock() // MS if version_number is None else version_number
        self.name: Final = name
        self.versioned: Final = name / version(number)
        self.size_bytes: Final = len(content)
        self._signer_for: Final = signer_for
        self._clock: Final = clock
        self._last_asked = 0
        signer = signer_for(self.versioned / segment(0))
        pieces = split(self.versioned, content, signer, segment_bytes=segment_bytes, freshness_ms=freshness_ms)
        self._segments: Final = [Data.decode(wire) for wire in pieces]

    @property
    def segments(self) -> int:
        """How many there are."""
        return len(self._segments)

    def answer(self, interest: Interest) -> Data | None:
        """Answer an Interest under the object's name."""
        asked = interest.name
        if asked == discovery_name(self.name):
            return self._metadata() if interest.can_be_prefix else None
        if interest.can_be_prefix and self._segments[0].name.starts_with(asked):
            return self._segments[0]
        if len(asked) <= len(self.versioned) or not asked.starts_with(self.versioned):
            return None
        component = asked.at(len(self.versioned))
        number = int.from_bytes(component.value, "big")
        if component != segment(number) or number >= len(self._segments):
            return None
        return self._segments[number]

    def _metadata(self) -> Data | None:
        # Each answer needs a name of its own, because what it says may be different next time.
        self._last_asked = max(self._clock() // MS, self._last_asked + 1)
        try:
            signer = self._signer_for(discovery_name(self.name) / version(self._last_asked) / segment(0))
        except NoKey:
            return None  # who asks will try the other way, which our key may sign
        wire = encode_metadata(
            self.name,
            self.versioned,
            signer,
            version_number=self._last_asked,
            final_block=segment(len(self._segments) - 1),
        )
        return Data.decode(wire)
