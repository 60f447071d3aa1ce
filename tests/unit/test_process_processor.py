"""The processor: settings and their edges, macros of macros, updates between arrivals, failures, bounds."""

from __future__ import annotations

import random

import pytest
from tests.process_world import NOW, Call, World, results

from roost.errors import BadMacro
from roost.machine import SECOND, Note
from roost.process.effects import ForgetDefinition, KeepDefinition, KeepState, Publish, Standing
from roost.process.engine import FAILED
from roost.process.macro import MAX_REFERENCES
from roost.process.processor import Processor
from roost.process.reference import Reference
from roost.process.runner import MAX_ROUNDS
from roost.process.sample import Sample
from roost.process.seeding import seed_of


def readings(topic: str, low: int, high: int) -> list[Sample]:
    return [Sample(topic, NOW + n * SECOND, n, stream=topic.encode(), number=n) for n in range(low, high + 1)]


# -- settings


def test_a_cutoff_suppresses_stale_inputs() -> None:
    world = World()
    world.define("mean", [Reference("a", cutoff_s=60), Reference("b", cutoff_s=60)])
    world.arrive("a", 1)
    world.now += 58 * SECOND
    assert world.arrive("b", 2) == ["mean=1,2"]
    assert world.arrive("b", 3) == ["mean=1,3"]
    assert world.arrive("b", 4) == []
    assert world.arrive("a", 5) == ["mean=5,4"]


def test_without_a_cutoff_nothing_is_stale() -> None:
    world = World()
    world.define("mean", ["a", "b"])
    world.arrive("a", 1)
    world.now += 10**9 * SECOND
    assert world.arrive("b", 2) == ["mean=1,2"]


def test_a_cutoff_counts_from_the_time_of_the_arrival() -> None:
    world = World()
    world.define("both", [Reference("a", cutoff_s=5), Reference("b")])
    world.arrive("a", 1, age_s=15.1)
    assert world.arrive("b", 2, age_s=10) == []
    assert world.arrive("a", 3, age_s=14) == ["both=3,2"]
    assert world.arrive("b", 4, age_s=10) == ["both=3,4"]


def test_five_required_give_nothing_before_the_fifth() -> None:
    world = World()
    world.define("five", [Reference("a", required=5)])
    assert [world.arrive("a", n) for n in range(1, 7)] == [[], [], [], [], ["five=5/4/3/2/1"], ["five=6/5/4/3/2"]]
    assert world.processor.macro("five").waited == 4


def test_five_required_of_ten_give_five_to_ten() -> None:
    world = World()
    program = world.define("some", [Reference("a", required=5, limit=10)])
    for n in range(14):
        world.arrive("a", n)
    given = [len(next(iter(call.inputs.values()))) for call in program.calls]
    assert given == [5, 6, 7, 8, 9, 10, 10, 10, 10, 10]


def test_a_limit_below_what_is_required_does_not_matter() -> None:
    world = World()
    world.define("three", [Reference("a", required=3, limit=2)])
    assert [world.arrive("a", n) for n in range(4)] == [[], [], ["three=2/1/0"], ["three=3/2/1"]]


def test_what_is_optional_may_be_missing() -> None:
    world = World()
    world.define("both", ["a", Reference("b", required=0), Reference("c", required=0, limit=2)])
    assert world.arrive("a", 1) == ["both=1,None,"]
    assert world.arrive("b", 2) == ["both=1,2,"]
    assert world.arrive("c", 3) == ["both=1,2,3"]


def test_a_wildcard_gives_its_topics_merged_newest_first() -> None:
    world = World([Sample("room/3/temp", NOW, 30)])
    wild = Reference("room/+/temp", limit=3)

    def pairs(call: Call) -> object:
        return " ".join(f"{sample.topic[5]}:{sample.value!r}" for sample in call.inputs[wild])

    world.define("rooms", [wild], pairs)
    assert world.arrive("room/1/temp", 10) == ["rooms=1:10 3:30"]
    assert world.arrive("room/2/temp", 20) == ["rooms=2:20 1:10 3:30"]
    assert world.arrive("room/1/temp", 11) == ["rooms=1:11 2:20 1:10"]
    assert world.arrive("room/1/humidity", 99) == []


