"""Records: what is kept of a macro, in the rows of a node and in its group: its definition, and where it stands.

    row      m | name                                               everything, CBOR
    topic    $roost/macros/<hex of the name's SHA-256, cut>         a stream of the telling node's panel
    payload  CBOR: [which, part, parts, bytes]                      the same in parts, each of them one reading

| key        | value                                                                                                |
| ---------- | ---------------------------------------------------------------------------------------------------- |
| name       | the macro's                                                                                          |
| definition | as somebody posted it (`roost.process.definition`); absent if the macro was deleted                  |
| changed    | when that was, in ns; the later one counts                                                           |
| effective  | by stream, the last reading that was processed by the definition before                              |
| version    | how many definitions there were                                                                      |
| runner     | the panel of the node that runs it, empty if no group has it                                         |
| claimed    | since when, in ns; the later claim counts                                                            |
| standing   | [version, state, position, used, due] (`roost.process.effects.Standing`)                             |
| results    | by stream, up to which number the standing includes all results; behind it some may be to come       |
| made       | by stream, the number of the last result of all: who takes the standing over has to have these      |
| begun      | when it was defined first, in ns: streams that are new to it count from then on                      |
| read       | what earlier definitions referred to, for the state may hold something of it; absent if there is none |

What is told is told whole, so that the last record of a stream says it all and none of them has to arrive.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import cbor2

from roost.broker.announcement import RESERVED
from roost.errors import BadMacro, BadPacket
from roost.naming.name import Name
from roost.process.definition import Definition, definition_of
from roost.process.effects import Standing

TOPICS: Final = RESERVED + b"macros/"
MAX_PART_BYTES: Final = 6000
MAX_PARTS: Final = 512  # as many as go into a group at once
MAX_BYTES: Final = 64 << 20  # of a record, with all it says
_DIGEST: Final = 32  # hex digits
_MAX_TIME: Final = (1 << 63) - 1
_MAX_NUMBER: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Record:
    """What one says."""

    name: str
    definition: Definition | None
    changed: int
    version: int = 1
    effective: dict[bytes, int] = field(default_factory=dict)
    runner: bytes = b""
    claimed: int = 0
    standing: Standing = field(default_factory=Standing)
    results: dict[bytes, int] = field(default_factory=dict)
    read: tuple[str, ...] = ()
    begun: int = 0
    made: dict[bytes, int] = field(default_factory=dict)

    @property
    def since(self) -> int:
        """From when on it is there: a change is none for readings that still wait to be processed."""
        return self.begun or self.changed

    @property
    def topic(self) -> bytes:
        """Where it is told."""
        return TOPICS + sha256(self.name.encode()).hexdigest()[:_DIGEST].encode()

    def encode(self) -> bytes:
        """Write it."""
        standing = self.standing
        used = [[topic, list(mark)] for topic, mark in standing.used]
        said: dict[str, Any] = {
            "name": self.name,
            "changed": self.changed,
            "version": self.version,
            "effective": self.effective,
            "runner": self.runner,
            "claimed": self.claimed,
            "standing": [
                standing.version,
                standing.state,
                [list(each) for each in standing.position],
                used,
                standing.due,
            ],
            "results": self.results,
        }
        if self.read:
            said["read"] = list(self.read)
        if self.made:
            said["made"] = self.made
        if self.begun:
            said["begun"] = self.begun
        if self.definition is not None:
            said["definition"] = self.definition.mapping()
        return zlib.compress(cbor2.dumps(said, canonical=True), 1)

    def parts(self) -> list[bytes]:
        """The payloads that tell it; none if it is too large to be told."""
        return parts_of(self.encode())


def parts_of(whole: bytes) -> list[bytes]:
    """The payloads that tell a record; none if it is too large to be told."""
    which = sha256(whole).digest()[:8]
    count = -(-len(whole) // MAX_PART_BYTES)
    if count > MAX_PARTS:
        return []
    cut = [whole[low : low + MAX_PART_BYTES] for low in range(0, len(whole), MAX_PART_BYTES)]
    return [cbor2.dumps([which, number, count, part]) for number, part in enumerate(cut)]


def decode_record(wire: bytes) -> Record:
    """Read one; raises `BadPacket`."""
    try:
        opened = zlib.decompressobj()
        said = cbor2.loads(opened.decompress(wire, MAX_BYTES))
        definition = None if "definition" not in said else definition_of(said["definition"])
        version, state, position, used, due = said["standing"]
        standing = Standing(
            number_in(version),
            octets_in(state),
            tuple([(_stream(stream), number_in(number)) for stream, number in position]),
            tuple([(text_in(topic), _mark(mark)) for topic, mark in used]),
            number_in(due),
        )
        record = Record(
            text_in(said["name"]),
            definition,
            number_in(said["changed"]),
            number_in(said["version"]),
            _numbers(said["effective"]),
            _stream(said["runner"]),
            number_in(said["claimed"]),
            standing,
            _numbers(said["results"]),
            tuple([text_in(each) for each in said.get("read", ())]),
            number_in(said.get("begun", 0)),
            _numbers(said.get("made", {})),
        )
    except BadMacro as error:
        raise BadPacket(f"the macro of a record is none: {error}") from None
    except (cbor2.CBORDecodeError, zlib.error, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadPacket(f"this is no record of a macro: {error!r:.80}") from None
    if not all(0 <= time <= _MAX_TIME for time in (record.changed, record.claimed, record.begun)):
        raise BadPacket("a record of a macro is of a time that there is not")
    if definition is not None and definition.name != record.name:
        raise BadPacket("a record is of another macro than its definition")
    return record


def _numbers(said: object) -> dict[bytes, int]:
    if not isinstance(said, dict):
        raise TypeError("numbers are by stream")
    return {_stream(stream): number_in(number) for stream, number in said.items()}


def _stream(said: object) -> bytes:
    return Name.decode(octets_in(said)).value


def _mark(said: list[object]) -> tuple[bytes, int, int]:
    stream, number, time = said
    return octets_in(stream), number_in(number), number_in(time)


def number_in(said: object) -> int:
    """A number of a record, and nothing that could be made one: no infinity, no billion digits."""
    if type(said) is not int or not -_MAX_NUMBER <= said <= _MAX_NUMBER:
        raise TypeError(f"a number belongs where a {type(said).__name__} is")
    return said


def octets_in(said: object) -> bytes:
    """Bytes of a record; a number would be as many zeros."""
    if not isinstance(said, bytes):
        raise TypeError(f"bytes belong where a {type(said).__name__} is")
    return said


def text_in(said: object) -> str:
    """A text of a record."""
    if not isinstance(said, str):
        raise TypeError(f"text belongs where a {type(said).__name__} is")
    return said


class Parts:
    """Records of other nodes that come in parts; of each stream one at a time, in order."""

    def __init__(self) -> None:
        self.broken = 0  # records of which a part was missed
        self._open: dict[bytes, tuple[bytes, list[bytes]]] = {}  # by stream; bound: MAX_OPEN

    MAX_OPEN: Final = 1000

    def take(self, stream: bytes, payload: bytes) -> Record | None:
        """Take a part in; returns the record that it completes. Raises `BadPacket`."""
        whole = self.join(stream, payload)
        return None if whole is None else decode_record(whole)

    def join(self, stream: bytes, payload: bytes) -> bytes | None:
        """Take a part of any record in; returns what it completes. Raises `BadPacket`."""
        try:
            which, number, count, part = cbor2.loads(payload)
            which, number, count, part = octets_in(which), number_in(number), number_in(count), octets_in(part)
        except (cbor2.CBORDecodeError, ValueError, TypeError, RecursionError):
            raise BadPacket("this is no part of a record") from None
        if not 0 <= number < count <= MAX_PARTS:
            raise BadPacket(f"a record has 1 to {MAX_PARTS} parts, not {count}")
        before = self._open.pop(stream, (b"", []))
        parts = before[1] if before[0] == which else []
        if len(parts) != number:
            self.broken += 1
            return None
        parts.append(part)
        if len(parts) == count:
            return b"".join(parts)
        if len(self._open) >= self.MAX_OPEN:
            del self._open[next(iter(self._open))]
            self.broken += 1
        self._open[stream] = (which, parts)
        return None
