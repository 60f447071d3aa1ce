"""Our own publications on the disk."""

from __future__ import annotations

import pytest

from roost.naming import Name
from roost.pubsub.blobs.blob_log import SPARE_BYTES, BlobLog, Record

NAME = Name.parse("/position/1")


def record(number: int, content: bytes = b"here") -> Record:
    return Record(7, number, 1000 + number, NAME, content)


def saved(*records: Record) -> bytes:
    return b"".join([each.encode() for each in records])


def test_what_was_saved_is_found_and_a_later_record_wins() -> None:
    log = BlobLog("log", saved(record(1), record(2, b"old"), record(2, b"new")))
    assert log.found == [record(1), record(2, b"new")]


@pytest.mark.parametrize("cut", [1, 8, 20, 50])
def test_a_record_that_is_cut_off_costs_nothing_else_and_the_file_is_replaced(cut: int) -> None:
    log = BlobLog("log", saved(record(1), record(2))[:-cut])
    assert log.found == [record(1)]
    save = log.append(record(2), lambda: log.found, 4)
    assert save.replace
    assert BlobLog("log", save.data).found == [record(1), record(2)]


@pytest.mark.parametrize("position", [0, 5, 9, 33])
def test_behind_a_damaged_record_nothing_is_believed(position: int) -> None:
    wire = bytearray(saved(record(1), record(2)))
    wire[position] ^= 1
    assert BlobLog("log", bytes(wire)).found == []


def test_the_file_is_replaced_when_most_of_it_is_outdated() -> None:
    log = BlobLog("log", b"")
    large = record(1, bytes(SPARE_BYTES))
    first = log.append(large, list, 0)
    assert not first.replace
    second = log.append(record(2), list, 0)
    assert second.replace
    assert BlobLog("log", second.data).found == [record(2)]
    assert (first.ticket, second.ticket) == (1, 2)


def test_what_is_kept_is_made_only_when_the_file_is_replaced() -> None:
    made: list[int] = []

    def counting() -> list[Record]:
        made.append(1)
        return []

    log = BlobLog("log", b"")
    count = 2 * SPARE_BYTES // record(1).size_bytes
    replaced = [log.append(record(n), counting, n * record(n).size_bytes).replace for n in range(1, count)]
    assert (sum(replaced), made) == (0, [])
    assert len(record(1).encode()) == record(1).size_bytes
    filed = Record(7, 1, 1000, NAME, bytes(100_000), "x.blob")
    assert len(filed.encode()) == filed.size_bytes
