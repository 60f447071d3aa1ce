"""Signed publications per second to 1 and to 20 members, beside the bare signing and verifying that they take.

Keys are ECDSA P-256. A publication has two signatures, of the application's Data and of the packet around it, and each
member verifies both. The peer does just that, with `cryptography`, in one process; ours is one process too, with a node
inside it: numbers, names, sync, fetching, delivery and the forwarder are what it does besides. Members know the key.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.hashes import SHA256

import roost
from bench.figure import Figure, alternate
from roost.naming import Name
from roost.trust import Accepted, generate
from roost.trust.keys import EcdsaPrivate
from roost.trust.verdict import Rejection, Verdict
from roost.wire import Data, Interest

ROUNDS = 3
BLOB = bytes(100)
AT_ONCE = 32


class OneKey:
    """A verifier that knows one key, and believes what it signed."""

    def __init__(self, key: EcdsaPrivate) -> None:
        self._public = key.public

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002  a verifier's shape
        if self._public.verify(packet.signed_portion, packet.signature_value):
            return Accepted("the key", ())
        return Rejection("another key")

    def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002  as check
        return None

    def missing(self, name: Name, now: int) -> None:
        """Nothing is ever wanted."""


def run() -> Iterable[Figure]:
    os.environ["NDN_CLIENT_TRANSPORT"] = ""
    key = generate(Name.parse("/bench"), os.urandom, "ecdsa")
    assert isinstance(key, EcdsaPrivate)
    for members, count in ((1, 1000), (20, 100)):
        pair = alternate(
            lambda m=members, c=count: asyncio.run(published(key, m, c)),  # type: ignore[misc]
            lambda m=members: bare(key, m),  # type: ignore[misc]
            rounds=ROUNDS,
            label=f"publications to {members}",
        )
        yield Figure(f"rate.to_{members}", pair.ours, "1/s", "bare-sign-and-verify", pair.peer)


async def published(key: EcdsaPrivate, members: int, count: int) -> float:
    """Publish so many, until all members have all."""

    def join(node: str) -> roost.host.client.GroupConnection:
        return roost.join("/campus/ops", node, verifier=OneKey(key), signer=key, durable=False)

    async with AsyncExitStack() as stack:
        radar = await stack.enter_async_context(join("/radar"))
        desks = [await stack.enter_async_context(join(f"/desk{number}")) for number in range(members)]
        feeds = [desk.subscribe("/position") for desk in desks]
        await radar.publish("/position/first", BLOB)
        for feed in feeds:
            await anext(feed)

        async def take(number: int) -> None:
            for _ in range(count):
                await anext(feeds[number])

        began = time.perf_counter()
        takers = [asyncio.ensure_future(take(number)) for number in range(members)]
        for low in range(0, count, AT_ONCE):
            names = [f"/position/{number}" for number in range(low, min(low + AT_ONCE, count))]
            await asyncio.gather(*[radar.publish(name, BLOB) for name in names])
        await asyncio.gather(*takers)
        return count / (time.perf_counter() - began)


def bare(key: EcdsaPrivate, members: int) -> float:
    """Two signatures, and two verifications for each member."""
    raw, public, algorithm = key.raw, key.raw.public_key(), ECDSA(SHA256())
    portion = os.urandom(250)
    count = 1000 // members + 1
    began = time.perf_counter()
    for _ in range(count):
        for value in [raw.sign(portion, algorithm) for _ in range(2)]:
            for _ in range(members):
                public.verify(value, portion, algorithm)
    return count / (time.perf_counter() - began)
