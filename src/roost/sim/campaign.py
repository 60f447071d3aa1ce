"""A campaign: many seeds of one or more scenarios, over several processes, until all are through or ten have failed.

Worker processes are spawned, not forked, so it does not matter what else the caller's process is doing; they get the
names of the scenarios, not the functions. With one job everything runs in this process. At most a few chunks of seeds
are under way, and what comes back of each is a few numbers and the failures.

The checksum of a campaign is the sum of the trace hashes of its runs: two builds that give the same one did the same.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Final

from roost.machine import SECOND
from roost.sim.families import find
from roost.sim.happened import Violation

MAX_FAILURES: Final = 10
_MAX_CHUNK: Final = 25  # seeds
_MODULUS: Final = 1 << 128


@dataclass(frozen=True)
class Failure:
    """A seed that broke a promise."""

    scenario: str
    seed: int
    sentence: str


@dataclass
class Results:
    """What some runs came to."""

    runs: int = 0
    events: int = 0
    station_ns: int = 0  # simulated, of all stations together
    checksum: int = 0
    failures: list[Failure] = field(default_factory=list)  # bound: MAX_FAILURES, after which a campaign stops

    @property
    def station_hours(self) -> float:
        """Simulated time of all stations together."""
        return self.station_ns / (3600 * SECOND)

    def add(self, other: Results) -> None:
        """Take in the results of more runs."""
        self.runs += other.runs
        self.events += other.events
        self.station_ns += other.station_ns
        self.checksum = (self.checksum + other.checksum) % _MODULUS
        self.failures += other.failures[: MAX_FAILURES - len(self.failures)]


def run_seeds(scenario: str, seeds: range) -> Results:
    """Run some seeds of a scenario here and now."""
    play = find(scenario).run
    results = Results()
    for seed in seeds:
        results.runs += 1
        try:
            world = play(seed)
        except Exception as error:  # noqa: BLE001  whatever comes out of a scenario is a finding
            results.failures.append(Failure(scenario, seed, sentence(error)))
            if len(results.failures) >= MAX_FAILURES:
                break
        else:
            results.events += world.events
            results.station_ns += world.elapsed * len(world.stations)
            results.checksum = (results.checksum + int(world.trace.digest(), 16)) % _MODULUS
    return results


def sentence(error: Exception) -> str:
    """Say in one line what came out of a scenario."""
    text = str(error).strip().partition("\n")[0]
    return text if isinstance(error, Violation) else f"{type(error).__name__}: {text}"


def run(
    scenarios: Iterable[str],
    first_seed: int,
    runs: int,
    jobs: int = 1,
    progress: Callable[[str, Results], None] = lambda _scenario, _results: None,
) -> dict[str, Results]:
    """Run so many seeds of each scenario; `progress` is told after each chunk. Stops a scenario at ten failures."""
    results: dict[str, Results] = {}
    for scenario in scenarios:
        total = results[scenario] = Results()
        seeds = range(first_seed, first_seed + runs)
        size = max(1, min(_MAX_CHUNK, runs // (20 * jobs)))
        chunks = (seeds[low : low + size] for low in range(0, runs, size))
        with closing(_here(scenario, chunks) if jobs == 1 else _spread(scenario, chunks, jobs)) as parts:
            for part in parts:
                total.add(part)
                progress(scenario, total)
                if len(total.failures) >= MAX_FAILURES:
                    break
        total.failures.sort(key=lambda failure: failure.seed)
    return results


def _here(scenario: str, chunks: Iterator[range]) -> Generator[Results, None, None]:
    for chunk in chunks:
        yield run_seeds(scenario, chunk)


def _spread(scenario: str, chunks: Iterator[range], jobs: int) -> Generator[Results, None, None]:
    """Keep every worker busy with one chunk, and one chunk waiting for each."""
    under_way: set[Future[Results]] = set()
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_ignore_interrupts) as pool:
        try:
            while True:
                while len(under_way) < 2 * jobs and (chunk := next(chunks, None)) is not None:
                    under_way.add(pool.submit(run_seeds, scenario, chunk))
                if not under_way:
                    return
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for each in done:
                    yield each.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    """An interrupt is for whoever started the campaign."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
