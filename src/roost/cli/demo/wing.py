"""What the demo adds to the page: what it is, what one can break, and what it promises (`/demo`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

from aiohttp import web

from roost.cli.demo.breaks import Breaks, Unready
from roost.cli.demo.journal import Journal
from roost.cli.demo.promises import Promise
from roost.errors import Denied
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, body_of, rest_of
from roost.host.http.wing import Wing

if TYPE_CHECKING:
    from roost.host.http.gate import UserGate
    from roost.host.mqtt.running import Running

TITLE: Final = "The living campus"
_BREAK: Final = "/demo/breaks/"
_ALL: Final = "#"

Builder: TypeAlias = "Callable[[Running, UserGate], AbstractAsyncContextManager[Wing]]"


class DemoDesk:
    """The routes; who may write everywhere may break things."""

    def __init__(self, breaks: Breaks, promises: Sequence[Promise], journal: Journal, guide: Sequence[str]) -> None:
        self._breaks: Final = breaks
        self._promises: Final = promises
        self._journal: Final = journal
        self._guide: Final = guide
        self._began: Final = monotonic()

    def builder(self) -> Builder:
        """What `running_broker` takes."""

        @asynccontextmanager
        async def build(_running: Running, gate: UserGate) -> AsyncIterator[Wing]:
            async def play(request: web.Request) -> web.Response:
                if not gate.may_administer(request[USER], _ALL):
                    raise Denied("you may look, and not break anything: that is for who may write everywhere")
                return await self._play(request)

            yield Wing([web.get("/demo", self._show, allow_head=False), web.post(_BREAK + "{id}", play)])

        return build

    def told(self) -> dict[str, object]:
        """All of it."""
        is_calm = self._breaks.is_calm
        return {
            "title": TITLE,
            "running_s": round(monotonic() - self._began, 1),
            "steps": list(self._journal.steps),
            "breaks": [each.told() for each in self._breaks.all.values()],
            "promises": [each.told(is_calm=is_calm) for each in self._promises],
            "guide": list(self._guide),
        }

    async def _show(self, _request: web.Request) -> web.Response:
        return answer(self.told())

    async def _play(self, request: web.Request) -> web.Response:
        name = rest_of(request, _BREAK)
        if name not in self._breaks.all:
            raise Problem(
                404, f"there is nothing called {name[:40]!r} to break; there are {', '.join(self._breaks.all)}"
            )
        said = await body_of(request)
        wanted = said.get("do") if isinstance(said, dict) else None
        if wanted not in {"break", "mend"}:
            raise Problem(400, 'say what to do: {"do": "break"} or {"do": "mend"}')
        try:
            if wanted == "break":
                self._breaks.begin(name)
            else:
                self._breaks.all[name].mend()
        except Unready as error:
            raise Problem(409, str(error)) from None
        return answer(self._breaks.all[name].told())
