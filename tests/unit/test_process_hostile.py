"""Programs that mean harm, or do it by mistake: they are stopped, and neither the next run nor the node feels them."""

from __future__ import annotations

import pytest
from tests.tiers import JAVASCRIPT, tiers  # noqa: F401  every test runs both ways

from roost.errors import BadMacro
from roost.process.engine import FAILED, MEMORY, OUTPUT, TIME, Limits
from roost.process.javascript import JavaScriptProgram
from roost.process.reference import Reference
from roost.process.sample import Sample

NOW = 1_700_000_000_000_000_000
LIMITS = Limits(time_ms=20, memory_bytes=4 << 20)
SWITCH = Reference("harm")
GLOBALS = "Object.getOwnPropertyNames(globalThis).sort().join()"


def program(harm: str) -> JavaScriptProgram:
    """A program that does harm only when it is told to."""
    code = f"function(){{ if (!Noctua.topic('harm')) return {GLOBALS} + [1, 2].map(String).join(); {harm} }}()"
    return JAVASCRIPT.load(code, LIMITS)


def kinds(harm: str) -> list[str]:
    """How the harm ended, twice; in between and afterwards the program works."""
    loaded = program(harm)
    found = []
    for _ in range(2):
        outcome = loaded.run({SWITCH: [Sample("harm", NOW, True)]}, NOW, 1, b"")
        found.append("" if outcome.failure is None else outcome.failure.kind)
        assert outcome.payload is None or len(outcome.payload) <= LIMITS.output_bytes
        calm = loaded.run({SWITCH: [Sample("harm", NOW, False)]}, NOW, 1, b"")
        assert calm.payload == b"Infinity,NaN,undefined1,2"
    return found


@pytest.mark.parametrize(
    "harm",
    [
        "for (;;);",
        "try { for (;;); } catch (e) {} finally { for (;;); }",
        "var f = () => { for (;;); }; [1].forEach(f)",
        "return { toJSON() { for (;;); } }",
        "return { get x() { for (;;); } }",
        "throw { get stack() { for (;;); } }",
        "throw { toString() { for (;;); }, toJSON() { for (;;); } }",
        "Noctua.topic('harm', { get cutoff() { for (;;); } })",
        "console.log({ toJSON() { for (;;); } })",
        "return /(a+)+b/.test('a'.repeat(50))",
        "return 'x'.repeat(50).replace(/(x+x+)+y/g, '')",
        "return /(?:(?:){65535}){65535}b/.test('a')",
        "return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)",
        "[].forEach.call({ length: 2 ** 53 - 1 }, () => 1)",
        "return new Set([].values.call({ length: 2 ** 53 - 1 }))",
        "var a = new Array(5e4).fill(1); for (;;) [...a]",
        "var a = new Array(5e4).fill(1); for (;;) a.slice()",
        "var a = new Array(5e4).fill(1); for (;;) a.concat(a)",
        "var b = new Uint8Array(2e6); for (;;) b.fill(1)",
        "var s = 'x'.repeat(1e6); for (;;) JSON.parse(JSON.stringify(s))",
        "for (;;) 'x'.repeat(1e6)",
        "function* g() { for (;;) yield 1 } for (const x of g());",
    ],
)
def test_what_does_not_end_is_ended(harm: str) -> None:
    assert kinds(harm) == [TIME, TIME]


@pytest.mark.parametrize(
    "harm",
    [
        "[].reverse.call({ length: 2 ** 53 - 1 })",
        "[].join.call({ length: 2 ** 31 })",
        "[].slice.call({ length: 2 ** 32 - 1 })",
        "[].fill.call(Object.defineProperty(new Uint8Array(1), 'length', { value: 2 ** 53 - 1 }), 1)",
        "[].unshift.call({ length: 2 ** 53 - 3 }, 1)",
        "[].flat.call({ length: 2 ** 53 - 1 })",
        "var a = []; a.length = 4294967295; a.sort()",
        "var a = []; a.length = 4294967295; a.join()",
        "var a = []; a.length = 4294967295; `${a}`",
        "var a = []; a.length = 4294967295; [a].flat()",
        "var a = []; a.length = 4294967295; [1].flatMap(() => a)",
        "var a = []; a.length = 4294967295; [].concat(a)",
        "var a = []; a.length = 4294967295; JSON.stringify({}, a)",
        "var n = 0; [].join.call({ get length() { return n++ ? 2 ** 53 : 1 }, 0: { toString() { throw 'fine' } } })",
        "[].toLocaleString.call({ length: 2 ** 53 - 1 })",
        "[].values.call({ length: 2 ** 53 - 1 }).drop(1e15).next()",
        "String.raw({ raw: { length: 2 ** 53 - 1 } })",
        "'a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b')",
        "'a'.repeat(1e6).split({ toString: () => 'a'.repeat(5e5) + 'b' })",
        "'a'.repeat(1e6).replaceAll('a'.repeat(5e5) + 'b', '')",
        "'\\u0327\\u0301'.repeat(1e5).normalize('NFC')",
    ],
)
def test_what_would_take_for_ever_in_one_step_is_refused(harm: str) -> None:
    assert kinds(harm) == [FAILED, FAILED]


