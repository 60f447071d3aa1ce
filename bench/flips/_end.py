"""One end of a run, a program in a host: `_end.py KIND WHERE…`; lines on standard input say what to do.

    subscriber   go TOPIC COUNT AT QOS     follow from the time AT on; then print the latencies in us, as JSON
    publisher    go TOPIC COUNT INTERVAL_MS QOS   register, print `ready`; `run` publishes, print `done`

A content begins with the time it was made at (one clock for all hosts) and has 1350 bytes, as in the paper.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import roost
from bench.flips._mqtt import follow, publish
from roost.host.topics import Content, Topics
from roost.pubsub.flips.settings import FlipsSettings
from roost.wire import DigestSigner

CONTENT_BYTES: Final = 1350
QUICK: Final = FlipsSettings(probe_lifetime_ms=100, probe_timeout_ms=200)


def made() -> bytes:
    return time.monotonic_ns().to_bytes(8, "big") + bytes(CONTENT_BYTES - 8)


def age_us(content: bytes) -> float:
    return (time.monotonic_ns() - int.from_bytes(content[:8], "big")) / 1000


@asynccontextmanager
async def topics(kind: str, where: list[str]) -> AsyncIterator[Topics]:
    """By `inside` (a forwarder in this process, with peers or a listening address), `at` a forwarder, or `ndn`."""
    how, *rest = where
    if how == "ndn":
        async with (
            roost.connect(rest[0], verifier=roost.ACCEPT_ANY, signer=DigestSigner()) as face,
            face.flips(settings=QUICK, durable=False) as made_topics,
        ):
            yield made_topics
    elif how == "at":
        async with roost.flips(rest[0], settings=QUICK, durable=False) as made_topics:
            yield made_topics
    elif kind == "publisher":
        folder = rest[1] if len(rest) > 1 else None
        async with roost.flips(listen=rest[:1], settings=QUICK, folder=folder, durable=bool(folder)) as made_topics:
            yield made_topics
    else:
        async with roost.flips(peers=rest[:1], settings=QUICK, durable=False) as made_topics:
            yield made_topics


async def commands() -> AsyncIterator[list[str]]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().split()


async def subscribing(where: list[str]) -> None:
    async with topics("subscriber", where) as here:
        print("up", flush=True)
        async for _, topic, count, at, _ in commands():
            await asyncio.sleep(max(0.0, float(at) - time.time()))
            feed = here.subscribe(topic)
            await feed.ready()
            print("subscribed", flush=True)
            ages: list[float] = []
            async for item in feed:
                assert isinstance(item, Content)
                ages.append(age_us(item.content))
                if len(ages) == int(count):
                    break
            feed.close()
            print(json.dumps(ages), flush=True)


async def publishing(where: list[str]) -> None:
    async with topics("publisher", where) as here:
        print("up", flush=True)
        given = commands()
        async for _, topic, count, interval_ms, _ in given:
            await here.register(topic, int(interval_ms))
            print("ready", flush=True)
            await anext(given)
            begin = time.monotonic()
            for number in range(int(count)):
                await asyncio.sleep(max(0.0, begin + number * int(interval_ms) / 1000 - time.monotonic()))
                await here.publish(topic, made())
            print("done", flush=True)
            await anext(given)  # until all have it
            here.unregister(topic)
            print("over", flush=True)


def over_mqtt(kind: str, where: list[str]) -> None:
    print("up", flush=True)
    for line in sys.stdin:
        _, topic, count, third, qos = line.split()
        if kind == "subscriber":
            time.sleep(max(0.0, float(third) - time.time()))
            ages: list[float] = []
            for content in follow(where[0], topic, int(qos), lambda: print("subscribed", flush=True)):
                ages.append(age_us(content))
                if len(ages) == int(count):
                    break
            print(json.dumps(ages), flush=True)
            continue
        print("ready", flush=True)
        sys.stdin.readline()
        with publish(where[0], topic, int(qos)) as send:
            begin = time.monotonic()
            for number in range(int(count)):
                time.sleep(max(0.0, begin + number * int(third) / 1000 - time.monotonic()))
                send(made())
        print("done", flush=True)
        sys.stdin.readline()
        print("over", flush=True)


def main() -> None:
    kind, how, *where = sys.argv[1:]
    if how == "mqtt":
        over_mqtt(kind, where)
    else:
        asyncio.run((subscribing if kind == "subscriber" else publishing)([how, *where]))


if __name__ == "__main__":
    main()
