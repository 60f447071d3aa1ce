"""Topics over HTTP: what they said, and what they say.

    GET /topics/{filter}?since=24h|2026-05-01T08:00|1&limit=100

answers with a JSON array, oldest first; with `Accept: application/x-ndjson` with a line for each reading. Without
`since` it is the last reading of each topic. With `Accept: text/event-stream` readings come as they are published
(`roost.host.http.following`), first those since then, if `since` is given.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from roost.broker.packets.fields import check_filter, is_shared
from roost.broker.packets.reasons import Malformed
from roost.broker.since import PREFIX, Since, read_since
from roost.host.clock import Clock
from roost.host.desk import TopicDesk
from roost.host.http.answers import Problem, dressed, encoded_reading
from roost.host.http.asking import USER, parameter, rest_of
from roost.host.http.following import Following
from roost.host.http.pages import limit_of

MAX_LIMIT: Final = 10_000
MAX_FOLLOWING: Final = 256
_HEAD: Final = "/topics/"
_LINES: Final = "application/x-ndjson"
_EVENTS: Final = "text/event-stream"


class Topics:
    """The route of topics, and who follows them."""

    def __init__(self, desk: TopicDesk, clock: Clock) -> None:
        self.turned_away = 0  # for so many followed already
        self._dropped = 0  # for those who followed and have gone
        self._desk: Final = desk
        self._clock: Final = clock
        self._followers: Final[dict[Following, None]] = {}  # bound: MAX_FOLLOWING

    @property
    def following(self) -> int:
        """How many do."""
        return len(self._followers)

    @property
    def dropped(self) -> int:
        """The readings that came too quickly for whoever followed."""
        return self._dropped + sum([each.dropped for each in self._followers])

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get(_HEAD + "{filter:.+}", self._get, allow_head=False)]

    def end(self) -> None:
        """Send everybody who follows away."""
        for each in self._followers:
            each.end()

    async def _get(self, request: web.Request) -> web.StreamResponse:
        user, filter_ = request[USER], _filter(rest_of(request, _HEAD))
        since = self._since(parameter(request, "since"))
        limit = limit_of(request, most=MAX_LIMIT)
        accepted = request.headers.get("Accept", "")
        if _EVENTS in accepted:
            return await self._follow(request, filter_, since)
        readings = await self._desk.past(user, filter_, since or Since(), limit)
        rows = [encoded_reading(each) for each in readings]
        if _LINES in accepted:
            return dressed(web.Response(body=b"".join([row + b"\n" for row in rows]), content_type=_LINES))
        return dressed(web.Response(body=b"[%b]\n" % b",".join(rows), content_type="application/json"))

    async def _follow(self, request: web.Request, filter_: bytes, since: Since | None) -> web.StreamResponse:
        if len(self._followers) >= MAX_FOLLOWING:
            self.turned_away += 1
            raise Problem(429, f"{MAX_FOLLOWING} clients follow already, which is the limit", {"Retry-After": "10"})
        follower = Following(self._desk)
        self._followers[follower] = None
        try:
            return await follower.serve(request, request[USER], filter_, since)
        finally:
            del self._followers[follower]
            self._dropped += follower.dropped

    def _since(self, text: str) -> Since | None:
        return read_since(text.encode(), self._clock()) if text else None


def _filter(text: str) -> bytes:
    filter_ = text.encode()
    if is_shared(filter_) or filter_.startswith(PREFIX):
        raise Problem(400, f"{text[:100]!r}: a filter stands here bare; the past is asked for with ?since=24h")
    try:
        check_filter(filter_)
    except Malformed as error:
        raise Problem(400, f"{text[:100]!r} is no topic filter ({error}); write + as %2B and # as %23") from None
    return filter_
