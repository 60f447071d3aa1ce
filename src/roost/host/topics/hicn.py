"""Topics over hybrid ICN: the driver of `HicnFlips`, on a line to a forwarder of this process or another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from roost.errors import BadPacket, Disconnected, RoostError
from roost.hicn import decode, encode
from roost.hicn.control import DONE, REFUSED, Verb
from roost.host.alarm import Alarm
from roost.host.clock import Clock
from roost.host.hicn.line import Hear, Line
from roost.host.journal import Journal
from roost.host.topics.orders import Orders
from roost.host.topics.topics import ITEMS, Topics
from roost.machine import Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.pubsub.flips.hicn_binding import HicnFlips
from roost.pubsub.flips.hicn_effects import AddRoute, RemoveRoute, SendPacket

_REPLIES: Final = frozenset((DONE, REFUSED))


class HicnTopics(Topics):
    """Made by `roost.flips`."""

    def __init__(self, binding: HicnFlips, store: Path | None, clock: Callable[[], int] | None = None) -> None:
        super().__init__(store)
        self.closed = False
        self.journal: Final = Journal()
        self._binding: Final = binding
        self._clock: Final = clock or Clock()
        self._turn = asyncio.Event()
        self._trouble = ""
        self._alarm: Final = Alarm(self._clock, self._tick)
        self._line: Line | None = None
        self._orders: Final = Orders(self._write, self._refused)

    def open(self, line: Callable[[Hear], Line]) -> None:
        """Begin, on a line."""
        self._line = line(self._heard)
        self._line.when_gone(self._orders.lost)
        now = self._clock()
        self._execute(self._binding.start(now), now)

    async def close(self) -> None:
        """Leave: topics are at rest on the disk, and the forwarder sends nothing here any more."""
        if not self.closed:
            self._rest()
            self.closed = True
            calling = [each.calling for feeds in self._feeds.values() for each in feeds if each.calling is not None]
            for task in calling:
                task.cancel()
            self._alarm.cancel()
            self._orders.close()
            if self._line is not None:
                self._line.close()
            self.journal.finish()
            self.wake()
            await asyncio.gather(*calling, return_exceptions=True)
        await self.close_store()

    # -- `Topics`

    @property
    def binding(self) -> HicnFlips:
        """The machine, and what it speaks."""
        return self._binding

    def now(self) -> int:
        """The time."""
        return self._clock()

    def act(self, command: Callable[[int], list[Effect]]) -> None:
        """Give the machine a command, and execute what comes of it."""
        if self.closed:
            raise Disconnected("the topics were left: use them within their `async with` block")
        now = self._clock()
        self._execute(command(now), now)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the machine tells makes it true."""
        while not condition():
            self.check()
            if self.closed:
                raise Disconnected("the topics were left while this waited")
            await self._turn.wait()

    def check(self) -> None:
        """Raise `RoostError` if nothing more can come."""
        if self._trouble:
            raise RoostError(self._trouble)

    async def attracted(self) -> None:
        """Wait until the forwarder has answered all orders; raises `RoostError` if it does not obey."""
        await self.until(lambda: not self._orders.pending or bool(self._orders.refusal))
        if self._orders.refusal:
            raise RoostError(f"{self._where} {self._orders.refusal}")

    def wake(self) -> None:
        """Have those who wait look again."""
        self._turn.set()
        self._turn = asyncio.Event()
        self.wake_feeds()

    def warn(self, text: str, *facts: object) -> None:
        """Say something in the log."""
        self.journal.warn(text, *facts)

    # -- what comes in

    @property
    def _where(self) -> str:
        return self._line.where if self._line else "the forwarder"

    def _heard(self, wires: list[bytes]) -> None:
        now = self._clock()
        for wire in wires:
            try:
                if wire[:1] and wire[0] in _REPLIES:
                    self._orders.answered(wire)
                    self.wake()
                else:
                    self._execute(self._binding.receive(decode(wire), now), now)
            except BadPacket as error:
                self.journal.write(Rejected(self._where, str(error), wire[:64]), now)

    def _saved(self, event: Saved) -> None:
        if not self.closed:
            now = self._clock()
            self._execute(self._binding.receive(event, now), now)

    def _failed(self, error: RoostError) -> None:
        self._trouble = str(error)
        self.journal.warn("%s", error)
        self.wake()

    def _refused(self, text: str) -> None:
        self.journal.warn("%s %s", self._where, text)
        self.wake()

    def _tick(self, now: int) -> None:
        self._execute(self._binding.tick(now), now)

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
        told = False
        wires: list[bytes] = []
        for effect in effects:  # to which is added what comes of it
            if isinstance(effect, SendPacket):
                wires.append(encode(effect.packet))
            elif isinstance(effect, (AddRoute, RemoveRoute)):
                self._write(wires)
                wires = []
                verb = Verb.ADD_ROUTE if isinstance(effect, AddRoute) else Verb.REMOVE_ROUTE
                self._orders.give(verb, effect.prefix)
            elif isinstance(effect, Save):
                if self.is_kept:
                    self.save(effect)
                else:
                    effects += self._binding.receive(Saved(effect.file, effect.ticket), now)
            elif self.note(effect):
                told = told or not isinstance(effect, ITEMS)
            else:
                self.journal.write(effect, now)
        self._write(wires)
        self._alarm.set(self._binding.deadline(), now)
        if told:
            self.wake()

    def _write(self, wires: list[bytes]) -> None:
        if wires and self._line is not None:
            self._line.send(wires)

    def _rest(self) -> None:
        """Have it saved that what we publish is at rest, so that no numbers are passed over the next time."""
        now = self._clock()
        for row in list(self._binding.flips.publishing.table.values()):
            self._execute(self._binding.act(self._binding.flips.unregister(row.topic, now), now), now)
