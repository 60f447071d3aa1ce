"""Who comes in over HTTP, and what they may do: by the broker's own users, passwords and permissions.

A name and a password come as Basic; Bearer is for whoever reads tokens. While nobody is configured, whoever is on this
machine comes in as anonymous, as with MQTT (`Access.may_connect`). There is no client id here, so a permission with
`%c` in it grants nothing. A filter may be administered if every topic that it matches may be written, as far as grants
say; that a topic within it is denied is not seen.
"""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from collections.abc import Awaitable, Callable
from typing import Final

from roost.broker.access import ANONYMOUS
from roost.broker.patterns import MAX_LEVELS
from roost.errors import Backpressure, Denied
from roost.host.address import is_loopback
from roost.host.mqtt.checks import Checks
from roost.host.mqtt.reload import Reloader

WORKERS: Final = 1
MAX_WAITING: Final = 64
_RETRY_MS: Final = 2_000
_NOBODY: Final = b""  # the client id
_ANY_LEVEL: Final = b"\x7fany"  # in the place of a wildcard: a control character, which nobody's grant spells out
_WRONG: Final = "wrong name or password"


class UserGate:
    """Satisfies `Gate`; made in the event loop. `bearer` finds the user of a token, or raises as `who` does."""

    def __init__(self, security: Reloader, bearer: Callable[[str], Awaitable[bytes]] | None = None) -> None:
        self._security: Final = security
        self._bearer: Final = bearer
        self._checks: Final = Checks(WORKERS, MAX_WAITING)

    async def who(self, authorization: str, host: str) -> bytes:
        """Find the user; raises `Denied`, or `Backpressure` if too many passwords wait to be checked."""
        scheme, _, shown = authorization.strip().partition(" ")
        shown = shown.strip()
        if not scheme:
            user = ANONYMOUS
        elif scheme.lower() == "basic":
            user = await self._by_password(shown)
        elif scheme.lower() == "bearer" and self._bearer is not None:
            user = await self._bearer(shown)
        else:
            known = "Basic" if self._bearer is None else "Basic and Bearer"
            raise Denied(f"{scheme[:20]!r} is no way to come in here; there is {known}")
        self.admit(user, host)
        return user

    def admit(self, user: bytes, host: str) -> None:
        """See that a user may come in at all, from there; raises `Denied`."""
        if not self._security.current.access.may_connect(user, loopback=is_loopback(host)):
            raise Denied("say who you are: send the name and password of a user of this node (Basic)")

    def may_administer(self, user: bytes, what: str) -> bool:
        """Whether the user may write there."""
        access = self._security.current.access
        return all(access.may_publish(user, _NOBODY, topic) for topic in _probes(what.encode()))

    def may_look(self, user: bytes, what: str) -> bool:
        """Whether the user may read there, or write."""
        access = self._security.current.access
        topics = _probes(what.encode())
        return all(access.may_receive(user, _NOBODY, topic) for topic in topics) or self.may_administer(user, what)

    def close(self) -> None:
        """Check no more passwords."""
        self._checks.close()

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        return {
            "http/passwords/remembered": self._checks.remembered_hits,
            "http/passwords/refused": self._checks.turned_away,
            "http/passwords/failed": self._checks.failed,
        }

    async def _by_password(self, shown: str) -> bytes:
        try:
            user, colon, password = b64decode(shown, validate=True).partition(b":")
        except (binascii.Error, ValueError):
            raise Denied("what follows Basic is not base64 of name:password") from None
        if not colon or not user:
            raise Denied("what follows Basic is not base64 of name:password")
        return await self.prove(user, password)

    async def prove(self, user: bytes, password: bytes) -> bytes:
        """Find the user of a name and a password; where nobody is configured, it is anonymous. As `who` raises."""
        while True:
            users = self._security.current.users
            if not len(users):
                return ANONYMOUS  # there is nobody to be
            right = await self._check(user, password)
            if self._security.current.users.hash_of(user) == users.hash_of(user):  # else a reload came between
                break
        if not right:
            raise Denied(_WRONG)
        return user

    async def _check(self, user: bytes, password: bytes) -> bool:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def settle(right: bool) -> None:  # noqa: FBT001  it is the answer
            if not answer.done():
                answer.set_result(right)

        def then(right: bool) -> None:  # noqa: FBT001  as above
            if not loop.is_closed():  # this may be another thread
                loop.call_soon_threadsafe(settle, right)

        if not self._checks.ask(self._security.current.users, user, password, then):
            raise Backpressure("too many passwords wait to be checked; try again", _RETRY_MS)
        return await answer


def _probes(what: bytes) -> list[bytes]:
    """Topics that stand for all that a filter matches; of a topic, it alone."""
    levels = [_ANY_LEVEL if level == b"+" else level for level in what.split(b"/")]
    if levels[-1] != b"#":
        return [b"/".join(levels)]
    del levels[-1]
    depths = (0, 1, MAX_LEVELS)
    return [b"/".join(levels + [_ANY_LEVEL] * depth) for depth in depths]
