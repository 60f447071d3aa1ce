"""The load generator, in a process of its own and the same for every broker: MQTT 3.1.1, all clients in one epoll.

Run as `python -m bench.mqtt._load`; it reads one JSON request a line and writes one JSON answer a line:

{"do": "throughput", …}  publish as fast as the window lets, for so many seconds; messages delivered per second
{"do": "latency", …}     publish at a steady rate; quantiles of the time from publishing to having the message
{"do": "open", …}        open connections and keep them; connections per second
{"do": "close"}          end those

Every message is checked: one that is lost, doubled or out of order fails the request, and the answer has the "error".
"""

from __future__ import annotations

import gc
import json
import sys
from contextlib import closing
from typing import Any

import numpy as np

from bench.mqtt._crowd import Crowd
from bench.mqtt._layout import Lost
from bench.mqtt._packets import Refused
from bench.mqtt._run import Load, Run


def throughput(load: Load) -> dict[str, float]:
    with closing(Run(load)) as run:
        rate, broker, generator = run.throughput()
        run.verify()
    return {"rate": rate, "per_core": rate / max(broker, 0.01), "broker": broker, "generator": generator}


def latency(load: Load) -> dict[str, float]:
    with closing(Run(load, timed=True)) as run:
        delays_ns, others = run.delays_ns()
        run.verify()
    p50, p99 = np.quantile(delays_ns / 1000, [0.5, 0.99])
    return {"p50": float(p50), "p99": float(p99), "others": others}


def main() -> None:
    crowd = Crowd()
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        gc.collect()
        gc.disable()  # until the next request, which finds little to collect
        try:
            match request.pop("do"):
                case "throughput":
                    answer = throughput(Load(**request))
                case "latency":
                    answer = latency(Load(**request))
                case "open":
                    answer = {"rate": crowd.open(**request)}
                case "close":
                    answer = {"closed": crowd.close()}
                case unknown:
                    raise ValueError(f"there is no {unknown!r}")
            said = json.dumps(answer)
        except (Lost, Refused, OSError) as error:
            said = json.dumps({"error": f"{type(error).__name__}: {error}"})
        print(said, flush=True)


if __name__ == "__main__":
    main()
