"""Every test twice: with quickjs alone, and with all macros compiled at once that can be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roost.process.engine import Limits
from roost.process.javascript import JavaScript, JavaScriptProgram
from roost.process.native.tier import Tiering

NEVER = Tiering(after=10**9)
AT_ONCE = Tiering(after=1, apart=0, is_picky=False)


class Tiered:
    """The engine of the test that is running."""

    language = "javascript"

    def __init__(self) -> None:
        self.engine = JavaScript(NEVER)

    def load(self, code: str, limits: Limits) -> JavaScriptProgram:
        """Load code."""
        return self.engine.load(code, limits)


JAVASCRIPT = Tiered()


@pytest.fixture(autouse=True, params=[NEVER, AT_ONCE], ids=["quickjs", "compiled"])
def tiers(request: pytest.FixtureRequest) -> Iterator[None]:
    JAVASCRIPT.engine = JavaScript(request.param)
    yield
    JAVASCRIPT.engine = JavaScript(NEVER)
