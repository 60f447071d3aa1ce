"""The same object by python-ndn, in the manner of ndnputchunks and ndncatchunks: segments made beforehand, a window."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from ndn.appv2 import NDNApp
from ndn.encoding import Component, FormalName, MetaInfo, Name, make_data, parse_data
from ndn.security import DigestSha256Signer
from ndn.transport.stream_face import UnixFace
from ndn.types import InterestTimeout

from bench.repo._child import END, Boss
from bench.svsps._street import PIECE

SEGMENT_BYTES = 8000
WINDOW = 64
NAME = Name.from_str("/chunks/large")


async def _started(app: NDNApp) -> asyncio.Task[bool]:
    ready = asyncio.get_running_loop().create_future()

    async def after_start() -> None:
        ready.set_result(None)

    task = asyncio.create_task(app.main_loop(after_start()))
    await ready
    return task


async def source(boss: Boss, socket: Path, size_bytes: int) -> None:
    """Serve an object of so many bytes."""
    whole = (PIECE * (size_bytes // len(PIECE) + 1))[:size_bytes]
    pieces = [whole[at : at + SEGMENT_BYTES] for at in range(0, size_bytes, SEGMENT_BYTES)]
    last = Component.from_segment(len(pieces) - 1)
    signer = DigestSha256Signer()
    wires = {}
    for number, piece in enumerate(pieces):
        name: FormalName = [*NAME, Component.from_segment(number)]
        info = MetaInfo(freshness_period=10_000, final_block_id=last)
        wires[bytes(Component.from_segment(number))] = bytes(make_data(name, info, piece, signer=signer))
    app = NDNApp(UnixFace(str(socket)))
    task = await _started(app)

    def handle(name: FormalName, _parameters: object, reply: object, _context: object) -> None:
        wire = wires.get(bytes(name[-1]))
        if wire is not None:
            reply(wire)  # type: ignore[operator]

    app.attach_handler(NAME, handle)
    await app.register(NAME)
    boss.say("ready")
    while await boss.hear() != END:
        pass
    app.shutdown()
    await task


async def sink(boss: Boss, socket: Path) -> None:
    """Fetch it when told to; says the bytes and the seconds."""
    app = NDNApp(UnixFace(str(socket)))
    task = await _started(app)
    boss.say("ready")
    while await boss.hear() != END:
        began = time.perf_counter()
        boss.say((await _fetch(app), time.perf_counter() - began))
    app.shutdown()
    await task


async def _fetch(app: NDNApp) -> int:
    room = asyncio.Semaphore(WINDOW)
    sizes: dict[int, int] = {}

    async def one(number: int) -> int:
        name = [*NAME, Component.from_segment(number)]
        for _ in range(10):
            try:
                _, content, context = await app.express(name, _believe, lifetime=1000)
            except InterestTimeout:
                continue
            sizes[number] = len(content or b"")
            _, info, _, _ = parse_data(context["raw_packet"])
            return int(Component.to_number(info.final_block_id))
        raise TimeoutError(f"segment {number} did not come")

    async def later(number: int) -> None:
        try:
            await one(number)
        finally:
            room.release()

    last = await one(0)
    tasks = []
    for number in range(1, last + 1):
        await room.acquire()
        tasks.append(asyncio.create_task(later(number)))
    await asyncio.gather(*tasks)
    return sum(sizes.values())


async def _believe(_name: object, _signature: object, _context: object) -> object:
    from ndn.types import ValidResult

    return ValidResult.PASS
