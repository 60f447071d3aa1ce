"""Two versions of macros over one history, activation by activation: the heart of `roost macro diff`.

Both are handed the same samples (`roost.process.replay`). Runs belong together that have the same macro, time and
cause, and were set off by the same sample; what they brought is compared (`verdict`), payload and format to the byte,
and failures by what they say:

| old     | new     | counted as                     |
| ------- | ------- | ------------------------------ |
| result  | result  | equal, or differs              |
| result  | other   | only old                       |
| other   | result  | only new                       |
| other   | other   | equal, or differs if they failed otherwise |

Other is a failure, a run that returned nothing, or no run. Failures are counted on each side besides. Differences are
in the order of what set them off; of one sample those come first that the old version has. Only the first are kept, so
memory does not grow with the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from roost.process.definition import Definition
from roost.process.engine import Engine
from roost.process.replay import Replay, Replayed
from roost.process.runner import untimed
from roost.process.sample import Sample
from roost.process.trace import Run

MAX_KEPT: Final = 20

EQUAL: Final = "equal"
DIFFERS: Final = "differs"
ONLY_OLD: Final = "only old"
ONLY_NEW: Final = "only new"

_Key: TypeAlias = tuple[int, bool, str, str]  # time, whether it was due, macro, topic of the cause


class Brought(NamedTuple):
    """What a run came to; by default, that of a run that returned nothing. Where in its code it failed is left out."""

    payload: bytes | None = None
    format: int = 0
    kind: str = ""  # of a failure
    message: str = ""


def verdict(old: Brought, new: Brought) -> str:
    """What two runs that belong together are counted as; no run is like one that returned nothing."""
    had, has = old.payload is not None, new.payload is not None
    if had == has:
        return EQUAL if old == new else DIFFERS
    return ONLY_OLD if had else ONLY_NEW


def called_like(old: Sequence[Definition], new: Sequence[Definition]) -> dict[str, str]:
    """By the names of old macros, those of the new ones that they are compared with; of one each, whatever it is."""
    return {old[0].name: new[0].name} if len(old) == len(new) == 1 else {}


@dataclass(frozen=True, slots=True)
class Difference:
    """An activation that the versions make different things of; None stands for no run."""

    kind: str
    macro: str
    old: Run | None
    new: Run | None

    @property
    def run(self) -> Run:
        """The one that there is, the new one if there are both."""
        found = self.new or self.old
        assert found is not None  # noqa: S101  a difference is between runs
        return found


@dataclass(slots=True)
class Comparison:
    """What came of it."""

    samples: int = 0
    equal: int = 0
    differs: int = 0
    only_old: int = 0
    only_new: int = 0
    old_failures: int = 0
    new_failures: int = 0
    first: list[Difference] = field(default_factory=list)  # bound: `max_kept`

    @property
    def differences(self) -> int:
        """How many activations are not as they were."""
        return self.differs + self.only_old + self.only_new

    def count(self, found: str, times: int = 1) -> None:
        """Count what a verdict was, so many times."""
        self.equal += times if found == EQUAL else 0
        self.differs += times if found == DIFFERS else 0
        self.only_old += times if found == ONLY_OLD else 0
        self.only_new += times if found == ONLY_NEW else 0


class Comparing:
    """Two replays side by side; of one macro each, the names need not be the same."""

    def __init__(
        self,
        old: Sequence[Definition],
        new: Sequence[Definition],
        engines: Mapping[str, Engine],
        max_kept: int = MAX_KEPT,
        stopwatch: Callable[[], int] = untimed,
    ) -> None:
        """Take both in; raises `BadMacro`."""
        self.result: Final = Comparison()
        self._old: Final = Replay(old, engines, stopwatch=stopwatch)
        self._new: Final = Replay(new, engines, stopwatch=stopwatch)
        self._max_kept: Final = max_kept
        self._called: Final = called_like(old, new)

    @property
    def filters(self) -> list[str]:
        """The topics and filters that either version refers to."""
        return sorted({*self._old.filters, *self._new.filters})

    def take(self, sample: Sample) -> None:
        """Hand a sample to both."""
        self.result.samples += 1
        self._compare(self._old.take(sample), self._new.take(sample))

    def finish(self) -> Comparison:
        """Run what is due after the last sample; the whole comparison."""
        self._compare(self._old.finish(), self._new.finish())
        return self.result

    def _compare(self, old: Iterable[Replayed], new: Iterable[Replayed]) -> None:
        before = {_key(self._called.get(each.macro, each.macro), each): each.run for each in old}
        after = {_key(each.macro, each): each.run for each in new}
        for key in sorted({**before, **after}, key=_moment):  # what was due comes before what arrived at its time
            self._count(key[2], before.get(key), after.get(key))

    def _count(self, macro: str, old: Run | None, new: Run | None) -> None:
        result = self.result
        result.old_failures += old is not None and old.failure is not None
        result.new_failures += new is not None and new.failure is not None
        found = verdict(_brought(old), _brought(new))
        result.count(found)
        if found != EQUAL and len(result.first) < self._max_kept:
            result.first.append(Difference(found, macro, old, new))


def compare(
    old: Sequence[Definition],
    new: Sequence[Definition],
    samples: Iterable[Sample],
    engines: Mapping[str, Engine],
    max_kept: int = MAX_KEPT,
) -> Comparison:
    """Compare versions over samples, which are in replay order; raises `BadMacro`."""
    comparing = Comparing(old, new, engines, max_kept)
    for sample in samples:
        comparing.take(sample)
    return comparing.finish()


def _key(macro: str, each: Replayed) -> _Key:
    return each.run.time, each.origin is not None, macro, each.run.cause.topic


def _moment(key: _Key) -> tuple[int, bool]:
    return key[0], key[1]


def _brought(run: Run | None) -> Brought:
    if run is None:
        return Brought()
    failure = run.failure
    format_ = 0 if run.payload is None else run.format
    return Brought(run.payload, format_, *(("", "") if failure is None else (failure.kind, failure.message)))
