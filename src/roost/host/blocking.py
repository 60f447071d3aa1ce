"""The thin synchronous facade, for notebooks and scripts: `with roost.connect_sync() as face: face.fetch(…)`.

One background thread runs the event loop for all synchronous faces of the process, so that they share the node inside
it; that loop never runs on the caller's thread, where a notebook runs its own. Handlers given to `serve` are called on
the background thread. Everything else is `roost.host.face`, waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from roost.errors import Disconnected, RoostError
from roost.host.client import connect
from roost.host.face import Face
from roost.host.home_trust import SignerLike
from roost.host.serving import Handler, Serving
from roost.naming import NameLike
from roost.pubsub.fetch_effects import FetchSettings
from roost.trust.acceptance import Checker
from roost.wire import Data

T = TypeVar("T")

CLOSED: Final = "the face is closed: use it within its `with` block"


class _Background:
    """The thread and its loop; started by the first user, stopped by the last."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run_loop, args=(self._loop,), name="roost", daemon=True)
                self._thread.start()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            loop, thread = self._loop, self._thread
            if self._users or loop is None or thread is None:
                return
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def refuse_handlers(self) -> None:
        if threading.current_thread() is self._thread:
            raise RoostError("a handler cannot wait for its own thread: make it async and use `roost.connect` in it")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            self.refuse_handlers()
            with self._lock:  # so that the loop is not stopped before it has the work
                if self._loop is None:
                    raise Disconnected(CLOSED)
                future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RoostError:
            work.close()
            raise
        try:
            return future.result()
        except BaseException:  # KeyboardInterrupt above all: take back what was asked
            future.cancel()
            raise


_background: Final = _Background()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_drained(loop))
    finally:
        loop.close()


async def _drained(loop: asyncio.AbstractEventLoop) -> None:
    """End what an interrupted caller has left behind."""
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()


class _Closing(ABC):
    """Closed at the end of its `with` block."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SyncServing(_Closing):
    """A served prefix; `close` it, or use it with `with`."""

    def __init__(self, serving: Serving) -> None:
        self._serving: Final = serving

    def close(self) -> None:
        """Serve no longer; harmless when the face is closed already."""

        async def close() -> None:
            self._serving.close()

        with contextlib.suppress(Disconnected):
            _background.run(close())


class SyncFace(_Closing):
    """A face whose methods wait; made by `connect_sync`, a context manager or to be closed."""

    def __init__(self, face: Face) -> None:
        self._face: Final = face
        self._open = True
        self._closing: Final = threading.Lock()

    @property
    def where(self) -> str:
        """The other end, as a URI."""
        return self._face.where

    def fetch(self, name: NameLike, **options: Any) -> Data:  # noqa: ANN401  those of `Face.fetch`
        """Fetch one Data and verify it; options as `Face.fetch`."""
        return self._run(self._face.fetch(name, **options))

    def fetch_object(self, name: NameLike, settings: FetchSettings | None = None) -> bytes:
        """Fetch a segmented object whole."""
        return self._run(self._face.fetch_object(name, settings))

    def fetch_segments(self, name: NameLike, settings: FetchSettings | None = None) -> Generator[Data, None, None]:
        """Fetch a segmented object segment by segment."""
        segments = self._face.fetch_segments(name, settings)

        async def following() -> Data | None:
            return await anext(segments, None)

        async def close() -> None:
            await segments.aclose()

        try:
            while (data := self._run(following())) is not None:
                yield data
        finally:
            with contextlib.suppress(Disconnected):  # the face may have been closed before the loop was left
                _background.run(close())

    def serve(self, prefix: NameLike, handler: Handler) -> SyncServing:
        """Answer Interests under a prefix, on the background thread; returns when it is registered."""

        async def serve() -> Serving:
            return await self._face.serve(prefix, handler)

        return SyncServing(self._run(serve()))

    def publish_object(self, name: NameLike, content: bytes, **options: Any) -> SyncServing:  # noqa: ANN401  as fetch
        """Serve content as a segmented object; options as `Face.publish_object`."""

        async def publish() -> Serving:
            return await self._face.publish_object(name, content, **options)

        return SyncServing(self._run(publish()))

    def close(self) -> None:
        """Close the face; doing so again is harmless."""
        _background.refuse_handlers()
        with self._closing:  # whichever thread is second waits for the first
            if self._open:
                self._open = False
                try:
                    _background.run(self._face.close())
                finally:
                    _background.leave()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._open:  # its loop may be gone, and another one run for other faces
            work.close()
            raise Disconnected(CLOSED)
        return _background.run(work)


def connect_sync(
    uri: str | None = None, *, verifier: Checker | None = None, signer: SignerLike | None = None
) -> SyncFace:
    """Connect to a forwarder: `with roost.connect_sync() as face`, or `close` it later; arguments as `connect`."""

    async def opened() -> Face:
        return await connect(uri, verifier=verifier, signer=signer)

    _background.enter()
    try:
        return SyncFace(_background.run(opened()))
    except BaseException:
        _background.leave()
        raise
