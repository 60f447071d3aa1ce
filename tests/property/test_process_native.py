"""Machine code gives what quickjs gives, byte by byte, or gives up."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native_programs import form_of, inputs, programs

from roost.process.engine import Limits
from roost.process.javascript import JavaScript
from roost.process.native.building import built
from roost.process.native.tier import Tiering
from roost.process.reference import Reference
from roost.process.sample import Sample

QUICKJS = JavaScript(Tiering(after=10**9))
import collections
C = collections.Counter()

@given(programs(), st.lists(inputs(), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_program_brings_the_same_or_gives_up(code: str, runs: list[dict[Reference, list[Sample]]]) -> None:
    C["n"] += 1
    try:
        compiled = built(form_of(code), runs[0], Limits(time_ms=2), is_picky=False)
    except Exception:
        print(code); raise
    if compiled is None:
        C["none"] += 1
        return
    reference = QUICKJS.load(code, Limits(time_ms=5000))
    for each in runs:
        outcome = compiled.ran(each)
        C["gave" if outcome is None else "ran" if outcome.payload else "undef"] += 1
        if outcome is not None:
            expected = reference.run(each, 0, 0, b"")
            assert outcome == expected, code
