"""GET /ready: whether the node can do its work now, and if not, what of it is not so; for everybody.

| check  | is true when                                                                                              |
| ------ | --------------------------------------------------------------------------------------------------------- |
| groups | each group that is configured is served by a repo here                                                    |
| store  | what was written last was taken by the disk, and nothing waits for it that makes the node stop reading    |
| repos  | each repo here has compared itself with the others that it knows, and lacks none of their records         |
| macros | each macro that runs here has caught up with its past                                                     |

`/health` says only that the node answers. A node that is not ready still takes what comes.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from roost.host.http.answers import answer
from roost.host.mqtt.running import Running

MAX_LACKING: Final = 256  # records that a repo may lack and still be ready: some are always on their way


class Readiness:
    """The route."""

    def __init__(self, running: Running) -> None:
        self._running: Final = running

    def routes(self) -> list[web.RouteDef]:
        """What is answered where; for everybody, so it names nothing."""
        return [web.get("/ready", self._get)]

    async def _get(self, request: web.Request) -> web.Response:
        del request
        checks = self.checks()
        ready = all(checks.values())
        return answer({"ready": ready, "checks": checks}, 200 if ready else 503)

    def checks(self) -> dict[str, bool]:
        """Each check, and whether it is so."""
        return {
            "groups": self._groups(),
            "store": self._store(),
            "repos": self._repos(),
            "macros": self._macros(),
        }

    def _groups(self) -> bool:
        wanted = {each.group.name for each in self._running.config.groups}
        repo = self._running.repo
        return wanted <= ({each.place.group.name for each in repo.repos} if repo is not None else set())

    def _store(self) -> bool:
        repos = [] if self._running.repo is None else self._running.repo.repos
        return not any(repo.disk.refuses for repo in repos) and not self._running.server.is_behind

    def _repos(self) -> bool:
        for repo in [] if self._running.repo is None else self._running.repo.repos:
            peers = list(repo.peers)
            if peers and not repo.comparison.compared:
                return False
            if sum([repo.replication.lacking(peer.name) for peer in peers]) > MAX_LACKING:
                return False
        return True

    def _macros(self) -> bool:
        macros = self._running.broker.core.macros
        return macros is None or macros.catching is None
