"""How many forged readings were sent and refused, and whether one is anywhere all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.cli.demo.hall import Hall
from roost.cli.demo.lies import ALARM
from roost.cli.demo.processes import RepoProcess
from roost.cli.demo.promises import Measured
from roost.errors import RoostError


class Forgeries:
    """Looks at each repo after each forgery; what consumers get, the hall compares with what was measured."""

    def __init__(self, hall: Hall, repos: Sequence[RepoProcess]) -> None:
        self.sent = 0
        self.refused = 0
        self.stored = 0
        self.rule = ""
        self._hall: Final = hall
        self._repos: Final = repos

    async def judge(self, refusal: str) -> None:
        """Take in what repos said to one, and look for it at each of them."""
        self.sent += 1
        if refusal:
            self.refused += 1
            self.rule = refusal
        for repo in self._repos:
            if not repo.pid:
                continue
            try:
                newest = await self._hall.group.latest(ALARM, repo=repo.name)
            except RoostError:
                continue
            if newest is not None:
                self.stored += 1

    def measured(self) -> Measured:
        """How it stands."""
        detail = f"{self.sent} forged, {self.refused} refused, {self.stored} stored"
        detail += f"; the last refusal: {self.rule}" if self.rule else ""
        return Measured(self.sent - self.refused + self.stored, 0, 0.0, detail)
