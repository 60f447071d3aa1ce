"""The engines of macros: one suite over both languages, and what only JavaScript has to show."""

from __future__ import annotations

import json
import math

import pytest
from tests.tiers import JAVASCRIPT, tiers  # noqa: F401  every test runs both ways

from roost.errors import BadMacro
from roost.process.context import Context
from roost.process.engine import FAILED, OUTPUT, Engine, Limits, Outcome
from roost.process.loaded import EXPLORE_MS
from roost.process.python_code import Python
from roost.process.reference import Reference
from roost.process.sample import Plain, Sample
from roost.wire.reading import JSON, OCTET_STREAM, TEXT

NOW = 1_700_000_000_123_456_789
ENGINES: list[Engine] = [JAVASCRIPT, Python()]
both = pytest.mark.parametrize("engine", ENGINES, ids=["javascript", "python"])

FIGURE_3 = "(Noctua.topic('home/tempF') - 32) * 5/9"
FIGURE_5 = """function() {
  var t1 = Noctua.topic('home/front_temp', {
    cutoff: 60 })
  var t2 = Noctua.topic('home/rear_temp', {
    cutoff: 60 })
  return (t1+t2)/2
}()"""
FIGURE_9 = """
function(){
  var temps = [];
  temps.push(Noctua.topic('ee499_7/temp',
    { required: 3 }));
  temps.push(Noctua.topic('ee499_8/temp',
    { required: 3 }));
  temps.push(Noctua.topic('ee499_9/temp',
    { required: 3 }));

  var weights = [3, 2, 1];
  var denom = weights.reduce((a, b) => a + b, 0);

  var avg = 0;
  for (var i = 0; i < temps.length; ++i) {
    var weighted_sum = 0;

    for (var j = 0; j < weights.length; ++j) {
      weighted_sum += temps[i][j] * weights[j];
    }
    avg += weighted_sum/denom;
  }
  return avg/temps.length;
}()
"""
FIGURE_15 = """function () {
    var beacons = %s, ETA = 2.5, SIG = 4, K = 40, TX = 0
    var readings = Noctua.topic('person/rssi')

    result = new Array(readings.length)
    for (var i=0; i < readings.length; ++i) {
        result[i] = new Array(10);
        for (var j=0; j < 10; ++j) {
            result[i][j] = new Array(10)
        }
    }

    for (var b=0; b < readings.length; ++b) {
        rx = readings[b]

        for (var j=0; j < 10; ++j) {
            for (var i=0; i < 10; ++i) {
                y = 5 + 10*j
                x = 5 + 10*i

                d = Math.sqrt(Math.pow(beacons[b][0] - x, 2)
                    + Math.pow(beacons[b][1] - y, 2))
                fade = TX - rx - K - 10*ETA * Math.log10(d)
                pdf = (1/Math.sqrt(2 * Math.PI * Math.pow(
                    SIG, 2))) * Math.exp(-Math.pow(fade, 2)
                    / (2 * Math.pow(SIG, 2)))

                result[b][j][i] = pdf
            }
        }
    }

    max = 0
    max_ind = []

    for (var j=0; j < 10; ++j) {
        for (var i=0; i < 10; ++i) {
            combined = 1

            for (var b=0; b < readings.length; ++b) {
                combined *= result[b][j][i]
            }

            if (combined > max) {
                max = combined
                max_ind = [i, j]
            }
        }
    }

    max_pos = [5 + 10*max_ind[0], 5 + 10*max_ind[1]]
    return max_pos
}()
"""
BEACONS = [(6, 96), (96, 6), (6, 6), (96, 96), (51, 51), (51, 6), (6, 51), (96, 51)]


def rssi_at(x: float, y: float, beacons: int) -> list[Plain]:
    return [-40 - 25 * math.log10(math.hypot(bx - x, by - y)) for bx, by in BEACONS[:beacons]]


def given(**values: list[Plain]) -> dict[Reference, list[Sample]]:
    """One reference per topic, as many values as there are."""
    return {
        Reference(topic, required=len(each)): [Sample(topic, NOW - i, value) for i, value in enumerate(each)]
        for topic, each in values.items()
    }


def ran(engine: Engine, code: str, inputs: dict[Reference, list[Sample]] | None = None, state: bytes = b"") -> Outcome:
    return engine.load(code, Limits()).run(inputs or {}, NOW, 7, state)


# -- the paper


