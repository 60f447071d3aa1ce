"""What a repo is told and answers in the Basic Repo Insertion Protocol, that of repo-ng [repo.md §2].

    /<repo>/<verb>/<RepoCommandParameter>/<digest>      a signed Interest
    the same name                                       the answer, whose Content is a RepoCommandResponse

with the verbs `insert`, `insert check` and `delete`, each one component.

| element              | no. | element             | no. |
| -------------------- | --- | ------------------- | --- |
| RepoCommandParameter | 201 | RepoCommandResponse | 207 |
| Name                 | 7   | StatusCode          | 208 |
| InterestLifetime     | 12  | InsertNum           | 209 |
| StartBlockId         | 204 | DeleteNum           | 210 |
| EndBlockId           | 205 | ProcessId           | 206 |

repo-ng of today puts its answer into a ControlResponse, whose code counts and whose body may be older [§2.5]; both
forms are read. Ours are bare, but for refusals: only the wrapped form has room to say which rule was broken. Watching
a prefix, which repo-ng has given up, is not here. What the commands mean is `roost.pubsub.repos.insertion`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.name import NAME_TYPE
from roost.repo.fields import Fields, only
from roost.wire import tlv
from roost.wire.tlv import element

INSERT: Final = "insert"
INSERT_CHECK: Final = "insert check"
DELETE: Final = "delete"
DELETE_CHECK: Final = "delete check"

PARAMETER: Final = 201
START_BLOCK: Final = 204
END_BLOCK: Final = 205
PROCESS: Final = 206
RESPONSE: Final = 207
STATUS_CODE: Final = 208
INSERT_NUM: Final = 209
DELETE_NUM: Final = 210

ACCEPTED: Final = 100
COMPLETE: Final = 200
IN_PROGRESS: Final = 300
FIELD_MISSING: Final = 400
REFUSED: Final = 403
NO_SUCH_PROCESS: Final = 404
FAILED: Final = 405
BUSY: Final = 503  # ours: the disk, or a queue, is full

_CONTROL_RESPONSE: Final = 101
_CONTROL_CODE: Final = 102
_CONTROL_TEXT: Final = 103
MAX_TEXT_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """RepoCommandParameter; every field may be absent, which ones a verb wants is not checked here."""

    name: Name | None = None
    start: int | None = None
    end: int | None = None
    process: int | None = None
    lifetime_ms: int | None = None

    def encode(self) -> bytes:
        """Write the whole element, the value of one name component."""
        body = b"" if self.name is None else self.name.wire
        for type_, number in (
            (tlv.LIFETIME, self.lifetime_ms),
            (START_BLOCK, self.start),
            (END_BLOCK, self.end),
            (PROCESS, self.process),
        ):
            if number is not None:
                body += tlv.number(type_, number)
        return tlv.tlv(PARAMETER, body)

    @staticmethod
    def decode(wire: bytes) -> CommandParameter:
        """Read the element that fills `wire`; raises `BadPacket`."""
        where = "a RepoCommandParameter"
        low, high = only(wire, PARAMETER, where)
        found = Fields(wire, low, high, (NAME_TYPE, tlv.LIFETIME, START_BLOCK, END_BLOCK, PROCESS), where)
        return CommandParameter(
            found.name(),
            found.number(START_BLOCK),
            found.number(END_BLOCK),
            found.number(PROCESS),
            found.number(tlv.LIFETIME),
        )


@dataclass(frozen=True, slots=True)
class CommandResponse:
    """RepoCommandResponse, and the text of the ControlResponse around it, if there is one."""

    code: int
    process: int | None = None
    start: int | None = None
    end: int | None = None
    inserted: int | None = None
    deleted: int | None = None
    text: str = ""

    def encode(self) -> bytes:
        """Write the Content of an answer: bare, or wrapped if there is a text."""
        body = b""
        for type_, number in (
            (PROCESS, self.process),
            (STATUS_CODE, self.code),
            (START_BLOCK, self.start),
            (END_BLOCK, self.end),
            (INSERT_NUM, self.inserted),
            (DELETE_NUM, self.deleted),
        ):
            if number is not None:
                body += tlv.number(type_, number)
        bare = tlv.tlv(RESPONSE, body)
        if not self.text:
            return bare
        text = self.text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore").encode()
        return tlv.tlv(_CONTROL_RESPONSE, tlv.number(_CONTROL_CODE, self.code) + tlv.tlv(_CONTROL_TEXT, text) + bare)

    @staticmethod
    def decode(wire: bytes) -> CommandResponse:
        """Read the Content of an answer, bare or wrapped; raises `BadPacket`."""
        if element(wire, 0, len(wire))[0] != _CONTROL_RESPONSE:
            return _bare(wire)
        low, high = only(wire, _CONTROL_RESPONSE, "an answer to a repo command")
        found = Fields(wire, low, high, (_CONTROL_CODE, _CONTROL_TEXT, RESPONSE), "a ControlResponse")
        code = found.required(_CONTROL_CODE)
        text = (found.value(_CONTROL_TEXT) or b"").decode(errors="replace")
        body = found.value(RESPONSE)
        if body is None:
            return CommandResponse(code, text=text)
        return replace(_bare(tlv.tlv(RESPONSE, body)), code=code, text=text)


def _bare(wire: bytes) -> CommandResponse:
    where = "a RepoCommandResponse"
    low, high = only(wire, RESPONSE, where)
    order = (PROCESS, STATUS_CODE, START_BLOCK, END_BLOCK, INSERT_NUM, DELETE_NUM)
    found = Fields(wire, low, high, order, where)
    code = found.required(STATUS_CODE)
    if code > 0xFFFF:
        raise BadPacket(f"status {code} is none")
    return CommandResponse(
        code,
        found.number(PROCESS),
        found.number(START_BLOCK),
        found.number(END_BLOCK),
        found.number(INSERT_NUM),
        found.number(DELETE_NUM),
    )
