"""Programs of macros as Spark's workers keep them: loaded once per process, whichever stage or replay they are of.

A context of JavaScript cannot be handed from process to process, takes a millisecond to make and holds a megabyte. What
a run leaves behind is nothing, so that whoever runs the same code next finds it as new. A Python worker has one thread;
a driver may have several, and so each thread has its own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from roost.process.engine import Engine, Limits, Program
from roost.process.javascript import JavaScript
from roost.process.python_code import Python

MAX_PROGRAMS: Final = 256  # of a thread; those that were not used for longest go first


class Kept:
    """An engine whose programs are kept."""

    def __init__(self, engine: Engine) -> None:
        self.language: str = engine.language
        self.loads = 0  # how often a program was not kept
        self._engine: Final = engine
        self._threads: Final = threading.local()

    def load(self, code: str, limits: Limits) -> Program:
        """Load code, or give what was loaded; raises `BadMacro`."""
        programs: OrderedDict[tuple[str, Limits], Program] = self._threads.__dict__.setdefault("kept", OrderedDict())
        key = (code, limits)
        program = programs.pop(key, None)
        if program is None:
            self.loads += 1
            program = self._engine.load(code, limits)
            if len(programs) >= MAX_PROGRAMS:
                programs.popitem(last=False)
        programs[key] = program
        return program


ENGINES: Final = {engine.language: engine for engine in (Kept(JavaScript()), Kept(Python()))}