@both
def test_figure_3_converts_a_temperature(engine: Engine) -> None:
    program = engine.load(FIGURE_3, Limits())
    (reference,) = program.explore()
    assert reference == Reference("home/tempF")
    assert program.run({reference: [Sample("home/tempF", NOW, 162.5)]}, NOW, 0, b"") == Outcome(b"72.5", TEXT)


def test_figure_5_averages_two_temperatures() -> None:
    program = JAVASCRIPT.load(FIGURE_5, Limits())
    front, rear = program.explore()
    assert (front, rear) == (Reference("home/front_temp", 60.0), Reference("home/rear_temp", 60.0))
    inputs = {front: [Sample(front.topic, NOW, 20)], rear: [Sample(rear.topic, NOW, 21)]}
    assert program.run(inputs, NOW, 0, b"").payload == b"20.5"


def test_figure_9_weighs_the_newest_most() -> None:
    program = JAVASCRIPT.load(FIGURE_9, Limits())
    references = program.explore()
    assert references == tuple(Reference(f"ee499_{i}/temp", required=3) for i in (7, 8, 9))
    inputs = {each: [Sample(each.topic, NOW, float(value)) for value in (12, 6, 0)] for each in references}
    assert program.run(inputs, NOW, 0, b"").payload == b"8"


@pytest.mark.parametrize("beacons", [2, 4, 8])
def test_figure_15_finds_where_somebody_is_run_after_run(beacons: int) -> None:
    program = JAVASCRIPT.load(FIGURE_15 % json.dumps(BEACONS), Limits())
    (reference,) = program.explore()
    for x, y in [(15, 75), (85, 25), (45, 45)]:
        inputs = {reference: [Sample("person/rssi", NOW, rssi_at(x, y, beacons))]}
        outcome = program.run(inputs, NOW, 0, b"")
        assert outcome.format == JSON
        if beacons > 2:
            assert json.loads(outcome.payload or b"") == [x, y]


# -- what goes in and what comes out


@both
@pytest.mark.parametrize(
    ("value", "payload", "format_"),
    [
        (72.5, b"72.5", TEXT),
        (72.0, b"72", TEXT),
        (-0.0, b"0", TEXT),
        (1e21, b"1e+21", TEXT),
        (123456789012345680000.0, b"123456789012345680000", TEXT),
        (5e-324, b"5e-324", TEXT),
        (1e-7, b"1e-7", TEXT),
        (1.5e-6, b"0.0000015", TEXT),
        (math.nan, b"NaN", TEXT),
        (-math.inf, b"-Infinity", TEXT),
        ("a\0é😀", "a\0é😀".encode(), TEXT),
        ("half \ud800", "half \ufffd".encode(), TEXT),
        (True, b"true", JSON),
        ([1, None, [2.5, "x"]], b'[1,null,[2.5,"x"]]', JSON),
        (
            {"b": 1.0, "a": math.nan, "10": [], "9": "\ud800\x1f"},
            b'{"9":"\\ud800\\u001f","10":[],"b":1,"a":null}',
            JSON,
        ),
        (b"\x00\xff", b"\x00\xff", OCTET_STREAM),
    ],
    ids=repr,
)
def test_a_value_goes_through_and_comes_out_as_javascript_prints_it(
    engine: Engine, value: Plain, payload: bytes, format_: int
) -> None:
    outcome = ran(engine, "Noctua.topic('t')", {Reference("t"): [Sample("t", NOW, value)]})
    assert outcome == Outcome(payload, format_)


@both
def test_integers_beyond_32_bits_arrive_whole(engine: Engine) -> None:
    values: list[Plain] = [2**31, -(2**31) - 1, 2**40 + 1, 2**53 - 1, 3]
    outcome = ran(engine, "Noctua.topic('t', {'required': 5})", given(t=values))
    assert json.loads(outcome.payload or b"") == values


def test_integers_beyond_doubles_are_the_nearest_there_are() -> None:
    outcome = ran(JAVASCRIPT, "Noctua.topic('t', {required: 3})", given(t=[2**53 + 1, 10**400, -(10**5000)]))
    assert outcome.payload == b"[9007199254740992,null,null]"


