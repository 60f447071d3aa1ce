"""Whether the disk takes what a repo gives it: told once when it begins to refuse, and once when it takes it again.

Publishers hear the reason of every refusal anyway; these notes are for whoever looks after the repo.
"""

from __future__ import annotations

from typing import Final

from roost.machine import Effect, Note
from roost.naming import Name
from roost.repo.store import Unwritten, Written

REFUSES_WRITES: Final = "the disk refuses writes"
TAKES_WRITES: Final = "the disk takes writes again"


class DiskWatch:
    """Hears what became of each batch of one repo."""

    def __init__(self, repo: Name) -> None:
        self._repo: Final = repo
        self.refuses = False  # of late

    def receive(self, event: Written | Unwritten) -> list[Effect]:
        """Take in what became of a batch."""
        before, self.refuses = self.refuses, isinstance(event, Unwritten)
        if before == self.refuses:
            return []
        repo = ("repo", str(self._repo))
        if isinstance(event, Unwritten):
            return [Note(REFUSES_WRITES, (repo, ("reason", event.reason)))]
        return [Note(TAKES_WRITES, (repo,))]
