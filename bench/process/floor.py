"""The bare macros, without broker, limits and shim: runs per second in quickjs, beside Node on the same text.

A run here does nothing but work the macro out, as it is written, on values that lie ready in an object. It is a measure
of the engine and no strict bound: code that is rewritten, as `roost.process.inlining` does, may take less. The same
source is evaluated and looped in both, in the global scope, on one core.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Iterator
from typing import Final

import quickjs

from bench.figure import Figure, progress
from bench.mqtt._brokers import has_aedes
from bench.process._cores import measured_core
from bench.process._macros import Bench, all_macros

ROUNDS: Final = 5
SECONDS: Final = 0.4
_NODE: Final = """
const loop = (0, eval)(require('fs').readFileSync(0, 'utf8')), ms = Number(process.argv[1])
const timed = count => { const began = performance.now(); loop(count); return performance.now() - began }
let count = 1
while (timed(count) < ms / 4) count *= 2
console.log(count * 1000 / timed(count))
"""


def run() -> Iterator[Figure]:
    for bench in all_macros():
        progress(f"floor.{bench.name}")
        source = _source(bench)
        with measured_core():
            pairs = [(_quickjs(source), _node(source) if has_aedes() else None) for _ in range(ROUNDS)]
        ours = statistics.median([each for each, _ in pairs])
        theirs = [each for _, each in pairs if each is not None]
        peer = ("node", statistics.median(theirs)) if theirs else (None, None)
        yield Figure(f"floor.{bench.name}", ours, "1/s", *peer)


def _source(bench: Bench) -> str:
    """A script that gives a function, which runs the macro so many times on the last values of a cycle."""
    values: dict[str, list[object]] = {}
    for topic, payload in bench.cycle:
        values.setdefault(topic, []).insert(0, json.loads(payload))
    given = {topic: each[: bench.depth] if bench.depth > 1 else each[0] for topic, each in values.items()}
    return (
        f"var given = {json.dumps(given)}, Noctua = {{topic: name => given[name]}}, last;\n"
        f"var macro = () => (\n{bench.code}\n);\n"
        "(function (count) { for (let i = 0; i < count; i++) last = macro() })"
    )


def _quickjs(source: str) -> float:
    loop = quickjs.Context().eval(source)
    count = 1
    while True:
        began = time.perf_counter()
        loop(count)
        took = time.perf_counter() - began
        if took >= SECONDS / 4:
            return count / took
        count *= 2


def _node(source: str) -> float:
    command = ["node", "-e", _NODE, str(1000 * SECONDS)]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return float(done.stdout)
