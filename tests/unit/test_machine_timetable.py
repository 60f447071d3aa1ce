"""What is due when: order, replacement, outdated entries, the bound on them."""

from __future__ import annotations

from roost.machine.timetable import Timetable


def test_the_first_comes_first_and_each_comes_once() -> None:
    table = Timetable()
    for number, due in ((1, 30), (2, 10), (3, 20)):
        table.set(number, due)
    assert table.deadline() == 10
    assert list(table.overdue(20)) == [2, 3]
    assert list(table.overdue(20)) == []
    assert table.deadline() == 30


def test_a_later_time_replaces_an_earlier_one_and_back() -> None:
    table = Timetable()
    for due in (10, 30, 10, 20, 20):
        table.set(1, due)
    assert list(table.overdue(19)) == []
    assert list(table.overdue(20)) == [1]
    assert table.deadline() is None


def test_what_is_set_while_the_overdue_come_out_comes_out_as_well() -> None:
    table = Timetable()
    table.set(1, 10)
    table.set(2, 20)
    seen: list[int] = []
    for number in table.overdue(20):
        seen.append(number)
        if number == 1 and len(seen) < 3:
            table.set(1, 15)
    assert seen == [1, 1, 1, 2]


def test_dropped_and_cleared_ones_do_not_come() -> None:
    table = Timetable()
    table.set(1, 10)
    table.set(2, 10)
    table.drop(1)
    table.drop(9)  # harmless
    assert list(table.overdue(10)) == [2]
    table.set(3, 10)
    table.clear()
    assert (table.deadline(), list(table.overdue(99)), table.entries) == (None, [], 0)


def test_outdated_entries_are_swept() -> None:
    table = Timetable()
    for round_ in range(1000):
        for number in range(10):
            table.set(number, 1000 - round_)
    assert table.entries <= 4 * 10 + 64
    assert sorted(table.overdue(1)) == list(range(10))