@pytest.mark.parametrize(
    "harm",
    [
        "var a = []; for (;;) a.push(new Array(1000).fill(1))",
        "return new Array(4294967295).fill(0)",
        "return new Uint8Array(1e9)",
        "return 'x'.repeat(5e8)",
        "var o = {}; for (var i = 0; ; i++) o['key' + i] = { o }",
        "return Array.from({ length: 2 ** 31 })",
        "var a = []; a.length = 4294967295; return a",
        "return 'a'.repeat(1e6).split('')",
        "for (var a = []; ; ) a = [a]",
        "for (var o = {}; ; ) o = Object.create(o)",
    ],
)
def test_memory_is_bounded(harm: str) -> None:
    assert set(kinds(harm)) <= {MEMORY, TIME, FAILED} - {""}


@pytest.mark.parametrize(
    "harm",
    [
        "(function f() { f() })()",
        "var a = []; for (var i = 0; i < 2e4; i++) a = [a]; return a",
        "var a = []; for (var i = 0; i < 2e4; i++) a = [a]; return a.flat(Infinity)",
        "JSON.parse('['.repeat(1e5))",
        "var o = { toJSON() { return [o] } }; return o",
        "var o = {}; o.o = o; return o",
        "new RegExp('(?:a|'.repeat(3e4) + 'b' + ')'.repeat(3e4))",
    ],
)
def test_recursion_is_bounded(harm: str) -> None:
    assert kinds(harm) == [FAILED, FAILED]


@pytest.mark.parametrize(
    "harm",
    [
        "return 'x'.repeat(1e5)",
        "return new Array(1e5).fill(1)",
        "return new Uint8Array(1e5)",
        "return '€'.repeat(3e4)",
        "Noctua.state.x = 'x'.repeat(1e5)",
    ],
)
def test_giant_outputs_are_refused(harm: str) -> None:
    assert kinds(harm) == [OUTPUT, OUTPUT]


@pytest.mark.parametrize(
    "harm",
    [
        "Array.prototype.map = () => [9]",
        "Array.prototype[Symbol.iterator] = function* () { yield 9 }",
        "Object.prototype.then = 9; Object.prototype[0] = 9",
        "Object.prototype.count = -1; Object.prototype.toJSON = () => 9",
        "Object.defineProperty(Object.prototype, 'width', { get: () => 9 })",
        "String = () => 9; JSON.stringify = () => 9; Map.prototype.get = () => 9",
        "JSON = {}; Reflect = {}; Number = 9; undefined = 9",
        "Noctua.topic = () => 9; Noctua = { topic: () => 9 }; console.log = null",
        "delete Noctua.topic; delete globalThis.Noctua; Noctua.topic.call = 9",
        "globalThis.Noctua = { topic: () => 9 }",
        "Object.defineProperty(globalThis, 'Noctua', { value: { topic: () => 9 }, configurable: false })",
        "Object.setPrototypeOf(globalThis, { Noctua: { topic: () => 9 } })",
        "globalThis.__proto__ = { Noctua: { topic: () => 9 } }",
        "Object.freeze(globalThis)",
        "Object.defineProperty(globalThis, 'Reflect', { value: { deleteProperty: () => true }, configurable: true })",
        "var hide = n => Object.defineProperty(globalThis, n, { value: 9 }); ['Map', 'String', 'Array'].map(hide)",
        "for (var i = 0; i < 1000; i++) globalThis['left' + i] = i",
        "globalThis[Symbol('left')] = 1; left = 1",
        "Object.defineProperty(globalThis, 'left', { value: 1 })",
        "Object.defineProperty(globalThis, 'left', { get() { for (;;); }, configurable: true })",
        "Object.getPrototypeOf(function* () {}).prototype.next = () => 9",
        "Object.getPrototypeOf([].values()).next = () => ({ done: true })",
        "Error.prepareStackTrace = () => { for (;;); }; Error.stackTraceLimit = 0; null.x",
        "[].values.call.constructor.prototype.call = () => 9",
        "Symbol.iterator = 9; Math.random = () => 9; Date.now = () => 9",
    ],
)
def test_no_run_changes_what_the_next_one_finds(harm: str) -> None:
    assert set(kinds(harm)) <= {"", FAILED}


