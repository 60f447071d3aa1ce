"""The trace: the same seed gives the same hash in every process, another seed another; the timeline reads well."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.sim.toys import Probe, Rumour, announcing, save, say

from roost import sim
from roost.machine import Effect, Note, Rejected
from roost.naming import Component, Name
from roost.sim import MS, SECOND, START, Wire, World, timeline, workload
from roost.sim.describe import describe, packet_summary
from roost.sim.trace import watching
from roost.sync.port import Learned, Stream
from roost.wire import Data, DigestSigner, Interest, LpPacket, encode_data, encode_interest
from roost.wire.link import Link
from roost.wire.lp import DUPLICATE, nack

ROOT = Path(__file__).parents[2]


def rumours(seed: int, loss: float = 0.2) -> World:
    """A world in which everything happens: loss, duplicates, partitions, crashes, saves, timers, effects."""
    world = World(seed)
    names = sim.topology.names(5)
    for name in names:
        world.add(name, Rumour)
    wire = Wire(jitter_ms=3, loss=loss, duplicate=0.1, reorder=0.1)
    world.wires(sim.topology.ring(names), wire)
    world.bus(names, Wire(loss=loss))
    end = world.now + 20 * SECOND
    for name in names:
        workload.poisson(world, announcing(world, name), 700, until=end, name=name)
    workload.faults(world, names, until=end, mean_ms=2000, lasting_ms=(100, 3000))
    world.run(until=end + 20 * SECOND)
    return world


PROGRAM = """
from tests.unit.test_sim_trace import rumours
from roost.sim.scenarios import forwarding, sync
seeds = {forwarding: (1, 2, 3), sync: (13, 17, 24, 27)}  # of sync, one of each protocol
print(rumours(3).trace.digest(), *[each.run(seed).trace.digest() for each in seeds for seed in seeds[each]])
"""


def test_the_hash_is_the_same_in_every_process_whatever_the_hash_seed() -> None:
    paths = [str(ROOT / part) for part in os.environ.get("PYTHONPATH", "").split(":") if part]
    environment = {**os.environ, "PYTHONPATH": ":".join([*paths, str(ROOT)])}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**environment, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hash_seed in "12"
    ]
    first, second = [process.communicate(timeout=60)[0] for process in processes]
    assert first == second
    assert first.startswith(rumours(3).trace.digest())


def test_another_seed_or_another_world_gives_another_hash() -> None:
    assert len({rumours(3).trace.digest(), rumours(4).trace.digest(), rumours(3, loss=0.21).trace.digest()}) == 3


def test_asking_for_the_hash_changes_nothing() -> None:
    world = World(1)
    world.add("a", Probe)
    assert world.trace.digest() == world.trace.digest()
    before = world.trace.digest()
    world.tell("a", lambda _machine, _now: [], "nothing")
    assert world.trace.digest() != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda world: say(world, "a", b"x"), lambda world: say(world, "a", b"y")),
        (lambda world: save(world, "a", 1, b"x"), lambda world: save(world, "a", 1, b"y")),
        (lambda world: world.crash("a"), lambda world: world.crash("b")),
        (lambda world: world.crash("a"), lambda world: world.crash("a", sim.FLIP_BITS)),
        (lambda world: world.partition("a", "b"), lambda world: world.partition("b", "a")),
        (lambda world: world.tell("a", _note("x")), lambda world: world.tell("a", _note("y"))),
        (lambda world: world.tell("a", _unhashable(1)), lambda world: world.tell("a", _unhashable(2))),
    ],
    ids=["packet", "save", "station", "crash", "partition", "effect", "unhashable effect"],
)
def test_whatever_differs_is_in_the_hash(one: Callable[[World], object], other: Callable[[World], object]) -> None:
    def digest(act: Callable[[World], object]) -> str:
        world = World(1)
        for name in "ab":
            world.add(name, Probe)
        world.wire("a", "b")
        act(world)
        return world.trace.digest()

    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


@dataclass(frozen=True, slots=True)
class Listed(Effect):
    """An effect that cannot be looked up in a dictionary."""

    numbers: list[int]


def _note(event: str) -> sim.Command:
    return lambda _machine, _now: [Note(event)]


def _unhashable(number: int) -> sim.Command:
    return lambda _machine, _now: [Listed([number])]


# -- words


def test_packets_are_summed_up() -> None:
    interest = encode_interest(Name.parse("/g/v=3"), nonce=b"1234")
    data = encode_data(Name.parse("/d"), b"content", DigestSigner())
    assert packet_summary(interest) == f"Interest /g/v=3 ({len(interest)} bytes)"
    assert packet_summary(data) == f"Data /d ({len(data)} bytes)"
    assert packet_summary(LpPacket(data, pit_token=b"12").encode()).startswith("Data /d (")
    assert packet_summary(nack(interest, DUPLICATE)).startswith("Nack (duplicate) of Interest /g/v=3 (")
    large = encode_data(Name.parse("/d"), bytes(500), DigestSigner())
    assert packet_summary(Link(300).wrap([large], 0)[1]).startswith("fragment 2 of 3 (")
    acknowledging = LpPacket()
    acknowledging.acks = [1, 2]
    assert packet_summary(acknowledging.encode()).startswith("2 acknowledgements (")
    assert packet_summary(LpPacket().encode()) == "an empty link packet (2 bytes)"


def test_what_is_no_packet_is_shown_as_it_is() -> None:
    assert packet_summary(b"ping 7") == '"ping 7" (6 bytes)'
    assert packet_summary(b"\x05\x00") == "0500 (2 bytes)"
    assert packet_summary(b"") == '"" (0 bytes)'
    assert packet_summary(bytes(1000)).endswith("… CRC 060b1780 (1000 bytes)")


def test_components_that_are_no_text_are_cut_when_they_are_long() -> None:
    sketch = Component(b"\x78\xda" + bytes(178))
    assert packet_summary(encode_interest(Name.of(Component(b"g"), sketch, Component(b"\x2a")), nonce=b"1234")) == (
        "Interest /g/x%DA%00%00…(180 bytes, CRC 02975c01)/%2A (198 bytes)"
    )
    assert describe(sketch) == "x%DA%00%00…(180 bytes, CRC 02975c01)"
    assert describe(Component(bytes(24))) == "%00" * 24
    assert describe(Component(b"a-long-word-that-can-be-read")) == "a-long-word-that-can-be-read"


def test_effects_are_described_by_their_fields() -> None:
    assert describe(Learned(Stream(Name.parse("/a"), 17), 1, 3)) == "Learned stream=/a@17 low=1 high=3"
    assert describe(Rejected("sim://b", "too long", b"\x01")) == "Rejected source=sim://b reason=too long sample=01"
    assert describe(Note("event", (("fact", 1),))) == "Note event=event facts=((fact, 1))"
    assert describe(Listed([1, 2])) == "Listed numbers=(1, 2)"
    assert len(describe(Note("x" * 5000))) < 400


def test_words_hold_nothing_that_differs_between_processes() -> None:
    @dataclass(frozen=True)
    class Mixed(Effect):
        values: object

    data = Data.decode(encode_data(Name.parse("/d"), b"", DigestSigner()))
    interest = Interest.decode(encode_interest(Name.parse("/i"), nonce=b"1234"))
    assert describe(Mixed({"b", "a"})) == "Mixed values={a, b}"
    assert describe(Mixed({"b": object(), "a": None})) == "Mixed values={b: object, a: None}"
    assert describe(Mixed((data, interest, sim.FLIP_BITS))) == "Mixed values=(Data /d, Interest /i, FLIP_BITS)"
    assert describe(Mixed(Note("inner"))) == "Mixed values=Note event=inner facts=()"


# -- the timeline


def busy() -> World:
    world = World(1)
    for name in ("a", "bee"):
        world.add(name, Probe)
    world.wire("a", "bee", Wire(mtu=50, rate_bps=8000, queue_bytes=0))
    world.bus(["a", "bee"], Wire(loss=1))
    world.run(for_=MS)
    say(world, "a", b"ping", b"pong", bytes(51))
    save(world, "bee", 1, b"123")
    save(world, "bee", 2, b"12", replace=True)
    world.tell("a", lambda _machine, _now: [])
    world.partition("a", ["bee"])
    return world


def test_the_timeline_tells_what_happened() -> None:
    assert list(timeline(busy())) == [
        "     0.000000 s  a    Started files=0",
        "     0.000000 s  bee  Started files=0",
        "     0.001000 s  a    is told: send",
        '     0.001000 s  a    "ping" (4 bytes) → bee',
        '     0.001000 s  a    "pong" (4 bytes) → bee (dropped: the queue is full)',
        "     0.001000 s  a    " + packet_summary(bytes(51)) + " → bee (dropped: larger than the mtu, 50)",
        '     0.001000 s  a    "ping" (4 bytes) → bus (heard by 0 of 1)',
        '     0.001000 s  a    "pong" (4 bytes) → bus (heard by 0 of 1)',
        "     0.001000 s  a    " + packet_summary(bytes(51)) + " → bus (heard by 0 of 1)",
        "     0.001000 s  bee  is told: save",
        "     0.001000 s  bee  appends to f: 3 bytes",
        "     0.001000 s  bee  is told: save",
        "     0.001000 s  bee  replaces f: 2 bytes",
        "     0.001000 s  a    is told: a command",
        "     0.001000 s  —    Parted groups=((a), (bee))",
    ]


def test_a_packet_for_many_is_one_line_which_says_where_it_was_lost() -> None:
    world = World(1)
    for name in "abcd":
        world.add(name, Probe)
    for other, loss in (("b", 0), ("c", 1), ("d", 0)):
        world.wire("a", other, Wire(loss=loss))
    say(world, "a", b"ping")
    say(world, "b", b"ping")
    assert [line[15:] for line in timeline(world)][5:] == [
        '  a  "ping" (4 bytes) → b, c (lost), d',
        "  b  is told: send",
        '  b  "ping" (4 bytes) → a',
    ]


def test_the_timeline_is_cut_around_a_time_and_says_what_it_left_out() -> None:
    world = World(1)
    world.add("a", Probe)
    for number in range(100):
        world.run(for_=MS)
        world.tell("a", lambda _machine, _now: [], f"{number}")
    told = [line.rpartition(" ")[2] for line in timeline(world, 8, START + 50 * MS)]
    assert told == ["before", "44", "45", "46", "47", "48", "49", "50", "51", "after"]
    assert next(timeline(world, 8, START + 50 * MS)) == "… 45 lines before"
    assert list(timeline(world, 8, START + 50 * MS))[-1] == "… 48 lines after"
    assert len(list(timeline(world, 8))) == 9


def test_a_world_keeps_its_last_lines_and_a_watched_one_more() -> None:
    world = World(1, keep=10)
    world.add("a", Probe)
    for _ in range(100):
        world.tell("a", lambda _machine, _now: [])
    assert next(timeline(world, 60)) == "… 91 lines before"
    with watching(50) as worlds:
        watched = World(1, keep=10)
    assert worlds == [watched]
    assert watched.trace.lines.maxlen == 50
    assert World(1).trace.lines.maxlen == 1000
