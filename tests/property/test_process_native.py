"""Machine code gives what quickjs gives, byte by byte, or gives up."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native_programs import Writer, form_of, inputs
from tests.tiers import NEVER

from roost.process.engine import Limits
from roost.process.javascript import JavaScript
from roost.process.native.building import built

PATIENT = Limits(time_ms=10_000)  # for quickjs, which takes longer for what machine code was ready with
BRIEF = Limits(time_ms=2)
RUNS = 5


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_program_brings_the_same_or_gives_up(seed: int) -> None:
    random = Random(seed)
    code = Writer(random).program()
    runs = [inputs(random) for _ in range(RUNS)]
    compiled = built(form_of(code), runs[0], BRIEF, is_picky=False)
    program = JavaScript(NEVER).load(code, PATIENT)
    for each in runs if compiled is not None else []:
        outcome = compiled.ran(each) if compiled is not None else None
        if outcome is not None:
            assert outcome == program.run(each, 0, 0, b""), code


def test_most_of_these_programs_are_compiled_and_many_runs_reach_their_end() -> None:
    programs = ended = 0
    for seed in range(40):
        random = Random(seed)
        form, given_ = form_of(Writer(random).program()), inputs(random)
        compiled = built(form, given_, BRIEF, is_picky=False)
        if compiled is not None:
            programs += 1
            ended += compiled.ran(given_) is not None
    assert programs > 20
    assert ended > 8
