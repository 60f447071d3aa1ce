"""Two versions over one history: what is equal, what differs, what only one of them brings."""

from __future__ import annotations

from tests.macro_world import ENGINES, readings

from roost.machine import SECOND
from roost.process.comparing import DIFFERS, ONLY_NEW, ONLY_OLD, Comparison, compare
from roost.process.definition import Definition
from roost.process.sample import Plain


def compared(old: str, new: str, *values: Plain, max_kept: int = 20) -> Comparison:
    definitions = [Definition("old", old)], [Definition("new", new)]
    return compare(*definitions, readings("t", *values), ENGINES, max_kept)


def counts(result: Comparison) -> tuple[int, int, int, int]:
    return result.equal, result.differs, result.only_old, result.only_new


def test_the_same_results_of_other_code_are_equal() -> None:
    result = compared("Noctua.topic('t') * 2", "Noctua.topic('t') + Noctua.topic('t')", 1, 2, 3)
    assert (counts(result), result.differences, result.first) == ((3, 0, 0, 0), 0, [])


def test_a_difference_has_both_runs() -> None:
    result = compared("Noctua.topic('t') * 2", "Noctua.topic('t') ** 2", 1, 2, 3)
    assert counts(result) == (1, 2, 0, 0)
    first = result.first[0]
    assert first.old is not None
    assert first.new is not None
    assert (first.kind, first.macro, first.old.payload, first.new.payload) == (DIFFERS, "new", b"2", b"1")


def test_the_same_bytes_of_another_format_differ() -> None:
    result = compared("Noctua.topic('t')", "JSON.parse(Noctua.topic('t'))", "true")
    assert counts(result) == (0, 1, 0, 0)


def test_a_version_that_returns_nothing_leaves_the_result_to_the_other() -> None:
    filtered = "Noctua.topic('t') > 1 ? Noctua.topic('t') : undefined"
    assert counts(compared("Noctua.topic('t')", filtered, 1, 2)) == (1, 0, 1, 0)
    result = compared(filtered, "Noctua.topic('t')", 1, 2)
    assert (counts(result), result.first[0].kind) == ((1, 0, 0, 1), ONLY_NEW)


def test_a_version_that_fails_is_counted_and_its_inputs_are_there() -> None:
    result = compared("'' + Noctua.topic('t')", "Noctua.topic('t').toFixed(0)", 1, "n/a")
    assert (counts(result), result.old_failures, result.new_failures) == ((1, 0, 1, 0), 0, 1)
    (difference,) = result.first
    assert difference.kind == ONLY_OLD
    assert difference.run.failure is not None
    assert [each.value for given in difference.run.inputs.values() for each in given] == ["n/a"]


def test_failures_alike_are_no_difference_and_others_are() -> None:
    alike = compared("Noctua.topic('t').a.b", "\n\nNoctua.topic('t').a.b", 1)
    assert (counts(alike), alike.old_failures, alike.new_failures) == ((1, 0, 0, 0), 1, 1)
    other = compared("Noctua.topic('t').a.b", "throw new Error('no: ' + Noctua.topic('t'))", 1)
    assert counts(other) == (0, 1, 0, 0)


def test_another_trigger_brings_results_at_other_times() -> None:
    old = [Definition("m", "Noctua.topic('t')")]
    new = [Definition("m", "Noctua.topic('t')", trigger="every 10s")]
    result = compare(old, new, readings("t", 1, 2, step=8 * SECOND), ENGINES)
    assert counts(result) == (0, 0, 2, 1)


def test_macros_of_several_are_compared_by_name() -> None:
    old = [Definition("a", "Noctua.topic('t')"), Definition("b", "Noctua.topic('t') + 1")]
    new = [Definition("b", "Noctua.topic('t') + 1"), Definition("c", "Noctua.topic('t')")]
    result = compare(old, new, readings("t", 1), ENGINES)
    assert counts(result) == (1, 0, 1, 1)
    assert [(each.macro, each.kind) for each in result.first] == [("a", ONLY_OLD), ("c", ONLY_NEW)]


def test_only_the_first_differences_are_kept_and_all_are_counted() -> None:
    result = compared("Noctua.topic('t')", "-Noctua.topic('t')", *range(1, 51), max_kept=3)
    assert (result.differs, len(result.first), result.samples) == (50, 3, 50)
