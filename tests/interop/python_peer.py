"""python-ndn as a peer of the tests: one JSON request a line on stdin, one JSON answer a line on stdout.

The protocol is that of `ndnts/peer.mjs`. Both application classes of python-ndn are there: `app` 1 is `ndn.app.NDNApp`,
which sends commands of the old format, `app` 2 is `ndn.appv2.NDNApp`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ndn import app as app1
from ndn import appv2 as app2
from ndn.app_support.segment_fetcher import segment_fetcher
from ndn.client_conf import default_face
from ndn.encoding import Component, MetaInfo, Name, SignaturePtrs, make_data
from ndn.security import DigestSha256Signer, KeychainDigest
from ndn.types import InterestNack, InterestTimeout


@dataclass
class Face:
    app: Any
    version: int
    loop: asyncio.Task[bool]
    asked: dict[str, int] = field(default_factory=dict)


faces: dict[str, Face] = {}


async def connect(*, face: str, uri: str, app: int) -> None:
    """Open a face; done when the application runs."""
    transport = default_face(uri)
    made = app1.NDNApp(transport, KeychainDigest()) if app == 1 else app2.NDNApp(transport)
    started = asyncio.get_running_loop().create_future()

    async def after_start() -> None:
        started.set_result(None)

    loop = asyncio.create_task(made.main_loop(after_start()))
    await asyncio.wait([loop, started], return_when=asyncio.FIRST_COMPLETED)
    if loop.done():
        loop.result()
    faces[face] = Face(made, app, loop)


async def disconnect(*, face: str) -> None:
    """Close a face."""
    held = faces.pop(face)
    held.app.shutdown()
    await held.loop


async def produce(*, face: str, prefix: str, content: str, freshness_ms: int = 1000) -> bool:
    """Answer every Interest under a registered prefix with the same content; says whether registration worked."""
    made = bytes.fromhex(content)
    return await _serve(face, prefix, lambda name: [(name, MetaInfo(freshness_period=freshness_ms), made)])


async def serve_object(*, face: str, prefix: str, content: str, segment_bytes: int, version: int) -> bool:
    """Serve a segmented object; an Interest for less than a segment gets the first one."""
    made = bytes.fromhex(content)
    pieces = [made[low : low + segment_bytes] for low in range(0, len(made), segment_bytes)]
    final = Component.from_segment(len(pieces) - 1)
    base = [*Name.from_str(prefix), Component.from_version(version)]

    def answer(name: list[bytes]) -> list[tuple[list[bytes], MetaInfo, bytes]]:
        last = name[-1]
        number = Component.to_number(last) if Component.get_type(last) == Component.TYPE_SEGMENT else 0
        if number >= len(pieces):
            return []
        meta = MetaInfo(freshness_period=1000, final_block_id=final)
        return [([*base, Component.from_segment(number)], meta, pieces[number])]

    return await _serve(face, prefix, answer)


async def _serve(face: str, prefix: str, answer: Callable[[list[bytes]], list[tuple[Any, MetaInfo, bytes]]]) -> bool:
    held = faces[face]
    held.asked[prefix] = 0

    def answers(name: list[bytes]) -> list[bytes]:
        held.asked[prefix] += 1
        return [make_data(*packet, signer=DigestSha256Signer()) for packet in answer(name)]

    if held.version == 1:

        def on_interest1(name: list[bytes], _param: object, _app_param: object) -> None:
            for packet in answers(name):
                held.app.put_raw_packet(packet)

        return bool(await held.app.register(prefix, on_interest1))

    def on_interest2(name: list[bytes], _app_param: object, reply: Callable[[bytes], bool], _context: object) -> None:
        for packet in answers(name):
            reply(packet)

    held.app.attach_handler(prefix, on_interest2)
    return bool(await held.app.register(prefix))


async def withdraw(*, face: str, prefix: str) -> bool:
    """Unregister a prefix."""
    held = faces[face]
    if held.version == 2:
        held.app.detach_handler(prefix)
    return bool(await held.app.unregister(prefix))


async def asked(*, face: str, prefix: str) -> int:
    """How many Interests a producer has seen."""
    return faces[face].asked[prefix]


async def consume(
    *,
    face: str,
    interest: str,
    can_be_prefix: bool = False,
    must_be_fresh: bool = False,
    lifetime_ms: int = 4000,
) -> dict[str, Any]:
    """Fetch one Data; the digest it is signed with is checked."""
    held = faces[face]
    options = {"can_be_prefix": can_be_prefix, "must_be_fresh": must_be_fresh, "lifetime": lifetime_ms}
    try:
        if held.version == 1:
            name, meta, content, wire = await held.app.express_interest(interest, need_raw_packet=True, **options)
        else:
            name, content, context = await held.app.express(interest, _check_digest, **options)
            meta, wire = context["meta_info"], context["raw_packet"]
    except InterestNack as error:
        return {"nack": error.reason}
    except InterestTimeout:
        return {"timed_out": True}
    return {
        "name": Name.to_str(name),
        "content": bytes(content or b"").hex(),
        "digest": hashlib.sha256(wire).hexdigest(),
        "freshness_ms": meta.freshness_period,
    }


async def _check_digest(name: list[bytes], signature: SignaturePtrs, _context: object) -> app2.ValidResult:
    valid = await app1.sha256_digest_checker(name, signature)
    return app2.ValidResult.PASS if valid else app2.ValidResult.FAIL


async def fetch_object(*, face: str, object: str) -> dict[str, Any]:  # noqa: A002  the word of the protocol
    """Fetch a segmented object with python-ndn's own fetcher, which takes the first application class."""
    pieces = [bytes(piece) async for piece in segment_fetcher(faces[face].app, object, must_be_fresh=False)]
    return {"content": b"".join(pieces).hex(), "segments": len(pieces)}


VERBS: dict[str, Callable[..., Awaitable[Any]]] = {
    verb.__name__: verb for verb in (connect, disconnect, produce, serve_object, withdraw, asked, consume, fetch_object)
}


def say(message: dict[str, Any]) -> None:
    """Answer."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def carry_out(line: bytes) -> None:
    """Carry out one request."""
    request = json.loads(line)
    try:
        say({"id": request["id"], "result": await VERBS[request["verb"]](**request["args"])})
    except Exception as error:  # noqa: BLE001  whatever it is, the test is told
        say({"id": request["id"], "error": f"{type(error).__name__}: {error}"})


async def main() -> None:
    """Carry out requests until stdin ends."""
    requests = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    say({"ready": True})
    running = set()
    while line := await requests.readline():
        task = asyncio.create_task(carry_out(line))
        running.add(task)
        task.add_done_callback(running.discard)
    for face in list(faces):
        await disconnect(face=face)


if __name__ == "__main__":
    asyncio.run(main())
