"""A campaign: many seeds of one or more scenarios, over several processes, until all are through or ten have failed.

Worker processes are spawned, not forked, so it does not matter what else the caller's process is doing; they get the
names of the scenarios, not the functions. With one job everything runs in this process. At most two seeds per worker
are under way, so a campaign ends soon when it is to end, and what comes back of each is a few numbers or the failure.
A seed that kills its worker is a failure too: those that were under way are run again, one at a time.

The checksum of a campaign is the sum of the trace hashes of its runs: two builds that give the same one did the same.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Final

from roost.errors import BadConfig
from roost.machine import SECOND
from roost.sim.families import find
from roost.sim.happened import Violation
from roost.sim.world import World

MAX_FAILURES: Final = 10
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


def run_seeds(scenario: str, seeds: Iterable[int]) -> Results:
    """Run some seeds of a scenario here and now."""
    play = find(scenario).run
    results = Results()
    for seed in seeds:
        results.runs += 1
        try:
            world = play(seed)
            if not isinstance(world, World):
                raise BadConfig(f"{scenario} returns {world!r}: a scenario returns its world")  # noqa: TRY301  a finding too
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
    """Run so many seeds of each scenario; `progress` is told after each. Stops a scenario at ten failures."""
    results: dict[str, Results] = {}
    for scenario in scenarios:
        total = results[scenario] = Results()
        seeds = iter(range(first_seed, first_seed + runs))
        with closing(_here(scenario, seeds) if jobs == 1 else _spread(scenario, seeds, jobs)) as parts:
            for part in parts:
                total.add(part)
                progress(scenario, total)
                if len(total.failures) >= MAX_FAILURES:
                    break
        total.failures.sort(key=lambda failure: failure.seed)
    return results


def _here(scenario: str, seeds: Iterator[int]) -> Generator[Results, None, None]:
    for seed in seeds:
        yield run_seeds(scenario, [seed])


def _spread(scenario: str, seeds: Iterator[int], jobs: int) -> Generator[Results, None, None]:
    """Run seeds in workers, and those that may have killed a worker once more."""
    under_way: dict[int, Future[Results] | None] = {}  # None: not even handed over
    while True:
        try:
            yield from _pooled(scenario, seeds, jobs, under_way)
        except BrokenProcessPool:
            suspects = list(under_way)
            under_way.clear()
            yield from _one_by_one(scenario, suspects)
        else:
            return


def _pooled(
    scenario: str, seeds: Iterator[int], jobs: int, under_way: dict[int, Future[Results] | None]
) -> Generator[Results, None, None]:
    """Keep every worker busy with one seed, and one waiting for each."""
    with _workers(jobs) as pool:
        try:
            while True:
                while len(under_way) < 2 * jobs and (seed := next(seeds, None)) is not None:
                    under_way[seed] = None
                    under_way[seed] = pool.submit(run_seeds, scenario, [seed])
                if not under_way:
                    return
                wait([each for each in under_way.values() if each], return_when=FIRST_COMPLETED)
                for seed, each in list(under_way.items()):
                    if each and each.done():
                        result = each.result()
                        del under_way[seed]
                        yield result
        finally:
            pool.shutdown(cancel_futures=True)


def _one_by_one(scenario: str, suspects: list[int]) -> Generator[Results, None, None]:
    """Run one seed at a time, each in a worker that it may kill."""
    while suspects:
        with _workers(1) as pool:
            try:
                while suspects:
                    result = pool.submit(run_seeds, scenario, suspects[:1]).result()
                    del suspects[0]
                    yield result
            except BrokenProcessPool:
                died = Failure(scenario, suspects.pop(0), "the process that ran it died")
                yield Results(runs=1, failures=[died])


def _workers(jobs: int) -> ProcessPoolExecutor:
    """Processes that an interrupt ends without a word: the word is with whoever started the campaign."""
    return ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL))
