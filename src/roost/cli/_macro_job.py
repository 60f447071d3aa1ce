"""`roost macro spark`: run the macros of a node that say `engine: spark`, until it is stopped."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.cli import note
from roost.cli._http import ask, login_of, mapping_of, path_of
from roost.cli._macro_node import names_at
from roost.cli._supervised import checkpoint_of, reach_of, supervise
from roost.errors import RoostError
from roost.process.definition import PYTHON, SPARK, definition_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roost.pipeline.macros_generation import Asked
    from roost.pipeline.supervisor import Query

NAME: Final = "macros"
ASK_S: Final = 1.0  # between two questions to the node
_PER_MACRO_S: Final = 0.02  # and so much more for each macro that it has


def run_on_spark(options: argparse.Namespace) -> int:
    """Run them."""
    from roost.pipeline.macros_job import MacroJob

    checkpoint = checkpoint_of(options.checkpoint, NAME)
    asking = Asking(options)
    asking.macros()  # a node that cannot be asked is told at once
    with MacroJob(options.group, options.panel, checkpoint, reach_of(options), note) as job:

        def begin(spark: SparkSession) -> Query:
            query = job.start(spark)
            note(f"the macros of {options.url} with engine: spark run here; checkpoint {checkpoint}; stop with Ctrl-C")
            return query

        def look() -> None:
            try:
                found = asking.again()
                if found is not None and job.look(found):
                    names = ", ".join(each.definition.name for each in job.generation.macros)
                    note(f"runs now: {names or 'nothing'}")
                asking.trouble("")
            except RoostError as error:
                asking.trouble(str(error))

        supervise(NAME, checkpoint, options, begin, job.status, look)
    return 0


class Asking:
    """Asks a node for its macros, now and then; what goes wrong is told once."""

    def __init__(self, options: argparse.Namespace, clock: Callable[[], float] = time.monotonic) -> None:
        self._options: Final = options
        self._login: Final = login_of(options)
        self._clock: Final = clock
        self._next = 0.0
        self._trouble = ""
        self._left_out: Final[set[str]] = set()  # macros that it was told of; bound: those of the node

    def again(self) -> list[Asked] | None:
        """What the node has, None if it was asked a moment ago."""
        if self._clock() < self._next:
            return None
        return self.macros()

    def macros(self) -> list[Asked]:
        """What the node has for Spark; raises as `ask` does."""
        from roost.pipeline.macros_generation import Asked

        self._next = self._clock() + ASK_S
        found: list[Asked] = []
        names = names_at(self._options, self._login, engine=SPARK)
        self._next += _PER_MACRO_S * len(names)
        for name in names:
            shown = mapping_of(self._options, ask(self._options.url, "GET", path_of("macros", name), user=self._login))
            definition = definition_of(shown.get("definition"))
            if definition.engine != SPARK:
                continue
            if definition.language == PYTHON:
                if name not in self._left_out:
                    self._left_out.add(name)
                    note(f"{name} is in Python, and what is sent over a network is not run: have it in a pipeline")
                continue
            found.append(Asked(definition, int(shown.get("version") or 1)))
        return found

    def trouble(self, why: str) -> None:
        """Tell what is wrong, if it is something else than before."""
        if why and why != self._trouble:
            note(f"roost macro: {why}; what runs goes on")
        self._trouble = why
