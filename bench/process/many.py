"""What a trigger costs with 1,000 macros on 10,000 topics, beside one macro on ten: it must not depend on their number.

Each macro has ten topics of its own, and every reading triggers one macro. Readings go to all topics in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.figure import Figure, alternate, rate
from bench.mqtt._generator import OURS, Rounds, generator, running
from bench.process._arrangements import asked, roost
from bench.process._many import MANY, definitions, many
from bench.process._pure import Pure

ROUNDS = 3
SECONDS = 1.0
PEER = "one_macro"


def run() -> Iterator[Figure]:
    yield _processor()
    yield from _end_to_end()


def _processor() -> Figure:
    """Microseconds per trigger of the processor alone."""
    flows = {macros: many(macros) for macros in (1, MANY)}
    pures = {macros: Pure(definitions(macros)) for macros in (1, MANY)}
    for macros, flow in flows.items():
        for due in (flow.first, flow.steady):
            if pures[macros].results(flow.readings) != due:
                raise ValueError(f"{macros} macros give other results than they have to")

    def cost_us(macros: int) -> float:
        readings = flows[macros].readings
        return 1e6 / (rate(lambda: pures[macros].feed(readings)) * len(readings))

    pair = alternate(partial(cost_us, MANY), partial(cost_us, 1), label="many.processor")
    return Figure("many.processor", pair.ours, "us", PEER, pair.peer)


def _end_to_end() -> Iterator[Figure]:
    """Triggers per second through the broker."""
    rounds, names = Rounds(ROUNDS), {OURS: MANY, PEER: 1}
    starts = {name: partial(roost, definitions=definitions(macros)) for name, macros in names.items()}
    with generator("bench.process._load") as load, running(starts) as brokers:
        for name, macros in names.items():
            asked(load, brokers, "prove", name, flow=f"many.{macros}")
        medians = rounds.medians(
            "process.many.triggers",
            list(names),
            lambda name: asked(load, brokers, "throughput", name, flow=f"many.{names[name]}", seconds=SECONDS),
        )
        if OURS in medians and PEER in medians:
            yield Figure("many.triggers", medians[OURS]["rate"], "1/s", PEER, medians[PEER]["rate"])
    rounds.end()
