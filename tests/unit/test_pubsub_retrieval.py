"""Runs of readings fetched from other repos: in bundles, from whoever has them, and nobody waits for who is silent."""

from __future__ import annotations

import pytest
from tests.replication_world import GROUP, STREAM, SmallRepo, World, reading

from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.number import var
from roost.pubsub.repos import comparison, retrieval
from roost.pubsub.repos.retrieval import MAX_WANTS
from roost.repo.cause import REPLICATION
from roost.repo.holding import HELD, Holding
from roost.repo.question import ASK
from roost.repo.store import Batch, Entry
from roost.wire import Data, tlv

OTHER = GROUP / "Panel2" / "Heater" / "Voltage"


class Ended:
    """What became of a want."""

    def __init__(self) -> None:
        self.missing: int | None = None

    def __call__(self, missing: int, now: int) -> list[Effect]:  # noqa: ARG002
        self.missing = missing
        return []


def group(*names: str) -> tuple[World, list[SmallRepo]]:
    """Repos that know each other, and do nothing by themselves for a while."""
    world = World()
    repos = [world.add(name) for name in names]
    assert world.run(20 * SECOND, lambda: all(len(repo.peers) == len(names) - 1 for repo in repos))
    for repo in repos:
        repo.comparison._due = None
        repo.anti_entropy._look_at = None
        assert repo.insert() == []
    world.run(5 * SECOND)
    world.asked.clear()
    return world, repos


def keep(repo: SmallRepo, stream: Name, *numbers: int, size: int = 20) -> None:
    repo.insert(*[reading(stream, number, size=size) for number in numbers], cause=REPLICATION)
    repo.world.run(10 * MS)


def want(repo: SmallRepo, stream: Name, low: int, high: int, whom: SmallRepo | None = None) -> Ended:
    ended = Ended()
    world = repo.world
    world.do(repo, repo.retrieval.want(stream, low, high, whom.name if whom else None, ended, world.now))
    return ended


def test_what_is_here_is_not_asked_for() -> None:
    world, (one, two) = group("Repo1", "Repo2")
    keep(one, STREAM, *range(1, 101))
    keep(two, STREAM, *range(1, 91))
    ended = want(two, STREAM, 1, 100, one)
    assert world.run(SECOND, lambda: ended.missing == 0)
    assert two.retrieval.fetched == 10
    assert len([name for by, interest in world.asked if (name := interest.name).starts_with(one.name / ASK)]) == 1
    assert want(two, STREAM, 1, 100, one).missing == 0, "at once"


def test_two_wants_for_the_same_readings_fetch_them_once() -> None:
    world, (one, two) = group("Repo1", "Repo2")
    keep(one, STREAM, *range(1, 21))
    first, second = want(two, STREAM, 1, 20, one), want(two, STREAM, 1, 20, one)
    assert world.run(5 * SECOND, lambda: first.missing == second.missing == 0)
    assert two.retrieval.fetched == 20


def test_what_one_repo_lacks_another_gives() -> None:
    world, (one, two, three) = group("Repo1", "Repo2", "Repo3")
    keep(one, STREAM, 1, 2, 3, 4)
    keep(three, STREAM, 5, 6, 7, 8)
    ended = want(two, STREAM, 1, 8, one)
    assert world.run(10 * SECOND, lambda: ended.missing == 0)


def test_a_silent_repo_holds_up_nobody_else() -> None:
    world, (one, two, three) = group("Repo1", "Repo2", "Repo3")
    keep(one, STREAM, *range(1, 41))
    keep(three, OTHER, *range(1, 401))
    world.cut |= {(two.name, one.name)}
    silent, lively = want(two, STREAM, 1, 40, one), want(two, OTHER, 1, 400, three)
    assert world.run(SECOND, lambda: lively.missing == 0)
    assert silent.missing is None
    world.cut.clear()
    assert world.run(30 * SECOND, lambda: silent.missing == 0)


def test_what_nobody_has_ends_as_missing() -> None:
    world, (one, two) = group("Repo1", "Repo2")
    keep(one, STREAM, 1, 2, 5)
    ended = want(two, STREAM, 1, 5, one)
    assert world.run(60 * SECOND, lambda: ended.missing == 2)
    assert two.retrieval.sizes()["wants"][0] == two.retrieval.sizes()["readings on the way"][0] == 0


def test_readings_too_large_for_a_bundle_are_asked_for_by_name() -> None:
    world, (one, two) = group("Repo1", "Repo2")
    keep(one, STREAM, *range(1, 6), size=7700)
    ended = want(two, STREAM, 1, 5, one)
    assert world.run(30 * SECOND, lambda: ended.missing == 0)


def test_what_was_dropped_elsewhere_is_not_missing_and_no_hole_any_more() -> None:
    world, (one, two) = group("Repo1", "Repo2")
    keep(one, STREAM, *range(1, 1001))
    names = [numbered(STREAM, number) for number in range(1, 991)]
    world.do(one, one.shelf.drop(names, lambda *_: [], world.now, cause=REPLICATION))
    world.run(SECOND)
    world.asked.clear()
    ended = want(two, STREAM, 1, 1000, one)
    assert world.run(SECOND, lambda: ended.missing == 0)
    assert two.shelf.holdings.of(STREAM).held == [(991, 1000)]
    assert two.shelf.holdings.is_gone(STREAM, 1)
    assert len([by for by, _ in world.asked if by == two.name]) < 15, "the run was told to its end"


def test_wants_are_bounded_and_counted() -> None:
    world, (one, two) = group("Repo1", "Repo2")
    world.cut |= {(two.name, one.name)}
    wants = [want(two, STREAM, number, number, one) for number in range(1, MAX_WANTS + 2)]
    assert wants[-1].missing == 1
    assert two.retrieval.turned_away == 1
    assert two.retrieval.room == 0


def test_without_other_repos_everything_is_missing() -> None:
    world = World()
    one = world.add("Repo1")
    assert want(one, STREAM, 1, 3).missing == 3


def test_of_a_run_that_nobody_can_hold_a_part_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "MAX_RUN", 400)
    world, (one, two) = group("Repo1", "Repo2")
    keep(one, STREAM, 1, 2, 3)
    ended = want(two, STREAM, 1, 1 << 60, one)
    assert world.run(200 * SECOND, lambda: ended.missing is not None)
    assert ended.missing == (1 << 60) - 3
    assert len(world.asked) < 500


def test_whoever_claims_to_hold_everything_is_asked_for_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "MAX_RUN", 400)
    monkeypatch.setattr(comparison, "MAX_RUN", 400)
    world, (one, two) = group("Repo1", "Repo2")
    one.shelf.holdings.put(STREAM, Holding.decode(tlv.tlv(HELD, b"\1" + var((1 << 60) - 1))))
    one.shelf.holdings.put(OTHER, Holding.decode(tlv.tlv(HELD, b"\1" + var(899))))
    one.store.write([Batch(tuple(Entry(packet.name, packet.wire) for packet in readings(OTHER, 900)))])
    compared = two.comparison.compared
    world.do(two, two.comparison.compare(one.name, world.now + 60 * SECOND))
    assert world.run(400 * SECOND, lambda: two.comparison.compared > compared)
    assert two.shelf.holdings.of(OTHER).held == [(1, 900)], "what is there comes, part after part"
    assert two.shelf.holdings.of(STREAM).held == []
    assert len(world.asked) < 600


def readings(stream: Name, count: int) -> list[Data]:
    return [reading(stream, number) for number in range(1, count + 1)]
