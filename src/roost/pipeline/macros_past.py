"""What a replay can look back on: a `roost.process.window.History`, and where it left off for who goes on.

A replay of a whole history begins with nothing, and its window keeps what the references want. Where one begins in the
middle (a slice of time, a batch of a stream), it is handed what each filter had then (`Left.samples`). Where runs name
topics that their code does not show, all that comes is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

import cbor2

from roost.broker.macros.macros import Cause
from roost.errors import BadConfig
from roost.process.effects import Standing
from roost.process.sample import Sample
from roost.process.wildcards import matches

_TIME: Final = attrgetter("time")


@dataclass(frozen=True, slots=True)
class Left:
    """Where macros stand, and what they look back on."""

    standings: Mapping[str, tuple[bytes, Standing]] = field(default_factory=dict)  # by macro, with its digest
    numbers: Mapping[str, int] = field(default_factory=dict)  # of the last result, by topic
    samples: Mapping[str, Sequence[Sample]] = field(default_factory=dict)  # by filter, the oldest first
    published: Mapping[str, Mapping[Cause, Cause]] = field(default_factory=dict)  # by topic: what has its result, where

    def with_(self, others: Iterable[Left]) -> Left:
        """The same, with what sets of its macros have left since; of a filter that several have, the longest.

        A set that nothing came for has left nothing, and may look further back than those that did.
        """
        standings, numbers, samples = dict(self.standings), dict(self.numbers), dict(self.samples)
        published = dict(self.published)
        new: dict[str, Sequence[Sample]] = {}
        for other in others:
            standings.update(other.standings)
            numbers.update(other.numbers)
            published.update(other.published)
            for each, some in other.samples.items():
                new[each] = max(new.get(each, ()), some, key=len)
        for each, some in new.items():
            before = samples.get(each, ())
            samples[each] = united(before, some)[-max(len(before), len(some)) :] if before else some
        return Left(standings, numbers, samples, published)

    def encode(self) -> bytes:
        """Write it."""
        standings = {
            name: [digest, each.version, each.state, each.position, each.used, each.due]
            for name, (digest, each) in self.standings.items()
        }
        samples = {each: [tuple(sample) for sample in some] for each, some in self.samples.items()}
        published = {
            topic: [[*cause, *place] for cause, place in some.items()] for topic, some in self.published.items()
        }
        return cbor2.dumps([standings, dict(self.numbers), samples, published])

    @staticmethod
    def decode(content: bytes) -> Left:
        """Read it; raises `BadConfig`."""
        try:
            standings, numbers, samples, published = cbor2.loads(content)
            return Left(
                {name: (said[0], _standing(*said[1:])) for name, said in standings.items()},
                numbers,
                {each: [Sample(*sample) for sample in some] for each, some in samples.items()},
                {topic: {(a, b): (c, d) for a, b, c, d in some} for topic, some in published.items()},
            )
        except (cbor2.CBORDecodeError, ValueError, TypeError, AttributeError) as error:
            raise BadConfig(f"what macros left beside the checkpoint cannot be read ({error}): begin another") from None


def _standing(version: int, state: bytes, position: Any, used: Any, due: int) -> Standing:  # noqa: ANN401  of CBOR
    marks = tuple([(each, (stream, number, time)) for each, (stream, number, time) in used])
    return Standing(version, state, tuple([(stream, number) for stream, number in position]), marks, due)


def united(before: Sequence[Sample], since: Sequence[Sample]) -> list[Sample]:
    """Samples of a filter by their times, each once; of one time, those that came before stand before those since."""
    marks = {_mark(each) for each in since}
    return sorted([*[each for each in before if _mark(each) not in marks], *since], key=_TIME)


def _mark(sample: Sample) -> tuple[str, int, bytes, int]:
    return sample.topic, sample.time, sample.stream, sample.number


class Past:
    """What was before, and what came since if it is remembered."""

    def __init__(self, before: Mapping[str, Sequence[Sample]]) -> None:
        self._before: Final = before
        self._came: Final[dict[str, list[Sample]]] = {}  # by topic; bound: what whoever remembers has room for

    def add(self, sample: Sample) -> None:
        """Remember something that came."""
        self._came.setdefault(sample.topic, []).append(sample)

    def latest(self, topic_filter: str, count: int) -> Sequence[Sample]:
        """Look up the newest samples of a filter, the newest first."""
        found = [*self._before.get(topic_filter, self._others(topic_filter))]
        for topic, samples in self._came.items():
            if matches(topic_filter, topic):
                found += samples
        return sorted(found, key=_TIME)[: -count - 1 : -1]

    def _others(self, topic_filter: str) -> list[Sample]:
        """What other filters have of one that is new, each sample once."""
        found = [sample for samples in self._before.values() for sample in samples]
        once = {_mark(each): each for each in found}
        return [sample for sample in once.values() if matches(topic_filter, sample.topic)]
