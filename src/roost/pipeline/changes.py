"""Results that are told anew with every batch: only what has changed is published, numbered behind the newest.

For complete and update mode, where a row is the present state of its stream, and not a result of its own. The newest
reading of the stream says what has been published, so a retried batch finds its own reading there and adds nothing. A
stream is one row of a batch at most: of several, the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from roost.host.blocking_streams import SyncStreamGroup
from roost.pipeline.virtual import VirtualPanel
from roost.pipeline.virtual_rows import PoisonRow, VirtualRow


class Changes:
    """Numbers rows by what their streams have."""

    def __init__(self, group: SyncStreamGroup, panel: VirtualPanel) -> None:
        self._group: Final = group
        self._panel: Final = panel

    def numbered(self, rows: Iterable[VirtualRow]) -> Iterator[VirtualRow]:
        """The rows that say something new, with the numbers they get."""
        for row in {row.output: row for row in rows}.values():
            first = replace(row, number=1)
            try:
                name = self._panel.packet(first).name.prefix(-1)
            except PoisonRow:
                yield first
                continue
            newest = self._group.latest(name)
            number = 0 if newest is None else newest.number
            if newest is None or self._panel.packet(replace(row, number=number)).content != newest.data.content:
                yield replace(row, number=number + 1)
