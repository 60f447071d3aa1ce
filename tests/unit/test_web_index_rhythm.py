"""How often a stream speaks, as learnt from its gaps."""

from roost.web.index_rhythm import ENOUGH, Rhythm

SECOND = 1_000_000_000


def test_a_rhythm_takes_many_gaps_that_are_about_the_same() -> None:
    rhythm = Rhythm([SECOND] * (ENOUGH - 1))
    assert rhythm.interval == 0
    rhythm.take(SECOND)
    assert rhythm.interval == SECOND
    for _ in range(ENOUGH):
        rhythm.take(SECOND * 100)
        rhythm.take(SECOND)
    assert rhythm.interval == 0


def test_times_that_are_as_far_apart_as_times_can_be_harm_nothing() -> None:
    rhythm = Rhythm([(1 << 64) - 1])
    rhythm.take(1 << 63)
    assert rhythm.interval == 0
