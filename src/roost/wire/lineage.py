"""Lineage: what a reading of a virtual stream says about where it comes from, so that it can be checked.

    Lineage     = 166 { InputName 7 …, [InputRanges 168], ProgramDigest 169, [Job 172], [InputDigest 174], [Cause 178],
                        [After 180] }
    InputRanges = 168 { Name 7, Range 167 { Name 7, Low 177, High 179 } … }

| element       | no. | value                                                                                      |
| ------------- | --- | ------------------------------------------------------------------------------------------ |
| InputName     | 7   | one reading that was used, in the order they were                                          |
| InputRanges   | 168 | what the names of all streams begin with, as far as they agree; then each stream's stretch |
| Range         | 167 | the rest of the stream's name, and its numbers from Low to High                            |
| ProgramDigest | 169 | SHA-256 of the program that made the value                                                 |
| Job           | 172 | UTF-8: which program that is, for people: `pipeline/stage@version`                         |
| InputDigest   | 174 | in place of inputs too many to be named: SHA-256 of their list, how many (an NNI behind)   |
| Cause         | 178 | of a macro's result: the name of the reading that set it off                               |
| After         | 180 | Names of results in other streams that come before it: the first of a node that took over  |

The list that an InputDigest stands for is its InputName elements, then its Range elements, whose Names are whole there:
who makes the value again has the same list, and can compare. How many is how many readings. Whether what is named
exists, and is what it should be, is checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from roost.errors import BadPacket
from roost.naming.component import DIGEST_BYTES
from roost.naming.name import Name
from roost.naming.number import nni, read_nni
from roost.wire import tlv
from roost.wire.tlv import element, skip

LINEAGE: Final = 166
RANGE: Final = 167
INPUT_RANGES: Final = 168
PROGRAM_DIGEST: Final = 169
JOB: Final = 172
INPUT_DIGEST: Final = 174
LOW: Final = 177
CAUSE: Final = 178
HIGH: Final = 179
AFTER: Final = 180

MAX_INPUTS: Final = 256  # names and ranges together
MAX_AFTER: Final = 16
MAX_LINEAGE_BYTES: Final = 4000  # of what `lineage_of` makes
MAX_JOB_BYTES: Final = 255
_MAX_NUMBER: Final = (1 << 64) - 1
_AROUND_BYTES: Final = 320  # at most, of what is neither name nor number
_AROUND_NAME_BYTES: Final = 4
_AROUND_RANGE_BYTES: Final = 28  # with its numbers


@dataclass(frozen=True, slots=True, order=True)
class InputRange:
    """The readings low to high of a stream."""

    stream: Name
    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.stream or not 1 <= self.low <= self.high <= _MAX_NUMBER:
            raise BadPacket(f"{self.stream} {self.low} to {self.high} are no readings of a stream, which counts from 1")

    def encode(self, prefix_bytes: int = 0) -> bytes:
        """Write the Range, without the first bytes of the stream's name."""
        rest = tlv.tlv(tlv.NAME, self.stream.value[prefix_bytes:])
        return tlv.tlv(RANGE, rest + tlv.number(LOW, self.low) + tlv.number(HIGH, self.high))


