"""The thin synchronous facade, for notebooks and scripts: `with roost.connect_sync() as face: face.fetch(…)`.

One background thread runs the event loop for all synchronous faces of the process, so that they share the node inside
it. Handlers given to `serve` are called on that thread. Everything else is `roost.host.face`, waited for.
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
from roost.host.verification import Verifier
from roost.naming import NameLike
from roost.pubsub.fetch_effects import FetchSettings
from roost.wire import Data

T = TypeVar("T")


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
                self._thread = threading.Thread(target=self._loop.run_forever, name="roost", daemon=True)
                self._thread.start()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users or self._loop is None or self._thread is None:
                return
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.run_until_complete(_drained(self._loop))
            self._loop.close()
            self._loop = self._thread = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise Disconnected("the face is closed: use it within its `with` block")
        if threading.current_thread() is self._thread:
            work.close()
            raise RoostError("a handler cannot wait for its own thread: make it async and use `roost.connect` in it")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # KeyboardInterrupt above all: take back what was asked
            future.cancel()
            raise


_background: Final = _Background()


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

    @property
    def where(self) -> str:
        """The other end, as a URI."""
        return self._face.where

    def fetch(self, name: NameLike, **options: Any) -> Data:  # noqa: ANN401  those of `Face.fetch`
        """Fetch one Data and verify it; options as `Face.fetch`."""
        return _background.run(self._face.fetch(name, **options))

    def fetch_object(self, name: NameLike, settings: FetchSettings | None = None) -> bytes:
        """Fetch a segmented object whole."""
        return _background.run(self._face.fetch_object(name, settings))

    def fetch_segments(self, name: NameLike, settings: FetchSettings | None = None) -> Generator[Data, None, None]:
        """Fetch a segmented object segment by segment."""
        segments = self._face.fetch_segments(name, settings)

        async def following() -> Data | None:
            return await anext(segments, None)

        async def close() -> None:
            await segments.aclose()

        try:
            while (data := _background.run(following())) is not None:
                yield data
        finally:
            with contextlib.suppress(Disconnected):  # the face may have been closed before the loop was left
                _background.run(close())

    def serve(self, prefix: NameLike, handler: Handler) -> SyncServing:
        """Answer Interests under a prefix, on the background thread; returns when it is registered."""

        async def serve() -> Serving:
            return await self._face.serve(prefix, handler)

        return SyncServing(_background.run(serve()))

    def publish_object(self, name: NameLike, content: bytes, **options: Any) -> SyncServing:  # noqa: ANN401  as fetch
        """Serve content as a segmented object; options as `Face.publish_object`."""

        async def publish() -> Serving:
            return await self._face.publish_object(name, content, **options)

        return SyncServing(_background.run(publish()))

    def close(self) -> None:
        """Close the face; doing so again is harmless."""
        if self._open:
            self._open = False
            try:
                _background.run(self._face.close())
            finally:
                _background.leave()


def connect_sync(
    uri: str | None = None, *, verifier: Verifier | None = None, signer: SignerLike | None = None
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