@both
def test_bytes_and_nan_inside_of_others_arrive(engine: Engine) -> None:
    code = {
        "javascript": "var v = Noctua.topic('t'); [v.b.length, v.b[1], isNaN(v.n[0]), v.__proto__]",
        "python": "v = Noctua.topic('t')\n[len(v['b']), v['b'][1], math.isnan(v['n'][0]), v['__proto__']]",
    }[engine.language]
    value: Plain = {"b": b"\x01\x02", "n": [math.nan], "__proto__": 5}
    assert ran(engine, code, {Reference("t"): [Sample("t", NOW, value)]}).payload == b"[2,2,true,5]"


@both
def test_wildcards_give_pairs_of_topic_and_value(engine: Engine) -> None:
    inputs = {Reference("a/+", limit=5): [Sample("a/x", NOW, 1.5), Sample("a/y", NOW, "two")]}
    outcome = ran(engine, "Noctua.topic('a/+', {'limit': 5})", inputs)
    assert outcome.payload == b'[{"topic":"a/x","value":1.5},{"topic":"a/y","value":"two"}]'


@both
def test_details_are_there_when_they_are_asked_for(engine: Engine) -> None:
    inputs = {Reference("t"): [Sample("t", 1_500_000_000, 21.5, "Cel", "uncertain")]}
    outcome = ran(engine, "Noctua.topic('t', {'detail': 1})", inputs)
    assert json.loads(outcome.payload or b"") == {
        "value": 21.5,
        "unit": "Cel",
        "time": 1500,
        "quality": "uncertain",
        "topic": "t",
    }


@both
def test_an_optional_topic_without_values_is_nothing_and_nothing_is_published(engine: Engine) -> None:
    assert ran(engine, "Noctua.topic('t', {'required': 0})", {Reference("t", required=0): []}) == Outcome()
    many: dict[Reference, list[Sample]] = {Reference("t", required=0, limit=9): []}
    assert ran(engine, "Noctua.topic('t', {'required': 0, 'limit': 9})", many).payload == b"[]"


@both
def test_a_topic_that_was_not_given_is_missing_and_nothing_else_holds(engine: Engine) -> None:
    outcome = ran(engine, "Noctua.topic('a/' + str, {'limit': 2})".replace("str", "'b'"))
    assert outcome == Outcome(missing=(Reference("a/b", limit=2),))


def test_a_program_that_loops_over_what_it_was_not_given_still_says_what_that_is() -> None:
    program = JAVASCRIPT.load("function(){ while (Noctua.topic('x') === undefined); return 1 }()", Limits(time_ms=20))
    assert program.explore() == (Reference("x"),)
    assert program.run({Reference("x"): [Sample("x", NOW, 1.0)]}, NOW, 0, b"").payload == b"1"


