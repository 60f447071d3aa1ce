"""A macro with its inputs as parameters: what becomes one, what does not, and that it means the same."""

from __future__ import annotations

import pytest
from tests.tiers import JAVASCRIPT, tiers  # noqa: F401  every test runs both ways

from roost.process.engine import Limits, Outcome
from roost.process.inlining import Inlined, inlined, may_draw
from roost.process.reference import Reference
from roost.process.sample import Plain, Sample

NOW = 1_700_000_000_123_456_789


def test_a_call_becomes_a_name_that_is_as_long() -> None:
    assert inlined("(Noctua.topic('a') - 32) * 5/9") == Inlined("($$0               - 32) * 5/9", (Reference("a"),))
    code = "f(Noctua.topic('a',\n  { required: 3 }), Noctua.topic('b'), Noctua.topic('a', {required: 3}))"
    form = inlined(code)
    assert form is not None
    assert form.references == (Reference("a", required=3), Reference("b"))
    assert form.parameters == "$$0,$$1"
    assert [len(line) for line in form.code.split("\n")] == [len(line) for line in code.split("\n")]
    assert form.code.split() == ["f($$0", ",", "$$1", ",", "$$0", ")"]


@pytest.mark.parametrize(
    "code",
    [
        "Noctua.topic('a', {limit: 3})",  # how many values it has is not known
        "Noctua.topic('a/+')",
        "Noctua.topic('a', {detail: true})",
        "Noctua.topic('a', {required: 17})",
        "Noctua.topic('a', {required: 03})",
        "Noctua.topic('\\x61')",
        "Noctua.topic(name) + Noctua.topic('a')",
        "[Noctua].map(n => n.topic('a')) + Noctua.topic('a')",
        "Noctua['topic']('a') + Noctua.topic('a')",
        "other.Noctua.topic('a') + Noctua.topic('a')",
        "f(...Noctua.topic('a', {required: 2}))",
        "new Noctua.topic('a')",
        "Noctua.topic('a') = 1",
        "Noctua.topic('a')\n+= 1",
        "++ Noctua.topic('a')",
        "Noctua.topic('a') /* so */ = 1",
        "for (Noctua.topic('a') of x);",
        "Object.defineProperty(globalThis, 'Noctua', {value: 1}), Noctua.topic('a')",
        "(function () { this.Noctua = 1 })(), Noctua.topic('a')",
        "with (x) Noctua.topic('a')",
        "`${Noctua.topic('a')}`",
        "/'/.test(x) || Noctua.topic('a') || /'/",
        "if (x) /'/.test(Noctua.topic('a')), '",
        "$$0 + Noctua.topic('a')",
        "x <!-- '\n+ Noctua.topic('a')",
        "'Noctua.topic(\"a\")' // Noctua.topic('a')",
        "\\u004eoctua.topic('a') + Noctua.topic('b')",
        " + ".join([f"Noctua.topic('{number}')" for number in range(257)]),
    ],
)
def test_what_might_mean_something_else_stays_as_it_is(code: str) -> None:
    assert inlined(code) is None


@pytest.mark.parametrize(
    ("code", "may"),
    [
        ("Noctua.topic('random') * Math.PI // Math", False),
        ("Math.random()", True),
        ("Math['ran' + 'dom']()", True),
        ("var m = Math; m.max(1)", True),
        ("globalThis[x].random()", True),
        ("M\\u0061th.random()", True),
        ("`${x}`", True),
    ],
)
def test_code_that_cannot_draw_needs_no_seed(code: str, may: bool) -> None:
    assert may_draw(code) is may


MACROS = [
    "(Noctua.topic('a') - 32) * 5/9",
    "[Noctua.topic('a'), Noctua.topic('b', {required: 2}), Noctua.topic('c', {limit: 2})]",
    "Noctua.topic('b', {required: 2}).reverse().concat(Noctua.topic('b', {required: 2}), Noctua.topic('a'))",
    "Noctua.topic('b', {required: 2}) === Noctua.topic('b', {required: 2}) && typeof Noctua.topic('a')",
    """function () {
  var v = Noctua.topic('a')
  left = v; Noctua.state.n = (Noctua.state.n || 0) + 1; console.log(v)
  if (v === 2) return v.no.such
  if (v === 'x') throw new Error(v)
  if (v && v.p) v.p = 2
  return [v, Noctua.state.n, typeof left, Noctua.time, Noctua.topic('b', {required: 2}).pop()]
}()""",
]
VALUES: list[Plain] = [1.5, 2, True, "x", None, {"p": 1}, [1, float("nan")], b"\x00\xff", 3.25, 3.25, {"p": 1}, 2, 7]


@pytest.mark.parametrize("code", MACROS)
def test_both_forms_give_the_same_in_every_run(code: str) -> None:
    as_written = f"{code}\n/* <!-- */"  # which is not looked into
    assert inlined(code) is not None
    assert inlined(as_written) is None
    quick = _outcomes(code)
    assert quick == _outcomes(as_written)
    assert len(set(map(repr, quick))) > 3


def _outcomes(code: str) -> list[Outcome]:
    """Of runs in which now this topic has something new and now that, or several have, or none."""
    program = JAVASCRIPT.load(code, Limits())
    references = program.explore()
    taken: dict[Reference, list[Sample]] = {each: [Sample("a", NOW, 0.5)] * each.required for each in references}
    outcomes: list[Outcome] = []
    state = b""
    for turn, value in enumerate(VALUES * 3):
        for number, each in enumerate(references):
            if (turn + number) % 3 == 0 or turn % 7 == 0:
                new = [Sample("a", NOW + turn, value), *taken[each]]
                taken[each] = new[: each.count]
        outcomes.append(program.run(dict(taken), NOW + turn, 7, state))
        state = outcomes[-1].state or state
    return outcomes
