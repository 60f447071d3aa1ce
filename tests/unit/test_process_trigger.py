"""When activated macros run: on every arrival, once per complete new set, every n seconds; and how often they may."""

from __future__ import annotations

from tests.process_world import NOW, Call, Late, World, results

from roost.machine import SECOND, Note
from roost.process.effects import Standing
from roost.process.engine import RATE, TIME, Failure, Limits
from roost.process.reference import Reference
from roost.process.replay import replay
from roost.process.runner import MAX_ROUNDS
from roost.process.sample import Sample
from roost.process.seeding import seed_of


def test_on_every_arrival_each_of_a_round_brings_a_result() -> None:
    world = World()
    world.define("sum", ["a", "b"])
    assert world.arrive("a", 1) == []
    assert world.arrive("b", 2) == ["sum=1,2"]
    assert world.arrive("a", 3) == ["sum=3,2"]
    assert world.arrive("a", 4) == ["sum=4,2"]
    assert world.arrive("b", 5) == ["sum=4,5"]


def test_once_per_set_a_round_brings_one_result() -> None:
    world = World()
    world.define("sum", ["a", "b", "c"], trigger="set")
    published = [world.arrive(topic, turn) for turn in range(3) for topic in ("a", "b", "c")]
    assert published == [[], [], ["sum=0,0,0"], [], [], ["sum=1,1,1"], [], [], ["sum=2,2,2"]]


def test_a_set_waits_for_the_slowest_and_takes_the_newest_of_the_others() -> None:
    world = World()
    world.define("sum", ["a", "b"], trigger="set")
    assert [world.arrive("a", 1), world.arrive("b", 1)] == [[], ["sum=1,1"]]
    assert [world.arrive("a", value) for value in (2, 3, 4)] == [[], [], []]
    assert world.arrive("b", 2) == ["sum=4,2"]


def test_a_set_is_complete_without_what_is_optional() -> None:
    world = World()
    world.define("sum", ["a", Reference("b", required=0)], trigger="set")
    assert world.arrive("a", 1) == ["sum=1,None"]
    assert world.arrive("b", 1) == []
    assert world.arrive("a", 2) == ["sum=2,1"]


def test_a_late_sample_is_no_new_one_of_a_set() -> None:
    world = World()
    world.define("sum", ["a"], trigger="set")
    assert world.arrive("a", 1) == ["sum=1"]
    assert world.arrive("a", 0, age_s=60) == []


def test_messages_of_one_moment_make_as_many_sets() -> None:
    world = World()
    world.define("sum", ["a", "b"], trigger="set")
    world.define("next", ["Noctua/sum"], trigger="set")
    batch = [Sample(topic, NOW, 20) for _ in range(3) for topic in ("a", "b")]
    assert results(world.processor.arrived(batch, NOW)) == ["sum=20,20", "next=20,20"] * 3


def test_what_history_has_counts_for_the_first_set() -> None:
    world = World([Sample("b", NOW, 7)])
    world.define("sum", ["a", "b"], trigger="set")
    assert world.arrive("a", 1) == ["sum=1,7"]
    assert world.arrive("a", 2) == []


def test_a_set_that_was_used_before_a_restart_is_not_used_again() -> None:
    world = World()
    world.define("sum", ["a", "b"], trigger="set")
    world.arrive("b", 1, stream=b"/b", number=1)
    assert world.arrive("a", 1, stream=b"/a", number=1) == ["sum=1,1"]
    standing = world.processor.macro("sum").standing()
    past = [
        Sample("b", NOW + SECOND, 1, stream=b"/b", number=1),
        Sample("a", NOW + 2 * SECOND, 1, "", "good", b"/a", 1),
    ]
    again = World(past)
    again.now = world.now
    again.processor.restore(again.program("sum", ["a", "b"], trigger="set"), standing, again.now)
    assert again.arrive("a", 2, stream=b"/a", number=2) == []
    assert again.arrive("b", 2, stream=b"/b", number=2) == ["sum=2,2"]


