"""How far long work of the archive has come: what it reads, or checks, is counted on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from roost.cli._progress import Progress
    from roost.naming import Name
    from roost.pipeline.archive.ports import Fetched, Source
    from roost.repo.question import Run
    from roost.trust.acceptance import Checker
    from roost.trust.verdict import Rejection, Verdict
    from roost.wire import Data, Interest


class WatchedSource:
    """A source of readings, as `roost.pipeline.archive.ports` has it."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self._source: Final = source
        self._progress: Final = progress

    def numbers(self) -> Mapping[Name, int]:
        return self._source.numbers()

    def holes(self) -> Mapping[Name, Sequence[Run]]:
        return self._source.holes()

    def boundaries(self, time_ns: int) -> Mapping[Name, int]:
        return self._source.boundaries(time_ns)

    def read(self, stretches: Sequence[tuple[Name, int, int]]) -> Iterable[Fetched]:
        total = sum(high - low + 1 for _, low, high in stretches)
        done = 0
        for piece in self._source.read(stretches):
            yield piece
            done += len(piece.packets)
            self._progress.say(done, "readings", total)
        self._progress.end()


class WatchedChecker:
    """A verifier."""

    def __init__(self, checker: Checker, progress: Progress, total: int) -> None:
        self._checker: Final = checker
        self._progress: Final = progress
        self._total: Final = total
        self._done = 0

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:
        self._done += 1
        self._progress.say(self._done, "readings", self._total)
        return self._checker.check(packet, now, repeatable=repeatable)

    def learn(self, packet: Data, now: int) -> Rejection | None:
        return self._checker.learn(packet, now)

    def missing(self, name: Name, now: int) -> None:
        self._checker.missing(name, now)


@contextmanager
def ticking(progress: Progress, done: Callable[[], int], what: str, every_s: float = 0.5) -> Iterator[None]:
    """Tell now and then how much is done, while something goes on that does not tell it itself."""
    import threading

    over = threading.Event()

    def tell() -> None:
        while not over.wait(every_s):
            progress.say(done(), what)

    teller = threading.Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        progress.end()
