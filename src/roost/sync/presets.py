"""The constants of PSync, apart from the algorithm: those of the C++ library, of NDNts, and ours [PSync §3].

Members of a group must have the same `expected` (or all be `adaptive`), the same two compressions and the same prefix.
The rest, timers, freshness, Bloom parameters and bounds, each member chooses for itself.

An adaptive member changes the size of its IBLT with the differences it sees, in doublings of `min_expected` up to
`max_expected`, and compares a received table of any of these sizes with its own of the same size. Other implementations
drop a table that is not of their own size: leave `adaptive` off unless every member is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Final

from roost.errors import BadConfig
from roost.sync.bloom import shape
from roost.sync.compression import METHODS, NONE, ZLIB, compressed_at_most
from roost.sync.iblt import CELL_BYTES, cells_for

MAX_IBLT_BYTES: Final = 7200  # in one name; the rest of a packet's 8800 bytes is for prefix, signature and content


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preset:
    """What full and partial sync have in common."""

    _iblts_in_name: ClassVar[int]

    expected: int  # differing elements the IBLT is made for; the first IBLT, if adaptive
    iblt_compression: str
    content_compression: str
    max_expected: int
    min_expected: int = 20
    adaptive: bool = False
    sync_lifetime_ms: int = 1000
    reply_freshness_ms: int = 1000
    resend_low_ms: int = 100  # jitter before an Interest is sent again
    resend_high_ms: int = 500
    segment_bytes: int = 4400
    max_streams: int = 100_000
    max_pending: int = 1000  # Interests kept until there is news
    max_reply_bytes: int = 1 << 20  # of one state, uncompressed
    max_reply_packets: int = 100  # segments of one reply
    max_kept_packets: int = 800  # segments of all replies, for whoever asks for the rest of one

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise BadConfig(f"{field.name}={value} cannot be: it is at least 1")
        for name in ("iblt_compression", "content_compression"):
            if getattr(self, name) not in METHODS:
                raise BadConfig(f"{name}={getattr(self, name)!r}: use one of {', '.join(METHODS)}")
        if self.resend_low_ms > self.resend_high_ms:
            raise BadConfig(f"resend_low_ms={self.resend_low_ms} lies above resend_high_ms={self.resend_high_ms}")
        if self.max_kept_packets < self.max_reply_packets:
            raise BadConfig(
                f"max_kept_packets={self.max_kept_packets} would not hold one reply of "
                f"max_reply_packets={self.max_reply_packets}"
            )
        if self.expected not in self.ladder:
            sizes = ", ".join(map(str, self.ladder))
            raise BadConfig(f"expected={self.expected} is none of the sizes of an adaptive IBLT: {sizes}")
        size_bytes = self._iblts_in_name * CELL_BYTES * self.max_cells
        if size_bytes > MAX_IBLT_BYTES:
            raise BadConfig(
                f"IBLTs for {self.ladder[-1]} elements may take {size_bytes} bytes of a name, {MAX_IBLT_BYTES} is the"
                f" limit: choose a smaller {'max_expected' if self.adaptive else 'expected'}"
            )

    @property
    def ladder(self) -> tuple[int, ...]:
        """Every `expected` an IBLT may have here, the smallest first."""
        if not self.adaptive:
            return (self.expected,)
        sizes = [self.min_expected]
        while 2 * sizes[-1] <= self.max_expected:
            sizes.append(2 * sizes[-1])
        return tuple(sizes)

    @property
    def max_iblt_bytes(self) -> int:
        """How many bytes an IBLT has at most, compressed as agreed."""
        return compressed_at_most(CELL_BYTES * self.max_cells, self.iblt_compression)

    @property
    def max_cells(self) -> int:
        """How many cells a received IBLT has at most."""
        return cells_for(self.ladder[-1])

    def accepts(self, cells: int) -> bool:
        """Whether a received IBLT with this many cells can be compared with one of ours."""
        return any(cells_for(expected) == cells for expected in self.ladder)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullPreset(_Preset):
    """For members of a full-sync group; the defaults are those of the C++ FullProducer."""

    _iblts_in_name: ClassVar[int] = 1

    expected: int = 80
    iblt_compression: str = ZLIB
    content_compression: str = ZLIB
    max_expected: int = 320
    doubtful_freshness_ms: int = 10  # of an entire state, and of what the other may well have
    suppression_ms: int = 100  # an Interest that was just sent is not sent again
    max_waiting: int = 1000  # Interests from members that know more, to be looked at again

    def __post_init__(self) -> None:
        super(FullPreset, self).__post_init__()  # slots make a new class, which a bare super() does not know
        soonest_ms = self.sync_lifetime_ms // 2 + self.resend_low_ms
        if self.suppression_ms > soonest_ms:
            raise BadConfig(
                f"suppression_ms={self.suppression_ms} is longer than the {soonest_ms} ms after which an Interest is "
                "sent again"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialPreset(_Preset):
    """For producers and consumers of partial sync; the defaults are those of the C++ library."""

    _iblts_in_name: ClassVar[int] = 2  # a reply is named by the one it was asked with, and the new one

    expected: int = 40
    iblt_compression: str = NONE
    content_compression: str = NONE
    threshold: int = 20  # differing elements from which on a reply is due in any case
    max_expected: int = 160
    max_reply_bytes: int = 1 << 22  # a hello has to hold all streams
    max_reply_packets: int = 1000
    max_kept_packets: int = 4000
    hello_lifetime_ms: int = 1000
    bloom_count: int = 6
    bloom_p_milli: int = 1

    def __post_init__(self) -> None:
        super(PartialPreset, self).__post_init__()  # as above
        shape(self.bloom_count, self.bloom_p_milli)


CPP_FULL: Final = FullPreset()
CPP_PARTIAL: Final = PartialPreset()
NDNTS_FULL: Final = FullPreset(iblt_compression=NONE, content_compression=NONE)
NDNTS_PARTIAL: Final = PartialPreset(expected=80, threshold=40, bloom_count=16)
ROOST_PARTIAL: Final = PartialPreset(  # as the C++ library has it, with hellos and streams for a whole repo
    max_streams=200_000, max_reply_bytes=1 << 24, max_reply_packets=4000, max_kept_packets=16_000
)
ROOST_FULL: Final = FullPreset(adaptive=True)
# Few members, each with one stream that moves all the time: who was answered asks again at once.
REPOS_FULL: Final = FullPreset(adaptive=True, resend_low_ms=5, resend_high_ms=25, reply_freshness_ms=100)