def test_every_n_seconds_it_runs_at_the_multiples_and_as_of_them() -> None:
    world = World()
    program = world.define("last", ["a"], trigger="every 10s")
    assert world.processor.deadline() is None
    assert [world.arrive("a", value) for value in (1, 2, 3)] == [[], [], []]
    due = NOW + 10 * SECOND
    assert world.processor.deadline() == due
    assert world.processor.tick(due - 1) == []
    assert results(world.processor.tick(due + 3 * SECOND)) == ["last=3"]
    assert program.calls[0].time == due
    assert world.processor.deadline() is None


def test_every_n_seconds_nothing_runs_for_nothing() -> None:
    world = World()
    program = world.define("last", ["a"], trigger="every 10s")
    world.arrive("a", 1)
    world.processor.tick(NOW + 10 * SECOND)
    assert world.processor.tick(NOW + 3600 * SECOND) == []
    assert len(program.calls) == 1


def test_what_is_due_runs_before_what_arrives_later() -> None:
    world = World()
    world.define("last", ["a"], trigger="every 10s")
    world.arrive("a", 1)
    world.now = NOW + 14 * SECOND
    assert world.arrive("a", 2) == ["last=1"]
    assert results(world.processor.tick(NOW + 20 * SECOND)) == ["last=2"]


def test_every_n_seconds_all_that_is_required_is_required() -> None:
    world = World()
    world.define("pair", [Reference("a", required=2)], trigger="every 10s")
    world.arrive("a", 1)
    assert world.processor.tick(NOW + 10 * SECOND) == []
    world.now = NOW + 10 * SECOND
    world.arrive("a", 2)
    assert results(world.processor.tick(NOW + 20 * SECOND)) == ["pair=2/1"]


def test_what_is_due_together_runs_in_the_order_of_dependencies() -> None:
    world = World()
    world.define("z", ["a"], trigger="every 10s")
    world.define("y", ["Noctua/z", "a"], trigger="every 10s")
    world.arrive("a", 1)
    assert results(world.processor.tick(NOW + 10 * SECOND)) == ["z=1", "y=1,1"]
    assert world.processor.deadline() is None


