"""The disk of a station: what is saved is there, in order; what a crash leaves of the rest."""

from __future__ import annotations

import pytest
from tests.sim.toys import Probe, save

from roost.machine.disk import Save
from roost.sim import FLIP_BITS, KEEP, LOSE_ALL, LOSE_UNSYNCED, MS, SECOND, START, Crash, Violation, World
from roost.sim.disk import MAX_FLIPS, Disk
from roost.sim.draws import draws


def found(world: World, how: Crash) -> dict[str, bytes]:
    world.crash("a", how)
    world.restart("a")
    return dict(world.machine("a").boot.disk)


def alone(seed: int = 1) -> World:
    world = World(seed)
    world.add("a", Probe, sync_ms=5)
    return world


def test_what_is_saved_is_told_after_the_sync_latency_and_in_order() -> None:
    world = alone()
    save(world, "a", 1, b"one")
    world.run(for_=MS)
    save(world, "a", 2, b"two")
    world.run(for_=SECOND)
    assert world.machine("a").saved == [(START + 5 * MS, 1), (START + 6 * MS, 2)]
    assert found(world, KEEP) == {"f": b"onetwo"}


def test_a_file_is_appended_to_or_replaced() -> None:
    world = alone()
    save(world, "a", 1, b"one")
    save(world, "a", 2, b"new", replace=True)
    save(world, "a", 3, b"+", file="g")
    world.run(for_=SECOND)
    assert found(world, LOSE_UNSYNCED) == {"f": b"new", "g": b"+"}


def test_a_crash_that_keeps_keeps_what_was_written_but_never_says_so() -> None:
    world = alone()
    save(world, "a", 1, b"one")
    assert found(world, KEEP) == {"f": b"one"}
    world.run(for_=SECOND)
    assert world.machine("a").saved == []


def test_of_what_was_not_synced_any_first_part_is_left() -> None:
    lengths = set()
    for seed in range(200):
        world = alone(seed)
        save(world, "a", 1, b"synced")
        world.run(for_=5 * MS)
        save(world, "a", 2, b"12")
        save(world, "a", 3, b"345")
        left = found(world, LOSE_UNSYNCED)["f"]
        assert b"synced12345".startswith(left)
        assert left.startswith(b"synced")
        lengths.add(len(left) - 6)
    assert lengths == {0, 1, 2, 3, 4, 5}


def test_a_replacement_is_there_or_is_not() -> None:
    left = set()
    for seed in range(50):
        world = alone(seed)
        save(world, "a", 1, b"old")
        world.run(for_=SECOND)
        save(world, "a", 2, b"replaced", replace=True)
        left.add(found(world, LOSE_UNSYNCED)["f"])
    assert left == {b"old", b"replaced"}


def test_files_lose_independently() -> None:
    both = set()
    for seed in range(100):
        world = alone(seed)
        save(world, "a", 1, b"x", file="f", replace=True)
        save(world, "a", 2, b"y", file="g", replace=True)
        both.add(tuple(sorted(found(world, LOSE_UNSYNCED))))
    assert both == {(), ("f",), ("g",), ("f", "g")}


def test_a_few_bits_flip_and_no_more() -> None:
    for seed in range(30):
        world = alone(seed)
        save(world, "a", 1, bytes(50))
        save(world, "a", 2, bytes(50), file="g")
        world.run(for_=SECOND)
        left = found(world, FLIP_BITS)
        assert {file: len(content) for file, content in left.items()} == {"f": 50, "g": 50}
        flipped = sum(byte.bit_count() for content in left.values() for byte in content)
        assert flipped <= MAX_FLIPS
        assert flipped % 2 == world.stations["a"].disk.flipped % 2
        assert world.stations["a"].disk.flipped >= 1


def test_an_empty_disk_has_no_bits_to_flip() -> None:
    assert found(alone(), FLIP_BITS) == {}


def test_writes_lost_are_counted() -> None:
    lost = 0
    for seed in range(20):
        world = alone(seed)
        save(world, "a", 1, b"12")
        world.crash("a", LOSE_UNSYNCED)
        lost += world.stations["a"].disk.lost
    assert 0 < lost < 20


def test_a_full_disk_ends_the_run() -> None:
    disk = Disk("a", 0, draws(1, "disk"), max_bytes=100)
    disk.save(Save("f", 1, bytes(100)), 0)
    with pytest.raises(Violation, match="the disk of a is full"):
        disk.save(Save("f", 2, b"x"), 0)


def test_replacing_gives_room_again() -> None:
    disk = Disk("a", 0, draws(1, "disk"), max_bytes=100)
    for ticket in range(50):
        disk.save(Save("f", ticket, bytes(40), replace=True), 0)
        disk.synced()
    assert disk.files() == {"f": bytes(40)}


def test_a_disk_that_was_replaced_is_empty_and_takes_as_much_as_a_new_one() -> None:
    world = alone()
    save(world, "a", 1, b"one")
    world.run(for_=SECOND)
    save(world, "a", 2, b"two")
    assert found(world, LOSE_ALL) == {}
    save(world, "a", 3, b"three")
    world.run(for_=SECOND)
    assert found(world, KEEP) == {"f": b"three"}
