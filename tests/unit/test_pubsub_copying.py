"""Copies: k − 1 other repos confirm before the publisher hears of it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.replication_world import GROUP, STREAM, reading

from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.repos.copying import AT_ONCE, MAX_COPYING, Copied, Copying
from roost.pubsub.repos.peers import Peers
from roost.wire import Data

NOW = 1_800_000_000_000_000_000


class Others:
    """Repos that are told to insert, and answer when the test says so."""

    def __init__(self, count: int) -> None:
        self.told: list[tuple[Name, Copied]] = []
        self.heard: list[str] = []
        peers = Peers(GROUP / "Repo" / "Repo0", Random(1))
        for index in range(1, count + 1):
            assert peers.add(GROUP / "Repo" / f"Repo{index}")
        self.copying = Copying(peers, self._insert)

    def _insert(self, repo: Name, packets: Sequence[Data], then: Copied, now: int) -> list[Effect]:  # noqa: ARG002
        assert [packet.name for packet in packets] == [reading(STREAM, 1).name]
        self.told.append((repo, then))
        return []

    def copy(self, copies: int) -> None:
        self.copying.copy([reading(STREAM, 1)], copies, self._then, NOW)

    def answer(self, refusal: str) -> None:
        self.told.pop(0)[1](refusal, NOW)

    def _then(self, refusal: str, now: int) -> list[Effect]:  # noqa: ARG002
        self.heard.append(refusal)
        return []


def test_one_copy_needs_nobody() -> None:
    others = Others(0)
    others.copy(1)
    assert others.heard == [""]


def test_as_many_as_are_missing_are_told_at_once_and_all_must_confirm() -> None:
    others = Others(4)
    others.copy(3)
    assert len({repo for repo, _ in others.told}) == 2
    others.answer("")
    assert others.heard == []
    others.answer("")
    assert others.heard == [""]
    assert others.told == []


def test_for_one_that_refuses_another_is_told() -> None:
    others = Others(3)
    others.copy(3)
    others.answer("busy")
    assert len(others.told) == 2
    others.answer("")
    others.answer("")
    assert others.heard == [""]


def test_when_nobody_is_left_the_publisher_hears_how_many_copies_there_are() -> None:
    others = Others(2)
    others.copy(3)
    others.answer("")
    others.answer("the disk is full")
    (refusal,) = others.heard
    assert "2 of 3" in refusal
    assert "the disk is full" in refusal
    assert others.copying.sizes()["batches being copied"][0] == 0


def test_a_refusal_before_the_others_confirm_waits_for_them() -> None:
    others = Others(2)
    others.copy(3)
    others.answer("busy")
    assert others.heard == []
    others.answer("")
    assert "2 of 3" in others.heard[0]


def test_more_copies_than_there_are_repos_are_refused_at_once() -> None:
    others = Others(1)
    others.copy(3)
    assert "1 other repo" in others.heard[0]
    assert others.told == []


def test_batches_under_way_are_bounded_and_counted() -> None:
    others = Others(1)
    for _ in range(MAX_COPYING + 1):
        others.copy(2)
    assert "limit" in others.heard[0]
    assert others.copying.turned_away == 1


def test_more_than_fits_one_command_goes_in_several_and_is_told_once() -> None:
    sizes: list[int] = []
    thens: list[Copied] = []
    heard: list[str] = []

    def insert(_: Name, packets: Sequence[Data], then: Copied, __: int) -> list[Effect]:
        sizes.append(sum(len(packet.wire) for packet in packets))
        thens.append(then)
        return []

    def told(refusal: str, _: int) -> list[Effect]:
        heard.append(refusal)
        return []

    peers = Peers(GROUP / "Repo" / "Repo0", Random(1))
    assert peers.add(GROUP / "Repo" / "Repo1")
    packets = [reading(STREAM, number, size=1000) for number in range(1, 21)]
    Copying(peers, insert).copy(packets, 2, told, NOW)
    assert sum(sizes) == sum(len(packet.wire) for packet in packets)
    assert max(sizes) <= 8000
    for then in thens[:-1]:
        then("", NOW)
    assert heard == []
    thens[-1]("", NOW)
    assert heard == [""]


def test_of_very_many_pieces_some_go_at_once_and_none_after_a_refusal() -> None:
    thens: list[Copied] = []
    heard: list[str] = []

    def insert(_: Name, __: Sequence[Data], then: Copied, ___: int) -> list[Effect]:
        thens.append(then)
        return []

    def told(refusal: str, _: int) -> list[Effect]:
        heard.append(refusal)
        return []

    peers = Peers(GROUP / "Repo" / "Repo0", Random(1))
    assert peers.add(GROUP / "Repo" / "Repo1")
    packets = [reading(STREAM, number, size=7000) for number in range(1, 2 * MAX_COPYING)]
    copying = Copying(peers, insert)
    copying.copy(packets, 2, told, NOW)
    assert len(thens) == AT_ONCE
    for then in thens:  # which grows
        assert heard == []
        then("", NOW)
    assert (len(thens), heard) == (len(packets), [""])
    thens.clear()
    copying.copy(packets, 2, told, NOW)
    for then in thens:
        then("the disk is full", NOW)
    assert len(thens) == AT_ONCE
    assert len(heard) == 2
    assert "the disk is full" in heard[1]
    assert copying.sizes()["batches being copied"][0] == 0


def test_what_is_here_already_is_told_once_in_however_many_pieces() -> None:
    heard: list[str] = []

    def told(refusal: str, _: int) -> list[Effect]:
        heard.append(refusal)
        return []

    packets = [reading(STREAM, number, size=7000) for number in range(1, 2 * AT_ONCE)]
    Copying(Peers(GROUP / "Repo" / "Repo0", Random(1)), lambda *_: []).copy(packets, 1, told, NOW)
    assert heard == [""]
