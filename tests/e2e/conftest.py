"""What tests of the pipeline keep open for the process they take for Spark's worker is closed with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    for module, closing in (("roost.pipeline.faces", "close_faces"), ("roost.host.stretches", "close_all")):
        if module in sys.modules:
            getattr(sys.modules[module], closing)()
