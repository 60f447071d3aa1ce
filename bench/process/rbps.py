"""The time of a decision by role-based publishing specifications: what a user with some roles gets of a topic.

There are 1,000 documents for topics, and 20 for filters that name their streams by `{topic}`. A third of the questions
is for topics that have a document, a third for topics that a filter finds, and a third for processed streams of these,
asked for directly. `cold` is the first question for a topic and a set of roles, `cached` every further one, beside a
bare look into a dictionary with the same key.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from bench.figure import Figure, alternate, progress, rate
from roost.process.roles.policy import Policy
from roost.process.roles.specification import Specification

DOCUMENTS: Final = 1000
FILTERS: Final = 20
ROUNDS: Final = 5
ROLES: Final = (frozenset({"developer"}), frozenset({"customer"}), frozenset({"customer", "guest"}), frozenset[str]())


def run() -> Iterator[Figure]:
    progress("rbps.cold")
    yield Figure("rbps.cold", min([_cold_us() for _ in range(ROUNDS)]), "us")
    policy, questions = _policy(), _questions()
    table = {(topic, roles): policy.decide(topic, roles) for topic, roles in questions}

    def cached_us() -> float:
        return 1e6 / (rate(lambda: [policy.decide(topic, roles) for topic, roles in questions]) * len(questions))

    def dictionary_us() -> float:
        return 1e6 / (rate(lambda: [table[topic, roles] for topic, roles in questions]) * len(questions))

    pair = alternate(cached_us, dictionary_us, label="rbps.cached", pick=min)
    yield Figure("rbps.cached", pair.ours, "us", "dict", pair.peer)


def _cold_us() -> float:
    policy, questions = _policy(), _questions()
    began = time.perf_counter()
    for topic, roles in questions:
        policy.decide(topic, roles)
    return 1e6 * (time.perf_counter() - began) / len(questions)


def _policy() -> Policy:
    roles = {
        "developer": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},
        "customer": {"streams": ["{topic}/anonymize"]},
        "visitor": {"streams": []},
        "*": {"streams": ["{topic}/daily"]},
    }
    topics = [_own(number) for number in range(DOCUMENTS)] + [f"site{number}/#" for number in range(FILTERS)]
    return Policy([Specification.read({"topic": topic, "roles": roles}) for topic in topics])


def _questions() -> list[tuple[str, frozenset[str]]]:
    topics = [(_own(number), _other(number), f"Noctua/{_other(number)}/anonymize") for number in range(DOCUMENTS)]
    return [(topic, roles) for three in topics for topic in three for roles in ROLES]


def _own(number: int) -> str:
    return f"site{number % FILTERS}/own/{number}"


def _other(number: int) -> str:
    return f"site{number % FILTERS}/other/{number}"
