"""Encode and decode of a 100-byte Data and of an Interest beside python-ndn, interpreted and compiled.

Each variant runs in a process of its own (`_codec`), because one process can import only one of the two.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, progress

SOURCE = Path(__file__).parents[2] / "src"


def run() -> Iterator[Figure]:
    for variant in ("interpreted", "compiled"):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if variant == "interpreted":
            environment["PYTHONPATH"] = str(SOURCE)
        output = subprocess.run(
            [sys.executable, "-m", "bench.ground._codec"],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout
        measured = json.loads(output)
        if measured.pop("compiled") != (variant == "compiled"):
            progress(f"codec: no {variant} package here, its figures are left out")
            continue
        for packet, (ours, peer) in measured.items():
            yield Figure(f"codec.{packet}.{variant}", ours, "round_trips/s", "python-ndn", peer)
