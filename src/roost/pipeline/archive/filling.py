"""Everything new from the repos into the archive: what is there, less what is archived, fetched, written.

The difference is taken by numbers, so a round that was stopped, or that could not get everything, is made good by the
next one. Readings that fail verification are not archived, but reported; numbers that no repo has are asked for again;
numbers that repos have dropped are noted, and not asked for any more. What has been read is written whenever it comes
to `FLUSH_BYTES`, so memory is bounded, whatever there is to catch up with.

What is sealed stays sealed, even where the archiver has a key: the archive has readers of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from roost.columns.decoding import decode
from roost.columns.readings import UNREADABLE
from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.pipeline.archive.certificates import Certificates
from roost.pipeline.archive.lacking import EVERYTHING, lacking
from roost.pipeline.archive.layout import ARCHIVED, WIRE
from roost.pipeline.archive.ports import Fetched, Source
from roost.pipeline.archive.writing import Writer
from roost.wire import Data

FLUSH_BYTES: Final = 128 << 20  # of packets; rows of them take about twice that
MAX_TOLD: Final = 20  # refusals and signers that a report names


@dataclass(slots=True)
class Report:
    """What a round came to."""

    archived: int = 0
    refused: int = 0
    missing: int = 0
    dropped: int = 0
    uncertified: int = 0  # signers whose certificates could not be had
    first: list[str] = field(default_factory=list)  # of what went wrong, at most MAX_TOLD

    def tell(self, what: str) -> None:
        """Note what went wrong, while there is room."""
        if len(self.first) < MAX_TOLD:
            self.first.append(what)

    def __str__(self) -> str:
        counts = [("archived", self.archived), ("refused", self.refused), ("missing", self.missing)]
        counts += [("dropped before", self.dropped), ("signers without certificates", self.uncertified)]
        return ", ".join(f"{count} {word}" for word, count in counts if count or word == "archived")


def archive_once(
    source: Source,
    writer: Writer,
    certificates: Certificates,
    clock: Callable[[], int],
    wishes: Sequence[TopicFilter] = EVERYTHING,
    flush_bytes: int = FLUSH_BYTES,
) -> Report:
    """Archive everything new up to now, of streams that match a wish, relative to the group."""
    lacks = lacking(source, writer.archive.group, writer.manifest, wishes)
    report = Report(missing=lacks.absent)
    pending = _Pending(writer, certificates, report)
    for piece in source.read(lacks.stretches):
        now = clock()
        pending.take(piece, now)
        if pending.size_bytes >= flush_bytes:
            pending.flush()
    pending.flush()
    return report


def rows_of(piece: Fetched, now: int) -> pa.Table:
    """The readings of a piece as rows of the archive."""
    rows = decode(piece.stream, piece.packets, arrival_us=now // 1000, verified=piece.verified)
    wires = pa.array([wire for _, wire in piece.packets], pa.binary())
    return pa.Table.from_batches([rows]).append_column(pa.field(WIRE, pa.binary(), nullable=False), wires)


class _Pending:
    """What has been read and not yet written."""

    def __init__(self, writer: Writer, certificates: Certificates, report: Report) -> None:
        self.size_bytes = 0
        self._writer: Final = writer
        self._certificates: Final = certificates
        self._report: Final = report
        self._rows: list[pa.Table] = []  # bound: flush_bytes
        self._dropped: list[tuple[str, int, int]] = []  # bound: as above, by pieces
        self._uncertified: Final[set[Name]] = set()  # only counted; bound: the signers of a group

    def take(self, piece: Fetched, now: int) -> None:
        """Make rows of a piece, and have the certificates that they take."""
        report = self._report
        text = str(piece.stream)
        report.refused += len(piece.refused)
        report.missing += len(piece.missing)
        report.dropped += sum(high - low + 1 for low, high in piece.dropped)
        for number, reason in piece.refused:
            report.tell(f"{text}/seq={number} is refused: {reason}")
        self._dropped += [(text, low, high) for low, high in piece.dropped]
        if piece.packets:
            rows = self._whole(rows_of(piece, now))
            self._certify(rows, now)
            self._rows.append(rows)
            self.size_bytes += rows.column(WIRE).nbytes

    def _whole(self, rows: pa.Table) -> pa.Table:
        """Rows without those whose packet is no Data: a disk may have damaged it, and another repo have it whole."""
        broken = pc.and_(pc.equal(rows.column("quality"), UNREADABLE), pc.is_null(rows.column("payload")))
        for row in rows.select(["stream", "seq"]).filter(broken).to_pylist():
            self._report.refused += 1
            self._report.tell(f"{row['stream']}/seq={row['seq']} is refused: the packet is damaged")
        return rows.filter(pc.invert(broken))

    def flush(self) -> None:
        """Write it: from here on it is archived."""
        rows = pa.concat_tables(self._rows) if self._rows else ARCHIVED.empty_table()
        self._report.archived += self._writer.add(rows, self._dropped)
        self._rows, self._dropped, self.size_bytes = [], [], 0

    def _certify(self, rows: pa.Table, now: int) -> None:
        """Have the certificates of a piece's signers: one packet of each will do."""
        signers = rows.column("signer").combine_chunks().dictionary_encode().indices.fill_null(-1).to_pylist()
        one_each = {signer: at for at, signer in enumerate(signers)}
        packets = [Data.decode(rows.column(WIRE)[at].as_py()) for at in one_each.values()]
        for signer in self._certificates.keep_for(packets, now):
            if signer not in self._uncertified:
                self._uncertified.add(signer)
                self._report.uncertified += 1
                self._report.tell(f"the certificates of {signer} cannot be had: what it signed can be verified later")
