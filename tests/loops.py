"""Running the coroutine of a test: bounded, and failing where asyncio would only log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

LIMIT_S = 90  # only against hanging: a busy machine takes its time


def run(test: Callable[[], Coroutine[None, None, None]], limit_s: float = LIMIT_S) -> None:
    """Run a test; an exception in a callback, which asyncio would only log, fails it."""
    troubles: list[dict[str, object]] = []

    async def within() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context))
        async with asyncio.timeout(limit_s):
            await test()

    asyncio.run(within())
    assert troubles == []
