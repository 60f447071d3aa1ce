"""The client's side of bulk reading, against doors that answer what a test says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.host.bulk_frames import BUNDLED, DONE, LENGTH_BYTES, frame, questions_of
from roost.host.stretch_access import NEVER, Access
from roost.host.stretch_doors import Doors
from roost.host.stretch_pieces import Fetched, Piece, Stretch
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.question import Bundle, encode_bundle
from roost.wire import DigestSigner, make_data

FIRST = Name.parse("/Big/B1/Raw/P1/d/power")
SECOND = Name.parse("/Big/B1/Raw/P1/d/voltage")


def wire(stream: Name, number: int) -> bytes:
    return make_data(numbered(stream, number), b"content", DigestSigner()).wire


def bundled(stream: Name, *numbers: int) -> bytes:
    return frame(BUNDLED, encode_bundle([wire(stream, number) for number in numbers]))


@contextmanager
def door(path: Path, answer: bytes) -> Iterator[list[Bundle]]:
    """A door for one client, that closes when it has said this; gives what it was asked."""
    asked: list[Bundle] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as stream:
                asked.extend(questions_of(stream.read(int.from_bytes(stream.read(LENGTH_BYTES), "big"))))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield asked
        thread.join()


def given(piece: Piece | Fetched) -> tuple[Name, list[int]]:
    packets = piece.packets
    stream = piece.stream if isinstance(piece, Fetched) else piece.stretch.stream
    return stream, [number for number, _ in (packets.items() if isinstance(packets, dict) else packets)]


def test_what_comes_whole_is_fetched_and_what_lacks_something_is_a_piece(tmp_path: Path) -> None:
    path = tmp_path / "door"
    answer = [bundled(FIRST, 1, 2), bundled(FIRST, 4), frame(DONE), bundled(SECOND, 7), frame(DONE)]
    with door(path, b"".join(answer)) as asked:
        doors = Doors(Access(bulk=(str(path),), verify=NEVER))
        pieces = list(doors.read([Stretch(FIRST, 1, 5), Stretch(SECOND, 7, 7)]))
    assert asked == [Bundle(FIRST, 1, 5), Bundle(SECOND, 7, 7)]
    assert [given(piece) for piece in pieces] == [(FIRST, [1, 2]), (FIRST, [4]), (FIRST, []), (SECOND, [7])]
    assert [type(piece) for piece in pieces] == [Fetched, Piece, Piece, Fetched]
    assert [piece.lacking() for piece in pieces if isinstance(piece, Piece)] == [[(3, 3)], [(5, 5)]]


def test_a_door_that_fails_behind_the_last_packet_leaves_nothing_of_that_stretch_to_ask_for(tmp_path: Path) -> None:
    with (
        door(tmp_path / "one", bundled(FIRST, 1, 2)),
        door(tmp_path / "other", bundled(SECOND, 1) + frame(DONE)) as asked,
    ):
        doors = Doors(Access(bulk=(str(tmp_path / "one"), str(tmp_path / "other")), verify=NEVER))
        pieces = list(doors.read([Stretch(FIRST, 1, 2), Stretch(SECOND, 1, 1)]))
    assert asked == [Bundle(SECOND, 1, 1)]
    assert [given(piece) for piece in pieces] == [(FIRST, [1, 2]), (SECOND, [1])]


def test_frames_may_come_in_any_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.host.stretch_doors._RECEIVE_BYTES", 97)
    path = tmp_path / "door"
    numbers = range(1, 400)
    with door(path, b"".join([*(bundled(FIRST, number) for number in numbers), frame(DONE)])):
        pieces = list(Doors(Access(bulk=(str(path),), verify=NEVER)).read([Stretch(FIRST, 1, numbers[-1])]))
    assert [given(piece) for piece in pieces] == [(FIRST, [number]) for number in numbers]
