"""A connection to the HTTP door: counted by its address while it is open, and with JSON for what is no HTTP."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from aiohttp import web
from aiohttp.web_request import BaseRequest

from roost.broker.limits import Limiter
from roost.host.clock import Clock
from roost.host.http.answers import Problem, refusal

REQUEST_TIMEOUT_S: Final = 15.0  # until a request has come, and between two of them
TAKEN_TIMEOUT_MS: Final = 60_000  # for bytes that the other end does not take [RFC 5482]
_MAX_LINE_BYTES: Final = 8_190
_MAX_HEADERS: Final = 64
LINGER_S: Final = 2.0  # for the rest of a body that was refused


class Lobby:
    """What all connections share: who may have one, and what came of them."""

    def __init__(self, limiter: Limiter, clock: Clock) -> None:
        self.limiter: Final = limiter
        self.clock: Final = clock
        self.malformed = 0  # what is no HTTP
        self.timeout_s = REQUEST_TIMEOUT_S


class Connection(web.RequestHandler):
    """One connection; aiohttp does the rest."""

    def __init__(self, server: web.Server, lobby: Lobby) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=lobby.timeout_s,
            access_log=None,  # type: ignore[arg-type]  # its own way to say that there is none
            max_line_size=_MAX_LINE_BYTES,
            max_field_size=_MAX_LINE_BYTES,
            max_headers=_MAX_HEADERS,
            lingering_time=LINGER_S,
            auto_decompress=False,
        )
        self._lobby: Final = lobby
        self._address: str | None = None  # that the limiter counts

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it, or close it at once."""
        super().connection_made(transport)
        address = str(transport.get_extra_info("peername", ("",))[0])
        if not self._lobby.limiter.connect(address, self._lobby.clock()):
            self.force_close()
            return
        self._address = address
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, TAKEN_TIMEOUT_MS)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it no more."""
        super().connection_lost(exc)
        if self._address is not None:
            self._lobby.limiter.disconnect(self._address)
            self._address = None

    def handle_error(
        self, request: BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer what is no HTTP; where an answer has begun, no other can follow."""
        del exc, message
        if request.writer.output_size > 0:
            raise ConnectionAbortedError("the answer cannot go on")
        self._lobby.malformed += 1
        response = refusal(Problem(status, "this is no HTTP request that can be read"))
        response.force_close()
        return response
