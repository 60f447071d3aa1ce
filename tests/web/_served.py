"""A fake node that listens, in a thread of its own: the browser is driven from the test's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from aiohttp import web
from tests.web._fake import Fake

from roost.web import assets


class Served:
    """A fake that listens, in a thread of its own."""

    def __init__(self, fake: Fake) -> None:
        self.fake: Final = fake
        self.url = ""
        self._loop: Final = asyncio.new_event_loop()

    def close_lines(self) -> None:
        """Cut everybody's live line."""
        self._run(self._close_lines())

    async def _close_lines(self) -> None:
        for each in list(self.fake.sockets):
            await each.close()

    def _run(self, work: Any) -> Any:  # noqa: ANN401  whatever it gives
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    @contextmanager
    def running(self) -> Iterator[Served]:
        thread = threading.Thread(target=self._loop.run_forever)
        thread.start()
        application = web.Application(middlewares=[self.fake.guard])
        application.add_routes([*assets.wing().routes, *self.fake.routes()])
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
        try:
            self._run(runner.setup())
            site = web.TCPSite(runner, "127.0.0.1", 0)
            self._run(site.start())
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            self._run(self._close_lines())
            self._run(runner.cleanup())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()
