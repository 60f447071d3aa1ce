"""The RBPS documents of a broker: those of the file, and what was changed at run time on top of them.

    file (the base) ──▶ changed or taken back at run time, each a record ──▶ the policy

A change stands until a later one of the same topic, over restarts and reloads of the file. One that says what the file
says is none: the file counts again. In a group that is remembered too, so that an older change of another node does not
come back; the oldest of these make room. Nothing is written or told here (`roost.broker.roles.telling`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.broker.roles.document_record import DocumentRecord
from roost.errors import BadConfig
from roost.process.roles.policy import MAX_DOCUMENTS, Policy
from roost.process.roles.specification import Specification


class Documents:
    """All of them; never changed but by `load`, the others make new ones."""

    def __init__(self, base: Iterable[Specification] = (), changes: Iterable[DocumentRecord] = ()) -> None:
        self._base: Final = {each.topic: each for each in base}  # bound of both: MAX_DOCUMENTS
        self._changes: Final = {each.topic: each for each in changes}

    def policy(self) -> Policy:
        """What holds by them; raises `BadConfig`."""
        changes = sorted(self._changes.items())  # at every node in the same order
        changed = {topic: record.document for topic, record in changes if not record.is_file}
        return Policy([each for each in (self._base | changed).values() if each is not None])

    def record(self, topic: str) -> DocumentRecord | None:
        """The last change of a topic, None if there is none."""
        return self._changes.get(topic)

    def changed(self, topic: str, document: Specification | None, now: int) -> DocumentRecord:
        """The record of a change that is made now."""
        before = self._changes.get(topic)
        time = now if before is None else max(now, before.changed + 1)
        is_file = document == self._base.get(topic)
        return DocumentRecord(topic, time, None if is_file else document, is_file)

    def on(self, base: Iterable[Specification]) -> Documents:
        """The same changes on another base."""
        return Documents(base, self._changes.values())

    def with_change(self, record: DocumentRecord) -> Documents:
        """One more change; raises `BadConfig`."""
        kept = {topic: each for topic, each in self._changes.items() if topic != record.topic}
        if len(kept) >= MAX_DOCUMENTS:
            idle = [each for each in kept.values() if each.is_file]
            if not idle:
                raise BadConfig(f"there are {MAX_DOCUMENTS:,} documents that were changed; write some into the file")
            del kept[min(idle, key=_time).topic]
        return Documents(self._base.values(), [*kept.values(), record])

    def without(self, topic: str) -> Documents:
        """No change of a topic."""
        return Documents(self._base.values(), [each for each in self._changes.values() if each.topic != topic])

    def load(self, record: DocumentRecord) -> None:
        """Take in a record of the last run."""
        self._changes[record.topic] = record


def _time(record: DocumentRecord) -> int:
    return record.changed
