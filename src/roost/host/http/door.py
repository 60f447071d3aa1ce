"""The HTTP door: listens, lets in who may, and answers everything with JSON, whatever came and whatever went wrong.

    connection ──limits──▶ request ──room, origin, who──▶ a desk's routes ──▶ JSON
                  └ closed            └ 429, 403, 401

It runs in the node's own event loop, so all of it is bounded: connections, in all and per address, by a `Limiter` as
the broker has it; requests at once; clients that follow; sizes of lines, headers and bodies; the time that a request
may take to come, and an answer to be taken. A wrong password ends its connection, so that guessing is limited as
connecting is.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, TypeAlias

from aiohttp import web

from roost.broker.limits import Limiter, Limits
from roost.errors import BadConfig, Denied, RoostError
from roost.host.clock import Clock
from roost.host.desk import Gate, MacroDesk, RoleDesk, TopicDesk
from roost.host.http.answers import Problem, answer, refusal, unproved
from roost.host.http.asking import BEHIND_PROXY, MAX_BODY_BYTES, USER, check_origin, peer_of
from roost.host.http.connection import Connection, Lobby
from roost.host.http.macros import Macros
from roost.host.http.rbps import Rbps
from roost.host.http.timing import Timing
from roost.host.http.topics import Topics
from roost.host.http.wing import Wing
from roost.host.journal import Journal

MAX_CONNECTIONS: Final = 512
MAX_PER_ADDRESS: Final = 64
MAX_REQUESTS: Final = 64  # at once, beside those who follow
_SHUTDOWN_S: Final = 5.0  # for answers that are on their way
_CLOSING: Final = frozenset({401, 408, 413})  # statuses that end the connection
_HEALTH: Final = "health"
_NO_MACROS: Final = "no macros run here: write `macros:` in the node's configuration, and below it `files: []`"
_NO_ROLES: Final = "there are no roles here: write `roles:` in the node's configuration, with `documents` and `users`"
_NO_TOPICS: Final = "this node shows no topics over HTTP"

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Desks:
    """Who answers; None for what is not configured."""

    macros: MacroDesk | None = None
    roles: RoleDesk | None = None
    topics: TopicDesk | None = None


class HttpDoor:
    """One address; made in the event loop."""

    def __init__(
        self,
        desks: Desks,
        gate: Gate,
        clock: Clock,
        journal: Journal,
        limits: Limits | None = None,
        wing: Wing | None = None,
        *,
        behind_proxy: bool = False,
    ) -> None:
        self.requests = 0
        self.turned_away = 0  # for there were so many at once
        self.unauthorized = 0
        self.failures = 0  # that nobody foresaw
        self.max_requests = MAX_REQUESTS
        self.timing: Final = Timing()
        self.lobby: Final = Lobby(Limiter(_limits(limits or Limits())), clock)
        self._gate: Final = gate
        self._journal: Final = journal
        self._open = 0
        self._wing: Final = wing or Wing()
        self._public: Final = self._wing.public | {_HEALTH}
        self._identify: Final = self._wing.identify or self._by_gate
        self._topics: Final = None if desks.topics is None else Topics(desks.topics, clock)
        self.application: Final = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        self.application[BEHIND_PROXY] = behind_proxy
        self.application.add_routes([*self._routes(desks), *self._wing.routes])
        self._runner: Final = web.AppRunner(self.application, shutdown_timeout=_SHUTDOWN_S)
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int, context: ssl.SSLContext | None = None) -> str:
        """Listen; returns where. Raises `BadConfig`."""
        await self._runner.setup()
        served = self._runner.server
        if served is None:
            raise BadConfig("http: the door was closed, and does not open again: make another")
        try:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: Connection(served, self.lobby), host, port, ssl=context
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise BadConfig(f"http: cannot listen on {host}:{port}: {why}; give another address or port") from None
        bound = self._server.sockets[0].getsockname()
        name = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        return f"{'http' if context is None else 'https'}://{name}:{bound[1]}"

    async def stop(self) -> None:
        """Let nobody in any more; who follows is cut off, other answers are finished."""
        if self._server is not None:
            self._server.close()
        if self._topics is not None:
            self._topics.end()
        self._wing.end()
        await self._runner.cleanup()

    @property
    def following(self) -> int:
        """How many clients stay, to hear what comes."""
        return self._wing.following() + (0 if self._topics is None else self._topics.following)

    def failed(self, request: web.Request) -> None:
        """Count that somebody gave a wrong password, or another secret that is none."""
        self.unauthorized += 1
        self.lobby.limiter.failed(request.remote or "", self.lobby.clock())

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        limiter, topics = self.lobby.limiter, self._topics
        refused = limiter.refused_in_all + limiter.refused_by_address + limiter.refused_by_rate
        return {
            "http/connections": limiter.links,
            "http/connections/refused": refused + limiter.refused_by_failures,
            "http/requests": self.requests,
            "http/requests/refused/full": self.turned_away + (0 if topics is None else topics.turned_away),
            "http/requests/refused/unauthorized": self.unauthorized,
            "http/requests/malformed": self.lobby.malformed,
            "http/requests/failed": self.failures,
            "http/following": self.following,
            "http/readings/dropped": 0 if topics is None else topics.dropped,
            **self._wing.counts(),
        }

    # -- inside

    def _routes(self, desks: Desks) -> list[web.RouteDef]:
        macros, roles, topics = desks.macros, desks.roles, self._topics
        return [
            web.get(f"/{_HEALTH}", _health),
            *(_absent(_NO_MACROS, "macros", "traces") if macros is None else Macros(macros, self._gate).routes()),
            *(_absent(_NO_ROLES, "rbps", "explain") if roles is None else Rbps(roles, self._gate).routes()),
            *(_absent(_NO_TOPICS, "topics") if topics is None else topics.routes()),
        ]

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Have one request answered, with a refusal if anything is wrong."""
        self.requests += 1
        self._open += 1
        began_s = perf_counter()
        try:
            await self._admit(request)
            answered = await handler(request)
            self.timing.count(request, answered.status, began_s)
            return answered  # noqa: TRY300  what follows is for those who failed
        except ConnectionError:
            raise
        except Exception as error:
            if not isinstance(error, (RoostError, web.HTTPException)):
                self._complain(request, error)
            if request.writer.output_size > 0:  # another answer has begun, and ends here
                raise
            response = refusal(error)
            if response.status in _CLOSING:
                response.force_close()
            self.timing.count(request, response.status, began_s)
            return response
        finally:
            self._open -= 1

    def _complain(self, request: web.Request, error: Exception) -> None:
        """Write down what nobody foresaw."""
        self.failures += 1
        about = f"{request.method} {request.path[:100]!r} over HTTP failed: "
        why = f"{type(error).__name__}: {error}"
        self._journal.complain(about, why, self.lobby.clock(), peer=request.remote or "")

    async def _admit(self, request: web.Request) -> None:
        """See that there is room, that no other site's page asks, and who does; raises `Problem`."""
        if self._open - self.following > self.max_requests:
            self.turned_away += 1
            raise Problem(429, "too many ask at once; try again", {"Retry-After": "1"})
        check_origin(request)
        if request.path.removeprefix("/").partition("/")[0] in self._public:
            return
        try:
            request[USER] = await self._identify(request)
        except Denied as error:
            if "Authorization" in request.headers:
                self.failed(request)
            else:
                self.unauthorized += 1
            raise unproved(request, str(error)) from None

    async def _by_gate(self, request: web.Request) -> bytes:
        return await self._gate.who(request.headers.get("Authorization", ""), peer_of(request))


async def _health(request: web.Request) -> web.Response:
    del request
    return answer({"status": "ok"})


def _absent(why: str, *heads: str) -> list[web.RouteDef]:
    """Routes of what is not configured, which say so."""

    async def tell(request: web.Request) -> web.Response:
        del request
        raise Problem(404, why)

    return [web.route("*", path, tell) for head in heads for path in (f"/{head}", f"/{head}/{{rest:.*}}")]


def _limits(limits: Limits) -> Limits:
    """Bound connections here; how often an address may connect and fail is as for MQTT."""
    return Limits(
        max_links=MAX_CONNECTIONS,
        max_links_per_address=MAX_PER_ADDRESS,
        connects_per_s=limits.connects_per_s,
        failures_per_minute=limits.failures_per_minute,
    )
