"""Roles from an introspection endpoint [RFC 7662]: the questions of the broker's look-up, asked over HTTP.

    LookUp ──▶ POST url, token=<the user's name>, as the client that the configuration names ──▶ roles_found
                                                                                    └─▶ roles_missed, with why

The endpoint is asked about users by their names, which MQTT has proved by then: what it takes for a token is the name.
Its answer counts if it is `active` and about that user, or says of nobody whom it is about. How long answers hold, and
how often is asked, is the look-up's (`roost.process.roles.lookup`); redirections are not followed, the secret would go
with them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiohttp

from roost.broker.broker import Broker
from roost.broker.roles.keeper import RoleKeeper
from roost.errors import BadConfig, Unreachable
from roost.host.mqtt.config_roles import EndpointSettings, RoleFiles, RoleSettings
from roost.host.mqtt.server import Server
from roost.machine import SECOND, Effect
from roost.process.roles.holding import HoldingSettings
from roost.process.roles.introspection import end_of_introspection, roles_of_introspection, user_of_introspection
from roost.process.roles.lookup_port import GiveUp, LookUp

MAX_ANSWER_BYTES: Final = 64 << 10

_OK: Final = 200


def keeper_of(settings: RoleSettings, said: RoleFiles) -> RoleKeeper:
    """What the broker is to know of roles, from what the files said."""
    lookup = settings.users.lookup if isinstance(settings.users, EndpointSettings) else None
    return RoleKeeper(said.documents, said.source, lookup, HoldingSettings(hold=settings.hold))


class Found(NamedTuple):
    """What an endpoint says of a user, and until when it says that this holds, if it does."""

    roles: frozenset[str]
    until: int | None


class Endpoint:
    """An endpoint that can be asked; made in the event loop. Raises `BadConfig` if the secret cannot be read."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings: Final = settings
        self._session: Final = aiohttp.ClientSession(
            auth=aiohttp.BasicAuth(settings.client_id, settings.read_secret()),
            timeout=aiohttp.ClientTimeout(total=settings.lookup.timeout / SECOND),
            headers={"Accept": "application/json"},
        )

    async def find(self, user: str) -> Found:
        """Ask about a user; raises `BadConfig` if the answer is none, `Unreachable` if there is no answer."""
        try:
            asked = self._session.post(self._settings.url, data={"token": user}, allow_redirects=False)
            async with asked as response:
                if response.status != _OK:
                    raise Unreachable(f"{self._settings.url} answers {response.status}")
                said = await _read(response)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unreachable(f"{self._settings.url}: {str(error) or type(error).__name__}") from None
        whose = user_of_introspection(said)
        if whose not in {None, user}:
            raise BadConfig(f"the introspection of {user!r} is about {whose!r:.64}")
        return Found(roles_of_introspection(said, self._settings.claim), end_of_introspection(said))

    async def close(self) -> None:
        """Ask no more."""
        await self._session.close()


async def _read(response: aiohttp.ClientResponse) -> object:
    content = b""
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise ValueError(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
    found: object = json.loads(content)
    return found


@asynccontextmanager
async def asking(settings: RoleSettings, broker: Broker, server: Server) -> AsyncIterator[Endpoint | None]:
    """Have a broker's look-ups asked of the endpoint of a configuration, if it has one; raises `BadConfig`."""
    if not isinstance(settings.users, EndpointSettings):
        yield None
        return
    endpoint = Endpoint(settings.users)
    finder = RoleFinder(broker, server, endpoint)
    try:
        yield endpoint
    finally:
        await finder.close()


class RoleFinder:
    """Carries out what a broker wants to know of an endpoint."""

    def __init__(self, broker: Broker, server: Server, endpoint: Endpoint) -> None:
        self._broker: Final = broker
        self._server: Final = server
        self._endpoint: Final = endpoint
        self._tasks: Final[dict[int, asyncio.Task[None]]] = {}  # bound: the look-up's max_under_way
        server.look_up = self.look_up

    def look_up(self, effect: Effect) -> None:
        """Begin a look-up, or give one up."""
        if isinstance(effect, LookUp):
            self._tasks[effect.number] = asyncio.get_running_loop().create_task(self._find(effect))
        elif isinstance(effect, GiveUp) and effect.number in self._tasks:
            self._tasks.pop(effect.number).cancel()

    async def close(self) -> None:
        """Give all up."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._endpoint.close()

    async def _find(self, effect: LookUp) -> None:
        found: Found | None = None
        why = ""
        try:
            found = await self._endpoint.find(effect.user)
        except (BadConfig, Unreachable) as error:
            why = str(error)
        self._tasks.pop(effect.number, None)
        now = self._server.clock()
        if found is None:
            self._server.journal.complain(f"the roles of {effect.user} are not known: ", why, now)
            self._server.execute(self._broker.roles_missed(effect.number, why, now), now)
        else:
            self._server.execute(self._broker.roles_found(effect.number, found.roles, now, found.until), now)
