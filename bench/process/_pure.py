"""A processor without a broker around it: readings go in by hand, results are counted."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.process._flow import Message
from roost.machine import Effect
from roost.process.definition import definition_of
from roost.process.effects import Publish
from roost.process.javascript import JavaScript
from roost.process.parsing import sample_of
from roost.process.processor import Processor
from roost.process.sample import Sample
from roost.wire.values import format_of

_GAP_NS = 1_000_000


class NoHistory:
    """Nothing was before."""

    def latest(self, topic_filter: str, count: int) -> Sequence[Sample]:
        del topic_filter, count
        return ()


class Pure:
    """The processor, and where its clock stands."""

    def __init__(self, definitions: Sequence[dict[str, object]]) -> None:
        engine = JavaScript()
        self._processor = Processor({engine.language: engine}, NoHistory())
        self._now = time.time_ns()
        for each in definitions:
            self._processor.define(definition_of(each), self._now)

    def feed(self, readings: Sequence[Message]) -> list[Effect]:
        """Parse readings and hand them in one by one, as a broker does."""
        effects: list[Effect] = []
        for topic, payload in readings:
            self._now += _GAP_NS
            sample = sample_of(topic, self._now, format_of(payload), payload)
            effects += self._processor.arrived([sample], self._now)
        return effects

    def results(self, readings: Sequence[Message]) -> list[Message]:
        return [(each.topic, each.payload) for each in self.feed(readings) if isinstance(each, Publish)]
