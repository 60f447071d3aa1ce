"""Whether everything archived still is what was signed: signatures, columns, numbers.

For each reading: its packet has the name that its row says; its signature holds by the schema and anchors of this home,
with the certificates of the archive, at the moment when it was archived (certificates end, what they signed does not);
and each column is what the packet says. For each group: the files hold the numbers that the manifest says, each once.

That moment is the archive's own word. Who can write to the archive, and has got hold of a key whose certificate has
ended since, could add readings that look old; keep the archive where only the archiver writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from roost.columns.decoding import decode
from roost.columns.readings import READINGS
from roost.errors import InvalidInput
from roost.naming import Name
from roost.naming.building import numbered
from roost.pipeline.archive.covered import Covered
from roost.pipeline.archive.layout import ROWS_PER_GROUP, WIRE, runs_of
from roost.pipeline.archive.manifest import GroupArchive
from roost.trust.acceptance import Checker
from roost.trust.verdict import Accepted, Wanted
from roost.wire import Data

MAX_TOLD: Final = 20
_OURS: Final = frozenset({"arrival_time", "verified"})  # which no packet says


@dataclass(slots=True)
class Verified:
    """What verification came to."""

    readings: int = 0
    forged: int = 0  # the signature, the rule or the name does not hold
    altered: int = 0  # a column says something else than the packet
    absent: int = 0  # numbers that the manifest says and no file has
    surplus: int = 0  # numbers that are in two files, or in none that the manifest says
    first: list[str] = field(default_factory=list)  # at most MAX_TOLD

    @property
    def good(self) -> bool:
        return not (self.forged or self.altered or self.absent or self.surplus)

    def tell(self, what: str) -> None:
        """Note what is wrong, while there is room."""
        if len(self.first) < MAX_TOLD:
            self.first.append(what)

    def __str__(self) -> str:
        bad = [("forged", self.forged), ("altered", self.altered), ("absent", self.absent), ("surplus", self.surplus)]
        told = [f"{count} {word}" for word, count in bad if count]
        return ", ".join([f"{self.readings} readings verified", *(told or ["all good"])])


def verify(archive: GroupArchive, verifier: Checker) -> Verified:
    """Verify a group's archive; the verifier has learnt the archive's certificates."""
    report = Verified()
    manifest = archive.manifest()
    seen = Covered()
    for path in sorted(manifest.files):
        try:
            for part in _parts(archive, path):
                for stream, low, high in runs_of(part):
                    known = high - low + 1 - sum(end - begin + 1 for begin, end in seen.lacks(stream, low, high))
                    if known:
                        report.surplus += known
                        report.tell(f"{stream} {low} to {high}: {known} of them are in {path} and in another file")
                    seen.add(stream, low, high)
                _check(part, verifier, report)
        except (OSError, pa.ArrowException) as error:
            report.tell(f"{archive.folder.where(f'{archive.path}/{path}')} cannot be read: {error}")
    for stream, low, high in manifest.covered.less(seen):
        report.absent += high - low + 1
        report.tell(f"{stream} {low} to {high}: the manifest says that they are archived, and they are not")
    for stream, low, high in seen.less(manifest.covered):
        report.surplus += high - low + 1
        report.tell(f"{stream} {low} to {high}: in a file, and not in the manifest")
    return report


def _parts(archive: GroupArchive, path: str) -> Iterator[pa.Table]:
    folder = archive.folder
    with folder.filesystem.open_input_file(folder.inside(f"{archive.path}/{path}")) as file:
        for batch in pq.ParquetFile(file).iter_batches(batch_size=ROWS_PER_GROUP):
            yield pa.Table.from_batches([batch])


def _check(part: pa.Table, verifier: Checker, report: Verified) -> None:
    arrivals = part.column("arrival_time").cast(pa.int64()).to_pylist()
    at = 0
    for text, low, high in runs_of(part):
        count = high - low + 1
        stream = Name.parse(text)
        report.readings += count
        packets: list[tuple[int, bytes]] = []
        for number, wire in zip(range(low, high + 1), part.column(WIRE).slice(at, count).to_pylist(), strict=True):
            trouble = _trouble(stream, number, wire, verifier, arrivals[at + number - low] * 1000)
            if trouble:
                report.forged += 1
                report.tell(f"{text}/seq={number}: {trouble}")
            else:
                packets.append((number, wire))
        if packets:
            archived = part.take(pa.array([at + number - low for number, _ in packets]))
            _compare(archived, decode(stream, packets, arrival_us=arrivals[at], verified=True), report)
        at += count


def _trouble(stream: Name, number: int, wire: bytes, verifier: Checker, now: int) -> str:
    """Why a packet is not to be believed, empty if it is."""
    try:
        data = Data.decode(wire)
    except InvalidInput as error:
        return f"the packet is damaged: {error}"
    if data.name != numbered(stream, number):
        return f"the packet is another one, {data.name}"
    verdict = verifier.check(data, now)
    if isinstance(verdict, Accepted):
        return ""
    return f"the archive has no certificate {verdict.name}" if isinstance(verdict, Wanted) else str(verdict)


def _compare(archived: pa.Table, again: pa.RecordBatch, report: Verified) -> None:
    """Compare the columns with what the packets say now."""
    decoded = pa.Table.from_batches([again])
    altered: set[int] = set()
    for name in READINGS.names:
        one, other = archived.column(name), decoded.column(name)
        if name in _OURS or one.equals(other):
            continue
        pairs = enumerate(zip(one.to_pylist(), other.to_pylist(), strict=True))
        for at, (was, is_now) in pairs:
            if was != is_now and at not in altered:
                altered.add(at)
                where = f"{archived.column('stream')[at].as_py()}/seq={archived.column('seq')[at].as_py()}"
                report.tell(f"{where}: {name} is {was!r} in the archive and {is_now!r} in the packet")
    report.altered += len(altered)
