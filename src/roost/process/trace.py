"""The trace of a macro: its last runs, with what went in, what it logged, what came out and how long it took.

Payloads and inputs are cut to what a person reads, so that traces stay small whatever macros do. The last failure is
kept until the next one, however many runs went well since.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from roost.process.engine import Failure, Inputs, Outcome
from roost.process.sample import Sample

MAX_RUNS: Final = 20
MAX_INPUTS: Final = 256  # samples of one run
MAX_PAYLOAD_BYTES: Final = 4096
MAX_LOGS: Final = 64


class Run(NamedTuple):
    """One run."""

    version: int
    time: int  # of the activation
    cause: Sample  # what arrived
    inputs: Inputs  # the newest first; bound: MAX_INPUTS in all
    given: int  # how many samples it had in truth
    payload: bytes | None  # its beginning; bound: MAX_PAYLOAD_BYTES
    format: int
    failure: Failure | None
    logs: tuple[str, ...]  # bound: MAX_LOGS, and what the engine allows
    took_ns: int


class Trace:
    """The last runs."""

    def __init__(self) -> None:
        self.last_failure: Run | None = None
        self._runs: Final[deque[Run]] = deque(maxlen=MAX_RUNS)

    def add(self, version: int, time: int, cause: Sample, inputs: Inputs, outcome: Outcome, took_ns: int) -> None:
        """Record a run."""
        given = 0
        for samples in inputs.values():
            given += len(samples)
        payload = outcome.payload
        run = Run(
            version,
            time,
            cause,
            inputs if given <= MAX_INPUTS else _cut(inputs),
            given,
            payload if payload is None or len(payload) <= MAX_PAYLOAD_BYTES else payload[:MAX_PAYLOAD_BYTES],
            outcome.format,
            outcome.failure,
            outcome.logs[:MAX_LOGS],
            took_ns,
        )
        self._runs.append(run)
        if outcome.failure is not None:
            self.last_failure = run

    def runs(self) -> list[Run]:
        """The runs, the last first."""
        return list(reversed(self._runs))


def _cut(inputs: Inputs) -> Inputs:
    """As many of the newest samples of each reference as there is room for, the same number for all."""
    share = max(1, MAX_INPUTS // len(inputs))
    return {reference: list(samples[:share]) for reference, samples in list(inputs.items())[:MAX_INPUTS]}
