"""How long agreement may take: the bound that campaigns hold sync groups to is neither loose nor too tight."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from roost.machine import MS
from roost.sim.scenarios.sync import CHANCE, _fewer, bound, rounds
from roost.sync import PSYNC, SVS3, Protocol, SvsSettings


@pytest.mark.parametrize("successes", [1, 2, 7, 30])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("chance", [1e-3, 1e-9, 1e-13])
def test_rounds_are_as_many_as_it_takes_and_not_one_more(successes: int, share: float, chance: float) -> None:
    tries = rounds(successes, share, chance)
    assert _fewer(tries, successes, share) <= chance
    assert tries == successes or _fewer(tries - 1, successes, share) > chance


def test_without_loss_every_round_succeeds() -> None:
    assert [rounds(successes, 1.0, CHANCE) for successes in (1, 5)] == [1, 5]


def test_the_chance_of_too_few_successes_is_what_a_draw_says() -> None:
    draw = Random(7)
    few = sum(sum(draw.random() < 0.4 for _ in range(12)) < 4 for _ in range(20_000))
    assert few / 20_000 == pytest.approx(_fewer(12, 4, 0.4), abs=0.015)


def test_two_members_that_lose_nothing_agree_after_two_periods() -> None:
    settings = SvsSettings(periodic_ms=1000, jitter=0.1, suppression_ms=200)
    assert bound(settings, 2, 0.0, 1) == 2 * (1100 + 200) * MS


@pytest.mark.parametrize("protocol", [SVS3, PSYNC], ids=["svs", "psync"])
def test_more_members_hops_or_loss_take_no_less_time(protocol: Protocol) -> None:
    for cases in (
        [(members, 0.3, 2) for members in (2, 10, 60)],
        [(10, loss, 2) for loss in (0.0, 0.1, 0.5)],
        [(10, 0.3, hops) for hops in (1, 2, 9)],
    ):
        times = [bound(protocol, *case) for case in cases]
        assert all(shorter <= longer for shorter, longer in pairwise(times))
        assert times[0] < times[-1]
