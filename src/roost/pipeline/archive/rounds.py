"""The archiver at work: archive what is new, confirm it, compact what has become small files; then wait.

A round that fails because the network does, is told and made good by the next one. Days that are over are compacted
to the end, the others once they have `MANY` files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from roost.errors import RoostError, Unreachable
from roost.machine import SECOND
from roost.naming.topic import TopicFilter
from roost.pipeline.archive.certificates import Certificates
from roost.pipeline.archive.compaction import compact
from roost.pipeline.archive.confirming import Confirming
from roost.pipeline.archive.filling import Report, archive_once
from roost.pipeline.archive.lacking import EVERYTHING
from roost.pipeline.archive.ports import Source
from roost.pipeline.archive.writing import Writer

MANY: Final = 60
_OVER_AFTER: Final = timedelta(days=2)  # what comes later than that makes a small file of its own, for the next time


class Rounds:
    """The rounds of one group's archiver; `confirming` is None where the archive replaces nothing."""

    def __init__(
        self,
        source: Source,
        writer: Writer,
        certificates: Certificates,
        confirming: Confirming | None,
        clock: Callable[[], int],
        wishes: Sequence[TopicFilter] = EVERYTHING,
    ) -> None:
        self.failed = 0  # rounds, since the last one that did not
        self._source: Final = source
        self._writer: Final = writer
        self._certificates: Final = certificates
        self._confirming: Final = confirming
        self._clock: Final = clock
        self._wishes: Final = wishes

    def once(self) -> Report:
        """One round."""
        report = archive_once(self._source, self._writer, self._certificates, self._clock, self._wishes)
        if self._confirming is not None:
            self._confirming.confirm(self._writer.manifest)
        over = datetime.fromtimestamp(self._clock() // SECOND, UTC) - _OVER_AFTER
        compact(self._writer, before=over.date().isoformat())
        compact(self._writer, at_least=MANY)
        return report

    def until(self, waited: Callable[[], bool], tell: Callable[[Report | RoostError], None]) -> None:
        """Rounds, each told of, until `waited`, which waits between two, says that it is enough."""
        while True:
            try:
                tell(self.once())
                self.failed = 0
            except Unreachable as error:
                self.failed += 1
                tell(error)
            if waited():
                return
