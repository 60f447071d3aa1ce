"""Macros over a history: the runs a node would have had, one by one, whatever the definitions say of nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.macro_world import ENGINES, readings
from tests.process_world import NOW, Past

from roost.errors import BadMacro
from roost.machine import SECOND
from roost.process.definition import Definition
from roost.process.effects import Publish
from roost.process.engine import Limits
from roost.process.processor import Processor
from roost.process.replay import NoHistory, Replay, Replayed, replay
from roost.process.sample import Sample


def said(ran: list[Replayed] | Iterator[Replayed]) -> list[tuple[str, bytes | None]]:
    return [(each.macro, each.run.payload) for each in ran]


def test_every_activation_is_a_run_with_its_inputs_log_and_result() -> None:
    code = "console.log('saw', Noctua.topic('t')); Noctua.topic('t') * 2"
    first, second = replay([Definition("m", code)], readings("t", 1, 2), ENGINES)
    assert said([first, second]) == [("m", b"2"), ("m", b"4")]
    assert second.run.logs == ("saw 2",)
    assert [each.value for given in second.run.inputs.values() for each in given] == [2]
    assert (second.run.time, second.run.cause.number) == (NOW + SECOND, 2)


def test_a_failure_is_a_run_with_its_place_and_the_inputs_that_caused_it() -> None:
    code = "function(){\n  return Noctua.topic('t').toFixed(1)\n}()"
    good, bad = replay([Definition("m", code)], readings("t", 1.25, "n/a"), ENGINES)
    assert good.run.failure is None
    assert bad.run.failure is not None
    assert (bad.run.failure.line, bad.run.payload) == (2, None)
    assert [each.value for given in bad.run.inputs.values() for each in given] == ["n/a"]


def test_a_run_that_returns_nothing_is_shown_too() -> None:
    (only,) = replay([Definition("m", "Noctua.topic('t') > 5 ? 1 : undefined")], readings("t", 1), ENGINES)
    assert (only.run.payload, only.run.failure) == (None, None)


def test_an_activation_with_too_few_values_is_no_run() -> None:
    macros = Replay([Definition("m", "Noctua.topic('t', {required: 3}).length")], ENGINES)
    assert [len(macros.take(each)) for each in readings("t", 1, 2, 3)] == [0, 0, 1]
    assert macros.processor.macro("m").waited == 2


def test_macros_of_macros_run_behind_what_they_depend_on() -> None:
    definitions = [Definition("a", "Noctua.topic('Noctua/z') + 1"), Definition("z", "Noctua.topic('t') * 10")]
    assert said(replay(definitions, readings("t", 4), ENGINES)) == [("z", b"40"), ("a", b"41")]


def test_references_are_known_but_for_those_to_each_other() -> None:
    definitions = [Definition("a", "Noctua.topic('Noctua/z') + 1"), Definition("z", "Noctua.topic('t/+').value")]
    assert Replay(definitions, ENGINES).filters == ["t/+"]


def test_state_is_told_where_it_changes() -> None:
    code = "Noctua.state.n = (Noctua.state.n || 0) + (Noctua.topic('t') > 0 ? 1 : 0); Noctua.state.n"
    ran = list(replay([Definition("m", code)], readings("t", 1, 0, 1), ENGINES))
    assert [each.run.payload for each in ran] == [b"1", b"1", b"2"]
    assert [each.state for each in ran] == [b'{"n":1}', None, b'{"n":2}']


def test_what_is_due_runs_between_the_readings_and_after_the_last() -> None:
    definition = Definition("m", "Noctua.topic('t') + 0", trigger="every 10s")
    ran = list(replay([definition], readings("t", 1, 2, 3, step=4 * SECOND), ENGINES))
    assert [(each.run.time - NOW, each.run.payload) for each in ran] == [(10 * SECOND, b"3")]
    ran = list(replay([definition], readings("t", 1, 2, 3, step=8 * SECOND), ENGINES))
    assert [(each.run.time - NOW, each.run.payload) for each in ran] == [(10 * SECOND, b"2"), (20 * SECOND, b"3")]


def test_limits_of_the_clock_and_the_place_do_not_hold() -> None:
    definition = Definition("m", "Noctua.topic('t') + 0", engine="spark", limits=Limits(runs_per_s=1))
    assert len(list(replay([definition], readings("t", *range(50), step=1), ENGINES))) == 50


def test_results_are_those_of_a_processor_to_the_bit() -> None:
    definitions = [
        Definition("noisy", "Noctua.topic('t') + Math.random()"),
        Definition("when", "Noctua.topic('t'); Date.now() + ':' + Noctua.time"),
        Definition("mean", "Noctua.topic('t', {limit: 5, cutoff: 3}).reduce((a, b) => a + b, 0) / 5"),
    ]
    samples = readings("t", *[0.1 * each for each in range(40)])
    node = Processor(ENGINES, NoHistory())
    for each in definitions:
        node.define(each, NOW)
    effects = node.arrived(samples, NOW + 3600 * SECOND)
    there = [(each.name, each.payload) for each in effects if isinstance(each, Publish)]
    assert sorted(said(replay(definitions, samples, ENGINES))) == sorted(there)
    assert len(there) == 120


def test_payloads_are_whole_however_long() -> None:
    (ran,) = replay([Definition("m", "Noctua.topic('t').repeat(9000)")], readings("t", "x"), ENGINES)
    assert ran.run.payload == b"x" * 9000


def test_what_lies_before_comes_from_the_history_that_is_given() -> None:
    past = Past([Sample("t", NOW - SECOND, 7)])
    (ran,) = replay([Definition("m", "Noctua.topic('t', {required: 2}).join()")], readings("t", 1), ENGINES, past)
    assert ran.run.payload == b"1,7"


def test_samples_are_taken_one_by_one_so_memory_does_not_grow() -> None:
    taken: list[int] = []

    def endless() -> Iterator[Sample]:
        for number, sample in enumerate(readings("t", *range(1000))):
            taken.append(number)
            yield sample

    ran = replay([Definition("m", "Noctua.topic('t')")], endless(), ENGINES)
    assert next(ran).run.payload == b"0"
    assert taken == [0]


def test_code_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(BadMacro, match=r"line 1, column \d+"):
        Replay([Definition("m", "1 +* 2")], ENGINES)
