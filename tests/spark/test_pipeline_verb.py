"""`roost pipeline run`, whose workers, JVM and own process are killed in mid-batch: it goes on, and publishes all once.

What is published in the end is, down to the signatures, what a run without faults publishes.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.pipeline_world import JOB, World
from tests.spark import gated_job
from tests.spark.gated_house import GROUPS, STREAMS, settled
from tests.spark.gated_job import LIMIT_S, Gate
from tests.verbs import RUN, environment_of, roost

from roost.pipeline.yaml_form import dumps
from roost.wire import Data


class Verb:
    """`roost pipeline ACTION house.yaml`, each in a process of its own."""

    def __init__(self, house: World, gates: Path, folder: Path) -> None:
        self._file = folder / "house.yaml"
        self._file.write_text(dumps(gated_job.pipeline(*GROUPS)))
        self._checkpoint = str(folder / "checkpoint")
        self._log = folder / "log"
        paths = [str(Path(gated_job.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._environment = environment_of(house.home(JOB).parent) | {
            "PYTHONPATH": os.pathsep.join(paths),  # where the function of a stage is
            gated_job.FOLDER: str(gates),
        }

    def ask(self, action: str, *options: str) -> tuple[int, str]:
        done = roost(self._environment, *self._words(action, *options))
        return done.returncode, (done.stdout + done.stderr).decode()

    @contextmanager
    def running(self, repo: str) -> Iterator[subprocess.Popen[bytes]]:
        words = [*RUN, *self._words("run", "--repos", repo, "--since", "earliest")]
        with self._log.open("ab") as log:
            process = subprocess.Popen(words, env=self._environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @property
    def said(self) -> str:
        return self._log.read_text()

    def _words(self, action: str, *options: str) -> list[str]:
        return ["pipeline", action, str(self._file), "--checkpoint", self._checkpoint, *options]


def _jvm(worker: int, driver: int) -> int:
    """The process between them that the driver has started."""
    while (parent := _parent(worker)) != driver:
        worker = parent
    return worker


def _parent(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))


def test_it_goes_on_whatever_is_killed_and_says_how_it_goes(
    house: World,
    packets: list[Data],
    expected: dict[str, bytes],
    gates: Path,
    gate: Callable[[int], Gate],
    tmp_path: Path,
) -> None:
    verb = Verb(house, gates, tmp_path)
    parts = [packets[low * len(STREAMS) : high * len(STREAMS)] for low, high in ((0, 9), (9, 19), (19, 24), (24, 26))]
    first, second, third = (gate(number) for number in (5, 15, 21))
    with house.repo("Repo1") as repo:
        house.insert(repo, parts[0])
        with verb.running(repo.uri) as driver:
            worker = first.wait()
            first.vanish()
            os.kill(worker, signal.SIGKILL)

            house.insert(repo, parts[1])
            worker = second.wait()
            assert house.published(repo).items() < expected.items()
            status, told = verb.ask("run", "--repos", repo.uri)
            assert status == 1
            assert f"is in use by process {driver.pid} " in told
            assert "Spark" not in told  # it was not started for that
            second.vanish()
            os.kill(_jvm(worker, driver.pid), signal.SIGKILL)

            house.insert(repo, parts[2])
            third.wait()
            status, told = verb.ask("status")
            assert (status, told.splitlines()[0]) == (0, f"gated: running, process {driver.pid}, 1 restarts")
            third.vanish()
            driver.kill()
            driver.wait()
        for each in (first, second, third):
            each.open()
        before = house.published(repo)
        assert before
        assert before.items() < expected.items()
        assert "gated: killed, " in verb.ask("status")[1]
        status, told = verb.ask("stop")
        assert (status, "gated does not run" in told) == (1, True)

        with verb.running(repo.uri) as driver:
            house.insert(repo, parts[3])
            settled(house, (repo,), expected)
            assert f"gated: running, process {driver.pid}, 0 restarts" in verb.ask("status")[1]
            assert verb.ask("stop")[0] == 0
            assert driver.wait(LIMIT_S) == 0, verb.said
        status, told = verb.ask("status")
        assert "gated: stopped, " in told
        assert all(f"  {stage} " in told for stage in ("doubled", "rooms", "floors"))
        assert house.published(repo) == expected
