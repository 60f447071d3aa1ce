"""Our replies as segmented objects, `<name>/v=<ms>/seg=<i>`, kept for whoever asks again or for the rest [PSync §4].

A question is answered with the reply it had before while that is fresh. Segments are found by their exact names for at
least `KEEP_MS`, however short the freshness: C++ PSync forgets an entire state after 10 ms, and whoever is further away
than that never gets its second segment. A segment is signed when it is first asked for, so that a large state costs one
signature until somebody collects it.

Members of a full-sync group answer the same question, and two that do so in the same millisecond would give their
replies the same name. That is harmless while each is one segment; of two larger ones a reader would put together
segments that never belonged together. Larger replies therefore have random bits behind the milliseconds.

The bounds are in packets, each of at most 8800 bytes: of one reply, and of all that are kept, where the oldest makes
room for the newest. What is being collected is kept until `KEEP_MS` after the last segment was asked for.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, Randomness
from roost.naming import Name
from roost.naming.component import SEGMENT
from roost.naming.conventions import segment, version
from roost.wire import Signer, encode_data
from roost.wire.segment import default_bytes, segment_number

KEEP_MS: Final = 4000
MIN_SEGMENT_BYTES: Final = 100  # a name that leaves less is too long
_RANDOM_BITS: Final = 22  # a time in milliseconds has 41
_LONGEST_VERSION: Final = version(0xFFFFFFFFFFFFFFFF)


class _Kept:
    """One reply."""

    __slots__ = ("content", "fresh_until", "freshness_ms", "last", "packets", "question", "size", "until", "versioned")

    def __init__(self, question: Name, versioned: Name, content: bytes, size: int, freshness_ms: int, now: int) -> None:
        self.question: Final = question
        self.versioned: Final = versioned
        self.content: Final = content
        self.size: Final = size  # of the content of one segment
        self.last: Final = max(0, len(content) - 1) // size
        self.freshness_ms: Final = freshness_ms
        self.fresh_until: Final = now + freshness_ms * MS
        self.until = now + max(freshness_ms, KEEP_MS) * MS
        self.packets: Final[dict[int, bytes]] = {}  # those that were asked for; bound: last + 1


class Replies:
    """The replies of one member."""

    def __init__(
        self, signer: Signer, randomness: Randomness, segment_bytes: int, max_packets: int, max_kept: int
    ) -> None:
        self.max_packets: Final = max_packets  # of one reply
        self.max_kept: Final = max_kept  # of all
        self.evicted = 0  # replies that made room before their time
        self.packets = 0
        self._signer: Final = signer
        self._randomness: Final = randomness
        self._segment_bytes: Final = segment_bytes
        self._version = 0
        self._by_version: Final[dict[Name, _Kept]] = {}  # the oldest first; bound: max_kept segments in all
        self._by_question: Final[dict[Name, _Kept]] = {}  # the newest reply to each; bound: as above

    def room_bytes(self, name: Name) -> int:
        """How much content a reply of this name can have, 0 if the name is too long for any."""
        return self._size(name) * self.max_packets

    def add(self, question: Name, name: Name, content: bytes, freshness_ms: int, now: int) -> bytes:
        """Keep a reply to a question; returns its first segment."""
        if len(content) > self.room_bytes(name):
            raise BadPacket(f"a reply of {len(content)} bytes to {question} is too large: {self.room_bytes(name)} fit")
        size = self._size(name)
        self._version = max(self._version + 1, now // MS)
        number = self._version
        if len(content) > size:
            number = number << _RANDOM_BITS | self._randomness.getrandbits(_RANDOM_BITS)
        versioned = name / version(number)
        kept = _Kept(question, versioned, content, size, freshness_ms, now)
        self._expire(now)
        while self.packets + kept.last + 1 > self.max_kept:
            self.evicted += 1
            self._drop(next(iter(self._by_version.values())))
        self._by_version[versioned] = kept
        self._by_question[question] = kept
        self.packets += kept.last + 1
        return self._packet(kept, 0)

    def find(self, name: Name, now: int) -> bytes | None:
        """The segment with this name, or the first one of a fresh reply to this question."""
        kept = self._by_question.get(name)
        if kept is not None and now < kept.fresh_until:
            return self._packet(kept, 0)
        if not name or name.at(-1).type != SEGMENT:
            return None
        kept = self._by_version.get(name.prefix(-1))
        if kept is None or now >= kept.until:
            return None
        try:
            number = segment_number(name.at(-1))
        except BadPacket:
            return None
        if number > kept.last:
            return None
        kept.until = max(kept.until, now + KEEP_MS * MS)
        return self._packet(kept, number)

    def _packet(self, kept: _Kept, number: int) -> bytes:
        packet = kept.packets.get(number)
        if packet is None:
            content = kept.content[number * kept.size : (number + 1) * kept.size]
            name = kept.versioned / segment(number)
            packet = encode_data(
                name, content, self._signer, freshness_ms=kept.freshness_ms, final_block=segment(kept.last)
            )
            kept.packets[number] = packet
        return packet

    def _size(self, name: Name) -> int:
        """How much content a segment can hold."""
        size = default_bytes(name / _LONGEST_VERSION, self._signer)
        return min(self._segment_bytes, size) if size >= MIN_SEGMENT_BYTES else 0

    def _expire(self, now: int) -> None:
        for kept in [kept for kept in self._by_version.values() if kept.until <= now]:
            self._drop(kept)

    def _drop(self, kept: _Kept) -> None:
        del self._by_version[kept.versioned]
        if self._by_question.get(kept.question) is kept:
            del self._by_question[kept.question]
        self.packets -= kept.last + 1
