"""The ledger: what is on the disk after any crash, and what of it can be believed."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import Backpressure
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sync.ledger import COMPACT_BYTES, Ledger
from roost.sync.port import Stream

A, B, C = (Stream(Name.parse(f"/{name}"), 7) for name in "abc")


class Disk:
    """One file, and the saves that are on their way to it."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.replaced = 0

    def open(self, max_streams: int = 10) -> Ledger:
        return Ledger("f", self.content, max_streams)

    def carry_out(self, ledger: Ledger, effects: list[Effect]) -> list[tuple[Stream, int]]:
        """Save until nothing is wanted any more; returns what went through, in order."""
        through: list[tuple[Stream, int]] = []
        while effects:
            (save,) = effects
            assert isinstance(save, Save)
            self.content = save.data if save.replace else self.content + save.data
            self.replaced += save.replace
            now_through, effects = ledger.saved(Saved(save.file, save.ticket))
            through += now_through
        return through

    def keep(self, ledger: Ledger, *numbers: tuple[Stream, int]) -> None:
        for stream, number in numbers:
            assert self.carry_out(ledger, ledger.want(stream, number)) == [(stream, number)]


def written(*numbers: tuple[Stream, int]) -> Disk:
    disk = Disk()
    disk.keep(disk.open(), *numbers)
    return disk


def test_what_was_saved_is_there_after_a_restart_and_the_last_number_counts() -> None:
    ledger = written((A, 1), (B, 5), (A, 2)).open()
    assert (ledger.get(A.name), ledger.get(B.name), ledger.get(C.name)) == ((7, 2), (7, 5), None)
    assert list(ledger.known()) == [(A, 2), (B, 5)]
    assert ledger.newest_boot == 7
    assert not ledger.damaged
    assert not ledger.doubtful(A.name)
    assert not ledger.doubtful(C.name)


def test_nothing_is_on_the_disk_before_it_is_saved() -> None:
    ledger = Disk().open()
    (save,) = ledger.want(A, 1)
    assert isinstance(save, Save)
    assert ledger.get(A.name) is None
    assert ledger.saved(Saved("f", save.ticket)) == ([(A, 1)], [])
    assert ledger.get(A.name) == (7, 1)


def test_what_is_wanted_while_a_save_is_under_way_goes_into_the_next_one() -> None:
    disk = Disk()
    ledger = disk.open()
    first = ledger.want(A, 1)
    for number in range(2, 100):
        assert ledger.want(A, number) == []
    assert ledger.want(B, 1) == []
    assert disk.carry_out(ledger, first) == [(A, 1), (A, 99), (B, 1)]
    assert ledger.saves == 2
    assert list(disk.open().known()) == [(A, 99), (B, 1)]


@pytest.mark.parametrize("event", [Saved("f", 0), Saved("f", 2), Saved("g", 1)])
def test_what_others_saved_is_not_ours(event: Saved) -> None:
    ledger = Disk().open()
    ledger.want(A, 1)
    assert ledger.saved(event) == ([], [])
    assert ledger.get(A.name) is None
    assert ledger.saved(Saved("f", 1)) == ([(A, 1)], [])
    assert ledger.saved(Saved("f", 1)) == ([], [])


def test_a_save_that_was_cut_off_costs_nothing_that_was_saved() -> None:
    disk = written((A, 1), (B, 5))
    whole = disk.content
    ledger = disk.open()
    (save,) = ledger.want(A, 2)
    assert isinstance(save, Save)
    for length in range(len(save.data)):
        after = Disk(whole + save.data[:length])
        again = after.open()
        assert list(again.known()) == [(A, 1), (B, 5)]
        assert not again.damaged
        after.keep(again, (C, 1), (A, 9))  # nothing is appended to a torn end
        assert list(after.open().known()) == [(A, 9), (B, 5), (C, 1)]
        assert after.replaced == (length > 0)


