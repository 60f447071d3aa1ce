"""Macros as machine code: what becomes it, what does not, and that nobody can tell but by the time."""

from __future__ import annotations

import sys
from itertools import pairwise
from random import Random

import pytest
from tests.tiers import AT_ONCE, NEVER
from tests.unit.test_process_engines import BEACONS, FIGURE_9, FIGURE_15, rssi_at

from roost.process.engine import OUTPUT, TIME, Limits, Outcome
from roost.process.inlining import inlined
from roost.process.javascript import JavaScript, JavaScriptProgram
from roost.process.native import agreement
from roost.process.native.building import built
from roost.process.native.compiled import IN_A_ROW
from roost.process.native.functions import ARITIES, OPERATORS
from roost.process.native.grammar import parsed
from roost.process.native.kinds import Kind, list_of, number
from roost.process.native.nodes import Refused
from roost.process.native.tier import Tiering
from roost.process.native.translation import Translation
from roost.process.reference import Reference
from roost.process.rendering import number_text
from roost.process.sample import Plain, Sample

LIMITS = Limits()
NOW = 1_700_000_000_000_000_000
T = Reference("t")
GIVEN = "var t = Noctua.topic('t'), a = 1, xs = [1, 2, 3];"


def macro(body: str) -> str:
    return f"function() {{ {GIVEN}\n {body}\n}}()"


def heard(value: Plain) -> dict[Reference, list[Sample]]:
    return {T: [Sample("t", NOW, value)]}


def loaded(code: str, limits: Limits = LIMITS, tiering: Tiering = AT_ONCE) -> JavaScriptProgram:
    return JavaScript(tiering).load(code, limits)


def both(code: str, value: Plain, limits: Limits = LIMITS) -> tuple[Outcome, Outcome, bool]:
    """What quickjs brings, what the compiled form does, and whether that needed no quickjs."""
    form = inlined(code)
    assert form is not None
    compiled = built(form, heard(value), limits, is_picky=False)
    assert compiled is not None, code
    alone = loaded(code, limits, NEVER).run(heard(value), NOW, 0, b"")
    return alone, loaded(code, limits).run(heard(value), NOW, 0, b""), compiled.ran(heard(value)) is not None


# -- the paper


@pytest.mark.parametrize("beacons", [4, 8])
def test_figure_15_is_compiled_as_it_is(beacons: int) -> None:
    code, topic, random = FIGURE_15 % [list(each) for each in BEACONS], Reference("person/rssi"), Random(15)
    native, alone = loaded(code), loaded(code, tiering=NEVER)
    for _ in range(10):
        inputs = {topic: [Sample(topic.topic, NOW, rssi_at(random.random() * 99, random.random() * 99, beacons))]}
        assert native.run(inputs, NOW, 0, b"") == alone.run(inputs, NOW, 0, b"")
        assert native.is_compiled


def test_figure_9_is_compiled_as_it_is() -> None:
    native, alone, random = loaded(FIGURE_9), loaded(FIGURE_9, tiering=NEVER), Random(9)
    inputs = {each: [Sample(each.topic, NOW, at) for at in range(3)] for each in native.explore()}
    for _ in range(10):
        renewed = random.choice(list(inputs))
        inputs = {**inputs, renewed: [Sample(renewed.topic, NOW, random.random()) for _ in range(3)]}
        assert native.run(inputs, NOW, 0, b"") == alone.run(inputs, NOW, 0, b"")
        assert native.is_compiled


# -- what is compiled


