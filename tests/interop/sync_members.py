"""Members of sync groups for the live tests: those of NDNts, which are told what to do, and ours.

Both sides are asked the same: wait until a member knows exactly these streams, and say which ranges it learned on the
way. Who waits in vain says what the member knows instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from tests.interop.processes import HERE, Peer, running, until

from roost.host import ACCEPT_ANY, connect
from roost.host.joining import Followed, Joined
from roost.naming import Name
from roost.sync.choice import Protocol
from roost.sync.port import Learned, Stream
from roost.sync.subscriptions import NameList
from roost.trust import HmacKey, Policy, Schema, Verifier, generate, self_sign
from roost.trust.acceptance import Checker
from roost.wire import DigestSigner, Signer

WAIT_S: Final = 10.0
KEY: Final = "/shared/KEY/1"  # what NDNts calls a shared secret
SECRET: Final = bytes(range(32))

_SCHEMA: Final = Schema("""
#KEY: "KEY"/_/_/_
#anchor: "interop"/#KEY
#reading: "interop"/_ <= #anchor
""")

_numbers: Final = itertools.count(1)


def new_group(under: str = "") -> str:
    """A group of its own for a test."""
    return f"{under}/group{next(_numbers)}"


def stream(name: str, boot: int = 0) -> Stream:
    return Stream(Name.parse(name), boot)


@contextlib.contextmanager
def ndnts_program(program: str, folder: Path) -> Iterator[Peer]:
    """A program of NDNts, started and stopped; in CI it has to be there."""
    script = HERE / program
    if not (script.parent / "node_modules" / "@ndn" / "sync-api").is_dir():
        missing = f"the npm packages of {script.parent.name} are not installed: run `make test`, which installs them"
        if os.environ.get("ROOST_RUN"):
            pytest.fail(missing)
        pytest.skip(missing)
    with running(Peer(f"NDNts {script.stem}", ["node", str(script)], folder)) as started:
        yield started


def shared_key(secret: bytes = SECRET) -> HmacKey:
    return HmacKey(Name.parse(KEY), secret)


def verifier_of(policy: Policy) -> Verifier:
    """A verifier for which all that counts is its policy: there are no certificates."""
    anchor = self_sign(generate(Name.parse("/interop"), secrets.token_bytes), time.time_ns())
    return Verifier(_SCHEMA, [anchor.certificate], policy)


async def refusal_by(verifier: Verifier) -> None:
    """Wait until it has refused a packet."""
    try:
        async with asyncio.timeout(WAIT_S):
            await until(lambda: verifier.counters.rejected > 0)
    except TimeoutError:
        raise AssertionError(f"after {WAIT_S:g} s nothing was refused: {verifier.counters}") from None


class Theirs:
    """A member that NDNts runs."""

    def __init__(self, peer: Peer, name: str) -> None:
        self._peer: Final = peer
        self._name: Final = name

    @classmethod
    @contextlib.asynccontextmanager
    async def join(
        cls, peer: Peer, uri: str, group: str, verb: str = "join", /, **options: object
    ) -> AsyncIterator[Theirs]:
        name = f"member{next(_numbers)}"
        await peer.ask(verb, member=name, uri=uri, group=group, **options)
        yield cls(peer, name)
        await peer.ask("leave", member=name)

    async def publish(self, name: str, high: int, boot: int = 0) -> Stream:
        """Bring a stream to a number; returns the stream, with the boot time it was given."""
        said = await self._peer.ask("publish", member=self._name, name=name, high=high, boot=boot)
        return stream(said["name"], said["boot"])

    async def learned(self, wanted: Mapping[Stream, int]) -> list[Learned]:
        """Wait until it knows exactly this; returns every range it learned."""
        streams = [{"name": str(name), "boot": boot, "high": high} for (name, boot), high in wanted.items()]
        said = await self._peer.ask("learned", member=self._name, streams=streams)
        return [Learned(stream(one["name"], one["boot"]), one["low"], one["high"]) for one in said]

    async def refused(self, count: int) -> list[str]:
        """Wait until it has refused so many packets; returns why."""
        reasons: list[str] = await self._peer.ask("refused", member=self._name, count=count)
        return reasons


class Ours:
    """A member that Roost runs."""

    def __init__(self, group: Joined | Followed) -> None:
        self._group: Final = group
        self._own: Final[dict[Stream, int]] = {}
        self._learned: Final[list[Learned]] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def join(
        cls,
        uri: str,
        group: str,
        protocol: Protocol,
        *,
        verifier: Checker = ACCEPT_ANY,
        signer: Signer | None = None,
        folder: Path | None = None,
    ) -> AsyncIterator[Ours]:
        async with (
            connect(uri, verifier=verifier, signer=signer or DigestSigner()) as face,
            face.join(group, protocol, folder=folder, durable=folder is not None) as joined,
        ):
            yield cls(joined)

    @classmethod
    @contextlib.asynccontextmanager
    async def follow(cls, uri: str, group: str, *names: str, verifier: Checker = ACCEPT_ANY) -> AsyncIterator[Ours]:
        """Partial sync: follow these streams of whoever publishes them."""
        wanted = NameList(map(Name.parse, names))
        async with (
            connect(uri, verifier=verifier, signer=DigestSigner()) as face,
            face.follow(group, wanted, durable=False) as followed,
        ):
            yield cls(followed)

    async def produce(self, name: str) -> int:
        """With which number a stream goes on."""
        assert isinstance(self._group, Joined)
        return await self._group.produce(name)

    async def publish(self, name: str, high: int) -> Stream:
        """Bring a stream to a number; returns the stream, with its boot time."""
        assert isinstance(self._group, Joined)
        await self._group.produce(name)
        await self._group.announce(name, high)
        own = max(one for one in self._group.latest() if one.name == Name.parse(name))
        self._own[own] = high
        return own

    async def learned(self, wanted: Mapping[Stream, int]) -> list[Learned]:
        """Wait until it knows exactly this; returns every range it learned."""
        try:
            async with asyncio.timeout(WAIT_S):
                while self._own | ends(self._learned) != wanted:
                    self._learned.append(await anext(self._group))
        except TimeoutError:
            known = self._own | ends(self._learned)
            raise AssertionError(f"after {WAIT_S:g} s we know {shown(known)}; wanted: {shown(wanted)}") from None
        assert dict(self._group.latest()) == wanted
        return self._learned


def ends(learned: Iterable[Learned]) -> dict[Stream, int]:
    """To which number each stream has come; every range has to begin where the one before has ended."""
    high: dict[Stream, int] = {}
    for one in learned:
        known = high.get(one.stream, 0)
        assert one.low == known + 1, f"{one.stream} was known up to {known}, then came {one.low} to {one.high}"
        assert one.high >= one.low
        high[one.stream] = one.high
    return high


def shown(known: Mapping[Stream, int]) -> str:
    return ", ".join(sorted(f"{one}={high}" for one, high in known.items())) or "nothing"
