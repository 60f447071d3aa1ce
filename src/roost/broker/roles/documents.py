"""The RBPS documents of a broker: those of the file, and what was changed at run time on top of them.

    file (the base) ──▶ changed or taken back at run time, each a row of the ledger ──▶ the policy

A change stands until another one of the same topic, over restarts and reloads of the file. One that says what the file
says is none: the file counts again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from roost.broker.rows import BadRow, blob, seal, unseal
from roost.errors import BadConfig
from roost.process.roles.policy import MAX_DOCUMENTS, Policy
from roost.process.roles.specification import Specification


class Documents:
    """All of them."""

    def __init__(self, base: Iterable[Specification] = ()) -> None:
        self._base: dict[str, Specification] = {each.topic: each for each in base}  # bound of both: MAX_DOCUMENTS
        self._changes: dict[str, Specification | None] = {}  # None: taken back

    def policy(self) -> Policy:
        """What holds by them; raises `BadConfig`."""
        return Policy([each for each in (self._base | self._changes).values() if each is not None])

    def on(self, base: Iterable[Specification]) -> Documents:
        """The same changes on another base."""
        fresh = Documents(base)
        fresh._changes = self._changes
        return fresh

    def with_change(self, topic: str, document: Specification | None) -> Documents:
        """One of them put in, or taken back; raises `BadConfig`."""
        fresh = Documents(self._base.values())
        fresh._changes = {each: changed for each, changed in self._changes.items() if each != topic}
        if document != self._base.get(topic):
            fresh._changes[topic] = document
        if len(fresh._changes) > MAX_DOCUMENTS:
            raise BadConfig(f"there are {MAX_DOCUMENTS:,} documents that were changed; write some into the file")
        return fresh

    def row(self, topic: str) -> bytes | None:
        """The row of a change, None if there is none."""
        if topic not in self._changes:
            return None
        document = self._changes[topic]
        return seal(blob(b"" if document is None else json.dumps(document.mapping()).encode(), 4))

    def load(self, topic: bytes, value: bytes) -> None:
        """Take in a row of the last run; raises `BadRow`."""
        said = unseal(value).blob(4)
        try:
            document = Specification.read(json.loads(said)) if said else None
        except (BadConfig, ValueError) as error:
            raise BadRow(f"the document cannot be read: {error}") from None
        self._changes[topic.decode()] = document