def test_ten_thousand_values_come_from_history_right_after_a_restart() -> None:
    world = World(readings("a", 1, 12_000))
    program = world.define("long", [Reference("a", required=10_000)], lambda _: "done")
    world.now += 12_000 * SECOND
    assert world.arrive("a", 12_001, stream=b"a", number=12_001) == ["long=done"]
    given = [sample.number for sample in program.calls[0].inputs[Reference("a", required=10_000)]]
    assert given == list(range(12_001, 2001, -1))
    world.arrive("a", 12_002, stream=b"a", number=12_002)
    assert len(world.past.asked) == 1


def test_a_batch_that_is_in_the_store_already_is_seen_one_by_one() -> None:
    batch = readings("a", 1, 6)
    world = World(batch)
    world.define("two", [Reference("a", limit=2)])
    expected = ["two=3/2", "two=4/3", "two=5/4", "two=6/5"]
    assert results(world.processor.arrived(batch[2:], NOW + 9 * SECOND)) == expected


def test_a_batch_means_the_same_as_one_at_a_time() -> None:
    samples = [Sample(topic, NOW + n, n) for n, topic in enumerate("abcaabbacbac")]
    published = []
    for size in (1, 5, 12):
        world = World()
        world.define("sum", ["a", Reference("b", limit=3)])
        world.define("more", ["Noctua/sum", "c"])
        batches = [samples[low : low + size] for low in range(0, 12, size)]
        published.append([result for batch in batches for result in results(world.processor.arrived(batch, NOW))])
    assert published[0] == published[1] == published[2] != []


# -- macros of macros


def test_a_result_is_an_arrival_in_the_same_call() -> None:
    world = World()
    world.define("c", ["Noctua/b"])
    world.define("b", ["Noctua/a"])
    world.define("a", ["x"])
    assert world.arrive("x", 7) == ["a=7", "b=7", "c=7"]


def test_a_diamond_runs_once_and_sees_both_sides_renewed() -> None:
    world = World()
    world.define("end", ["Noctua/left", "Noctua/right", "x"])
    world.define("left", ["x"])
    world.define("right", ["x"])
    assert world.arrive("x", 1) == ["left=1", "right=1", "end=1,1,1"]
    assert world.arrive("x", 2) == ["left=2", "right=2", "end=2,2,2"]


def test_stacked_diamonds_cost_as_many_runs_as_there_are_macros() -> None:
    world = World()
    above = ["x"]
    for layer in range(8):
        layer_names = [f"m{layer}{side}" for side in "abcd"]
        for name in layer_names:
            world.define(name, above)
        above = [f"Noctua/{name}" for name in layer_names]
    assert len(world.arrive("x", 1)) == 32


def test_a_macro_that_returns_nothing_filters() -> None:
    world = World()
    world.define(
        "even", ["x"], lambda call: call.value(Reference("x")) if call.value(Reference("x")) in (2, 4) else None
    )
    world.define("next", ["Noctua/even"])
    assert [world.arrive("x", n) for n in range(1, 5)] == [[], ["even=2", "next=2"], [], ["even=4", "next=4"]]


def test_cycles_are_refused_by_name_and_the_rest_goes_on() -> None:
    world = World()
    world.define("a", ["x"])
    world.define("b", ["Noctua/a"])
    with pytest.raises(BadMacro, match="a -> b -> a"):
        world.define("a", ["x", "Noctua/b"])
    with pytest.raises(BadMacro, match="# also stands for its own results, on Noctua/all"):
        world.define("all", ["#"])
    assert world.processor.macros() == ["a", "b"]
    assert world.processor.macro("a").version == 1
    assert world.arrive("x", 1) == ["a=1", "b=1"]


def test_what_arrives_on_the_topic_of_a_macro_that_runs_here_is_turned_away() -> None:
    world = World()
    world.define("a", ["x"])
    world.define("b", ["Noctua/a"])
    assert world.arrive("Noctua/a", 666) == []
    assert world.processor.foreign == 1


def test_a_macro_that_runs_elsewhere_is_in_the_graph_and_its_results_arrive() -> None:
    world = World()
    program = world.define("far", ["x"], engine="spark")
    world.define("near", ["Noctua/far"])
    assert world.arrive("x", 1) == []
    assert world.arrive("Noctua/far", 5) == ["near=5"]
    assert program.calls == []
    with pytest.raises(BadMacro, match="far -> near -> far"):
        world.define("far", ["Noctua/near"], engine="spark")


# -- references found at run time