@pytest.mark.parametrize(
    "body",
    [
        "return t",
        "return a + t * 2 - t / 3 + t % 2 + t ** 2",
        "a += t; a -= 1; a *= 3; a /= 2; a **= 2; a %= 7; return a",
        "a |= 8; a <<= 2; a >>= 1; a >>>= 0; a &= 255; a ^= 3; return a",
        "return [t & 6, t | 1, t ^ 3, ~t, t << 3, t >> 1, -t >>> 1]",
        "return [t > 3, t < 3, t >= 3, t <= 3, t === 3, t !== 3, !t, true, t > 1 && t < 9, t < 1 || t > 2]",
        "return t > 3 ? xs : [t]",
        "return (t, a)",
        "for (var i = 0; i < 3; ++i) { if (i == 1) continue; a += xs[i]; if (a > 9) break }\n return a",
        "let i = 0; while (i++ < 5) { let b = i; a += b }\n return a",
        "do a *= 2; while (a < 50)\n return a",
        "for (const x of xs) a += x\n return a",
        "return xs.map((x, i) => x * i + t).reduce((p, q) => p + q)",
        "xs.forEach(function(x) { a += x }); return xs.reduce((p, x) => p < x ? x : p, 0)",
        "const square = x => x * x; function half(x) { return x / 2 }\n return half(square(t))",
        "result = new Array(2); for (i = 0; i < 2; i++) { result[i] = new Array(2); result[i][i] = t }\n return result",
        "xs.push(t, 5); xs[xs.length] = 6; xs[0]++; --xs[1]; xs[2] += 4; return [[xs.length, xs[5]], xs]",
        "if (t > 100) return t",
        "return t > 100 ? t : undefined",
        "return",
        "return [Math.max(t, 2, 3), Math.min(t, -t), Math.hypot(3, 4, t), Math.round(-t / 2), Math.sign(-t), Math.PI]",
        "var a\n a = 5\n ++a\n return a // nothing else",
        "return [[t, 1], [2]]",
        "return [Infinity, NaN, -0, 1e21, 1e-7, t / 3]",
        "return a = t",
        "{ let a = 5; xs[0] = a }\n return [a, xs[0]]",
    ],
)
def test_what_works_out_numbers_is_compiled(body: str) -> None:
    alone, compiled, was_native = both(macro(body), 4.5)
    assert alone == compiled
    assert alone.failure is None
    assert was_native


@pytest.mark.parametrize(
    "code", ["Noctua.topic('t') * 2", "() => Noctua.topic('t')", "(function() { return Noctua.topic('t') })()"]
)
def test_every_form_of_a_macro_is_compiled(code: str) -> None:
    alone, compiled, was_native = both(code, 4.5)
    assert alone == compiled
    assert was_native


@pytest.mark.parametrize("name", sorted(ARITIES | OPERATORS))
def test_functions_of_math_agree_with_quickjs_here(name: str) -> None:
    assert name in agreement.functions()


def test_a_function_that_does_not_agree_is_not_compiled() -> None:
    for functions, code in ((frozenset({"log"}), "Math.exp(x)"), (frozenset[str](), "x ** 2")):
        with pytest.raises(Refused):
            Translation([("x", number())], frozenset(), functions, 100).whole(parsed(code))


@pytest.mark.parametrize(
    "body",
    [
        "return 'text'",
        "return {a: 1}",
        "return null",
        "return t + 'C'",
        "return Math.random()",
        "return Date.now()",
        "return Noctua.time",
        "console.log(t); return t",
        "Noctua.state.n = t; return t",
        "return t.toFixed(1)",
        "return xs.sort()",
        "return Math.max(...xs)",
        "return a ?? t",
        "return t?.x",
        "return typeof t",
        "return 010 + 0x10",
        "return 3.14159265358979323846",
        "return [1, true]",
        "return t + true",
        "return xs == xs",
        "return xs ? 1 : 2",
        "xs[0] = xs; return xs",
        "try { a = t } catch (e) { }\n return a",
        "switch (a) { case 1: return t }",
        "outer: for (;;) break outer\n return a",
        "for (var i in xs) a += i\n return a",
        "Math = 3; return t",
        "var Infinity = 3; return t",
        "return undefined + 1",
        "const c = 1; c = 2; return c",
        "function f(x) { return x > 0 ? f(x - 1) : 0 }\n return f(t)",
        "if (a) { function f() { return 1 } }\n return t",
        "var f = x => x; return f(t)",
        "return Math.sqrt()",
        "return xs.reduce(Math.max)",
        "return new Date(t)",
        "return -1 ? [] : [[1]][0][0]",
    ],
)
def test_what_is_not_understood_is_left_to_quickjs(body: str) -> None:
    program = loaded(macro(body))
    assert program.run(heard(4.5), NOW, 7, b"") == loaded(macro(body), tiering=NEVER).run(heard(4.5), NOW, 7, b"")
    assert not program.is_compiled


