"""What is spoken at the door for bulk reading: the readings of many streams, straight out of a repo's store.

    client   request = length (4 bytes), then Bundle questions (`roost.repo.question`) back to back
    repo     for each question, in order, frames = kind (1 byte), length (4 bytes), body

| kind    | no. | body                                                                                             |
| ------- | --- | ------------------------------------------------------------------------------------------------ |
| Bundled | 1   | a Bundled element as in the answer to such a question, but longer: dropped runs, or Data whose   |
|         |     | numbers rise over all frames of the question                                                     |
| Done    | 2   | nothing: the question is answered; what was neither given nor dropped is not here                |
| Refused | 3   | UTF-8: why the request is refused; then the connection ends                                      |

Numbers are big endian. The next request is read when all questions of the last one are answered. Answers carry no
signature of the repo, and nobody is asked who they are: so the door is on this machine only, a Unix socket of this user
or a loopback address. Each reading still has its panel's signature, for who wants to verify it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import BadConfig, BadPacket
from roost.host.address import is_loopback, parse_listen
from roost.naming import Component
from roost.repo.question import Bundle, decode_question, encode_question
from roost.wire.tlv import elements

PORT: Final = 7377
BUNDLED: Final = 1
DONE: Final = 2
REFUSED: Final = 3
LENGTH_BYTES: Final = 4
HEAD_BYTES: Final = 1 + LENGTH_BYTES

MAX_REQUEST_BYTES: Final = 1 << 20
MAX_FRAME_BYTES: Final = 1 << 24

Door: TypeAlias = Path | tuple[str, int]


def door_of(address: str) -> Door:
    """Read the address of a door: host:port, or the path of a Unix socket; raises `BadConfig`."""
    if "/" in address or address.endswith(".sock"):
        return Path(address)
    return parse_listen(address, PORT)


def is_near(door: Door) -> bool:
    """Whether a door is on this machine by its address."""
    return isinstance(door, Path) or door[0] == "localhost" or is_loopback(door[0])


def listened(address: str) -> Door:
    """Read the address that a repo is to open a door at; raises `BadConfig` unless it is on this machine."""
    door = door_of(address)
    if not is_near(door):
        raise BadConfig(
            f"bulk reading at {address} would let readings leave this machine unencrypted, to whoever asks: give a "
            f"loopback address (127.0.0.1:{PORT}) or the path of a Unix socket; other machines read over faces"
        )
    return door


def frame(kind: int, body: bytes = b"") -> bytes:
    """One frame."""
    return frame_head(kind, len(body)) + body


def frame_head(kind: int, length: int) -> bytes:
    """What stands before the body of a frame."""
    return bytes((kind,)) + length.to_bytes(LENGTH_BYTES, "big")


def request(questions: Iterable[Bundle]) -> bytes:
    """One request; the caller keeps it within `MAX_REQUEST_BYTES`."""
    body = b"".join([encode_question(question).value for question in questions])
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def allowed(length: int) -> int:
    """The length of a request, if that may be; raises `BadPacket`."""
    if length > MAX_REQUEST_BYTES:
        raise BadPacket(f"a request has at most {MAX_REQUEST_BYTES} bytes, not {length}")
    return length


def questions_of(body: bytes) -> list[Bundle]:
    """Read the questions of a request; raises `BadPacket`."""
    found: list[Bundle] = []
    at = 0
    for _, _, end in elements(body):
        question = decode_question(Component(body[at:end]))
        if not isinstance(question, Bundle):
            raise BadPacket("only Bundle questions are answered here")
        found.append(question)
        at = end
    return found