@dataclass(frozen=True, slots=True)
class InputDigest:
    """Stands for inputs that are too many to be named, or for none: the SHA-256 of their list, and their count."""

    digest: bytes
    count: int

    def __post_init__(self) -> None:
        if len(self.digest) != DIGEST_BYTES or not 0 <= self.count <= _MAX_NUMBER:
            raise BadPacket(f"{len(self.digest)} bytes for {self.count} inputs are no digest of {DIGEST_BYTES} bytes")

    @staticmethod
    def of(inputs: Iterable[Name], ranges: Iterable[InputRange]) -> InputDigest:
        """The digest of a whole list."""
        names, stretches = list(inputs), list(ranges)
        digest = sha256(b"".join([name.wire for name in names] + [each.encode() for each in stretches])).digest()
        return InputDigest(digest, len(names) + sum(each.high - each.low + 1 for each in stretches))


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a value of a virtual stream comes from: its inputs, the SHA-256 of the program, and what it is called."""

    inputs: tuple[Name, ...]
    program: bytes
    ranges: tuple[InputRange, ...] = ()
    job: str = ""
    digest: InputDigest | None = None
    cause: Name | None = None
    after: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.inputs) + len(self.ranges)
        if self.digest is not None:
            if count:
                raise BadPacket(f"lineage names its inputs or has their digest, not {count} inputs and a digest")
        elif not 1 <= count <= MAX_INPUTS:
            raise BadPacket(f"lineage names 1 to {MAX_INPUTS} inputs, not {count}")
        if len(self.program) != DIGEST_BYTES:
            raise BadPacket(f"the digest of a program has {DIGEST_BYTES} bytes, not {len(self.program)}")

    def encode(self) -> bytes:
        """Write the whole element."""
        job = self.job.encode()
        if len(job) > MAX_JOB_BYTES:
            raise BadPacket(f"a job is called by at most {MAX_JOB_BYTES} bytes, not {len(job)}: give it a shorter name")
        body = [name.wire for name in self.inputs]
        if self.ranges:
            prefix = _shared([each.stream for each in self.ranges])
            size = len(prefix.value)
            body.append(tlv.tlv(INPUT_RANGES, prefix.wire + b"".join([each.encode(size) for each in self.ranges])))
        body.append(tlv.tlv(PROGRAM_DIGEST, self.program))
        if job:
            body.append(tlv.tlv(JOB, job))
        if self.digest is not None:
            body.append(tlv.tlv(INPUT_DIGEST, self.digest.digest + nni(self.digest.count)))
        if self.cause is not None:
            body.append(tlv.tlv(CAUSE, self.cause.value))
        if self.after:
            body.append(tlv.tlv(AFTER, b"".join([name.wire for name in self.after[:MAX_AFTER]])))
        return tlv.tlv(LINEAGE, b"".join(body))


def lineage_of(
    program: bytes,
    *,
    inputs: Iterable[Name] = (),
    ranges: Iterable[InputRange] = (),
    job: str = "",
    cause: Name | None = None,
    after: tuple[Name, ...] = (),
) -> Lineage:
    """The lineage of a value: ranges in order, those that touch made one; a digest if they are too many to be named."""
    names, stretches = tuple(inputs), tuple(joined_ranges(ranges))
    if 1 <= len(names) + len(stretches) <= MAX_INPUTS:
        lineage = Lineage(names, program, stretches, job, None, cause, after)
        most = _AROUND_BYTES + sum([len(name.value) + _AROUND_NAME_BYTES for name in names])
        most += sum([len(each.stream.value) + _AROUND_RANGE_BYTES for each in stretches])
        most += sum(
            [len(name.value) + _AROUND_NAME_BYTES for name in ((cause, *after) if cause is not None else after)]
        )
        if most <= MAX_LINEAGE_BYTES or len(lineage.encode()) <= MAX_LINEAGE_BYTES:
            return lineage
    return Lineage((), program, (), job, InputDigest.of(names, stretches), cause, after)


_KNOWN: Final = frozenset({INPUT_RANGES, PROGRAM_DIGEST, JOB, INPUT_DIGEST, CAUSE, AFTER})


def read_lineage(wire: bytes) -> Lineage:
    """Read a whole element; raises `BadPacket`."""
    type_, low, end = element(wire, 0, len(wire))
    if type_ != LINEAGE or end != len(wire):
        raise BadPacket(f"a lineage is element {LINEAGE}, this is {type_}")
    return decode_lineage(wire, low, end)


def decode_lineage(content: bytes, low: int, end: int) -> Lineage:
    """Check and read the value of a Lineage, `content[low:end]`; raises `BadPacket` with the reason."""
    inputs: list[Name] = []
    ranges: tuple[InputRange, ...] = ()
    program = b""
    job = ""
    digest: InputDigest | None = None
    cause: Name | None = None
    after: tuple[Name, ...] = ()
    last = 0
    while low < end:
        at = low
        type_, start, low = element(content, at, end)
        if type_ == tlv.NAME and not last:
            inputs.append(Name.decode(content[start:low]))
        elif type_ <= last or type_ not in _KNOWN:
            skip(type_, at, "Lineage")
        else:
            last = type_
            if type_ == INPUT_RANGES:
                ranges = _ranges(content, start, low)
            elif type_ == PROGRAM_DIGEST:
                program = content[start:low]
            elif type_ == JOB:
                job = _job(content[start:low])
            elif type_ == CAUSE:
                cause = Name.decode(content[start:low])
            elif type_ == AFTER:
                after = _after(content, start, low)
            else:
                split = min(start + DIGEST_BYTES, low)
                digest = InputDigest(content[start:split], read_nni(content, split, low))
    return Lineage(tuple(inputs), program, ranges, job, digest, cause, after)


def _after(content: bytes, low: int, end: int) -> tuple[Name, ...]:
    parts = tlv.elements(content, low, end)
    if not 1 <= len(parts) <= MAX_AFTER or any(type_ != tlv.NAME for type_, _, _ in parts):
        raise BadPacket(f"a result comes after 1 to {MAX_AFTER} others, each a Name")
    return tuple([Name.decode(content[start:stop]) for _, start, stop in parts])


def _ranges(content: bytes, low: int, end: int) -> tuple[InputRange, ...]:
    parts = tlv.elements(content, low, end)
    if len(parts) < 2 or len(parts) > MAX_INPUTS + 1 or parts[0][0] != tlv.NAME:
        raise BadPacket(f"input ranges are what their names begin with, then 1 to {MAX_INPUTS} ranges")
    prefix = Name.decode(content[parts[0][1] : parts[0][2]])
    found: list[InputRange] = []
    for type_, start, stop in parts[1:]:
        inside = tlv.elements(content, start, stop) if type_ == RANGE else []
        if [each[0] for each in inside] != [tlv.NAME, LOW, HIGH]:
            raise BadPacket(f"element {type_} before byte {start} is no range of Name, Low and High")
        name, first, last = inside
        stream = prefix + Name.decode(content[name[1] : name[2]])
        found.append(InputRange(stream, read_nni(content, first[1], first[2]), read_nni(content, last[1], last[2])))
    if _shared([each.stream for each in found]) != prefix:
        raise BadPacket("what the names of input ranges begin with has to be all that they share")
    return tuple(found)


def _job(value: bytes) -> str:
    if not 1 <= len(value) <= MAX_JOB_BYTES:
        raise BadPacket(f"a job is called by 1 to {MAX_JOB_BYTES} bytes, not {len(value)}")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise BadPacket("the name of a job is not UTF-8") from None


def _shared(names: list[Name]) -> Name:
    """What all names begin with."""
    prefix = names[0]
    for name in names:
        while not name.starts_with(prefix):
            prefix = prefix.prefix(-1)
    return prefix


def joined_ranges(ranges: Iterable[InputRange]) -> list[InputRange]:
    """Ranges in order, those of a stream that touch or overlap made one."""
    joined: list[InputRange] = []
    for each in sorted(ranges):
        before = joined[-1] if joined else None
        if before is not None and before.stream == each.stream and each.low <= before.high + 1:
            joined[-1] = InputRange(each.stream, before.low, max(before.high, each.high))
        else:
            joined.append(each)
    return joined
