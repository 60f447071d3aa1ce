"""Subscriptions under a policy: where they listen, and which messages they are given."""

import pytest

from roost.process.roles.policy import Policy
from roost.process.roles.reach import admits, candidates
from roost.process.roles.specification import Specification

POLICY = Policy(
    [
        Specification.read(
            {
                "topic": "home/+",
                "roles": {
                    "developer": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},
                    "customer": {"streams": ["{topic}/anonymize"]},
                    "clerk": {"streams": ["home/mean"]},
                },
            }
        ),
        Specification.read({"topic": "home/safe", "roles": {"developer": {"streams": ["raw"]}}}),
    ]
)
HALL = "Noctua/home/hall/anonymize"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("garden", ("garden",)),
        ("home/hall", ("home/hall", HALL, "Noctua/home/mean")),
        ("home/safe", ("home/safe",)),
        (HALL, (HALL,)),
        ("home/#", ("home/#", "Noctua/home/+/anonymize", "Noctua/home/mean")),
        ("garden/#", ("garden/#",)),
    ],
)
def test_candidates_are_the_subscription_and_every_stream_it_may_become(wanted: str, found: tuple[str, ...]) -> None:
    assert candidates(POLICY, wanted) == found


@pytest.mark.parametrize(
    ("role", "wanted", "brought"),
    [
        ("developer", "home/hall", {"home/hall"}),
        ("developer", HALL, {HALL}),
        ("developer", "home/#", {"home/hall", "home/safe", "home/hall/lamp"}),
        ("developer", "#", {"home/hall", "home/safe", HALL, "home/hall/lamp", "garden"}),
        ("customer", "home/hall", {HALL}),
        ("customer", "home/+", {HALL}),
        ("customer", "#", {HALL, "home/hall/lamp", "garden"}),
        ("customer", "home/safe", set()),
        ("customer", "Noctua/#", {HALL}),
        ("clerk", "home/hall", {"Noctua/home/mean"}),
        ("clerk", "home/+", {"Noctua/home/mean"}),
        ("clerk", "home/safe", set()),
        ("other", "home/+", set()),
        ("other", HALL, set()),
        ("other", "#", {"home/hall/lamp", "garden"}),
    ],
)
def test_a_subscription_brings_the_default_stream_of_every_topic_it_matches(
    role: str, wanted: str, brought: set[str]
) -> None:
    topics = [
        "home/hall",
        "home/safe",
        HALL,
        "Noctua/home/safe/anonymize",
        "Noctua/home/mean",
        "home/hall/lamp",
        "garden",
    ]
    assert {topic for topic in topics if admits(POLICY, wanted, topic, frozenset({role}))} == brought


def test_who_is_unknown_is_brought_what_nothing_governs() -> None:
    assert [topic for topic in ("home/hall", HALL, "garden") if admits(POLICY, "#", topic, None)] == ["garden"]
