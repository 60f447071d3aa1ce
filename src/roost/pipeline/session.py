"""A Spark session with the settings that Roost's pipelines want, started as quickly as Spark can be.

The settings and what each is worth: docs/decisions/0014-spark.md. What the caller gives in `conf` wins over them; Java
options are added to ours. One process has one JVM and one session; asked again, the same session is given. A JVM that
died is forgotten, so that asking again starts another.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import pyspark
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from roost.errors import BadConfig
from roost.pipeline import class_archive, launchers
from roost.pipeline.java import Java, find_java

Progress = Callable[[str], object]

TRIES: Final = 4  # of a task; `local[N]` alone would fail the query at the first
_HOME: Final = "127.0.0.1"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
QUICK_START: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m"  # of stack: options of pipelines are long
_LOGGING: Final = Path(__file__).with_name("log4j2.properties")
_CHECKPOINTS: Final = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_KEPT: Final = "20"  # jobs, stages and executions that a driver remembers; it would grow for days up to thousands

SETTINGS: Final[Mapping[str, str]] = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
    "spark.sql.streaming.minBatchesToRetain": "10",  # offsets in a checkpoint: of 50,000 streams, 2 MB each
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.ui.retainedExecutions": _KEPT,
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": _KEPT,
    "spark.ui.retainedStages": _KEPT,
    "spark.ui.retainedTasks": "1000",
    "spark.ui.showConsoleProgress": "false",
}


def spark_session(
    app: str = "roost",
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SparkSession:
    """Start Spark, on this machine unless `master` says otherwise, or give the session that this process has."""
    _forget_dead_jvm()
    context = SparkContext._active_spark_context
    if context is not None:
        if master not in {None, context.master}:
            raise BadConfig(
                f"this process runs Spark on {context.master}, and cannot on {master} before that is stopped"
            )
        return _builder(app, dict(conf or {})).getOrCreate()
    java = find_java()
    master = master or f"local[{cores()},{TRIES}]"
    archive = class_archive.existing(java) if _is_here(master) else None
    if progress:
        slow = "" if archive or not is_local(master) else " (slow once: its class archive is built afterwards)"
        progress(f"starting Spark {pyspark.__version__} on {master} with Java {java.version}{slow}")
    with _environment(_variables(java, master)):
        try:
            return _builder(app, settings(master, conf or {}, archive)).getOrCreate()
        except PySparkRuntimeError:
            if archive is None:
                raise
            archive.unlink(missing_ok=True)  # a JVM that did not come up with it may come up without
            return _builder(app, settings(master, conf or {}, None)).getOrCreate()
        finally:
            if is_local(master) and archive is None:
                _train_at_exit(java)


def settings(master: str, conf: Mapping[str, str], archive: Path | None) -> dict[str, str]:
    """Everything that is set for this master, with what the caller wants."""
    ours = dict(SETTINGS)
    java_options = [f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"]
    ours["spark.master"] = master
    ours["spark.sql.warehouse.dir"] = (scratch() / "warehouse").as_uri()  # it would be made in the current folder
    if is_local(master):
        ours["spark.sql.shuffle.partitions"] = str(cores())
    if _is_here(master):
        ours["spark.driver.host"] = ours["spark.driver.bindAddress"] = _HOME
        quick = f"{QUICK_START} {class_archive.options(archive)}"
        java_options.append(quick)
        ours["spark.executor.extraJavaOptions"] = quick
    java_options.append(conf.get(_JAVA_OPTIONS, ""))
    return ours | dict(conf) | {_JAVA_OPTIONS: " ".join(filter(None, java_options))}


def is_local(master: str) -> bool:
    """Whether driver and executors are one JVM."""
    return master.startswith("local[") or master == "local"


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def scratch() -> Path:
    """Give a folder that goes when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="roost-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def end_jvm(spark: SparkSession) -> None:
    """Stop the session and its JVM, and wait until that has exited."""
    gateway = SparkContext._gateway
    spark.stop()
    if gateway is not None and gateway.proc is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    _forget_dead_jvm()


def _is_here(master: str) -> bool:
    return is_local(master) or master.startswith((f"spark://{_HOME}:", "spark://localhost:"))


def _variables(java: Java, master: str) -> dict[str, str]:
    """What the launcher, the JVM and PySpark read from the environment."""
    python = launchers.worker_python(scratch()) if is_local(master) else Path(sys.executable)
    here = {"SPARK_LOCAL_IP": _HOME} if _is_here(master) else {}
    return here | {
        "JAVA_HOME": str(launchers.java_home(java, scratch())),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", str(python)),
        "PYSPARK_DRIVER_PYTHON": os.environ.get("PYSPARK_DRIVER_PYTHON", str(python)),  # for formats that Spark finds
        "SPARK_LAUNCHER_OPTS": os.environ.get("SPARK_LAUNCHER_OPTS", QUICK_START),
    }


def _builder(app: str, conf: Mapping[str, str]) -> SparkSession.Builder:
    builder = SparkSession.builder.appName(app)
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables while Spark starts; children of this process that start Spark find their own."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@cache
def _train_at_exit(java: Java) -> None:
    atexit.register(class_archive.train_later, java)


def _forget_dead_jvm() -> None:
    """PySpark keeps what a JVM left behind, and would answer every call with a broken connection."""
    gateway = SparkContext._gateway
    if gateway is None or gateway.proc is None or gateway.proc.poll() is None:
        return
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
