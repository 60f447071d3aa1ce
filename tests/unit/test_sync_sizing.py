"""How our IBLT grows with the differences seen, and shrinks after a calm."""

from __future__ import annotations

from roost.sync.iblt import cells_for
from roost.sync.presets import CPP_FULL, ROOST_FULL
from roost.sync.sizing import CALM, Sizing

LADDER = (20, 40, 80, 160, 320)


def calm(sizing: Sizing, times: int, size: int = 0) -> None:
    for _ in range(times):
        sizing.decoded(size)
        sizing.sent()


def test_with_one_rung_nothing_ever_changes() -> None:
    sizing = Sizing(CPP_FULL.ladder, CPP_FULL.expected)
    sizing.undecodable(cells_for(80))
    sizing.decoded(1000)
    calm(sizing, 3 * CALM)
    assert sizing.expected == 80


def test_the_ladder_of_our_own_preset_is_climbed_by_doubling() -> None:
    sizing = Sizing(ROOST_FULL.ladder, ROOST_FULL.expected)
    seen = [sizing.expected]
    for _ in range(4):
        sizing.undecodable(cells_for(sizing.expected))
        seen.append(sizing.expected)
    assert seen == [80, 160, 320, 320, 320], "within the bound of the preset"


def test_a_difference_that_was_decoded_makes_it_large_enough_for_that() -> None:
    sizing = Sizing(LADDER, 20)
    sizing.decoded(20)
    assert sizing.expected == 20
    sizing.decoded(81)
    assert sizing.expected == 160


def test_a_smaller_table_that_failed_says_nothing_about_ours() -> None:
    sizing = Sizing(LADDER, 80)
    sizing.undecodable(cells_for(40))
    assert sizing.expected == 80
    sizing.undecodable(cells_for(160))
    assert sizing.expected == 320, "a larger one does"


def test_it_shrinks_one_rung_after_a_long_calm() -> None:
    sizing = Sizing(LADDER, 80)
    calm(sizing, CALM - 1)
    assert sizing.expected == 80
    calm(sizing, 1)
    assert sizing.expected == 40
    calm(sizing, CALM - 1)
    assert sizing.expected == 40, "the next one takes as long"
    calm(sizing, 1)
    assert sizing.expected == 20
    calm(sizing, 3 * CALM)
    assert sizing.expected == 20, "within the bound of the preset"


def test_the_calm_is_broken_by_a_difference_that_would_fill_half_of_the_smaller_one() -> None:
    sizing = Sizing(LADDER, 80)
    calm(sizing, CALM - 1)
    calm(sizing, 1, size=21)
    calm(sizing, CALM - 1)
    assert sizing.expected == 80
    calm(sizing, 1, size=20)
    assert sizing.expected == 40


def test_the_calm_is_broken_by_a_failure() -> None:
    sizing = Sizing(LADDER, 80)
    calm(sizing, CALM - 1)
    sizing.undecodable(cells_for(20))
    calm(sizing, CALM - 1)
    assert sizing.expected == 80


def test_it_does_not_swing() -> None:
    sizing = Sizing(LADDER, 20)
    changes = 0
    for _ in range(10 * CALM):
        before = sizing.expected
        if sizing.expected < 40:
            sizing.undecodable(cells_for(sizing.expected))  # differences of 30
        else:
            sizing.decoded(30)
        sizing.sent()
        changes += sizing.expected != before
    assert changes == 1
