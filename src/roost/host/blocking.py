"""The thin synchronous facade, for notebooks and scripts: `with roost.connect_sync() as face: face.fetch(…)`.

Everything is `roost.host.face`, done on the thread of `roost.host.background` and waited for; handlers given to `serve`
are called there. Sync groups are in `roost.host.blocking_group`, groups of streams in `roost.host.blocking_streams`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Coroutine, Generator, Sequence
from typing import Any, Final, TypeVar

from roost.errors import Disconnected
from roost.host.background import CLOSED, Closing, background
from roost.host.blocking_group import SyncFollowed, SyncJoined
from roost.host.blocking_streams import SyncStreamGroup
from roost.host.client import connect
from roost.host.face import Face
from roost.host.home_trust import SignerLike
from roost.host.serving import Handler, Serving
from roost.host.streams import StreamGroup
from roost.naming import NameLike
from roost.pubsub.fetch_effects import FetchSettings
from roost.sync import SVS3, Protocol
from roost.sync.subscriptions import Subscriptions
from roost.trust.acceptance import Checker
from roost.wire import Data

T = TypeVar("T")


class SyncServing(Closing):
    """A served prefix; `close` it, or use it with `with`."""

    def __init__(self, serving: Serving) -> None:
        self._serving: Final = serving

    def close(self) -> None:
        """Serve no longer; harmless when the face is closed already."""

        async def close() -> None:
            self._serving.close()

        with contextlib.suppress(Disconnected):
            background.run(close())


class SyncFace(Closing):
    """A face whose methods wait; made by `connect_sync`, a context manager or to be closed."""

    def __init__(self, face: Face) -> None:
        self._face: Final = face
        self._open = True
        self._closing: Final = threading.Lock()

    @property
    def where(self) -> str:
        """The other end, as a URI."""
        return self._face.where

    @property
    def is_up(self) -> bool:
        """Whether the other end can be reached now; if not, it is dialled again."""
        return self._open and self._face.is_up

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
                background.run(close())

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

    def join(self, group: NameLike, protocol: Protocol | str = SVS3, **options: Any) -> SyncJoined:  # noqa: ANN401  as fetch
        """Join a sync group: `with face.join("/group") as group`; options as `Face.join`."""
        return SyncJoined(self._run(self._face.join(group, protocol, **options).open()), self._run)

    def follow(self, group: NameLike, wanted: Subscriptions, **options: Any) -> SyncFollowed:  # noqa: ANN401  as fetch
        """Follow some streams of a partial-sync producer; options as `Face.follow`."""
        return SyncFollowed(self._run(self._face.follow(group, wanted, **options).open()), self._run)

    def group(self, name: NameLike) -> SyncStreamGroup:
        """A group of streams: publish into it, subscribe to it, read what its repos have."""

        async def group() -> StreamGroup:
            return self._face.group(name)

        return SyncStreamGroup(self._run(group()), self._run)

    def close(self) -> None:
        """Close the face; doing so again is harmless."""
        background.refuse_handlers()
        with self._closing:  # whichever thread is second waits for the first
            if self._open:
                self._open = False
                try:
                    background.run(self._face.close())
                finally:
                    background.leave()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._open:  # its loop may be gone, and another one run for other faces
            work.close()
            raise Disconnected(CLOSED)
        return background.run(work)


def connect_sync(
    uri: str | Sequence[str] | None = None, *, verifier: Checker | None = None, signer: SignerLike | None = None
) -> SyncFace:
    """Connect to a forwarder: `with roost.connect_sync() as face`, or `close` it later; arguments as `connect`."""

    async def opened() -> Face:
        return await connect(uri, verifier=verifier, signer=signer)

    background.enter()
    try:
        return SyncFace(background.run(opened()))
    except BaseException:
        background.leave()
        raise
