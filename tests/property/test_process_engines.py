"""Whatever value goes into a macro comes out as JavaScript prints it, in any order of runs and in any context."""

from __future__ import annotations

import json
import math
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.process.engine import Engine, Limits, Outcome, Program
from roost.process.javascript import JavaScript
from roost.process.python_code import Python
from roost.process.reference import Reference
from roost.process.rendering import json_text, number_text, payload_of
from roost.process.sample import Plain, Sample
from roost.wire.reading import OCTET_STREAM

NOW = 1_700_000_000_000_000_000
ONE = Reference("t")
SAFE = 2**53 - 1
characters = st.text(st.characters(codec=None, categories=None))
numbers = st.one_of(  # of some powers of two quickjs prints a digit more than it needs
    st.floats().filter(lambda number: abs(math.frexp(number)[0]) != 0.5 or abs(number) >= 1),
    st.sampled_from([-0.0, 1e21, 5e-324, 1e-7, 2.0**53, 0.1 + 0.2]),
    st.integers(-SAFE, SAFE),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, characters)
plain = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(characters, inner, max_size=5)
)
ECHO: dict[str, Program] = {
    engine.language: engine.load("Noctua.topic('t')", Limits(time_ms=1000)) for engine in (JavaScript(), Python())
}
MIXED = """function() {
  var v = Noctua.topic('t'); left = v; Noctua.state.n = (Noctua.state.n || 0) + 1
  console.log(typeof v, Math.random())
  if (v === null) throw new Error('null came')
  if (v === false) { Object.defineProperty(globalThis, 'stays', { value: 1 }); return typeof stays }
  if (v === true) for (;;);
  return [v, Noctua.state.n, Math.random(), Date.now(), typeof stays]
}()"""


def echoed(language: str, value: Plain) -> Outcome:
    return ECHO[language].run({ONE: [Sample("t", NOW, value)]}, NOW, 0, b"")


@given(plain.filter(lambda value: value is not None))
@settings(max_examples=150)
def test_both_languages_print_every_value_alike(value: Plain) -> None:
    payload, format_ = payload_of(value)
    assert echoed("javascript", value) == Outcome(payload, format_)
    assert echoed("python", value) == Outcome(payload, format_)


@given(st.one_of(st.binary(), st.binary(min_size=200, max_size=3000)))
def test_bytes_go_through(value: bytes) -> None:
    for language in ECHO:
        assert echoed(language, value) == Outcome(value, OCTET_STREAM)


@given(st.integers(0, 20_000), st.sampled_from("x€"))
def test_texts_of_every_length_go_through(length: int, character: str) -> None:
    assert echoed("javascript", character * length).payload == (character * length).encode()


@given(st.integers())
def test_integers_of_any_size_are_the_nearest_doubles(value: int) -> None:
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    assert echoed("javascript", value).payload == number_text(nearest).encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_to_the_bit(value: float) -> None:
    assert float(number_text(value)) == value
    assert float(echoed("javascript", value).payload or b"") == value


@given(plain)
def test_what_json_prints_reads_back(value: Plain) -> None:
    json.loads(json_text(value))


@given(
    st.lists(st.tuples(scalars, st.integers(0, 2**64 - 1)), min_size=1, max_size=6), st.randoms(use_true_random=False)
)
@settings(max_examples=15, deadline=None)
def test_outcomes_do_not_depend_on_the_order_of_runs_or_the_age_of_the_context(
    runs: list[tuple[Plain, int]], order: Random
) -> None:
    engine: Engine = JavaScript()
    limits = Limits(time_ms=30)

    def outcome(program: Program, value: Plain, seed: int) -> Outcome:
        return program.run({ONE: [Sample("t", NOW, value)]}, NOW, seed, b'{"n":3}')

    fresh = [outcome(engine.load(MIXED, limits), value, seed) for value, seed in runs]
    reused = engine.load(MIXED, limits)
    assert [outcome(reused, value, seed) for value, seed in runs] == fresh
    places = list(range(len(runs)))
    order.shuffle(places)
    assert [outcome(reused, *runs[place]) for place in places] == [fresh[place] for place in places]
