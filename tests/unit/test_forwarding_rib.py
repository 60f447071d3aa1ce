"""The RIB: inheritance as NFD has it, routes that end, routes that die with their face, the bound."""

from __future__ import annotations

import pytest

from roost.errors import Refused
from roost.forwarding.control import CAPTURE, CHILD_INHERIT
from roost.forwarding.rib import Change, Rib, Route
from roost.naming import Name


def fib_of(changes: list[Change], fib: dict[str, dict[int, int]]) -> dict[str, dict[int, int]]:
    for change in changes:
        assert fib.get(str(change.prefix), {}) == change.before
        fib[str(change.prefix)] = change.after
        if not change.after:
            del fib[str(change.prefix)]
    return fib


class Book:
    def __init__(self) -> None:
        self.rib = Rib()
        self.fib: dict[str, dict[int, int]] = {}

    def add(self, prefix: str, face: int, cost: int = 0, flags: int = CHILD_INHERIT, origin: int = 0) -> None:
        fib_of(self.rib.add(Name.parse(prefix), Route(face, origin, cost, flags)), self.fib)

    def remove(self, prefix: str, face: int, origin: int = 0) -> None:
        fib_of(self.rib.remove(Name.parse(prefix), face, origin), self.fib)


def test_children_inherit_and_keep_their_own() -> None:
    book = Book()
    book.add("/a", 1, 10)
    book.add("/a/b", 2, 20)
    book.add("/a/b/c", 1, 99)
    assert book.fib == {"/a": {1: 10}, "/a/b": {1: 10, 2: 20}, "/a/b/c": {1: 99, 2: 20}}
    book.remove("/a", 1)
    assert book.fib == {"/a/b": {2: 20}, "/a/b/c": {1: 99, 2: 20}}


def test_without_child_inherit_nothing_is_passed_down_but_from_above() -> None:
    book = Book()
    book.add("/a", 1, 10)
    book.add("/a/b", 2, 20, flags=0)
    book.add("/a/b/c", 3, 30)
    assert book.fib["/a/b/c"] == {1: 10, 3: 30}
    assert book.fib["/a/b"] == {1: 10, 2: 20}


def test_the_nearest_prefix_wins_even_if_it_costs_more() -> None:
    book = Book()
    book.add("/", 1, 5)
    book.add("/a", 1, 50)
    book.add("/a/b", 2)
    assert book.fib["/a/b"] == {1: 50, 2: 0}


def test_capture_stops_what_comes_from_above() -> None:
    book = Book()
    book.add("/", 1, 5)
    book.add("/a", 2, 6, flags=CAPTURE)
    book.add("/a/b", 3, 7)
    assert book.fib == {"/": {1: 5}, "/a": {2: 6}, "/a/b": {3: 7}}
    book.add("/a", 2, 6, flags=CAPTURE | CHILD_INHERIT)
    assert book.fib["/a/b"] == {2: 6, 3: 7}
    book.add("/a", 2, 6)
    assert book.fib == {"/": {1: 5}, "/a": {1: 5, 2: 6}, "/a/b": {1: 5, 2: 6, 3: 7}}


def test_one_face_by_several_origins_costs_the_least() -> None:
    book = Book()
    book.add("/a", 1, 30, origin=0)
    book.add("/a", 1, 10, origin=255)
    book.add("/a/b", 2)
    assert book.fib == {"/a": {1: 10}, "/a/b": {1: 10, 2: 0}}
    book.remove("/a", 1, origin=255)
    assert book.fib == {"/a": {1: 30}, "/a/b": {1: 30, 2: 0}}
    assert len(book.rib) == 2


def test_registering_again_replaces() -> None:
    book = Book()
    book.add("/a", 1, 30)
    book.add("/a", 1, 40)
    assert book.fib == {"/a": {1: 40}}
    assert len(book.rib) == 1
    assert book.rib.add(Name.parse("/a"), Route(1, 0, 40)) == []


def test_removing_what_is_not_there_changes_nothing() -> None:
    book = Book()
    book.add("/a", 1)
    book.remove("/a", 2)
    book.remove("/b", 1)
    book.remove("/a", 1, origin=65)
    assert book.fib == {"/a": {1: 0}}


def test_routes_die_with_their_face() -> None:
    book = Book()
    book.add("/a", 1)
    book.add("/a", 1, 3, origin=255)
    book.add("/a/b", 2)
    book.add("/c", 2)
    fib_of(book.rib.remove_face(1), book.fib)
    assert book.fib == {"/a/b": {2: 0}, "/c": {2: 0}}
    assert book.rib.remove_face(1) == []
    fib_of(book.rib.remove_face(2), book.fib)
    assert (book.fib, len(book.rib), list(book.rib.entries())) == ({}, 0, [])


def test_routes_end_at_their_time_and_not_before() -> None:
    rib = Rib()
    name = Name.parse("/a")
    rib.add(name, Route(1, expires=100))
    rib.add(name, Route(2, expires=200))
    assert rib.deadline() == 100
    assert rib.expire(99) == []
    assert rib.expire(100) == [Change(name, {1: 0, 2: 0}, {2: 0})]
    rib.add(name, Route(2, expires=300))
    assert rib.expire(250) == []
    assert rib.deadline() == 300
    rib.add(name, Route(2))
    assert rib.expire(10_000) == []
    assert (len(rib), rib.deadline()) == (1, None)


def test_refreshing_does_not_grow() -> None:
    rib = Rib()
    for expires in range(10_000):
        rib.add(Name.parse("/a"), Route(1, expires=expires + 1))
    assert len(rib._expiries) < 100
    assert rib.expire(9_999) == []
    assert len(rib.expire(10_000)) == 1


def test_the_bound_refuses_and_counts() -> None:
    rib = Rib(limit=2)
    rib.add(Name.parse("/a"), Route(1))
    rib.add(Name.parse("/b"), Route(1))
    rib.add(Name.parse("/b"), Route(1, cost=3))
    with pytest.raises(Refused) as caught:
        rib.add(Name.parse("/c"), Route(1))
    assert (caught.value.code, rib.refused, len(rib)) == (507, 1, 2)
    rib.remove(Name.parse("/a"), 1, 0)
    rib.add(Name.parse("/c"), Route(1))


def test_siblings_whose_bytes_look_alike_are_not_children() -> None:
    book = Book()
    book.add("/a", 1)
    book.add("/aa", 2)
    book.add("/b/a", 3)
    assert book.fib == {"/a": {1: 0}, "/aa": {2: 0}, "/b/a": {3: 0}}
