"""The load generator, in a process and on a core of its own: sensors in one connection, a subscriber in another.

Run as `python -m bench.process._load`; it reads one JSON request a line and writes one JSON answer a line. `flow` names
what is sent (`_flows`).

{"do": "prove", …}       a cycle from the very start and one more; every result has to be as it was worked out
{"do": "throughput", …}  send as fast as the window lets, for so many seconds; results per second
{"do": "latency", …}     send at a steady rate; quantiles of the time from sending a reading to having its result

All results of every run are checked. A run sends whole cycles, so that the next one finds everything as it was.
"""

from __future__ import annotations

import gc
import json
import os
import select
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from typing import Any, Final

import numpy as np

from bench.mqtt._layout import Lost
from bench.mqtt._packets import PATIENCE_S, Refused, open_link, open_subscription
from bench.process._cores import GENERATOR
from bench.process._flow import LARGEST_READ, Cycle, Flow, Watch, flow_of, relayed
from bench.process._macros import all_macros
from bench.process._many import MANY, many

WINDOW: Final = 256  # readings whose results have not come
WARM_UP_S: Final = 0.3

_flows: Final[dict[str, Callable[[], Flow]]] = {
    **{bench.name: partial(flow_of, bench) for bench in all_macros()},
    **{f"relayed.{bench.name}": partial(relayed, bench) for bench in all_macros()},
    **{f"many.{macros}": partial(many, macros) for macros in (1, MANY)},
}


@cache
def cycles(name: str) -> tuple[str, Cycle, Cycle, Cycle]:
    flow = _flows[name]()
    return flow.filter, Cycle(flow.readings), Cycle(flow.first), Cycle(flow.steady)


class Run:
    """Two connections and what passes through them."""

    def __init__(self, port: int, flow: str) -> None:
        self._filter, self._readings, self._first, self._steady = cycles(flow)
        self._results = open_link(port, b"subscriber")
        open_subscription(self._results, self._filter.encode(), 0)
        self._sensors = open_link(port, b"sensors")
        self._results.settimeout(PATIENCE_S)
        self._watch = Watch(self._steady)
        self._sent = 0

    def prove(self) -> None:
        for due in (self._first, self._steady):
            self._watch, self._sent = Watch(due), 0
            for _ in range(0, self._readings.count, WINDOW):
                self._send(min(WINDOW, self._readings.count - self._sent))
                self._wait(due.count - (self._readings.count - self._sent))

    def rate(self, seconds: float) -> float:
        """Results per second."""
        self._turn_until(time.perf_counter() + WARM_UP_S)
        before, began = self._watch.done, time.perf_counter()
        self._turn_until(began + seconds)
        done, took = self._watch.done - before, time.perf_counter() - began
        self._complete()
        return done / took

    def delays_us(self, rate: float, count: int) -> list[float]:
        """From sending a reading to having its result."""
        gap, due = 1 / rate, time.perf_counter()
        sent: list[float] = []
        came: list[float] = []
        while len(came) < count:
            now = time.perf_counter()
            if now >= due and len(sent) < count:
                sent.append(now)
                self._send(1)
                due += gap
            patience = max(0.0, due - now) if len(sent) < count else PATIENCE_S
            if select.select([self._results], [], [], patience)[0]:
                self._take()
                came += [time.perf_counter()] * (self._watch.done - len(came))
            elif len(sent) == count:
                raise Lost(f"of {count} results {len(came)} came")
        self._complete()
        return [1e6 * (there - here) for here, there in zip(sent, came, strict=True)]

    def close(self) -> None:
        self._sensors.close()
        self._results.close()

    def _turn_until(self, end: float) -> None:
        while True:
            room = WINDOW - self._sent + self._watch.done
            if room >= WINDOW // 4:
                self._send(room)
            self._take()
            if time.perf_counter() >= end:
                return

    def _complete(self) -> None:
        """Send the rest of the cycle, and wait for all results."""
        while rest := -self._sent % self._readings.count:
            self._send(min(rest, WINDOW))
            self._wait(self._sent)
        self._wait(self._sent)

    def _send(self, count: int) -> None:
        while count:
            part = min(count, self._readings.count)
            self._sensors.sendall(self._readings.packets(self._sent, part))
            self._sent += part
            count -= part

    def _wait(self, done: int) -> None:
        while self._watch.done < done:
            self._take()

    def _take(self) -> None:
        try:
            data = self._results.recv(LARGEST_READ)
        except TimeoutError:
            raise Lost(f"{self._sent} readings were sent, {self._watch.done} results came") from None
        if not data:
            raise Lost("the broker closed the connection")
        self._watch.see(data)


def answer(do: str, port: int, flow: str, **settings: Any) -> dict[str, float]:  # noqa: ANN401  as the request has them
    with closing(Run(port, flow)) as run:
        match do:
            case "prove":
                run.prove()
                return {}
            case "throughput":
                return {"rate": run.rate(**settings)}
            case "latency":
                p50, p99 = np.quantile(run.delays_us(**settings), [0.5, 0.99])
                return {"p50": float(p50), "p99": float(p99)}
            case unknown:
                raise ValueError(f"there is no {unknown!r}")


def main() -> None:
    os.sched_setaffinity(0, {GENERATOR})
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        cycles(request["flow"])
        gc.collect()
        gc.disable()  # until the next request, which finds little to collect
        try:
            said = json.dumps(answer(**request))
        except (Lost, Refused, OSError) as error:
            said = json.dumps({"error": f"{type(error).__name__}: {error}"})
        print(said, flush=True)


if __name__ == "__main__":
    main()
