"""How soon a newcomer sees something: from `git clone` to the first reading on the page, all set-up within.

Packages come from wherever pip, npm and apt-get take them on this machine, so it tells as much of the network and of
their caches as of Roost. What is on the machine already (Python, Java, a compiler) is not installed again.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.figure import Figure, progress
from bench.product._verb import asked_until
from bench.product.start import FIRST

ROOT: Final = Path(__file__).parents[2]


def run() -> Iterator[Figure]:
    progress("product.clone: git clone, make run")
    with tempfile.TemporaryDirectory(prefix="roost-clone-") as folder:
        clone = Path(folder) / "roost"
        began = time.perf_counter()
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
        left_out = {"PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        with subprocess.Popen(
            ["make", "run"], cwd=clone, env=kept, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as make:
            try:
                url, set_up = _page(make, began)
                asked_until(url + FIRST, "items")
                first = time.perf_counter() - began
            finally:
                os.killpg(make.pid, signal.SIGINT)
                make.communicate()
    yield Figure("clone.first_reading", first, "s")
    yield Figure("clone.living", first - set_up, "s")


def _page(make: subprocess.Popen[str], began: float) -> tuple[str, float]:
    """Where the page is, and when set-up was over and the campus began to start, in seconds."""
    assert make.stdout is not None
    set_up = 0.0
    for line in make.stdout:
        set_up = set_up or time.perf_counter() - began
        if found := re.search(r"^page\s+(http://127\.0\.0\.1:\d+)", line):
            return found[1], set_up
    raise RuntimeError(f"`make run` ended with {make.wait()} before it had a page")
