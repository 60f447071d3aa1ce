"""How soon: from `roost up` to ready where all is set up, and from `roost demo` to the first reading over HTTP."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.figure import Figure, progress
from bench.product._verb import asked_until, done, running

ROUNDS: Final = 3
DEMO: Final = ("demo", "--no-pipeline", "--http-port", "0", "--mqtt-port", "0")
FIRST: Final = "/streams?match=Campus/Hall/Env/%23&limit=1"


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-product-") as folder:
        home = Path(folder)
        done(home, "init", "--company", "BigCompany", "--building", "Building1")
        (home / "roost" / "roost.yaml").write_text(
            '{listeners: [{tcp: "127.0.0.1:0"}], http: "127.0.0.1:0"}\n', encoding="utf-8"
        )
        progress("product.start: roost up")
        yield Figure("start.up_ready", statistics.median(_up(home) for _ in range(ROUNDS)), "s")
    progress("product.start: roost demo")
    yield Figure("start.demo_first_reading", statistics.median(_demo() for _ in range(ROUNDS)), "s")


def _up(home: Path) -> float:
    with running(home, "up", "-c", str(home / "roost" / "roost.yaml")) as up:
        return up.until("ready")


def _demo() -> float:
    with tempfile.TemporaryDirectory(prefix="roost-product-") as folder, running(Path(folder), *DEMO) as demo:
        demo.until("page")
        asked_until(demo.url() + FIRST, "items")
        return time.perf_counter() - demo.began