def test_a_topic_named_during_a_run_is_looked_up_and_the_run_repeated() -> None:
    world = World([Sample("s/7", NOW, "seven")])
    program = world.define("pick", ["id"], lambda call: call.value(Reference(f"s/{call.value(Reference('id'))}")))
    assert world.arrive("id", 7) == ["pick=seven"]
    assert [call.seed for call in program.calls] == [program.calls[0].seed] * 2
    assert world.arrive("s/7", "eight") == ["pick=eight"]
    assert world.processor.macro("pick").activations == 2


def test_a_topic_named_during_a_run_without_enough_values_makes_the_macro_wait() -> None:
    world = World()
    world.define("pick", ["id"], lambda call: call.value(Reference(f"s/{call.value(Reference('id'))}")))
    assert world.arrive("id", 7) == []
    assert world.arrive("id", 7) == []
    assert world.processor.macro("pick").failures == 0
    assert world.arrive("s/7", 1) == ["pick=1"]
    assert world.arrive("id", 8) == []
    assert world.arrive("s/8", 2) == ["pick=2"]
    assert world.arrive("id", 7) == ["pick=1"]


def test_a_cycle_found_during_a_run_fails_the_macro_by_name() -> None:
    world = World()
    world.define("a", ["x"], lambda call: call.value(Reference("Noctua/b")))
    world.define("b", ["Noctua/a"])
    world.now += SECOND
    effects = world.processor.arrived([Sample("x", world.now, 1)], world.now)
    [note] = [each for each in effects if isinstance(each, Note)]
    assert dict(note.facts)["message"] == "a: a macro cannot depend on itself: a -> b -> a"
    assert world.processor.macro("a").failures == 1
    assert results(effects) == []


def test_a_macro_found_to_depend_on_another_runs_after_it() -> None:
    world = World()
    world.define("a", ["x"], lambda call: call.value(Reference("Noctua/z")))
    world.define("after", ["Noctua/a", "x"])
    world.define("z", ["x"])
    assert world.arrive("x", 1) == ["z=1", "a=1", "after=1,1"]
    assert world.arrive("x", 2) == ["z=2", "a=2", "after=2,2"]


def test_topics_without_end_fail_the_run() -> None:
    world = World([Sample(f"s/{n}", NOW, n) for n in range(100)])

    def greedy(call: Call) -> object:
        return [call.value(Reference(f"s/{n}")) for n in range(100)]

    world.define("greedy", ["x"], greedy)
    assert world.arrive("x", 1) == []
    macro = world.processor.macro("greedy")
    assert (macro.runs, macro.failures) == (MAX_ROUNDS + 1, 1)
    assert macro.trace.last_failure is not None


def test_references_of_a_macro_are_bounded_also_those_found() -> None:
    world = World()
    with pytest.raises(BadMacro, match="names 257 topics"):
        world.define("many", [f"t/{n}" for n in range(MAX_REFERENCES + 1)])
    optional = [Reference(f"t/{n}", required=0) for n in range(MAX_REFERENCES)]
    world.define("full", optional, lambda call: call.value(Reference("one/more", required=0)))
    assert world.arrive("t/0", 1) == []
    failed = world.processor.trace("full").last_failure
    assert failed is not None
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.message) == (FAILED, "it names more than 256 topics")


# -- updates


def test_an_update_falls_between_two_arrivals_and_says_where() -> None:
    world = World()
    first = world.define("m", ["a"])
    for sample in readings("a", 1, 5):
        world.processor.arrived([sample], NOW)
    effects = world.processor.define(world.program("m", ["a"], code="second"), NOW)
    assert effects[0] == KeepDefinition(world.processor.macro("m").definition, 2, ((b"a", 5),))
    world.processor.arrived(readings("a", 4, 9), NOW)  # some of them again
    [forgotten, _] = world.processor.undefine("m", NOW)
    assert forgotten == ForgetDefinition("m", 2, ((b"a", 9),))
    seen = [
        [sample.number for call in program.calls for sample in call.inputs[Reference("a")]]
        for program in (first, world.engine.programs["second"])
    ]
    assert seen == [[1, 2, 3, 4, 5], [6, 7, 8, 9]]
    assert world.processor.arrived(readings("a", 10, 11), NOW) == []


