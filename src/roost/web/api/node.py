"""The node itself: what it is called, what runs on it, what the user may do there, and what it has counted.

GET /node
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web

import roost
from roost.broker import core
from roost.host.http.answers import answer
from roost.host.http.asking import USER
from roost.web.api.lookout import Lookout
from roost.web.api.pipelines import status_files

_COUNTED: Final = b"$SYS/#"
_COUNTS: Final = "$SYS/broker/"
_NOBODY: Final = b""  # the client id, which nobody has here


class NodeResource:
    """The route."""

    def __init__(self, lookout: Lookout, looked_at: Callable[[], None]) -> None:
        self._lookout: Final = lookout
        self._looked_at: Final = looked_at  # told of every question: pages ask for the node first

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/node", self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        self._looked_at()
        running, gate, user = self._lookout.running, self._lookout.gate, request[USER]
        config = running.config
        demo = any(resource.canonical == "/demo" for resource in request.app.router.resources())
        return answer(
            {
                "name": config.name,
                "version": roost.__version__,
                "started": running.broker.core.started,
                "now": self._lookout.clock(),
                "user": user.decode(errors="replace"),
                "anonymous": not user,
                "may": {
                    "macros": running.macros is not None and gate.may_administer(user, "Noctua/#"),
                    "roles": running.roles is not None and gate.may_administer(user, "$roles/#"),
                    "demo": demo and gate.may_administer(user, "#"),
                },
                "listeners": running.everywhere,
                "groups": [group.text for group, _ in await self._lookout.groups(user)],
                "features": {
                    "mqtt": bool(config.listeners),
                    "groups": bool(config.groups),
                    "flips": config.flips is not None,
                    "macros": running.macros is not None,
                    "roles": running.roles is not None,
                    "pipelines": bool(await asyncio.to_thread(status_files)),
                    "demo": demo,
                    "users": len(running.server.security.current.users) > 0,  # else nobody can log in
                },
                "compiled": not str(core.__file__).endswith(".py"),
                "counters": self._counters(user),
            }
        )

    def _counters(self, user: bytes) -> dict[str, int]:
        """What the broker tells below `$SYS/broker/`, as far as the user may read it; other than numbers left out."""
        broker = self._lookout.running.broker.core
        found: dict[str, int] = {}
        for topic, message in broker.system.matching(_COUNTED, self._lookout.clock()):
            if message.payload.isdigit() and broker.access.may_receive(user, _NOBODY, topic):
                found[topic.decode().removeprefix(_COUNTS)] = int(message.payload)
        return found