@pytest.mark.parametrize("value", ["text", True, None, {"a": 1}, [1, "x"], [[1], 2], b"x"])
def test_inputs_that_are_no_numbers_are_left_to_quickjs(value: Plain) -> None:
    program = loaded("[Noctua.topic('t')].length")
    assert program.run(heard(value), NOW, 0, b"").payload == b"1"
    assert not program.is_compiled


def test_a_list_of_itself_has_no_kind() -> None:
    kind = list_of(Kind())
    with pytest.raises(Refused):
        kind.be(kind.of)


# -- giving up


@pytest.mark.parametrize(
    "body",
    [
        "return xs[3] * 2",
        "return [xs[-1]]",
        "xs[7] = 1; return xs",
        "xs[0.5] = 1; return xs.length",
        "var b; return b + t",
        "a += c; let c = 1; return a",
        "return later + 1",
        "return [][0][t]",
        "var rows = [[1]]; return rows[1][0]",
        "return new Array(-t)",
        "return new Array(t)",
        "return [].reduce((p, q) => p + q)",
        "return new Array(3).map(x => 1)",
        "return xs.map(x => { if (x > 1) return x })",
        "return 2 ** 100",
        "return 2 ** -60",
        "return (1e300 | 0) + t",
        "for (let i = 0; i < 7e4; i++) xs.push(i)\n return xs.length",
        "return new Array(9000).map(x => x)",
    ],
)
def test_what_is_doubtful_is_done_by_quickjs(body: str) -> None:
    alone, compiled, was_native = both(macro(body), 4.5)
    assert alone == compiled
    assert not was_native


def test_errors_have_the_places_that_quickjs_gives_them() -> None:
    alone, compiled, _ = both(
        macro("var rows = [[1]]\n for (var i = 0; i < 5; i++)\n   a += rows[i][0]\n return a"), 4.5
    )
    assert alone == compiled
    assert compiled.failure is not None
    assert (compiled.failure.line, compiled.failure.column) == (4, 14)


def test_an_endless_loop_is_ended_by_quickjs() -> None:
    _, compiled, was_native = both(macro("for (;;) a = Math.sin(a) + t"), 4.5, Limits(time_ms=20))
    assert not was_native
    assert compiled.failure is not None
    assert compiled.failure.kind == TIME


def test_an_output_that_is_too_long_is_refused_as_quickjs_does() -> None:
    body = "for (var i = 0; i < 100; i++) xs.push(i)\n return xs"
    alone, compiled, was_native = both(macro(body), 4.5, Limits(output_bytes=100))
    assert alone == compiled
    assert not was_native
    assert compiled.failure is not None
    assert compiled.failure.kind == OUTPUT


def test_lists_that_share_their_parts_are_not_written_out_beyond_what_fits() -> None:
    body = "var b = [xs, xs], c = [b, b], d = [c, c], e = [d, d], f = [e, e]; return [f, f, f, f, f, f, f, f]"
    alone, compiled, was_native = both(macro(body), 4.5, Limits(output_bytes=1000))
    assert alone == compiled
    assert not was_native


def test_powers_of_two_are_printed_as_quickjs_does() -> None:
    program, alone = loaded("Noctua.topic('t') * 1"), loaded("Noctua.topic('t') * 1", tiering=NEVER)
    for exponent in range(-80, 130):
        if not exponent % 8:
            program.run(heard(3), NOW, 0, b"")  # so that it is not given up
        assert program.run(heard(2.0**exponent), NOW, 0, b"") == alone.run(heard(2.0**exponent), NOW, 0, b"")
        assert program.is_compiled


def test_other_values_than_it_was_compiled_for_are_left_to_quickjs_one_by_one() -> None:
    code = macro("return [t]")
    program, alone = loaded(code), loaded(code, tiering=NEVER)
    values: list[Plain] = [1.5, "text", 2, float("nan"), None, [3], 2**60, True, 4.5, -0.0, float("inf")]
    for each in values:
        assert program.run(heard(each), NOW, 0, b"") == alone.run(heard(each), NOW, 0, b"")
        assert program.is_compiled


