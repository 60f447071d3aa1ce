"""Children of a benchmark: processes of their own, forked so that they have the keys, and questions to them.

child = Child(main, …)          runs `await main(boss, …)`
child.ask("kept")               what the child says to that; in the child: `word = await boss.hear()`, `boss.say(…)`

The parent opens no store and starts no thread, because neither survives a fork.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import traceback
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

_FORK = multiprocessing.get_context("fork")
PATIENCE_S = 30
END = "end"


class Boss:
    """The parent, as the child sees it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    async def hear(self) -> Any:  # noqa: ANN401  whatever the parent says
        """What the parent says next."""
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._pipe.fileno(), readable.set)
        await readable.wait()
        loop.remove_reader(self._pipe.fileno())
        return self._pipe.recv()

    def say(self, word: object) -> None:
        """Answer."""
        self._pipe.send(word)


class Child:
    """A process that lives as long as the block, or until it is killed."""

    def __init__(self, main: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        self._pipe, theirs = _FORK.Pipe()
        self._process = _FORK.Process(target=_run, args=(main, theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._process.kill()
        elif self._process.is_alive():
            self._pipe.send(END)
        self._process.join(PATIENCE_S)
        self._pipe.close()

    def hear(self) -> Any:  # noqa: ANN401  whatever the child says
        """What the child says next."""
        if not self._pipe.poll(PATIENCE_S):
            raise TimeoutError(f"a child has said nothing for {PATIENCE_S} s")
        return self._pipe.recv()

    def ask(self, word: object) -> Any:  # noqa: ANN401
        """Say something and hear the answer."""
        self.tell(word)
        return self.hear()

    def tell(self, word: object) -> None:
        """Say something."""
        self._pipe.send(word)

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()
        self._process.join()


def _run(main: Callable[..., Coroutine[Any, Any, None]], pipe: Connection, *arguments: object) -> None:
    async def run() -> None:
        await main(Boss(pipe), *arguments)

    gc.freeze()
    try:
        asyncio.run(run())
    except Exception:  # noqa: BLE001  the parent meets the end of the pipe, and the reason is here
        traceback.print_exc()
    finally:
        pipe.close()
