"""Topics over NDN names: `NdnFlips` on an application's face; `face.flips()` makes it.

A topic's prefix is registered with the forwarder while it is being probed and as long as it is published. The route of
topics' home that leads to other machines must be inherited by it, or a probe would stay here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from roost.errors import RoostError
from roost.host.residence import Residence, Way
from roost.host.serving import REGISTER_S
from roost.host.topics.topics import Topics
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.ndn_binding import NdnFlips, Signers
from roost.pubsub.flips.port import Attract, Release
from roost.pubsub.flips.settings import FlipsSettings
from roost.wire import Signer


class NdnTopics(Topics, Residence[NdnFlips]):
    """Topics on a face."""

    def __init__(
        self, way: Way, home: Name, signer: Signer | Signers, store: Path | None, settings: FlipsSettings | None
    ) -> None:
        self._attracted: Final[dict[bytes, Name]] = {}  # bound: the machine's topics
        self._taking = False
        Topics.__init__(self, store)
        randomness = way.session.randomness

        def make(found: bytes) -> NdnFlips:
            return NdnFlips(Flips(settings or FlipsSettings(), randomness, found), signer, way.verifier, home)

        Residence.__init__(self, way, make, None)

    @property
    def name(self) -> Name:
        """Under which the topics are."""
        return self.part.home

    async def open(self) -> Self:
        """Begin."""
        self._way.desk.open_taker(self.part.home, self.take_in)
        self._taking = True
        return await super().open()

    async def close(self) -> None:
        """Leave: topics are at rest on the disk, and the forwarder sends nothing here any more."""
        if not self.closed:
            for row in list(self.part.flips.publishing.table.values()):
                self.unregister(row.topic)
            calling = [each.calling for feeds in self._feeds.values() for each in feeds if each.calling is not None]
            for task in calling:
                task.cancel()
            if self._taking:
                self._way.desk.close(self.part.home)
            await asyncio.gather(*calling, return_exceptions=True)
        await super().close()
        await self.close_store()

    # -- `Topics`

    @property
    def binding(self) -> NdnFlips:
        """The machine, and what it speaks."""
        return self.part

    async def register(self, topic: str, interval_ms: int = 0) -> int:
        """As `Topics.register`; raises `NoKey` if no key here may sign content of the topic."""
        self.part.check_key(topic)
        return await super().register(topic, interval_ms)

    def now(self) -> int:
        """The time."""
        return self._session.clock()

    def act(self, command: Callable[[int], list[Effect]]) -> None:
        """Give the machine a command, and execute what comes of it."""
        Residence.act(self, command)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the machine tells makes it true."""
        await Residence.until(self, condition)

    def check(self) -> None:
        """Raise `RoostError` if nothing more can come."""
        if self._trouble:
            raise RoostError(self._trouble)

    async def attracted(self) -> None:
        """Wait until the prefixes of our topics are registered."""
        for prefix in list(self._attracted.values()):
            await self._session.registered(prefix, REGISTER_S)

    def wake(self) -> None:
        """Have those who wait look again."""
        self._told()

    def _told(self) -> None:
        Residence._told(self)
        self.wake_feeds()

    def warn(self, text: str, *facts: object) -> None:
        """Say something in the log."""
        self._session.journal.warn(text, *facts)

    def note(self, effect: Effect) -> bool:
        """Take in what the machine tells, and have the forwarder told which Interests are ours."""
        if isinstance(effect, Attract):
            if effect.hash not in self._attracted:
                prefix = self._attracted[effect.hash] = self.part.prefix_of(effect.hash)
                self._session.register(prefix)
            return False
        if isinstance(effect, Release):
            prefix = self._attracted.pop(effect.hash)
            self._session.unregister(prefix)
            return False
        return Topics.note(self, effect)

    def _saved(self, event: Saved) -> None:
        Residence._saved(self, event)

    def _failed(self, error: RoostError) -> None:
        Residence._failed(self, error)

    def save(self, effect: Save) -> None:
        """Keep something, in the file there is."""
        Topics.save(self, effect)
