"""Readings that come while a role is looked up: none is lost; and with the switch off, as many as the paper says."""

from math import exp, sqrt
from random import Random
from statistics import fmean, stdev

import pytest

from roost.process.roles.holding import Holding, HoldingSettings, Released
from roost.process.roles.policy import Policy
from roost.process.roles.reach import admits, candidates
from roost.process.roles.specification import Specification

RESULT = "Noctua/t/anonymize"
POLICY = Policy(
    [
        Specification.read(
            {
                "topic": "t",
                "roles": {
                    "developer": {"streams": ["raw", "t/anonymize"], "default": "raw"},
                    "customer": {"streams": ["t/anonymize"]},
                },
            }
        )
    ]
)


@pytest.mark.parametrize(
    ("role", "given"),
    [("developer", ("raw 1", "raw 2")), ("customer", ("result 1", "result 2")), ("other", ())],
)
def test_a_role_gets_its_stream_from_the_moment_of_the_subscribe(role: str, given: tuple[str, ...]) -> None:
    holding: Holding[str] = Holding()
    holding.arrived("t", "before", 1)
    holding.begin(1, candidates(POLICY, "t"))
    for topic, message in [("t", "raw 1"), (RESULT, "result 1"), ("u", "x"), ("t", "raw 2"), (RESULT, "result 2")]:
        holding.arrived(topic, message, 1)
    released = holding.release(1, lambda topic: admits(POLICY, "t", topic, frozenset({role})))
    assert released == Released(given, 0)
    assert len(holding) == 0
    assert holding.sizes()["bytes"][0] == 0


def test_a_message_that_several_filters_match_is_held_once() -> None:
    holding: Holding[int] = Holding()
    holding.begin(1, ["a/#", "a/b", "+/b", "a/#"])
    holding.arrived("a/b", 7, 1)
    holding.arrived("a/b", 7, 1)
    assert holding.release(1, lambda _: True).messages == (7, 7)


def test_every_pending_subscription_has_its_own() -> None:
    holding: Holding[int] = Holding()
    holding.begin(1, ["t"])
    holding.arrived("t", 1, 1)
    holding.begin(2, ["t", "u"])
    holding.arrived("t", 2, 1)
    holding.cancel(1)
    holding.arrived("u", 3, 1)
    assert holding.release(2, lambda _: True).messages == (2, 3)
    holding.arrived("t", 4, 1)
    assert holding.sizes()["bytes"][0] == 0


def test_too_many_messages_cost_the_oldest_and_are_counted() -> None:
    holding: Holding[int] = Holding(HoldingSettings(max_messages=3))
    holding.begin(1, ["t"])
    for number in range(5):
        holding.arrived("t", number, 1)
    assert holding.release(1, lambda _: True) == Released((2, 3, 4), 2)
    assert holding.dropped == 2


def test_too_many_bytes_cost_the_oldest_and_a_giant_costs_only_itself() -> None:
    holding: Holding[int] = Holding(HoldingSettings(max_bytes=10))
    holding.begin(1, ["t"])
    for number, size_bytes in enumerate([4, 4, 4, 11, 2]):
        holding.arrived("t", number, size_bytes)
    assert holding.sizes()["bytes"][0] == 10
    assert holding.release(1, lambda _: True) == Released((1, 2, 4), 2)


def test_all_subscriptions_together_are_bounded() -> None:
    holding: Holding[int] = Holding(HoldingSettings(max_bytes=10, max_total_bytes=15))
    holding.begin(1, ["t"])
    holding.begin(2, ["u"])
    holding.arrived("t", 1, 10)
    holding.arrived("u", 2, 4)
    holding.arrived("u", 3, 4)
    assert holding.sizes()["bytes"] == (14, 15)
    assert holding.release(2, lambda _: True) == Released((3,), 1)
    assert holding.release(1, lambda _: True) == Released((1,), 0)


def test_more_subscriptions_than_there_is_room_for_are_turned_away() -> None:
    holding: Holding[int] = Holding(HoldingSettings(max_pending=1))
    assert holding.begin(1, ["t"])
    assert not holding.begin(2, ["t"])
    assert holding.turned_away == 1
    holding.cancel(1)
    assert holding.begin(2, ["t"])


def lost(hold: bool, mean_items: float, random_phase: bool, draws: int = 5_000) -> list[int]:
    """How many readings of a stream with one a second are not delivered, for look-ups of random length."""
    randomness = Random(7)
    holding: Holding[int] = Holding(HoldingSettings(hold=hold, max_messages=10_000))
    counts: list[int] = []
    for ticket in range(draws):
        took = randomness.expovariate(1 / mean_items)
        at = randomness.random() if random_phase else 1.0  # since the subscribe: the next reading
        holding.begin(ticket, candidates(POLICY, "t"))
        published = 0
        while at <= took:
            holding.arrived("t", published, 100)
            published += 1
            at += 1
        released = holding.release(ticket, lambda topic: topic == "t")
        assert list(released.messages) == ([*range(published)] if hold else [])
        assert len(released.messages) + released.dropped == published
        counts.append(published - len(released.messages))
    return counts


def expected(mean_items: float) -> float:
    """Equation 3."""
    return 1 / (1 - exp(-1 / mean_items)) - 1


@pytest.mark.parametrize(
    ("mean_items", "listed"), [(0.1, 0.0000454), (0.5, 0.1565), (1, 0.5820), (5, 4.5167), (20, 19.5042)]
)
def test_equation_3_is_the_one_of_the_sheet(mean_items: float, listed: float) -> None:
    assert expected(mean_items) == pytest.approx(listed, abs=5e-5)


@pytest.mark.parametrize("mean_items", [0.5, 1, 2, 5, 20])
def test_without_holding_as_many_are_lost_as_equation_3_says(mean_items: float) -> None:
    counts = lost(hold=False, mean_items=mean_items, random_phase=False)
    assert abs(fmean(counts) - expected(mean_items)) < 3 * stdev(counts) / sqrt(len(counts))


@pytest.mark.parametrize("mean_items", [0.5, 1, 2, 5, 20])
def test_without_holding_and_in_any_phase_as_many_are_lost_as_come(mean_items: float) -> None:
    counts = lost(hold=False, mean_items=mean_items, random_phase=True)
    assert abs(fmean(counts) - mean_items) < 3 * stdev(counts) / sqrt(len(counts))


@pytest.mark.parametrize("random_phase", [False, True])
def test_with_holding_none_is_lost(random_phase: bool) -> None:
    assert sum(lost(hold=True, mean_items=5, random_phase=random_phase, draws=1_000)) == 0
