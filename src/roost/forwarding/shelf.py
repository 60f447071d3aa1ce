"""Data that management has published and may be asked for again: the segments of datasets [nfd-management §5].

A dataset is cut into segments `<name>/v=<ms>/seg=<n>` when it is asked for by prefix; the consumer then asks for the
segments by their exact names. Versions never repeat, because one name is one Data for ever. What is kept is bounded by
bytes and by time; the oldest goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from roost.machine import MS, SECOND
from roost.naming import Name
from roost.naming.conventions import segment, version
from roost.wire import Interest, Signer, encode_data

FRESHNESS_MS: Final = 1000
SEGMENT_BYTES: Final = 8000
MAX_NAME_BYTES: Final = 400  # a dataset's name, so that a full segment and its signature fit into a packet
KEPT_NS: Final = 20 * SECOND
MAX_BYTES: Final = 32 * 1024 * 1024


class Shelf:
    """The datasets of the last seconds, each as the segments of one version."""

    def __init__(self, signer: Signer, max_bytes: int = MAX_BYTES) -> None:
        self._signer = signer
        self._max_bytes = max_bytes
        self._versions: OrderedDict[bytes, tuple[int, list[bytes]]] = OrderedDict()  # versioned name → expiry, segments
        self._last_version = 0
        self.size_bytes = 0
        self.evicted = 0

    def publish(self, name: Name, content: bytes, now: int) -> bytes:
        """Cut and sign a new version; returns its first segment."""
        self._last_version = max(now // MS, self._last_version + 1)
        versioned = name / version(self._last_version)
        count = max(1, -(-len(content) // SEGMENT_BYTES))
        final = segment(count - 1)
        segments = [
            encode_data(
                versioned / segment(number),
                content[number * SEGMENT_BYTES : (number + 1) * SEGMENT_BYTES],
                self._signer,
                freshness_ms=FRESHNESS_MS,
                final_block=final,
            )
            for number in range(count)
        ]
        self._versions[versioned.value] = (now + KEPT_NS, segments)
        self.size_bytes += sum(map(len, segments))
        while self.size_bytes > self._max_bytes and len(self._versions) > 1:
            self.evicted += 1
            self._drop_oldest()
        return segments[0]

    def find(self, interest: Interest) -> bytes | None:
        """Return the segment an Interest for `<name>/v=…/seg=…`, or by prefix for `<name>/v=…`, asks for."""
        name = interest.name
        if interest.can_be_prefix and name.value in self._versions:
            return self._versions[name.value][1][0]
        kept = self._versions.get(name.prefix(-1).value)
        if kept is None:
            return None
        _, segments = kept
        last = name.at(-1)
        number = int.from_bytes(last.value[:8], "big")
        return segments[number] if number < len(segments) and last == segment(number) else None

    def expire(self, now: int) -> None:
        """Let go of the versions whose time has passed."""
        while self._versions and next(iter(self._versions.values()))[0] <= now:
            self._drop_oldest()

    def deadline(self) -> int | None:
        """When the oldest version goes."""
        return next(iter(self._versions.values()))[0] if self._versions else None

    def _drop_oldest(self) -> None:
        _, (_, segments) = self._versions.popitem(last=False)
        self.size_bytes -= sum(map(len, segments))
