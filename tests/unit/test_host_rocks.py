"""The store on RocksDB where the disk is not as it should be."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host import rocks, rocks_rows
from roost.host.rocks import RocksStore
from roost.naming import Component, Name
from roost.naming.conventions import sequence
from roost.repo.store import Batch, Damaged, Entry

STREAM = Name.parse("/B/Electricity/Panel1/Heater/Voltage")
LAST = 400


def entry(number: int) -> Entry:
    name = STREAM / sequence(number)
    return Entry(name, name.value * 20 + number.to_bytes(4, "big") * 50, number * 10)


def filled(path: Path) -> RocksStore:
    """A store whose packets are in a file, in several blocks."""
    store = RocksStore(path)
    store.write([Batch(tuple(entry(number) for number in range(1, LAST + 1)), marks=((b"mark", b"value"),))])
    store.close()
    return store


def flip(path: Path, ending: str, part: float) -> None:
    """Flip a bit in the largest file."""
    file = max(path.glob(f"*{ending}"), key=lambda each: each.stat().st_size)
    content = bytearray(file.read_bytes())
    content[int(len(content) * part)] ^= 1
    file.write_bytes(content)


def damaged_numbers(store: RocksStore) -> list[int]:
    found: list[int] = []
    for number in range(1, LAST + 1):
        try:
            assert store.get(STREAM / sequence(number)) == entry(number).wire
        except Damaged as damaged:
            found.append(damaged.name.at(-1).number())
    return found


def numbers(store: RocksStore) -> list[int]:
    return [number for number, _ in store.range(STREAM, 1, LAST, LAST)]


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    store = RocksStore(tmp_path / "store")
    assert numbers(store) == list(range(1, LAST + 1))
    assert store.latest(STREAM) == LAST
    assert store.since(STREAM, 1995) == 200
    assert store.mark(b"mark") == b"value"
    store.close()


def test_a_damaged_block_costs_its_packets_which_are_named_and_lists_go_on_behind_it(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    flip(tmp_path / "store", ".sst", 0.4)
    store = RocksStore(tmp_path / "store")
    lost = damaged_numbers(store)
    assert lost
    assert len(lost) < LAST // 4
    rest = [number for number in range(1, LAST + 1) if number not in lost]
    assert numbers(store) == rest
    assert [name.at(-1).number() for name in store.scan(STREAM, None, LAST)] == rest
    assert store.latest(STREAM) == LAST
    store.close()


def test_since_is_exact_although_the_list_by_event_time_is_damaged(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    flip(tmp_path / "store", ".sst", 0.86)
    store = RocksStore(tmp_path / "store")
    assert store.since_each([STREAM, STREAM / "x"], 10 * (LAST - 20)) == [LAST - 20, 0]
    assert damaged_numbers(store) == []
    assert len(store.between(STREAM, 1, 1 << 60, LAST)) < LAST, "so it was the list"
    store.close()


def test_the_write_after_damage_was_seen_mends_the_store(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    flip(tmp_path / "store", ".sst", 0.4)
    store = RocksStore(tmp_path / "store")
    lost = damaged_numbers(store)
    store.write([Batch(tuple(entry(number) for number in lost))])
    assert store.mended == 1
    assert numbers(store) == list(range(1, LAST + 1))
    assert damaged_numbers(store) == []
    assert store.between(STREAM, 0, 1 << 60, LAST) == [(number * 10, number) for number in range(1, LAST + 1)]
    assert store.mark(b"mark") == b"value"
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_what_was_written_over_a_damaged_block_survives_the_mending(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    flip(tmp_path / "store", ".sst", 0.4)
    store = RocksStore(tmp_path / "store")
    lost = damaged_numbers(store)
    store.close()
    store = RocksStore(tmp_path / "store")
    store.write([Batch(tuple(entry(number) for number in lost))])  # nothing damaged was seen since it was opened
    assert store.mended == 0
    assert store.range(STREAM, lost[0], lost[-1], LAST) == []  # lists cannot see them yet
    store.write([Batch(marks=((b"other", b"1"),))])
    assert store.mended == 1
    assert damaged_numbers(store) == []
    assert numbers(store) == list(range(1, LAST + 1))
    store.close()


def test_damage_that_rocksdb_comes_upon_by_itself_does_not_end_writing(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    flip(tmp_path / "store", ".sst", 0.4)
    store = RocksStore(tmp_path / "store")
    store.write([Batch(tuple(entry(number) for number in range(1, LAST + 2)))])
    database = store._rows._db
    database.flush()
    database.compact_range(None, None)
    del database
    store.write([Batch((entry(LAST + 2),))])
    assert store.mended == 1
    assert store.latest(STREAM) == LAST + 2
    assert damaged_numbers(store) == []
    store.close()


def test_without_room_to_mend_it_the_store_goes_on_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path / "store")
    flip(tmp_path / "store", ".sst", 0.4)
    store = RocksStore(tmp_path / "store")
    lost = damaged_numbers(store)

    def no_room(_: RocksStore, path: Path) -> None:
        path.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(rocks, "copy_readable", no_room)
    store.write([Batch(tuple(entry(number) for number in lost))])
    assert damaged_numbers(store) == []
    assert store.mended == 0
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    store.close()


def test_a_copy_that_a_crash_left_is_taken_if_it_is_whole(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    (tmp_path / "store").rename(tmp_path / "store.mended")
    (tmp_path / "store.damaged").mkdir()
    store = RocksStore(tmp_path / "store")
    assert store.latest(STREAM) == LAST
    store.close()
    (tmp_path / "store.mended").mkdir()
    RocksStore(tmp_path / "store").close()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_damaged_log_costs_batches_whole_and_the_store_says_so(tmp_path: Path) -> None:
    script = (
        "import os, sys; sys.path[:0] = ['src', '.']\n"
        "from pathlib import Path; from tests.unit.test_host_rocks import RocksStore, Batch, entry\n"
        "store = RocksStore(Path(sys.argv[1]))\n"
        "for number in range(1, 200, 2): store.write([Batch((entry(number), entry(number + 1)))])\n"
        "os._exit(0)"  # as if killed: the log is all there is
    )
    run(script, tmp_path / "store")
    flip(tmp_path / "store", ".log", 0.5)
    store = RocksStore(tmp_path / "store")
    assert store.is_doubtful
    found = numbers(store)
    assert 100 < len(found) < 200
    assert all((number in found) == (number + 1 in found) for number in range(1, 200, 2))
    store.close()
    store = RocksStore(tmp_path / "store")
    assert not store.is_doubtful
    store.close()


def test_a_full_disk_is_an_os_error_and_what_was_there_can_be_read_and_later_written_to(tmp_path: Path) -> None:
    script = (
        "import errno, resource, signal, sys; sys.path[:0] = ['src', '.']\n"
        "from pathlib import Path; from tests.unit.test_host_rocks import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "store = RocksStore(Path(sys.argv[1]))\n"
        "store.write([Batch((entry(1),))])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))\n"
        "for number in (2, 3):\n"
        "    try: store.write([Batch((Entry(entry(number).name, bytes(100_000)),))])\n"
        "    except OSError as error: print(error.errno == errno.EFBIG, error.strerror)\n"
        "    print(store.get(entry(1).name) == entry(1).wire, store.get(entry(number).name))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "store.write([Batch((entry(4),))])\n"
        "print([number for number, _ in store.range(STREAM, 1, 9, 9)])\n"
        "store.close()\n"
    )
    assert run(script, tmp_path / "store").splitlines() == [
        *["True File too large", "True None"] * 2,
        "[1, 4]",
    ]


def run(script: str, path: Path) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def test_a_disk_without_room_is_not_tried_before_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path / "store")
    store = RocksStore(tmp_path / "store")
    store._rows.is_stuck = True
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(OSError, match="No space left") as raised:
        store.write([Batch((entry(LAST + 1),))])
    assert raised.value.errno == errno.ENOSPC
    assert store.latest(STREAM) == LAST
    monkeypatch.undo()
    store.write([Batch((entry(LAST + 1),))])
    assert store.latest(STREAM) == LAST + 1
    store.close()


def test_a_store_is_opened_once(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "store")
    with pytest.raises(BadConfig, match="in use by another repo"):
        RocksStore(tmp_path / "store")
    store.close()
    RocksStore(tmp_path / "store").close()


def test_a_folder_that_is_none_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadConfig, match="give a folder that can be written"):
        RocksStore(tmp_path / "file")
    with pytest.raises(BadConfig, match="give a folder that can be written"):
        RocksStore(tmp_path / "file" / "below")


def test_a_store_whose_files_are_gone_is_refused_with_advice(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    for file in (tmp_path / "store").glob("*.sst"):
        file.unlink()
    with pytest.raises(BadConfig, match="move it away"):
        RocksStore(tmp_path / "store")


def test_without_rocksdict_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocks_rows, "rocksdict", None)
    with pytest.raises(BadConfig, match="pip install rocksdict"):
        RocksStore(tmp_path / "store")


def test_a_range_goes_on_where_numbers_take_more_bytes_and_leaves_out_names_that_are_no_numbers(
    tmp_path: Path,
) -> None:
    held = [1, 2, 254, 255, 256, 257, 65_535, 65_536, 65_537, (1 << 32) - 1, 1 << 32, (1 << 64) - 1]
    others = [STREAM / sequence(254) / "x", STREAM / sequence(256) / sequence(1), STREAM / Component(b"\x00\xff", 58)]
    store = RocksStore(tmp_path / "store")
    entries = [Entry(STREAM / sequence(number), b"%d" % number, 1) for number in held]
    store.write([Batch((*entries, *[Entry(name, b"other") for name in others]))])
    for low in (1, 2, 254, 256, 60_000, 65_537, 1 << 33):
        for high in (1, 255, 256, 257, 65_536, 1 << 32, (1 << 64) - 1):
            for limit in (0, 1, 2, 5, 100):
                wanted = [(number, b"%d" % number) for number in held if low <= number <= high]
                assert store.range(STREAM, low, high, limit) == wanted[:limit]
    assert store.damaged == 0
    store.close()


def test_a_row_that_does_not_match_its_checksum_is_left_out_of_a_range_and_counted(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "store")
    store.write([Batch(tuple(entry(number) for number in range(1, 10)))])
    key = b"p" + (STREAM / sequence(5)).value
    value = store._rows.get(key)
    assert value is not None
    store._rows._db.put(key, value[:-1] + b"?")
    assert [number for number, _ in store.range(STREAM, 1, 9, 9)] == [1, 2, 3, 4, 6, 7, 8, 9]
    assert store.damaged == 1
    assert [number for number, _ in store.range(STREAM, 4, 9, 3)] == [4, 6, 7]
    store.close()
