"""A cold start: from starting a process to the first row of a group in it, with the class archive and without.

The process starts Spark and reads a group that has some readings. Its folder of classes is as the set-up left it;
without the archive, the JVM reads Spark's jars.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.figure import Figure, alternate, progress
from bench.pipeline._hourly import filled
from bench.pipeline._site import Site
from roost.pipeline import class_archive
from roost.pipeline.java import find_java
from roost.sim.deployment import GROUP

ROUNDS: Final = 2
_PROGRAM: Final = """
import json, sys
from roost.pipeline import class_archive
options, with_archive = json.loads(sys.argv[1]), sys.argv[2] == "with"
if not with_archive:
    class_archive.existing = lambda java: None
    class_archive.train_later = lambda java: None
from roost.pipeline.session import end_jvm, spark_session
spark = spark_session("cold")
assert spark.read.format("roost").options(**options).load().first() is not None
print("row", flush=True)
end_jvm(spark)
"""


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-start-") as folder:
        site = Site(Path(folder, "site"))
        filled(site, 900, signed=False)
        options = site.options(group=str(GROUP.name))
        with site.repo():
            if class_archive.existing(find_java()) is None:
                progress("pipeline.start: there is no class archive yet; `scripts/prepare java` makes it")
                yield Figure("start.first_row_without_archive", first_row(options, "without"), "s")
                return
            both = alternate(
                lambda: first_row(options, "with"),
                lambda: first_row(options, "without"),
                rounds=ROUNDS,
                label="pipeline.start",
            )
            yield Figure("start.first_row", both.ours, "s", "no-archive", both.peer)


def first_row(options: dict[str, str], archive: str) -> float:
    """Seconds until a new process has a row."""
    began = time.perf_counter()
    command = [sys.executable, "-c", _PROGRAM, json.dumps(options), archive]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "row\n":
            raise RuntimeError("the process had no row; what it said is above")
        took = time.perf_counter() - began
        process.stdout.read()
    return took
