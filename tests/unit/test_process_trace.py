"""The trace of a macro: its last runs, what went in and what came out, bounded."""

from __future__ import annotations

from tests.process_world import NOW, Call, World

from roost.process.engine import Failure, Outcome
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.trace import MAX_INPUTS, MAX_LOGS, MAX_PAYLOAD_BYTES, MAX_RUNS, Trace

CAUSE = Sample("a", NOW, 1)


def test_a_run_is_told_with_its_inputs_and_its_outcome() -> None:
    world = World()
    world.define("last", ["a"])
    world.arrive("a", 5)
    [run] = world.processor.trace("last").runs()
    assert (run.version, run.time, run.cause.value, run.payload, run.failure) == (1, world.now, 5, b"5", None)
    assert [sample.value for sample in run.inputs[Reference("a")]] == [5]
    assert (run.given, run.logs, run.took_ns) == (1, ("ran",), 1000)


def test_the_last_runs_are_kept_and_the_last_failure_longer() -> None:
    world = World()

    def picky(call: Call) -> object:
        if call.value(Reference("a")) == 0:
            raise ValueError("zero")
        return 1

    world.define("picky", ["a"], picky)
    for value in range(3 * MAX_RUNS):
        world.arrive("a", value)
    trace = world.processor.trace("picky")
    assert [run.cause.value for run in trace.runs()] == list(range(3 * MAX_RUNS - 1, 2 * MAX_RUNS - 1, -1))
    assert trace.last_failure is not None
    assert trace.last_failure.failure == Failure("error", "zero", 3, 7)
    assert trace.last_failure.cause.value == 0


def test_what_is_kept_of_a_run_is_bounded() -> None:
    trace = Trace()
    many = [Sample("a", NOW - n, n) for n in range(10_000)]
    inputs = {Reference("a", limit=10_000): many, Reference("b"): many[:1]}
    outcome = Outcome(payload=bytes(100_000), logs=("x",) * 1000)
    trace.add(1, NOW, CAUSE, inputs, outcome, 5)
    [run] = trace.runs()
    assert run.given == 10_001
    assert [len(samples) for samples in run.inputs.values()] == [MAX_INPUTS // 2, 1]
    assert run.inputs[Reference("a", limit=10_000)][0] == many[0]
    assert (len(run.payload or b""), len(run.logs)) == (MAX_PAYLOAD_BYTES, MAX_LOGS)


def test_runs_of_several_versions_stand_in_one_trace() -> None:
    world = World()
    world.define("last", ["a"])
    world.arrive("a", 1)
    world.define("last", ["a"])
    world.arrive("a", 2)
    assert [run.version for run in world.processor.trace("last").runs()] == [2, 1]
