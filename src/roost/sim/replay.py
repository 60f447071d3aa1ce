"""One seed again, with everything kept: what happened around the failure, and the broken promise."""

from __future__ import annotations

from collections.abc import Iterator
from traceback import format_exception
from typing import Final

from roost.machine import SECOND
from roost.sim.campaign import sentence
from roost.sim.families import built_in, find
from roost.sim.happened import Violation
from roost.sim.story import timeline
from roost.sim.trace import watching

KEEP: Final = 1_000_000  # lines of the timeline, before it forgets the oldest
_FRAMES: Final = 8  # of the traceback, if there is one


class Replay:
    """A run of one seed; `error` is what came out of it, None if every promise was kept."""

    def __init__(self, scenario: str, seed: int) -> None:
        family = find(scenario)
        self.error: Exception | None = None
        self._title: Final = f"{scenario}, seed {seed}: {family.plan(seed) if family.plan else family.summary}"
        with watching(KEEP) as worlds:
            try:
                family.run(seed)
            except Exception as error:  # noqa: BLE001  whatever comes out of a scenario is a finding
                self.error = error
        self._worlds: Final = worlds

    def report(self, lines: int) -> Iterator[str]:
        """Write what happened, at most so many lines of the timeline."""
        yield self._title
        around = self.error.time if isinstance(self.error, Violation) else None
        if self._worlds:
            world = self._worlds[-1]
            yield from timeline(world, lines, around)
            size = f"{len(world.stations)} stations, {world.elapsed / SECOND:.3f} s, {world.events} events"
            yield f"{size}, trace {world.trace.digest()}"
        if self.error is None:
            yield "every promise was kept"
            return
        bug = self.error.__cause__ if isinstance(self.error, Violation) else self.error
        if bug is not None:
            yield from "".join(format_exception(bug, limit=-_FRAMES)).splitlines()
        yield f"violated: {sentence(self.error)}"


def how_to(scenario: str, seed: int) -> str:
    """Say how a seed is replayed."""
    if scenario in built_in():
        return f"replay with: make sim FAMILY={scenario} SEED={seed}"
    return f"replay with: roost sim {scenario} --seed {seed}"