def test_an_update_keeps_state_and_history_and_counts_the_version() -> None:
    world = World()

    def count(call: Call) -> object:
        call.state = str(int(call.state or b"0") + 1).encode()
        return call.state.decode()

    world.define("n", ["a"], count)
    assert [world.arrive("a", 0), world.arrive("a", 0)] == [["n=1"], ["n=2"]]
    world.define("n", [Reference("a", required=2)], count)
    assert world.arrive("a", 0) == ["n=3"]
    assert world.processor.macro("n").version == 2


def test_the_same_definition_again_changes_nothing() -> None:
    world = World()
    definition = world.program("m", ["a"])
    assert world.processor.define(definition, NOW) != []
    assert world.processor.define(definition, NOW) == []
    assert world.processor.macro("m").version == 1


def test_a_definition_that_is_refused_leaves_the_old_one() -> None:
    world = World()
    world.define("m", ["a"])
    with pytest.raises(BadMacro, match="names no topic"):
        world.define("m", [])
    assert world.arrive("a", 1) == ["m=1"]


def test_who_asks_what_a_macro_names_and_then_defines_it_explores_it_once() -> None:
    world = World()
    definition = world.program("m", ["a"])
    world.processor.load(definition)
    world.processor.load(definition)
    world.processor.define(definition, NOW)
    assert world.engine.programs[definition.code].explored == 1
    world.define("other", ["a"])
    world.processor.load(definition)
    assert world.engine.programs[definition.code].explored == 2


def test_what_a_macro_looked_at_is_forgotten_with_it() -> None:
    world = World([Sample("s/1", NOW, 1)])
    world.define("m", ["a", "w/+"], lambda call: call.value(Reference("s/1")))
    world.arrive("w/1", 1)
    world.arrive("a", 1)
    assert len(world.processor.window) == 3
    world.processor.undefine("m", world.now)
    assert (len(world.processor.window), world.processor.window.total) == (0, 0)
    assert not world.processor.touches("a")
    with pytest.raises(BadMacro, match="m: there is no such macro"):
        world.processor.undefine("m", world.now)


def test_a_macro_goes_on_where_it_stood() -> None:
    world = World()

    def count(call: Call) -> object:
        call.state = str(int(call.state or b"0") + 1).encode()
        return f"{call.value(Reference('a'))}:{call.state.decode()}"

    world.define("n", ["a"], count)
    world.processor.arrived(readings("a", 1, 4), NOW)
    standing = world.processor.macro("n").standing()
    assert standing == Standing(1, b"4", ((b"a", 4),))
    other = World(readings("a", 1, 6))
    other.processor.restore(other.program("n", ["a"], count), standing, NOW)
    assert results(other.processor.arrived(readings("a", 3, 6), NOW)) == ["n=5:5", "n=6:6"]
    with pytest.raises(BadMacro, match="there is such a macro"):
        other.processor.restore(other.program("n", ["a"], count), standing, NOW)


# -- results


def test_a_result_tells_what_it_was_made_of_and_by_what() -> None:
    world = World()
    world.streams = True
    world.define("mean", [Reference("a", limit=2), "plain", Reference("+", limit=2)])
    world.define("next", ["Noctua/mean"])
    world.arrive("a", 1, stream=b"/a", number=8)
    world.arrive("plain", 0)
    world.now += SECOND
    effects = world.processor.arrived([Sample("a", world.now, 2, stream=b"/a", number=9)], world.now)
    mean, following = [each for each in effects if isinstance(each, Publish)]
    digest = world.processor.macro("mean").definition.digest
    assert (mean.topic, mean.time, mean.program, mean.version) == ("Noctua/mean", world.now, digest, 1)
    assert mean.inputs == ((b"/a", 9), (b"/a", 8))
    assert (mean.stream, mean.number) == (b"Noctua/mean", 2)
    assert following.inputs == ((b"Noctua/mean", 2),)


def test_state_is_kept_when_it_changes_and_only_then() -> None:
    world = World()

    def flag(call: Call) -> object:
        call.state = b"high" if call.value(Reference("a")) == 1 else b"low"
        return None

    world.define("m", ["a"], flag)
    kept = []
    for value in (0, 0, 1):
        sample = Sample("a", NOW, value)
        kept += [each for each in world.processor.arrived([sample], NOW) if isinstance(each, KeepState)]
    assert [(each.name, each.state, each.version, each.cause.value) for each in kept] == [
        ("m", b"low", 1, 0),
        ("m", b"high", 1, 1),
    ]