def test_any_flipped_bit_is_noticed_and_no_number_is_believed() -> None:
    disk = written((A, 1), (B, 5), (A, 300))
    for bit in range(8 * len(disk.content)):
        content = bytearray(disk.content)
        content[bit // 8] ^= 1 << bit % 8
        ledger = Disk(bytes(content)).open()
        assert ledger.damaged
        assert ledger.doubtful(A.name)
        assert ledger.doubtful(C.name)
        assert set(ledger.known()) <= {(A, 1), (B, 5), (A, 300)}


def test_many_flipped_bits_are_noticed_too() -> None:
    disk = written((A, 1), (B, 5))
    random = Random(1)
    for _ in range(5000):
        content = bytearray(disk.content)
        for bit in random.sample(range(8 * len(content)), random.randint(2, 8)):
            content[bit // 8] ^= 1 << bit % 8
        assert Disk(bytes(content)).open().damaged


@pytest.mark.parametrize("tail", [bytes(100), b"\xff" * 100, b"garbage " * 9])
def test_what_was_never_a_record_is_damage(tail: bytes) -> None:
    ledger = Disk(written((A, 1)).content + tail).open()
    assert ledger.damaged
    assert ledger.get(A.name) == (7, 1)


def test_a_stream_is_in_doubt_until_it_is_saved_again_over_restarts() -> None:
    disk = written((A, 1), (B, 5))
    disk.content = disk.content + bytes(100)
    ledger = disk.open()
    assert [ledger.doubtful(stream.name) for stream in (A, B, C)] == [True, True, True]
    later = Stream(A.name, 9)
    disk.keep(ledger, (later, 1))
    for _ in range(2):
        ledger = disk.open()
        assert ledger.damaged
        assert [ledger.doubtful(stream.name) for stream in (A, B, C)] == [False, True, True]
        assert (ledger.get(A.name), ledger.get(B.name)) == ((9, 1), (7, 5))
        assert ledger.newest_boot == 9
        assert list(ledger.known()) == [(A, 1), (B, 5), (later, 1)]
    disk.keep(ledger, (B, 6))
    assert not disk.open().doubtful(B.name)
    assert disk.open().doubtful(C.name)
    assert disk.replaced == 1


def test_doubt_survives_a_second_damage_and_compaction() -> None:
    disk = written((A, 1), (B, 5))
    disk.content = disk.content + bytes(100)
    disk.keep(disk.open(), (A, 2))
    disk.content = disk.content + bytes(100)
    ledger = disk.open()
    assert ledger.doubtful(A.name)
    assert (ledger.get(A.name), ledger.get(B.name)) == ((7, 2), (7, 5))
    for number in range(3, 4000):
        disk.keep(ledger, (A, number))
    assert disk.replaced >= 3
    ledger = disk.open()
    assert (ledger.doubtful(A.name), ledger.get(A.name)) == (False, (7, 3999))
    assert (ledger.doubtful(B.name), ledger.get(B.name)) == (True, (7, 5))


@pytest.mark.parametrize("size", [1, 1000])
def test_the_file_is_replaced_when_most_of_it_is_outdated_and_not_at_every_save(size: int) -> None:
    long = Stream(Name.of("x" * size), 7)
    disk = written((B, 5))
    ledger = disk.open()
    saves = 4 * COMPACT_BYTES // (size + 30)
    for number in range(1, saves + 1):
        disk.keep(ledger, (long, number))
    assert len(disk.content) <= COMPACT_BYTES + 2 * (size + 30)
    assert 2 <= disk.replaced <= 4
    assert set(disk.open().known()) == {(B, 5), (long, saves)}


def test_many_long_names_are_not_rewritten_each_time() -> None:
    streams = [Stream(Name.of(f"{number}" + "x" * 1000), 7) for number in range(100)]
    disk = Disk()
    ledger = disk.open(100)
    disk.keep(ledger, *[(stream, 1) for stream in streams], *[(stream, 2) for stream in streams])
    assert disk.replaced == 0


def test_the_number_of_streams_is_bounded_and_known_ones_go_on() -> None:
    disk = Disk()
    ledger = disk.open(2)
    first = ledger.want(A, 1)
    assert ledger.want(B, 1) == []
    with pytest.raises(Backpressure, match="2 streams"):
        ledger.want(C, 1)
    disk.carry_out(ledger, first)
    for number in range(2, 5):
        disk.keep(ledger, (A, number), (B, number))
    with pytest.raises(Backpressure, match="/c cannot be produced"):
        ledger.want(C, 1)


def test_a_stream_of_the_root_name_is_not_taken_for_the_doubt() -> None:
    root = Stream(Name())
    ledger = written((root, 1)).open()
    assert not ledger.damaged
    assert ledger.get(Name()) == (0, 1)


def test_numbers_that_are_kept_elsewhere_go_on_from_there() -> None:
    name = Name.parse("/A")
    ledger = Ledger.of("store", [(Stream(name), 7)])
    assert ledger.get(name) == (0, 7)
    assert not ledger.damaged
    assert not ledger.doubtful(Name.parse("/B"))


def test_of_what_is_kept_elsewhere_and_damaged_numbers_are_lower_bounds() -> None:
    name = Name.parse("/A")
    ledger = Ledger.of("store", [(Stream(name), 7)], damaged=True)
    assert ledger.get(name) == (0, 7)
    assert ledger.doubtful(name)
    assert ledger.doubtful(Name.parse("/B"))
    (save,) = ledger.want(Stream(name), 9)
    assert isinstance(save, Save)
    ledger.saved(Saved(save.file, save.ticket))
    assert not ledger.doubtful(name)