@both
def test_the_clock_and_chance_are_those_of_the_run(engine: Engine) -> None:
    code = {
        "javascript": "[Noctua.time, Date.now(), +new Date(), Math.random(), Math.random()]",
        "python": "[Noctua.time, Noctua.time, Noctua.time, Noctua.random(), Noctua.random()]",
    }[engine.language]
    program = engine.load(code, Limits())
    first = program.run({}, NOW, 1 << 40 | 99, b"")
    assert json.loads(first.payload or b"")[:3] == [NOW // 1_000_000] * 3
    assert program.run({}, NOW, 1 << 40 | 99, b"") == first
    assert program.run({}, NOW, 98, b"") != first


def test_chance_is_the_same_in_both_languages() -> None:
    for seed in (0, 1, 2**32, 2**64 - 1, 0x9E3779B97F4A7C15):
        numbers = JAVASCRIPT.load("[Math.random(), Math.random(), Math.random()]", Limits()).run({}, NOW, seed, b"")
        others = Python().load("[Noctua.random() for _ in range(3)]", Limits()).run({}, NOW, seed, b"")
        assert numbers == others


@both
def test_state_is_kept_by_whoever_runs_it_and_told_only_when_it_changed(engine: Engine) -> None:
    count = {
        "javascript": "Noctua.state.n = (Noctua.state.n || 0) + 1",
        "python": "Noctua.state['n'] = Noctua.state.get('n', 0) + 1\nNoctua.state['n']",
    }[engine.language]
    program = engine.load(count, Limits())
    assert program.run({}, NOW, 0, b"") == Outcome(b"1", TEXT, state=b'{"n":1}')
    assert program.run({}, NOW, 0, b'{"n":4}') == Outcome(b"5", TEXT, state=b'{"n":5}')
    assert ran(engine, "Noctua.state['n']", state=b'{"n":4}') == Outcome(b"4", TEXT)


@both
def test_state_output_and_logs_are_bounded(engine: Engine) -> None:
    many = {"javascript": "'x'.repeat(5000)", "python": "'x' * 5000"}[engine.language]
    log = {
        "javascript": "for (var i = 0; i < 100; i++) console.log({0}); 1",
        "python": "for i in range(100): print({0})\n1",
    }
    limits = Limits(output_bytes=4000, state_bytes=4000, log_bytes=6000)
    output = engine.load(many, limits).run({}, NOW, 0, b"").failure
    assert output is not None
    assert output.kind == OUTPUT
    state = engine.load(f"Noctua.state['x'] = {many}\n1", limits).run({}, NOW, 0, b"").failure
    assert state is not None
    assert state.kind == OUTPUT
    assert "state" in state.message
    logs = engine.load(log[engine.language].replace("{0}", many), limits).run({}, NOW, 0, b"").logs
    assert [len(line) for line in logs] == [5000, 999, len("98 more")]
    assert logs[-1] == "98 more"


@both
def test_a_run_that_fails_keeps_nothing_but_its_logs(engine: Engine) -> None:
    code = {
        "javascript": "Noctua.state.x = 1; console.log('here', {a: 1}); null.x",
        "python": "Noctua.state['x'] = 1\nprint('here', 1)\nNone.x",
    }[engine.language]
    outcome = ran(engine, code)
    assert outcome.failure is not None
    assert outcome.failure.kind == FAILED
    assert (outcome.payload, outcome.state) == (None, None)
    assert outcome.logs[0].startswith("here ")


# -- errors


@both
def test_a_failure_says_where_it_happened_in_the_macros_own_lines(engine: Engine) -> None:
    code = {
        "javascript": "function() {\n  var a = 1;\n    return missing.thing(a);\n}()",
        "python": "a = 1\n\nmissing.thing(a)",
    }[engine.language]
    failure = ran(engine, code).failure
    assert failure is not None
    assert failure.line == 3
    assert failure.column == {"javascript": 12, "python": 1}[engine.language]
    assert "missing" in failure.message


@both
@pytest.mark.parametrize(
    "bad", ["Noctua.topic(5)", "Noctua.topic('t', {'often': 1})", "Noctua.topic('t', {'required': 1.5})"]
)
def test_a_reference_that_cannot_be_one_fails_where_it_stands(engine: Engine, bad: str) -> None:
    failure = ran(engine, f"\n{bad}").failure
    assert failure is not None
    assert (failure.kind, failure.line) == (FAILED, 2)


def test_to_explore_has_a_time_of_its_own_whatever_the_definition_says(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[int] = []
    allow = Context.allow

    def noted(context: Context, time_ms: int) -> None:
        allowed.append(time_ms)
        allow(context, time_ms)

    monkeypatch.setattr(Context, "allow", noted)
    program = JAVASCRIPT.load("function(){ Noctua.topic('no/such'); while (true) {} }()", Limits(time_ms=600_000))
    assert program.explore() == (Reference("no/such"),)
    assert allowed == [600_000, EXPLORE_MS, 600_000]
    JAVASCRIPT.load("Noctua.topic('a')", Limits(time_ms=EXPLORE_MS - 1)).explore()
    assert allowed[3:] == [EXPLORE_MS - 1] * 3


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("Noctua.topic('a', {requird: 3})", r"^line 1, column 8: TypeError: a topic has .* not requird$"),
        ("1 +\n  nothing", r"^line 2, column 3: ReferenceError: nothing is not defined$"),
        ("function(){ while (true) {} }()", "it took longer than it may, and had named no topic until then$"),
    ],
)
def test_what_fails_before_it_names_a_topic_is_refused_with_that(code: str, why: str) -> None:
    with pytest.raises(BadMacro, match=why):
        JAVASCRIPT.load(code, Limits()).explore()


def test_python_that_fails_before_it_names_a_topic_is_refused_with_that() -> None:
    with pytest.raises(BadMacro, match=r"^line 1, column 1: TypeError: a topic has .* not requird$"):
        Python().load("Noctua.topic('a', requird=3)", Limits()).explore()
    with pytest.raises(BadMacro, match=r"^line 1, column 1: ZeroDivisionError"):
        Python().load("1 / 0", Limits()).explore()