def test_a_run_has_the_time_and_the_seed_of_the_sample_that_activated_it() -> None:
    world = World()
    program = world.define("m", ["a"])
    below = world.define("n", ["Noctua/m"])
    world.arrive("a", 1, stream=b"/a", number=3, age_s=9)
    cause = Sample("a", 0, 1, stream=b"/a", number=3)
    for each, name in ((program, "m"), (below, "n")):
        assert each.calls[0].time == world.now - 9 * SECOND
        assert each.calls[0].seed == seed_of(world.processor.macro(name).definition.digest, cause)


# -- failures and bounds


def test_a_failure_stays_with_its_macro() -> None:
    world = World()

    def fails(call: Call) -> object:
        call.state = b"half done"
        raise ValueError("no")

    world.define("bad", ["a"], fails)
    world.define("good", ["a"])
    world.define("next", ["Noctua/bad", "Noctua/good"])
    world.now += SECOND
    effects = world.processor.arrived([Sample("a", world.now, 1)], world.now)
    facts = (("macro", "bad"), ("kind", "error"), ("message", "no"), ("line", 3), ("column", 7))
    assert Note("macro failed", facts) in effects
    assert results(effects) == ["good=1"]
    assert (world.processor.macro("bad").failures, world.processor.macro("bad").state) == (1, b"")


def test_macros_are_bounded() -> None:
    world = World(max_macros=2)
    world.define("a", ["x"])
    world.define("b", ["x"])
    with pytest.raises(BadMacro, match="c: there are 2 macros"):
        world.define("c", ["x"])
    world.define("b", ["y"])
    assert world.processor.turned_away == 1
    assert world.processor.sizes()["macros"] == (2, 2)


def test_an_unknown_language_is_refused_by_name() -> None:
    world = World()
    definition = world.program("m", ["a"])
    with pytest.raises(BadMacro, match="nothing here runs python, only javascript"):
        Processor({"javascript": world.engine}, world.past).define(definition, NOW)


def test_what_no_macro_refers_to_is_counted_and_not_kept() -> None:
    world = World()
    world.define("m", ["a"])
    assert not world.processor.touches("b")
    assert world.processor.touches("a")
    assert world.arrive("b", 1) == []
    assert (world.processor.untouched, world.processor.window.total) == (1, 0)


def test_an_arrival_costs_what_it_touches_however_many_macros_there_are() -> None:
    costs = []
    for macros in (10, 500):
        world = World()
        programs = [world.define(f"m{n}", [f"t/{n}", f"w/{n}/+"]) for n in range(macros)]
        world.arrive("t/3", 1)
        searches, loads = world.processor.dependencies.searches, world.processor.window.loads
        for value in range(20):
            world.arrive("w/3/x", value)
        assert sum(len(program.calls) for program in programs) == 20
        costs.append((world.processor.dependencies.searches - searches, world.processor.window.loads - loads))
    assert costs[0] == costs[1] == (2, 0)  # two topics are new, that of the arrivals and that of the results


def test_the_order_of_definitions_does_not_matter() -> None:
    needs = {"a": ["x"], "b": ["x", "Noctua/a"], "c": ["x"], "d": ["Noctua/c", "Noctua/b"], "e": ["Noctua/+/f", "x"]}
    published = set()
    for seed in range(5):
        world = World()
        names = list(needs)
        random.Random(seed).shuffle(names)
        for name in names:
            world.define(name, needs[name])
        published.add(tuple(world.arrive("x", 1)))
    assert published == {("a=1", "c=1", "b=1,1", "d=1,1,1")}


def test_a_macro_that_catches_up_sees_results_once_in_whatever_order_they_are_made_again() -> None:
    world = World()
    world.define("twice", ["Noctua/each"])
    macro = world.processor.macro("twice")
    macro.seen, macro.is_behind = {b"each": 5}, True
    made = {
        number: Sample("Noctua/each", NOW, number, stream=b"each", number=number, root=(b"a", 20 - number))
        for number in range(5, 12)
    }
    again = Sample("a", NOW, 1, stream=b"a", number=1)
    assert [macro.sees(made[number], again) for number in (8, 7, 8, 5)] == [True, True, False, False]
    assert macro.position == ((b"each", 5),), "6 may still come"
    assert [macro.sees(made[number], made[number]) for number in (6, 7, 8)] == [True, False, False]
    assert macro.position == ((b"each", 8),)
    assert macro.sees(made[11], made[11])
    assert macro.position == ((b"each", 11),), "what a stream has not is missed"
