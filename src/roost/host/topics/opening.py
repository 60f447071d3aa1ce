"""`roost.flips`: topics over a forwarder inside this process, or over one elsewhere."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final
from weakref import WeakKeyDictionary

from roost.errors import BadConfig
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.hicn.strategy import StrategyKind
from roost.host.address import parse_listen
from roost.host.hicn.line import UdpLine, connected_socket
from roost.host.hicn.server import HICN_PORT, HicnServer
from roost.host.paths import home
from roost.host.topics.hicn import HicnTopics
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.hicn_binding import FLIPS_PREFIX, HicnFlips, Judge, Key, Keys
from roost.pubsub.flips.settings import SIGNED_SEGMENT_BYTES, FlipsSettings

_shared: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared]] = WeakKeyDictionary()


class _Shared:
    """The forwarder of an event loop, and how many use it."""

    def __init__(self, server: HicnServer) -> None:
        self.server: Final = server
        self.users = 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    forwarder: str | HicnServer | None
    listen: Sequence[str]
    peers: Sequence[str]
    settings: FlipsSettings
    key: Key | Keys | None
    judge: Judge | None
    store: Path | None
    local_port: int


class TopicsOpening:
    """What `flips` returns: `async with` it."""

    def __init__(self, wanted: _Wanted) -> None:
        self._wanted: Final = wanted
        self._stack: Final = AsyncExitStack()

    async def __aenter__(self) -> HicnTopics:
        wanted = self._wanted
        async with AsyncExitStack() as stack:
            flips = Flips(wanted.settings, random.Random(secrets.randbits(128)))  # noqa: S311  it spreads time-outs
            topics = HicnTopics(HicnFlips(flips, wanted.key, wanted.judge), wanted.store)
            if isinstance(wanted.forwarder, str):
                host, port = parse_listen(wanted.forwarder, HICN_PORT)
                sock = await connected_socket(host, port, wanted.local_port)
                topics.open(partial(UdpLine, sock))
            else:
                server = wanted.forwarder or await self._server(stack)
                topics.open(server.attach)
            stack.push_async_callback(topics.close)
            self._stack.push_async_callback(stack.pop_all().aclose)
        return topics

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _server(self, stack: AsyncExitStack) -> HicnServer:
        wanted = self._wanted
        if wanted.listen or wanted.peers:
            server = await stack.enter_async_context(HicnServer(_forwarder()))
            for text in wanted.listen:
                server.listen(*parse_listen(text, HICN_PORT))
            reach = server.connect if wanted.listen else server.dial  # who listens is known by that address
            for text in wanted.peers:
                server.add_route(FLIPS_PREFIX, reach(*parse_listen(text, HICN_PORT)))
            return server
        loop = asyncio.get_running_loop()
        shared = _shared.get(loop)
        if shared is None:
            shared = _shared[loop] = _Shared(await HicnServer(_forwarder()).__aenter__())
        shared.users += 1
        stack.push_async_callback(_leave, shared)
        return shared.server


def flips(
    forwarder: str | HicnServer | None = None,
    *,
    listen: Sequence[str] = (),
    peers: Sequence[str] = (),
    settings: FlipsSettings | None = None,
    key: Key | Keys | None = None,
    judge: Judge | None = None,
    folder: Path | str | None = None,
    durable: bool = True,
    local_port: int = 0,
) -> TopicsOpening:
    """Topics without a broker over hybrid ICN: `async with roost.flips() as topics`.

    Without a `forwarder` there is one inside this process: it listens on the addresses of `listen`, for forwarders
    elsewhere, and asks all `peers` for topics; without either, the topics of this event loop see each other. Otherwise
    `forwarder` is the address of one (`roost hicn`, or a hicn-light), reached from `local_port` if it is given.
    Content is signed with `key`, or what that returns for a topic and a time; with `judge` only signed content counts
    (`roost.pubsub.flips.judging`; `roost.host.topics.signing` has both from this home). What is published is kept in
    `folder` (`$ROOST_HOME/flips`), by one process at a time, with `durable=False` in memory only: who publishes so and
    is started again begins with 100 again, and for 50 s caches may give out what was under those numbers before.
    """
    if forwarder is not None and (listen or peers):
        raise BadConfig("listen= and peers= are for the forwarder inside this process: leave forwarder= away")
    store = Path(folder) if folder is not None else home() / "flips"
    wanted = _Wanted(
        forwarder,
        listen,
        peers,
        settings or (FlipsSettings() if key is None else FlipsSettings(segment_bytes=SIGNED_SEGMENT_BYTES)),
        key,
        judge,
        store / "content" if durable else None,
        local_port,
    )
    return TopicsOpening(wanted)


def _forwarder() -> HicnForwarder:
    randomness = random.Random(secrets.randbits(128))  # noqa: S311  it chooses next hops
    return HicnForwarder(HicnSettings(strategy=StrategyKind.REPLICATION), randomness)


async def _leave(shared: _Shared) -> None:
    shared.users -= 1
    if shared.users == 0:
        del _shared[asyncio.get_running_loop()]
        await shared.server.__aexit__(None, None, None)