def test_a_result_makes_one_due_that_runs_less_often() -> None:
    world = World()
    world.define("often", ["a"])
    world.define("seldom", ["Noctua/often"], trigger="every 60s")
    assert world.arrive("a", 1) == ["often=1"]
    due = (NOW // (60 * SECOND) + 1) * 60 * SECOND
    assert world.processor.deadline() == due
    assert results(world.processor.tick(due)) == ["seldom=1"]


def test_what_was_due_is_due_after_an_update_and_after_a_restart() -> None:
    world = World()
    world.define("last", ["a"], trigger="every 10s")
    world.arrive("a", 1)
    world.define("last", ["a"], trigger="every 4s")
    assert world.processor.deadline() == NOW + 4 * SECOND
    standing = world.processor.macro("last").standing()
    assert standing == Standing(2, due=NOW + 4 * SECOND)
    again = World()
    again.processor.restore(again.program("last", ["a"], trigger="every 4s"), standing, NOW)
    assert again.processor.deadline() == NOW + 4 * SECOND
    world.define("last", ["a"])
    assert world.processor.deadline() is None


def test_what_is_deleted_is_not_due() -> None:
    world = World()
    world.define("last", ["a"], trigger="every 10s")
    world.arrive("a", 1)
    world.processor.undefine("last", world.now)
    assert world.processor.deadline() is None


def test_a_macro_runs_no_more_often_than_its_rate() -> None:
    world = World()
    program = world.define("last", ["a"], limits=Limits(runs_per_s=3))
    samples = [Sample("a", NOW, value) for value in range(10)]
    effects = world.processor.arrived(samples, NOW)
    assert results(effects) == ["last=0", "last=1", "last=2"]
    notes = [each for each in effects if isinstance(each, Note)]
    assert [dict(each.facts)["kind"] for each in notes] == [RATE]
    macro = world.processor.macro("last")
    assert (macro.limited, macro.runs, macro.failures) == (7, 3, 0)
    assert results(world.processor.arrived(samples[:2], NOW + SECOND // 3 + 1)) == ["last=0"]
    assert len(program.calls) == 4


def _late(_call: Call) -> None:
    raise Late


def test_a_macro_that_took_too_long_rests_by_the_clock_and_says_so_once() -> None:
    world = World()
    loops = world.define("loops", ["a"], _late, limits=Limits(time_ms=50))
    world.define("other", ["a"])
    samples = [Sample("a", NOW + number, number) for number in range(20)]
    effects = world.processor.arrived(samples, NOW)
    assert results(effects) == [f"other={number}" for number in range(20)]
    told = [dict(each.facts) for each in effects if isinstance(each, Note)]
    assert [(each["kind"], each["message"]) for each in told] == [
        (TIME, "it took longer than it may"),
        (TIME, "it took longer than its 50 ms, and rests for 1 s"),
    ]
    macro = world.processor.macro("loops")
    assert (macro.limited, macro.runs, macro.failures) == (19, 1, 1)
    assert [run.failure is not None for run in macro.trace.runs()] == [True, True]
    world.processor.arrived(samples[:1], NOW + SECOND - 1)
    assert len(loops.calls) == 1
    assert len(world.processor.arrived(samples[:2], NOW + SECOND)) == 4  # it runs, and is told to rest again
    assert len(loops.calls) == 2


def test_a_macro_that_takes_too_long_again_and_again_for_one_reading_rests_as_often() -> None:
    world = World()

    def names_another(call: Call) -> None:
        raise Late(Reference(f"b/{len(call.inputs)}", required=0))

    loops = world.define("loops", ["a"], names_another, limits=Limits(time_ms=50))
    world.processor.arrived([Sample("a", NOW, 1)], NOW)
    assert len(loops.calls) == MAX_ROUNDS + 1
    macro = world.processor.macro("loops")
    assert macro.rests_until == NOW + (MAX_ROUNDS + 1) * SECOND


def test_an_update_and_a_clock_set_back_end_a_rest() -> None:
    world = World()
    loops = world.define("loops", ["a"], _late)
    world.processor.arrived([Sample("a", NOW, 1)], NOW)
    world.processor.arrived([Sample("a", NOW, 1)], NOW - 1)
    assert len(loops.calls) == 2
    world.now = NOW - 1
    better = world.define("loops", ["a"])
    assert results(world.processor.arrived([Sample("a", NOW, 1)], NOW)) == ["loops=1"]
    assert len(better.calls) == 1


def test_a_macro_does_not_rest_where_the_past_is_gone_through() -> None:
    world = World()
    definition = world.program("loops", ["a"], _late)
    replayed = list(
        replay([definition], [Sample("a", NOW + number, number) for number in range(5)], {"python": world.engine})
    )
    assert [each.run.failure for each in replayed] == [Failure(TIME, "it took longer than it may")] * 5


def test_a_seed_follows_from_program_and_reading_alone() -> None:
    reading = Sample("a", NOW, 1, stream=b"/a", number=1)
    assert seed_of(b"x" * 32, reading) == seed_of(b"x" * 32, reading._replace(value=2, time=0, topic="b"))
    plain = Sample("a", NOW, 1)
    seeds = {
        seed_of(program, sample)
        for program in (b"x" * 32, b"y" * 32)
        for sample in (reading, reading._replace(number=2), plain, plain._replace(time=1), plain._replace(topic="b"))
    }
    assert len(seeds) == 10
    assert all(0 <= seed < 2**53 for seed in seeds)
    assert seed_of(b"x" * 32, reading) == 1_026_099_600_316_685  # so it is on Spark, and after an update
