"""Records of RBPS documents that were changed at run time: in the rows of a node, and told to others of its groups.

    row      d | topic                                        whether it is told, one byte; then the record
    topic    $roost/roles/<hex of the topic's SHA-256, cut>   a stream of the telling node's panel
    payload  the record, in parts (`roost.broker.macros.record`)

| key      | value                                                                                       |
| -------- | ------------------------------------------------------------------------------------------- |
| topic    | the topic or filter that the document is for                                                |
| changed  | when it was, in ns; the later one counts, of two of one time the one with the greater bytes |
| document | the document, as JSON; nothing: it was taken back                                           |
| file     | true: no change any more, what the file says counts again                                   |

A record is told whole, so that the last one of a stream says it all.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import cbor2

from roost.broker.announcement import RESERVED
from roost.broker.macros.record import number_in, text_in
from roost.errors import BadConfig, BadPacket
from roost.process.roles.specification import Specification

TOPICS: Final = RESERVED + b"roles/"
MAX_BYTES: Final = 8 << 20  # of a record, with all it says
_DIGEST: Final = 32  # hex digits
_MAX_TIME: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """What one says."""

    topic: str
    changed: int
    document: Specification | None
    is_file: bool = False

    @property
    def told_on(self) -> bytes:
        """Where it is told."""
        return TOPICS + sha256(self.topic.encode()).hexdigest()[:_DIGEST].encode()

    def encode(self) -> bytes:
        """Write it."""
        said = "" if self.document is None else json.dumps(self.document.mapping())
        keys = {"topic": self.topic, "changed": self.changed, "document": said, "file": self.is_file}
        return zlib.compress(cbor2.dumps(keys, canonical=True), 1)

    def is_later(self, other: DocumentRecord | None) -> bool:
        """Whether it counts, and not the other."""
        return other is None or (self.changed, self.encode()) > (other.changed, other.encode())


def decode_document_record(wire: bytes) -> DocumentRecord:
    """Read one; raises `BadPacket`."""
    try:
        said = cbor2.loads(zlib.decompressobj().decompress(wire, MAX_BYTES))
        document = Specification.read(json.loads(said["document"])) if said["document"] else None
        record = DocumentRecord(text_in(said["topic"]), number_in(said["changed"]), document, bool(said["file"]))
    except BadConfig as error:
        raise BadPacket(f"the document of a record is none: {error}") from None
    except (cbor2.CBORDecodeError, zlib.error, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadPacket(f"this is no record of a document: {error!r:.80}") from None
    if not 0 <= record.changed <= _MAX_TIME:
        raise BadPacket("a record of a document is of a time that there is not")
    if document is not None and (document.topic != record.topic or record.is_file):
        raise BadPacket("a record is of another document than it has")
    return record
