"""A standalone Spark cluster on this machine: one master and some workers as processes, for tests and for trying out.

    with Cluster(workers=2) as cluster:
        spark = spark_session(master=cluster.master)

Everything listens on loopback, on ports that the system picks. Who may log in to this machine may submit jobs to it, so
this is no way to run a cluster for others. The wheel of PySpark has no start scripts; `spark-class` starts both kinds.
A worker is a process group of its own, so `kill` takes its executors with it, as the loss of a machine does. Should
this process be killed, a watcher in each group sees the end of a pipe and ends the group.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import pyspark

from roost.errors import BadConfig, TimedOut
from roost.pipeline import class_archive, launchers
from roost.pipeline.java import find_java
from roost.pipeline.session import QUICK_START

START_S: Final = 60
_LOOPBACK: Final = "127.0.0.1"
_KEPT_LINES: Final = 50  # of a daemon's log, for the message when it does not start
_WATCHED: Final = 'exec 3<&0 </dev/null; (read -r _; kill -9 0) <&3 >/dev/null 2>&1 & exec 3<&-; exec "$@"'
_STARTED: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED: Final = re.compile(r"Successfully registered with master (\S+)")


class Cluster:
    """Starts on entering, and ends with everything it started on leaving."""

    def __init__(self, workers: int = 2, *, cores: int = 1, memory: str = "1g") -> None:
        self._count: Final = workers
        self._cores: Final = cores
        self._memory: Final = memory
        self._folder = Path()
        self._daemons: list[_Daemon] = []
        self.master = ""  # the URL to give as `master`

    @property
    def workers(self) -> list[int]:
        """The process ids of the workers, in the order of their start; also of those that were killed."""
        return [daemon.pid for daemon in self._daemons[1:]]

    def kill(self, pid: int) -> None:
        """Lose a worker, with its executors, at once."""
        for daemon in self._daemons[1:]:
            if daemon.pid == pid:
                daemon.end()
                return
        raise BadConfig(f"{pid} is no worker of this cluster; its workers are {self.workers}")

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="roost-cluster-"))
        try:
            environment = self._environment()
            where = ["--host", _LOOPBACK, "--port", "0", "--webui-port", "0"]
            master = self._start("deploy.master.Master", where, environment, _STARTED)
            self.master = master.wait()
            for number in range(self._count):
                size = ["--cores", str(self._cores), "--memory", self._memory]
                place = ["--work-dir", str(self._folder / f"worker{number}"), self.master]
                self._start("deploy.worker.Worker", [*where, *size, *place], environment, _REGISTERED)
            for daemon in self._daemons[1:]:
                daemon.wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self, kind: str, options: list[str], environment: dict[str, str], ready: re.Pattern[str]) -> _Daemon:
        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        daemon = _Daemon([str(program), f"org.apache.spark.{kind}", *options], environment, ready)
        self._daemons.append(daemon)
        return daemon

    def _environment(self) -> dict[str, str]:
        java = find_java()
        path = [str(Path(each).absolute()) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
        return os.environ | {
            "JAVA_HOME": str(launchers.java_home(java, self._folder)),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(path),  # executors run in folders of their own
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": _LOOPBACK,  # or the web pages of master and workers would be open to the network
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{QUICK_START} {class_archive.options(class_archive.existing(java))}",
            "SPARK_LAUNCHER_OPTS": QUICK_START,
        }

    def _end(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.end()
        shutil.rmtree(self._folder, ignore_errors=True)


class _Daemon:
    """One process, and the line of its log that says it is ready."""

    def __init__(self, command: list[str], environment: dict[str, str], ready: re.Pattern[str]) -> None:
        self._kind: Final = command[1]
        self._ready: Final = ready
        self._answer = ""
        self._settled: Final = threading.Event()  # ready, or its log has ended
        self._lines: Final[deque[str]] = deque(maxlen=_KEPT_LINES)
        self._process: Final = subprocess.Popen(  # noqa: S603 - Spark's own script
            ["/bin/sh", "-c", _WATCHED, "sh", *command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.pid: Final = self._process.pid
        self._ended = False
        self._reader: Final = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def wait(self) -> str:
        """Give what the line of readiness says."""
        if not self._settled.wait(START_S) or not self._answer:
            log = "".join(self._lines)
            raise TimedOut(f"{self._kind} was not ready within {START_S} s. The end of its log:\n{log}")
        return self._answer

    def end(self) -> None:
        """Kill the process with its children, and wait for it; they keep nothing that a gentle end would save."""
        if self._ended:
            return
        self._ended = True
        os.killpg(self.pid, signal.SIGKILL)  # the watcher is in the group even if the process is not any more
        self._process.communicate()
        self._reader.join()

    def _read(self, log: IO[str]) -> None:
        for line in log:
            self._lines.append(line)
            if not self._answer and (found := self._ready.search(line)):
                self._answer = found[1]
                self._settled.set()
        self._settled.set()
