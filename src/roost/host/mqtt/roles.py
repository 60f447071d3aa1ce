"""Roles from an introspection endpoint [RFC 7662]: the questions of the broker's look-up, asked over HTTP.

    LookUp ──▶ POST url, token=…, as the client that the configuration names ──▶ roles_found
                                                                    └─▶ roles_missed, with why

`token: password` is for users who log in with access tokens in the place of passwords (`by_password`), or show them
over HTTP (`bearer`). A token that is active lets its user in, and is what the endpoint is asked about from then on: one
that is revoked or ends gives no roles. Tokens are in memory only, the last one of each user.

`token: user` sends the *name* of a user, which MQTT has proved by then, where a token belongs: for services that know
users by their names. Its answer counts if it is `active` and about that user, or says of nobody whom it is about.

How long answers hold, and how often is asked, is the look-up's (`roost.process.roles.lookup`); redirections are not
followed, the secret would go with them. Name and secret are encoded before they are joined [RFC 6749, section 2.3.1].
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from urllib.parse import quote_plus

import aiohttp

from roost.broker.broker import Broker
from roost.broker.effects import Authenticate, Verdict
from roost.broker.packets.reasons import BAD_USER_NAME_OR_PASSWORD, SERVER_UNAVAILABLE, SUCCESS
from roost.broker.roles.keeper import RoleKeeper
from roost.errors import BadConfig, Denied, Unreachable
from roost.host.mqtt.config_roles import EndpointSettings, RoleFiles, RoleSettings
from roost.host.mqtt.server import Server
from roost.machine import SECOND, Effect
from roost.process.roles.holding import HoldingSettings
from roost.process.roles.introspection import (
    end_of_introspection,
    is_active,
    roles_of_introspection,
    user_of_introspection,
)
from roost.process.roles.lookup_port import GiveUp, LookUp

MAX_ANSWER_BYTES: Final = 64 << 10
MAX_TOKENS: Final = 100_000  # users whose last token is known

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
        self.renewed: Callable[[str], None] = _nobody  # hears who has another token
        self._settings: Final = settings
        self._tokens: Final[dict[str, str]] = {}  # by user, the longest not renewed first; bound: MAX_TOKENS
        shown = f"{quote_plus(settings.client_id)}:{quote_plus(settings.read_secret())}"
        self._session: Final = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=settings.lookup.timeout / SECOND),
            headers={"Accept": "application/json", "Authorization": "Basic " + b64encode(shown.encode()).decode()},
        )

    async def find(self, user: str) -> Found:
        """Ask about a user; raises `BadConfig` if the answer is none, `Unreachable` if there is no answer."""
        token = self._tokens.get(user) if self._settings.is_login else user
        if token is None:
            raise Unreachable(f"{user} has not shown a token since this node started")
        said = await self._introspect(token)
        whose = user_of_introspection(said)
        if whose not in {None, user}:
            raise BadConfig(f"the introspection of {user!r} is about {whose!r:.64}")
        return Found(roles_of_introspection(said, self._settings.claim), end_of_introspection(said))

    async def log_in(self, token: str) -> str:
        """Find whose token it is; raises `Denied` if nobody's, and as `find` does."""
        said = await self._introspect(token)
        user = user_of_introspection(said)
        if user is None:
            raise Denied("the token says no user" if is_active(said) else "the token is not active")
        before = self._tokens.pop(user, None)
        if len(self._tokens) >= MAX_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[user] = token
        if before != token:  # what is known of the user may be that there was none
            self.renewed(user)
        return user

    async def by_password(self, asked: Authenticate) -> Verdict:
        """Find who an MQTT client is whose password is a token; if it gives a name, it has to be the token's."""
        try:
            user = (await self.log_in((asked.password or b"").decode())).encode()
        except (Denied, UnicodeDecodeError):
            return Verdict(BAD_USER_NAME_OR_PASSWORD, why="wrong name or password")
        except (BadConfig, Unreachable):
            return Verdict(SERVER_UNAVAILABLE, why="tokens cannot be checked now")
        if asked.user and asked.user != user:
            return Verdict(BAD_USER_NAME_OR_PASSWORD, why="wrong name or password")
        return Verdict(SUCCESS, user)

    @property
    def bearer(self) -> Callable[[str], Awaitable[bytes]] | None:
        """What finds the user of a token over HTTP, None if users have none; `Unreachable` is nobody's failure."""
        return self._by_bearer if self._settings.is_login else None

    async def _by_bearer(self, token: str) -> bytes:
        try:
            return (await self.log_in(token)).encode()
        except (BadConfig, Unreachable):
            raise Unreachable("tokens cannot be checked now; try again") from None

    async def _introspect(self, token: str) -> object:
        url = self._settings.url
        data = {"token": token, "token_type_hint": "access_token"} if self._settings.is_login else {"token": token}
        try:
            async with self._session.post(url, data=data, allow_redirects=False) as response:
                if response.status in {401, 403}:
                    raise Unreachable(f"{url} answers {response.status}; see client_id and the secret")
                if response.status != _OK:
                    raise Unreachable(f"{url} answers {response.status}")
                return await _read(response)
        except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError) as error:
            raise Unreachable(f"{url}: {str(error) or type(error).__name__}") from None

    async def close(self) -> None:
        """Ask no more."""
        await self._session.close()


def _nobody(_user: str) -> None:
    pass


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
    if settings.users.is_login:
        server.authenticator.tokens = endpoint.by_password
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
        endpoint.renewed = self.look_again

    def look_up(self, effect: Effect) -> None:
        """Begin a look-up, or give one up."""
        if isinstance(effect, LookUp):
            self._tasks[effect.number] = asyncio.get_running_loop().create_task(self._find(effect))
        elif isinstance(effect, GiveUp) and effect.number in self._tasks:
            self._tasks.pop(effect.number).cancel()

    def look_again(self, user: str) -> None:
        """Have the roles of a user looked up anew."""
        now = self._server.clock()
        self._server.execute(self._broker.roles_changed(user, now), now)

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