@pytest.mark.parametrize(
    "harm",
    [
        "return (() => 1).constructor.constructor('return this')()",
        "return Noctua.topic.constructor('return 1n')()",
        "return (function* () {}).constructor('yield 1')()",
        "return new Function('return this')()",
        "return eval('1')",
        "return (0, globalThis.eval)('1')",
        "return Reflect.construct(Function, ['return 1'])()",
        "new Proxy({}, {})",
        "new Promise(() => 1)",
        "new WeakRef({})",
        "BigInt(1)",
        "require('fs')",
        "process.exit()",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)",
        "arguments.callee.caller()",
        "setTimeout(() => 1)",
        "performance.now()",
    ],
)
def test_there_is_no_way_out_and_no_code_from_text(harm: str) -> None:
    assert kinds(harm) == [FAILED, FAILED]


@pytest.mark.parametrize(
    "harm",
    [
        "throw undefined",
        "throw 5",
        "throw Symbol('x')",
        "throw { get message() { throw 1 } }",
        "throw () => 1",
        "throw ''",
    ],
)
def test_odd_things_can_be_thrown(harm: str) -> None:
    assert kinds(harm) == [FAILED, FAILED]


def test_a_thrown_error_may_lie_about_itself_and_harms_nobody() -> None:
    lying = """var e = new Error('x'.repeat(1e5)); e.name = '\\0\\ud800'
        e.stack = 'at <input>:99999:9\\n'.repeat(1e4); throw e"""
    failure = program(lying).run({SWITCH: [Sample("harm", NOW, True)]}, NOW, 1, b"").failure
    assert failure is not None
    assert len(failure.message) <= 500


def test_own_objects_may_have_methods_that_are_inherited_from_frozen_ones() -> None:
    code = """function() {
        var o = {}, e = new Error('x'); o.toString = () => 'mine'; e.name = 'Mine'; return o + ' ' + e }()"""
    assert JAVASCRIPT.load(code, LIMITS).run({}, NOW, 1, b"").payload == b"mine Mine: x"


def test_dates_know_one_zone() -> None:
    code = """[new Date(2020, 0, 2, 3).toISOString(), Date.parse('2020-01-02T03:00'), new Date('2020-01-02').getHours(),
        new Date(0).toString(), new Date(0).getTimezoneOffset(), new Date('x').getTime(),
        new Date(new Date(5)).getTime(), Date.parse('2020-01-02T03:00+01:00'), typeof Date(),
        new Date(1e300).toString()]"""
    assert JAVASCRIPT.load(code, LIMITS).run({}, NOW, 1, b"").payload == (
        b'["2020-01-02T03:00:00.000Z",1577934000000,0,"Thu Jan 01 1970 00:00:00 GMT+0000",0,null,5,'
        b'1577930400000,"string","Invalid Date"]'
    )


def test_bounded_functions_do_what_they_do() -> None:
    code = """[[1, [2, [3]]].flat(), [3, 1, 2].sort(), [1, 2].concat(3, [4, , 5]).length, 'a,b'.split(','),
        'aXbX'.replaceAll('X', '-'), 'abc'.replace(/b/, 'd'), 'abcabc'.split(/b/), [1, 2, 3].slice(-2),
        (function () { return [].slice.call(arguments, 1) })(1, 2), 'a-b'.indexOf('-'), [1, 2].flatMap(x => [x, [x]]),
        [1, 2].join('+'), 'abc'.includes('bc'), [1, 2, 3].splice(1, 1), String.raw`a\\n${1}b`, [...'ab'],
        [...new Set([1, 1])], JSON.stringify({ a: 1, b: 2 }, ['a']), 'ab'.split(), 'x'.padStart(3, 'y')]"""
    payload = JAVASCRIPT.load(code, LIMITS).run({}, NOW, 1, b"").payload
    assert payload == (
        b'[[1,2,[3]],[1,2,3],6,["a","b"],"a-b-","adc",["a","ca","c"],[2,3],[2],1,[1,[1],2,[2]],"1+2",true,[2],'
        b'"a\\\\n1b",["a","b"],[1],"{\\"a\\":1}",["ab"],"yyx"]'
    )


@pytest.mark.parametrize("settings", ["{ cutoff: 1e308 }", "{ cutoff: 1.7e300, required: 0 }"])
def test_a_cutoff_that_cannot_be_counted_in_nanoseconds_fails_the_run(settings: str) -> None:
    assert kinds(f"return Noctua.topic('other', {settings})") == [FAILED, FAILED]
    with pytest.raises(BadMacro, match="a cutoff is a number of seconds"):
        Reference("other", 1e308)