def test_lists_may_grow_and_shrink() -> None:
    code = macro("return t.map(row => row.reduce((p, q) => p + q, 0))")
    program, alone = loaded(code), loaded(code, tiering=NEVER)
    long: list[Plain] = [float(each) for each in range(40_000)]
    values: list[Plain] = [[[1], [2]], [], [[1, 2, 3]], [[]], [[7], [8, 9], []], [long], [[1], [5]]]
    for value in values:
        assert program.run(heard(value), NOW, 0, b"") == alone.run(heard(value), NOW, 0, b"")
    assert program.is_compiled


def test_a_run_does_not_see_what_another_did_to_its_inputs() -> None:
    program = loaded("function() { var t = Noctua.topic('t'); t.push(t[0]); t[0] = 9; return t }()")
    inputs = heard([1.5, 2])
    assert [program.run(inputs, NOW, 0, b"").payload for _ in range(3)] == [b"[9,2,1.5]"] * 3


def test_what_gives_up_every_time_is_not_tried_for_ever() -> None:
    program = loaded(macro("return xs[t]"))
    for _ in range(IN_A_ROW):
        program.run(heard(1), NOW, 0, b"")
        assert program.is_compiled
    for at in range(IN_A_ROW - 1):
        program.run(heard(7), NOW, 0, b"")
        assert program.is_compiled, at
    assert program.run(heard(7), NOW, 0, b"") == Outcome()
    assert not program.is_compiled
    assert program.run(heard(1), NOW, 0, b"").payload == b"2"


def test_quickjs_takes_over_with_the_values_of_now() -> None:
    topics = [Reference("t"), Reference("u"), Reference("v")]
    code = "[1, 2, 3][Noctua.topic('t')] + Noctua.topic('u') * 10 + Noctua.topic('v') * 100"
    program, alone, random = loaded(code), loaded(code, tiering=NEVER), Random(1)
    inputs = {each: [Sample(each.topic, NOW, 1)] for each in topics}
    for _ in range(200):
        for each in topics:
            if random.random() < 0.3:
                inputs = {**inputs, each: [Sample(each.topic, NOW, random.randint(0, 3))]}
        assert program.run(inputs, NOW, 0, b"") == alone.run(inputs, NOW, 0, b"")


# -- when


def test_it_is_compiled_after_so_many_runs_and_only_if_it_is_worth_it() -> None:
    looping, short = macro("for (var i = 0; i < 3; i++) a += t\n return a"), "Noctua.topic('t') / 2"
    for code, is_worth in ((looping, True), (short, False)):
        program = loaded(code, tiering=Tiering(after=5, apart=0))
        program.explore()
        for _ in range(4):
            program.run(heard(4.5), NOW, 0, b"")
            assert not program.is_compiled
        program.run(heard(4.5), NOW, 0, b"")
        assert program.is_compiled == is_worth


def test_a_thousand_macros_are_not_compiled_all_at_once() -> None:
    code = macro("for (var i = 0; i < 3; i++) a += t\n return a")
    loaded(code).run(heard(4.5), NOW, 0, b"")
    programs = [loaded(code, tiering=Tiering(after=1, apart=10)) for _ in range(3)]
    compiled: list[int] = []
    for _ in range(30):
        for each in programs:
            each.run(heard(4.5), NOW, 0, b"")
        compiled.append(sum([each.is_compiled for each in programs]))
    assert compiled[0] == 0
    assert compiled[-1] == 3
    assert {later - earlier for earlier, later in pairwise(compiled)} == {0, 1}


def test_without_llvmlite_everything_runs_in_quickjs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    code = macro("for (var i = 0; i < 3; i++) a += t\n return a")
    program = loaded(code)
    assert program.run(heard(4.5), NOW, 0, b"").payload == number_text(14.5).encode()
    assert not program.is_compiled


def test_no_more_than_so_many_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.process.native.building.MAX_COMPILED", 0)
    program = loaded("Noctua.topic('t') / 2")
    assert program.run(heard(4.5), NOW, 0, b"").payload == b"2.25"
    assert not program.is_compiled
