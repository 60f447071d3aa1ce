"""An inserter without `await`: `with group.inserter("Panel1") as inserter`, then `inserter.insert(packets)`.

As `roost.host.inserting`, waited for on the thread of `roost.host.background`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from roost.errors import Disconnected
from roost.host.background import Closing
from roost.host.blocking_group import Run
from roost.host.inserting import RunningInserter
from roost.pubsub.orders import Outcome
from roost.wire import Data


class SyncInserter(Closing):
    """An inserter; `close` it, or use it with `with`."""

    def __init__(self, inserter: RunningInserter, run: Run) -> None:
        self._inserter: Final = inserter
        self._run: Final = run

    def insert(self, packets: Sequence[Data]) -> Outcome:
        """Have packets kept; returns what became of them."""
        return self._run(self._inserter.insert(packets))

    def close(self) -> None:
        """Insert no more; harmless when the face is closed already."""
        with contextlib.suppress(Disconnected):
            self._run(self._inserter.close())
