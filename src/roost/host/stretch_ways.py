"""The ways to the repos: a face for each that was named, of which the next is asked when one does not answer.

A face per repo, and not one face with links to all, so that a reading that was refused can be asked for elsewhere.
Nothing that comes is verified here.
"""

from __future__ import annotations

import asyncio
from typing import Final

from roost.errors import Disconnected, Unreachable
from roost.host.client import connect
from roost.host.face import Face
from roost.host.joint import Joint
from roost.host.locate import locate
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import Data, DigestSigner

LIFETIME_S: Final = 1.0  # how long one repo is waited for, before the next is asked
FIRST_PAUSE_S: Final = 0.05  # after all were asked in vain
LAST_PAUSE_S: Final = 1.0


class Ways:
    """All ways of an access; `preferred` answered last."""

    def __init__(self, access: Access) -> None:
        self.ways: Final = [Way(uri) for uri in access.repos or (None,)]
        self.preferred = 0
        self.changes = 0  # how often another one was preferred
        self._timeout_s: Final = access.timeout_s

    def __len__(self) -> int:
        return len(self.ways)

    async def ask(self, name: Name, *, is_prefix: bool = False, is_fresh: bool = False) -> tuple[Data, int]:
        """Ask until somebody answers, or it takes too long (`Unreachable`); the Data, and which way it came."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout_s
        pause_s, tried = FIRST_PAUSE_S, 0
        while True:
            at = (self.preferred + tried) % len(self)
            try:
                data = await self.ask_at(at, name, is_prefix=is_prefix, is_fresh=is_fresh)
            except Unreachable as error:
                if loop.time() >= until:
                    asked = ", ".join([way.uri or "the node here" for way in self.ways])
                    raise Unreachable(f"{asked}: no answer for {self._timeout_s:g} s to {name}; {error}") from None
            else:
                self.changes += at != self.preferred
                self.preferred = at
                return data, at
            tried += 1
            if tried % len(self) == 0:
                await asyncio.sleep(pause_s)
                pause_s = min(LAST_PAUSE_S, 2 * pause_s)

    async def ask_at(self, at: int, name: Name, *, is_prefix: bool = False, is_fresh: bool = False) -> Data:
        """Ask over one way, once."""
        face = await self.ways[at % len(self)].face()
        return await face.fetch(
            name,
            can_be_prefix=is_prefix,
            must_be_fresh=is_fresh,
            lifetime_ms=round(1000 * min(LIFETIME_S, self._timeout_s)),
            tries=1,
        )

    async def certificate(self, name: Name) -> Data:
        """A certificate by (a prefix of) its name."""
        return (await self.ask(name, is_prefix=True))[0]

    async def close(self) -> None:
        """Close all faces."""
        for way in self.ways:
            await way.close()


class Way:
    """A face that is opened when it is first used; without a URI to the node that runs here."""

    def __init__(self, uri: str | None) -> None:
        self.uri: Final = uri
        self._face: Face | None = None
        self._opening: Final[Joint[None, Face]] = Joint()

    async def face(self) -> Face:
        """The face, if it is up; raises `Disconnected`."""
        face = self._face or await self._opening.do(None, self._open)
        if not face.is_up:
            raise Disconnected(f"the face to {self.uri or 'the node here'} is down")
        return face

    async def _open(self) -> Face:
        if self.uri is None and locate()[0] is None:
            raise Disconnected(
                "no node runs here: start one with `roost up`, `roost repo` or `roost node`, or name the repos"
            )
        try:
            async with asyncio.timeout(LIFETIME_S):
                self._face = await connect(self.uri, verifier=ACCEPT_ANY, signer=DigestSigner())
        except TimeoutError:
            raise Disconnected(f"{self.uri} cannot be reached within {LIFETIME_S:g} s") from None
        return self._face

    async def close(self) -> None:
        """Close it, if it was opened."""
        face, self._face = self._face, None
        if face is not None:
            await face.close()