@both
def test_a_topic_that_is_no_topic_is_refused_when_it_is_explored(engine: Engine) -> None:
    with pytest.raises(BadMacro, match="stands alone"):
        engine.load("Noctua.topic('a/#/b')", Limits()).explore()
    assert ran(engine, "Noctua.topic('a/#/b')").failure is not None


@both
@pytest.mark.parametrize("code", ["1 +", "(", "'abc", "f(\n\n", "\ud800"])
def test_what_is_no_program_is_refused(engine: Engine, code: str) -> None:
    with pytest.raises(BadMacro):
        engine.load(code, Limits())


def test_a_syntax_error_says_line_and_column_of_the_form_that_was_meant() -> None:
    for code, place in [
        ("function(){\n  var = 3 }()", "line 2, column 7"),
        ("1;\n\n foo(", "line 3, column 6"),
        ("1 +", "line 1, column 4"),
        ("let x = 1;\r\nlet y = ;", "line 2, column 9"),
    ]:
        with pytest.raises(BadMacro, match=place):
            JAVASCRIPT.load(code, Limits())


def test_a_script_gives_what_its_last_statement_gave() -> None:
    assert ran(JAVASCRIPT, "let x = 2\nif (x > 1) { x * 21 } // so").payload == b"42"
    assert ran(JAVASCRIPT, "'use strict'; const f = y => y + 1; f(1)").payload == b"2"


@pytest.mark.parametrize("code", ["1, 2", "`a ${1 + 1}`", "/a}/.test('a}') ? 2 : 3 // done", "{}", "[1,2].length"])
def test_expressions_of_all_kinds_run(code: str) -> None:
    assert ran(JAVASCRIPT, code).failure is None


@pytest.mark.parametrize("code", ["1)}); evil(); (()=>{return(2", "1]; [2", "1\n}); (()=>{", "1/*", "(1"])
def test_code_does_not_close_the_brackets_around_it(code: str) -> None:
    with pytest.raises(BadMacro):
        JAVASCRIPT.load(code, Limits())


@pytest.mark.parametrize(
    "code",
    [
        "function() { return Noctua.topic('a') + 1 }();",
        "function() { return Noctua.topic('a') + 1 }() ; \n",
        "function() { return Noctua.topic('a') + 1 }",
        "function() { return Noctua.topic('a') + 1 };",
        "() => Noctua.topic('a') + 1",
        "() => { return Noctua.topic('a') + 1 };",
        "const f = () => Noctua.topic('a') + 1; f",
        "Noctua.topic('a') + 1;",
    ],
)
def test_an_anonymous_function_is_called_whether_or_not_it_says_so(code: str) -> None:
    program = JAVASCRIPT.load(code, Limits())
    (reference,) = program.explore()
    assert reference == Reference("a")
    for value in (2.0, 3.0):
        outcome = program.run({reference: [Sample("a", 0, value)]}, 0, 0, b"")
        assert (outcome.failure, outcome.payload) == (None, b"%d" % (value + 1))


def test_what_ends_in_a_semicolon_says_where_it_is_wrong() -> None:
    with pytest.raises(BadMacro, match="line 2, column"):
        JAVASCRIPT.load("function() {\n return Noctua.topic('a' }();", Limits())
    assert ran(JAVASCRIPT, "var a = 1; a + 1;").payload == b"2"


@pytest.mark.parametrize("code", ["({async: 3}).async", "({async : 3})['async']", "({async: 3})?.async"])
def test_a_property_may_be_called_async(code: str) -> None:
    assert ran(JAVASCRIPT, code).payload == b"3"


@pytest.mark.parametrize(
    "code", ["[...async () => 1]", "({async f() {}})", "1 ? async () => 1 : 2", "async function f() {}"]
)
def test_nothing_is_async_all_the_same(code: str) -> None:
    with pytest.raises(BadMacro, match="a macro has no async"):
        JAVASCRIPT.load(code, Limits())


@pytest.mark.parametrize("code", ["10n ** 5n", "0x1fn", "(async () => 1)()", "import('x')", "`${1n}`"])
def test_what_gets_around_the_limits_is_refused(code: str) -> None:
    with pytest.raises(BadMacro, match="a macro has no"):
        JAVASCRIPT.load(code, Limits())


def test_the_same_words_in_texts_and_comments_are_no_harm() -> None:
    assert (
        ran(JAVASCRIPT, "'10n async import' /* 10n async */ + /import 5n/.source").payload
        == b"10n async importimport 5n"
    )
