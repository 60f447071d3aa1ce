"""What the demo costs while nobody looks: memory and processor of all its processes, without Spark."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.figure import Figure, progress
from bench.product._verb import running
from bench.product.start import DEMO

SETTLE_S: Final = 15.0
MEASURED_S: Final = 30.0


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-product-") as folder, running(Path(folder), *DEMO) as demo:
        demo.until("try")
        progress(f"product.idle: {SETTLE_S + MEASURED_S:g} s")
        time.sleep(SETTLE_S)
        before, began = demo.cpu_s(), time.perf_counter()
        time.sleep(MEASURED_S)
        used = (demo.cpu_s() - before) / (time.perf_counter() - began)
        yield Figure("idle.cpu", 100 * used, "percent_of_a_core")
        yield Figure("idle.memory", demo.memory_bytes() / 1e6, "MB")
        yield Figure("idle.processes", len(demo.tree()), "processes")
