"""Repos that replicate with each other: nothing is lost, nothing that is there is fetched again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import trust_world
from tests.replication_world import GROUP, STREAM, SmallRepo, World, reading

from roost.machine import SECOND, Rejected
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.cause import REPLICATION
from roost.repo.question import ASK
from roost.repo.record import CARRY_BYTES
from roost.wire import DigestSigner, make_data, tlv


def held(repo: SmallRepo, stream: Name = STREAM) -> list[tuple[int, int]]:
    return repo.shelf.holdings.of(stream).held


def settled(world: World, stream: Name, high: int, *repos: SmallRepo) -> bool:
    return world.run(120 * SECOND, lambda: all(held(repo, stream) == [(1, high)] for repo in repos))


@pytest.mark.parametrize("carry_bytes", [0, CARRY_BYTES])
def test_what_one_repo_takes_in_all_have(carry_bytes: int) -> None:
    world = World()
    repos = [world.add(f"Repo{index}", carry_bytes=carry_bytes) for index in range(3)]
    world.run(10 * SECOND)
    for number in range(1, 21):
        repos[number % 3].insert(reading(STREAM, number))
        world.run(SECOND // 10)
    assert settled(world, STREAM, 20, *repos)
    records = [held(repo, other.name) for repo in repos for other in repos]
    assert world.run(30 * SECOND, lambda: len({str(held(repo, each.name)) for each in repos for repo in repos}) <= 3)
    assert all(records), "everybody can serve everybody's records"
    singles = [interest for _, interest in world.asked if interest.name.starts_with(STREAM)]
    if carry_bytes:
        assert not singles, "they came inside the records"
    else:
        names = [(by, interest.name) for by, interest in world.asked if interest.name.starts_with(STREAM)]
        assert len(names) == len(set(names)), "nothing was asked for twice"


def test_a_large_batch_is_named_and_comes_in_bundles() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    one.insert(*[reading(STREAM, number) for number in range(1, 301)])
    assert settled(world, STREAM, 300, two)
    asked = [interest.name for by, interest in world.asked if by == two.name]
    assert sum(name.starts_with(one.name / ASK) for name in asked) < 30
    assert not [name for name in asked if name.starts_with(STREAM)]


def test_after_a_partition_only_what_is_missing_is_fetched() -> None:
    world = World()
    one, two, three = [world.add(f"Repo{index}") for index in range(3)]
    world.run(10 * SECOND)
    for number in range(1, 11):
        one.insert(reading(STREAM, number))
        world.run(SECOND // 10)
    assert settled(world, STREAM, 10, two, three)
    world.part(three)
    for number in range(11, 111):
        one.insert(reading(STREAM, number))
        world.run(SECOND // 10)
    assert settled(world, STREAM, 110, two)
    assert held(three) == [(1, 10)]
    world.cut.clear()
    world.asked.clear()
    before = three.retrieval.fetched
    assert settled(world, STREAM, 110, three)
    assert three.retrieval.fetched == before, "they came inside the records"
    singles = [interest.name for by, interest in world.asked if by == three.name and interest.has_hint]
    assert len(singles) == len(set(singles))
    assert numbered(one.name, 1) not in singles


def test_an_announcing_repo_that_dies_does_not_take_its_records_with_it() -> None:
    world = World()
    one, two, three = [world.add(f"Repo{index}", carry_bytes=0) for index in range(3)]
    world.run(10 * SECOND)
    world.part(three)
    one.insert(*[reading(STREAM, number) for number in range(1, 6)])
    assert settled(world, STREAM, 5, two)
    world.crash(one)
    world.cut.clear()
    assert settled(world, STREAM, 5, three), "from the other one"


def test_a_repo_replaced_by_an_empty_one_gets_everything_and_gives_no_number_twice() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    for number in range(1, 31):
        one.insert(reading(STREAM, number))
        world.run(SECOND // 10)
    assert settled(world, STREAM, 30, two)
    highest = one.shelf.holdings.highest(one.name)
    world.crash(one)
    new = world.add("Repo1")
    outcome = new.insert(reading(STREAM, 31))
    assert settled(world, STREAM, 31, new)
    assert outcome == [""], "taken in before its numbers are known"
    assert settled(world, STREAM, 31, two)
    assert new.shelf.holdings.highest(new.name) > highest
    assert world.run(60 * SECOND, lambda: held(new, new.name) == held(two, new.name) == [(1, highest + 2)])
    new.insert(reading(STREAM, 32))
    assert settled(world, STREAM, 32, two)


def test_a_restarted_repo_goes_on_at_once() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    one.insert(reading(STREAM, 1))
    assert settled(world, STREAM, 1, two)
    world.crash(one)
    again = world.add("Repo1", one.store)
    again.insert(reading(STREAM, 2))
    assert settled(world, STREAM, 2, two)
    assert held(two, one.name) == [(1, 3)], "the first one says that it is there"


def test_a_batch_that_was_not_written_leaves_no_hole_in_the_records() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    one.disk_full = True
    outcome = one.insert(reading(STREAM, 1))
    world.run(SECOND)
    assert outcome == ["the disk is full"]
    one.disk_full = False
    one.insert(reading(STREAM, 1))
    assert settled(world, STREAM, 1, two)
    assert held(two, one.name) == [(1, 2)]


def test_a_deletion_is_done_everywhere_and_recorded_once() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    one.insert(*[reading(STREAM, number) for number in range(1, 4)])
    assert settled(world, STREAM, 3, two)
    world.do(one, one.shelf.drop([numbered(STREAM, 2)], lambda *_: [], world.now))
    assert world.run(10 * SECOND, lambda: two.shelf.holdings.is_gone(STREAM, 2))
    world.run(60 * SECOND)
    assert held(one) == held(two) == [(1, 1), (3, 3)]
    assert two.shelf.holdings.highest(two.name) == 1, "it has nothing to record but that it is there"


def test_a_hole_is_found_and_filled() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    two.insert(reading(STREAM, 5), cause=REPLICATION)  # nobody records it
    one.insert(*[reading(STREAM, number) for number in (1, 2, 3, 4)], cause=REPLICATION)
    assert settled(world, STREAM, 5, two), "they show below number 5"
    world.run(1000 * SECOND, lambda: held(one) == [(1, 5)])
    assert held(one) == [(1, 5)], "which shows when holdings are compared"


def test_a_damaged_reading_is_fetched_again() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    one.insert(*[reading(STREAM, number) for number in range(1, 4)])
    assert settled(world, STREAM, 3, two)
    two.store.bad.add(numbered(STREAM, 2))
    assert world.run(60 * SECOND, lambda: two.anti_entropy.repaired == 1), "found by reading the whole store"
    assert two.store.get(numbered(STREAM, 2)) == reading(STREAM, 2).wire
    assert two.anti_entropy.sizes()["damaged"][0] == 0


def test_damage_that_nobody_can_repair_is_tried_again() -> None:
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    one.insert(reading(STREAM, 1))
    assert settled(world, STREAM, 1, two)
    world.part(two)
    two.store.bad.add(numbered(STREAM, 1))
    world.run(60 * SECOND)
    assert two.anti_entropy.sizes()["damaged"][0] == 1
    world.cut.clear()
    assert world.run(60 * SECOND, lambda: two.anti_entropy.repaired == 1)


def test_records_that_were_dropped_are_passed_over_and_holdings_are_compared() -> None:
    world = World()
    one = world.add("Repo1")
    world.run(10 * SECOND)
    for number in range(1, 101):
        one.insert(reading(STREAM, number))
        world.run(SECOND // 50)
    gone = [numbered(one.name, number) for number in range(1, 91)]
    world.do(one, one.shelf.drop(gone, lambda *_: [], world.now, cause=REPLICATION))
    world.run(SECOND)
    two = world.add("Repo2")
    assert settled(world, STREAM, 100, two)
    asked = [interest.name for by, interest in world.asked if by == two.name]
    assert not [name for name in asked if name in gone], "a bundle said that they are gone"
    assert two.comparison.compared >= 1


def test_what_is_no_reading_is_replicated_by_name() -> None:
    world = World()
    one, two = world.add("Repo1", carry_bytes=0), world.add("Repo2")
    world.run(10 * SECOND)
    plan = make_data(Name.parse(f"{GROUP}/Panel1/plan/v=1/seg=0"), b"plan", DigestSigner())
    one.insert(plan)
    assert world.run(30 * SECOND, lambda: two.store.get(plan.name) == plan.wire)


def test_many_readings_end_up_everywhere_whatever_happens_meanwhile() -> None:
    world = World()
    repos = [world.add(f"Repo{index}") for index in range(3)]
    streams = [GROUP / f"Panel{index}" / "Heater" / "Voltage" for index in range(5)]
    world.run(10 * SECOND)
    for number in range(1, 61):
        if number == 10:
            world.part(repos[0])
        if number == 30:
            world.cut.clear()
        if number == 40:
            world.crash(repos[2])
            repos[2] = world.add("Repo2", repos[2].store)
        for index, stream in enumerate(streams):
            repos[(number + index) % 3].insert(reading(stream, number))
        world.run(SECOND // 5)
    for stream in streams:
        lost = [number for number in range(1, 61) if not any(r.shelf.holdings.is_held(stream, number) for r in repos)]
        assert not lost
        assert settled(world, stream, 60, *repos)


# -- trust


def trusting(world: World, keys: trust_world.World, name: str) -> SmallRepo:
    verifier = keys.verifier()
    for certificate in keys.certificates():
        verifier.learn(certificate.data, world.now)
    identity = keys[f"{GROUP}/Repo/{name}"]
    return world.add(name, signer=identity.signer, verifier=verifier)


def test_what_a_record_carries_is_verified_as_everything_is() -> None:
    keys = trust_world.World()
    world = World()
    world.now = trust_world.NOW
    one, two = trusting(world, keys, "Repo1"), trusting(world, keys, "Repo2")
    world.run(10 * SECOND)
    good = reading(STREAM, 1, keys[trust_world.PANEL1].signer)
    forged = reading(STREAM, 2, keys[f"{GROUP}/Panel2"].signer)
    one.insert(good, forged)  # this repo does not look
    assert world.run(30 * SECOND, lambda: two.shelf.holdings.is_held(STREAM, 1))
    world.run(60 * SECOND)
    assert held(two) == [(1, 1)]
    refused = [effect.reason for effect in two.told if isinstance(effect, Rejected)]
    assert any(str(forged.name) in reason for reason in refused)


def test_records_of_a_stranger_are_not_followed() -> None:
    keys = trust_world.World()
    world = World()
    world.now = trust_world.NOW
    two = trusting(world, keys, "Repo2")
    stranger = world.add("Repo1")
    world.run(10 * SECOND)
    stranger.insert(reading(STREAM, 1))
    world.run(60 * SECOND)
    assert held(two) == []
    assert len(two.peers) == 0


# -- what other repos may send


def follow(content: bytes) -> tuple[SmallRepo, World]:
    """A repo that finds such a record at another one."""
    world = World()
    one, two = world.add("Repo1"), world.add("Repo2")
    world.run(10 * SECOND)
    record = make_data(numbered(one.name, 2), content, DigestSigner())
    one.insert(record, cause=REPLICATION)
    world.run(SECOND)
    world.do(two, two.replication.look(one.name, 2, world.now))
    world.run(5 * SECOND)
    return two, world


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda body: tlv.tlv(150, b"\x97\1\1" + body)))
@settings(max_examples=25, deadline=None)
def test_a_malformed_record_is_refused_and_harms_nobody(content: bytes) -> None:
    two, world = follow(content)
    one = world.repos[0]
    one.insert(reading(STREAM, 1))
    assert settled(world, STREAM, 1, two)


def test_a_malformed_record_costs_its_sender_a_line_in_the_log() -> None:
    two, _ = follow(b"nonsense")
    assert [effect for effect in two.told if isinstance(effect, Rejected)]
    assert two.replication.sizes()["late records"][0] == 1
