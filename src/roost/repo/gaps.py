"""What repos answer to `Gaps` (`roost.repo.question`): which numbers they neither hold nor dropped, page by page.

| element | no. | value                                                                                    |
| ------- | --- | ---------------------------------------------------------------------------------------- |
| Gapped  | 194 | [After, [Low]], Lacking …, in canonical order; After and Low are those of the next       |
|         |     | question, without them this is all                                                       |
| Lacking | 195 | Name, Missing …, rising and apart                                                        |
| Missing | 196 | Low, High: numbers that are neither held nor dropped                                     |

Most streams lack nothing, so a page is what a repo was willing to look at: it may be empty, and lead on. Its bound is
the packet's; a stream that lacks more than fits goes on in the next one. A number that is missing here may be on its
way, or be with another repo.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.name import NAME_TYPE
from roost.naming.number import read_nni
from roost.repo.fields import Fields, only
from roost.repo.question import (
    AFTER,
    HIGH,
    LOW,
    MAX_NAME_BYTES,
    Gaps,
    Run,
    bounded,
    decode_low,
    decode_run,
    encode_place,
    encode_run,
)
from roost.wire import tlv
from roost.wire.tlv import element, elements

GAPPED: Final = 194
LACKING: Final = 195
MISSING: Final = 196

_HEAD_BYTES: Final = 8  # of the outermost element
_RUN_BYTES: Final = 22  # of a run, at most
_PLACE_BYTES: Final = 24  # of After and Low, or of Lacking, beside the name in it


@dataclass(frozen=True, slots=True)
class Gapped:
    """Streams with the runs of numbers they lack; if there may be more, behind which place, as `Gaps` has it."""

    entries: tuple[tuple[Name, tuple[Run, ...]], ...]
    after: Name | None = None
    low: int = 0


def encode_gapped(gapped: Gapped) -> bytes:
    """Write the answer to Gaps."""
    lacking = [stream.wire + b"".join([encode_run(MISSING, run) for run in runs]) for stream, runs in gapped.entries]
    place = encode_place(gapped.after, gapped.low)
    return tlv.tlv(GAPPED, place + b"".join([tlv.tlv(LACKING, body) for body in lacking]))


def decode_gapped(content: bytes, asked: Gaps) -> Gapped:
    """Read the answer to a Gaps question; it leads on, so that whoever goes on where it ends comes to an end."""
    start, end = only(content, GAPPED, "an answer about gaps")
    after: Name | None = None
    low = 0
    found: list[tuple[Name, tuple[Run, ...]]] = []
    for position, (type_, begin, stop) in enumerate(elements(content, start, end)):
        if type_ == AFTER and position == 0:
            after = bounded(Name.decode(content[begin:stop]))
        elif type_ == LOW and position == 1 and after is not None:
            low = decode_low(read_nni(content, begin, stop), after)
        elif type_ == LACKING:
            lacking = _lacking(content, begin, stop)
            if found and lacking[0] <= found[-1][0]:
                raise BadPacket(f"{lacking[0]} is not in canonical order in the answer")
            found.append(lacking)
        else:
            raise BadPacket(f"element {type_} before byte {begin} has no place in an answer about gaps")
    if after is not None:
        if asked.after is not None and not _is_behind((after, low), (asked.after, asked.low)):
            raise BadPacket(f"an answer about what is behind {asked.after} leads back to {after}")
        if found and after < found[-1][0]:
            raise BadPacket(f"the answer leads back to {after}, before its own end")
    return Gapped(tuple(found), after, low)


def longest_name(max_bytes: int) -> int:
    """Of how many bytes a name may be, so that an answer has room for a gap and where to go on."""
    return min(MAX_NAME_BYTES, (max_bytes - _HEAD_BYTES - _RUN_BYTES) // 2 - _PLACE_BYTES)


def fitting_gaps(found: Iterable[tuple[Name, list[Run]]], max_bytes: int) -> Gapped:
    """The first of these streams and runs, as many as an answer of `max_bytes` can hold, and where it ends.

    A stream without any run is where looking ended, and the last one. No name is longer than `longest_name`.
    """
    entries: list[tuple[Name, tuple[Run, ...]]] = []
    left = max_bytes - _HEAD_BYTES
    behind: Name | None = None
    for stream, runs in found:
        size = len(stream.value) + _PLACE_BYTES
        if not runs:
            return Gapped(tuple(entries), stream if size <= left else behind)
        fit = tuple(runs[: max(0, left - 2 * size) // _RUN_BYTES])  # with room for the place to go on
        if not fit:
            return Gapped(tuple(entries), behind)
        entries.append((stream, fit))
        if len(fit) < len(runs):
            return Gapped(tuple(entries), stream, fit[-1][1] + 1)
        left -= size + len(fit) * _RUN_BYTES
        behind = stream
    return Gapped(tuple(entries))


def _is_behind(place: tuple[Name, int], other: tuple[Name, int]) -> bool:
    """Whether a place is behind another; the one without a number is behind all numbers of its stream."""
    if place[0] != other[0]:
        return place[0] > other[0]
    return bool(other[1]) and (not place[1] or place[1] > other[1])


def _lacking(content: bytes, begin: int, stop: int) -> tuple[Name, tuple[Run, ...]]:
    type_, low, high = element(content, begin, stop)
    if type_ != NAME_TYPE:
        raise BadPacket(f"a stream that lacks numbers begins with its name, not with element {type_}")
    runs: list[Run] = []
    for kind, first, last in elements(content, high, stop):
        if kind != MISSING:
            raise BadPacket(f"element {kind} before byte {first} has no place among missing numbers")
        run = decode_run(Fields(content, first, last, (LOW, HIGH), "Missing"), "Missing")
        if runs and run[0] <= runs[-1][1] + 1:
            raise BadPacket(f"the missing numbers from {run[0]} on are out of order")
        runs.append(run)
    if not runs:
        raise BadPacket("a stream is said to lack numbers, and there are none")
    return bounded(Name.decode(content[low:high])), tuple(runs)
