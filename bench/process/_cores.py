"""Which core does what: one is the load generator's, all that is measured shares another.

A process is started on a core by being on it oneself meanwhile: so all its threads are there, whenever they begin.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

_ALL: Final = sorted(os.sched_getaffinity(0))
GENERATOR: Final = _ALL[0]
MEASURED: Final = _ALL[-1]


@contextlib.contextmanager
def measured_core() -> Iterator[None]:
    """What is started here shares the core of what is measured."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {MEASURED})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
