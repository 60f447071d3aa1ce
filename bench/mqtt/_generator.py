"""The parent's hand on the load generator, and rounds that take the brokers in turn."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.figure import Figure, progress
from bench.mqtt._brokers import Broker, NotStarted, Start, raise_file_limit

OURS: Final = "roost"

Answer = dict[str, float]


class Failed(Exception):
    """The load generator could not do what it was asked, or the broker lost a message."""


class Generator:
    """A running load generator; see its module for the requests."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, do: str, **parameters: object) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **parameters}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the load generator ended instead of answering {do!r}; what it said is above")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer


@contextmanager
def generator(module: str = "bench.mqtt._load") -> Iterator[Generator]:
    """Run a load generator until the block ends."""
    raise_file_limit()
    command, pipe = [sys.executable, "-m", module], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Generator(process)
        finally:
            process.kill()


@contextmanager
def running(starts: Mapping[str, Start]) -> Iterator[dict[str, Broker]]:
    """Run brokers until the block ends, each in an empty folder; a peer that does not start is left out."""
    brokers: dict[str, Broker] = {}
    with ExitStack() as stack:
        for name, start in starts.items():
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="roost-mqtt-")))
            try:
                brokers[name] = stack.enter_context(start(folder))
            except NotStarted as error:
                if name == OURS:
                    raise
                progress(f"{name} does not start here, its figures are left out: {error}")
        yield brokers


class Rounds:
    """Measures brokers in turn. One that fails loses that figure; if it is ours, the topic fails when all is done."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._failures: list[str] = []

    def medians(self, label: str, names: Sequence[str], measure: Callable[[str], Answer]) -> dict[str, Answer]:
        """What each of them gave, the median of every number; without those that failed."""
        answers: dict[str, list[Answer]] = {name: [] for name in names}
        for number in range(self._count):
            first = number % len(names)
            for name in [*names[first:], *names[:first]]:
                if name in answers:
                    try:
                        answers[name].append(measure(name))
                    except Failed as failure:
                        del answers[name]
                        progress(f"{label}: {name} failed: {failure}")
                        self._failures += [label] if name == OURS else []
        medians = {
            name: {key: statistics.median(answer[key] for answer in given) for key in given[0]}
            for name, given in answers.items()
        }
        for name, numbers in medians.items():
            progress(f"{label}: {name} " + ", ".join(f"{key} {number:.4g}" for key, number in numbers.items()))
        return medians

    def end(self) -> None:
        if self._failures:
            raise Failed(f"ours failed in {', '.join(self._failures)}; the reasons are above")


def figures(name: str, key: str, unit: str, medians: Mapping[str, Answer]) -> Iterator[Figure]:
    """One figure for each peer that has the number, or one without a peer if none has."""
    if OURS not in medians:
        return
    value = medians[OURS][key]
    peers = [peer for peer in medians if peer != OURS]
    for peer in peers:
        yield Figure(name, value, unit, peer, medians[peer][key])
    if not peers:
        yield Figure(name, value, unit)
