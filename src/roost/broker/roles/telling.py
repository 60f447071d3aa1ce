"""Documents that were changed at run time, kept in rows and told to the other nodes of all groups of this one.

    changed here ──▶ row: not told ──▶ Insert into every group ──▶ inserted: told
                                                 └─▶ refused: tried again
    heard of another node ──▶ later than what is known? ──▶ row: told, and it holds here

What is not told when a node dies is told when it is back; so is what was changed while it had no groups. Files are each
node's own, and should say the same. Without groups nothing is told, and a change that is none leaves no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.broker.macros.record import Parts, parts_of
from roost.broker.message import Message
from roost.broker.roles.document_record import DocumentRecord, decode_document_record
from roost.broker.rows import BadRow, seal, unseal
from roost.errors import BadPacket
from roost.machine.contract import SECOND

if TYPE_CHECKING:
    from roost.broker.core import Core

QOS: Final = 1
RETRY: Final = SECOND
_TOLD: Final = 1


class Telling:
    """What is not told yet, and what is being."""

    def __init__(self) -> None:
        self.parts: Final = Parts()
        self.untold: Final[dict[str, DocumentRecord]] = {}  # by topic, the last record; bound: the documents
        self.told = 0  # records
        self.tell_at: int | None = None
        self._inserting: Final[dict[int, dict[str, DocumentRecord]]] = {}  # by ticket; bound: what groups take
        self._open: Final[dict[str, set[int]]] = {}  # by topic, the tickets of its last record

    def load(self, key: bytes, value: bytes) -> DocumentRecord:
        """Read a row of the last run; raises `BadRow`."""
        row = unseal(value)
        is_told = row.number(1) == _TOLD
        try:
            record = decode_document_record(row.rest())
        except BadPacket as error:
            raise BadRow(str(error)) from None
        if record.topic.encode() != key:
            raise BadRow("the row of a document is under another topic")
        if not is_told:
            self.untold[record.topic] = record
        return record

    def supersede(self, topic: str, record: DocumentRecord | None) -> None:
        """Have another record to tell of a topic, or (None) none."""
        self._open.pop(topic, None)
        self.untold.pop(topic, None)
        if record is not None:
            self.untold[topic] = record

    def tell(self, core: Core, now: int) -> None:
        """Tell what is not told, if there is anybody."""
        self.tell_at = None
        if core.roaming is None:
            return
        for topic, record in self.untold.items():
            tickets = self._open.setdefault(topic, set())
            if tickets:
                continue  # it is on its way
            for tree in core.roaming.trees:
                for part in parts_of(record.encode()):
                    told = Message(record.told_on, part, QOS, False, b"", 0, b"", now)  # noqa: FBT003  a C call
                    ticket = core.insert(tree, told)
                    self._inserting.setdefault(ticket, {})[topic] = record
                    tickets.add(ticket)

    def tick(self, core: Core, now: int) -> None:
        """Try again what had no room."""
        if self.tell_at is not None and self.tell_at <= now:
            self.tell(core, now)

    def inserted(self, core: Core, ticket: int, refusal: str, now: int) -> None:
        """A group has what was told, or has no room for it now."""
        for topic, record in self._inserting.pop(ticket, {}).items():
            tickets = self._open.get(topic)
            if self.untold.get(topic) is not record or tickets is None or ticket not in tickets:
                continue  # there is a later one
            if refusal:
                tickets.clear()
                self.tell_at = now + RETRY
                continue
            tickets.discard(ticket)
            if not tickets:
                self.told += 1
                del self.untold[topic], self._open[topic]
                core.ledger.save_document(topic.encode(), row_of(record, is_told=True))


def row_of(record: DocumentRecord, *, is_told: bool) -> bytes:
    """Write the row of a record."""
    return seal(bytes((_TOLD if is_told else 0,)) + record.encode())
