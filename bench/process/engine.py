"""Triggers per second of the processor alone, without sockets, the payloads parsed: what a profile is taken of."""

from __future__ import annotations

from collections.abc import Iterator

from bench.figure import Figure, progress, rate
from bench.process._flow import flow_of
from bench.process._macros import all_macros
from bench.process._pure import Pure


def run() -> Iterator[Figure]:
    for bench in all_macros():
        progress(f"engine.{bench.name}")
        flow, pure = flow_of(bench), Pure([bench.definition])
        for due in (flow.first, flow.steady):
            if pure.results(flow.readings) != due:
                raise ValueError(f"{bench.name} gives other results than it has to")
        cycles = max([rate(lambda: pure.feed(flow.readings)) for _ in range(3)])  # noqa: B023  called before the next
        yield Figure(f"engine.{bench.name}", cycles * len(flow.readings), "1/s")
