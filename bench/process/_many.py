"""Many macros that have nothing to do with each other: each adds up ten topics of its own."""

from __future__ import annotations

from typing import Final

from bench.process._flow import Flow, Message
from roost.process.rendering import payload_of

MANY: Final = 1000
TOPICS: Final = 10  # of a macro
_CYCLES: Final = 2


def topics_of(macro: int) -> list[str]:
    return [f"site/{macro:04d}/{number}" for number in range(TOPICS)]


def definitions(macros: int) -> list[dict[str, object]]:
    """As Roost takes them."""
    limits = {"runs_per_s": 1_000_000}
    return [
        {
            "name": f"sum/{macro:04d}",
            "code": " + ".join([f"Noctua.topic('{topic}')" for topic in topics_of(macro)]),
            "limits": limits,
        }
        for macro in range(macros)
    ]


def many(macros: int) -> Flow:
    """Readings of all their topics in turn; every one brings a result, but the first nine of a macro."""
    readings: list[Message] = []
    results: list[list[Message]] = [[], []]
    last: dict[str, int] = {}
    for cycle in range(_CYCLES):
        for number in range(TOPICS):
            for macro in range(macros):
                topics = topics_of(macro)
                value = 100 * macro % 977 + number
                last[topics[number]] = value
                if not cycle:
                    readings.append((topics[number], b"%d" % value))
                if len(last) == macros * TOPICS or all(topic in last for topic in topics):
                    total = sum([last[topic] for topic in topics])
                    results[cycle].append((f"Noctua/sum/{macro:04d}", payload_of(total)[0]))
    return Flow("Noctua/#", readings, results[0], results[1])
