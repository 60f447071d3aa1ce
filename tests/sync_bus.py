"""A few members of one sync group on one cable, under a virtual clock: everybody hears what anybody sends.

Packets take a millisecond and may be lost; saving takes another. It is small on purpose: `roost.sim` is the real thing.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final

from roost.machine import MS, SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Asked, Express, Learned, Ready, Stream
from roost.sync.svs import Svs
from roost.sync.svs_settings import SvsSettings
from roost.wire import DigestSigner, Interest

START: Final = 1_700_000_000 * SECOND
GROUP: Final = Name.parse("/g")


class Bus:
    """The cable, the clock and the disks; `happened` has what members told, in order."""

    def __init__(self, seed: int = 1, loss: float = 0.0) -> None:
        self.now = START
        self.loss = loss
        self.packets = 0
        self.members: Final[dict[str, Svs]] = {}
        self.disks: Final[dict[str, bytes]] = {}
        self.happened: Final[list[tuple[str, Effect]]] = []
        self.random: Final = Random(seed)
        self._heap: Final[list[tuple[int, int, Callable[[], None]]]] = []
        self._order: Final = count()

    def join(self, name: str, settings: SvsSettings, *streams: str) -> Svs:
        """Put a member on the cable, with what its disk has."""
        ledger = Ledger("sync", self.disks.get(name, b""))
        member = Svs(GROUP, settings, DigestSigner(), Random(self.random.random()), ledger)
        self.members[name] = member
        self.act(name, member.start(self.now))
        for stream in streams:
            self.act(name, member.produce(Name.parse(stream), self.now))
        return member

    def crash(self, name: str) -> None:
        """Take a member off; its disk stays."""
        del self.members[name]

    def announce(self, name: str, stream: str, high: int) -> None:
        self.act(name, self.members[name].announce(Name.parse(stream), high, self.now))

    def act(self, name: str, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Express):
                self._send(name, effect.interest)
            elif isinstance(effect, Save):
                self._save(name, effect)
            else:
                self.happened.append((name, effect))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + int(seconds * SECOND)
        while True:
            due = [(deadline, name) for name, member in self.members.items() if (deadline := member.deadline())]
            time, name = min(due, default=(end + 1, ""))
            if self._heap and self._heap[0][0] <= time:
                time, _, action = heappop(self._heap)
                if time > end:
                    heappush(self._heap, (time, next(self._order), action))
                    break
                self.now = max(self.now, time)
                action()
            elif time <= end:
                self.now = max(self.now, time)
                self.act(name, self.members[name].tick(self.now))
            else:
                break
        self.now = end

    def run_until_converged(self, limit_seconds: float, step_seconds: float = 0.1) -> float:
        """Let time pass until all know the same; returns how many seconds that took."""
        start = self.now
        while not self.converged():
            assert self.now - start < limit_seconds * SECOND, {
                name: len(m.latest()) for name, m in self.members.items()
            }
            self.run(step_seconds)
        return (self.now - start) / SECOND

    def converged(self) -> bool:
        first, *others = [member.latest() for member in self.members.values()]
        return all(other == first for other in others)

    def told(self, name: str) -> list[Effect]:
        return [effect for who, effect in self.happened if who == name]

    def learned(self, name: str) -> list[tuple[Stream, int, int]]:
        return [(each.stream, each.low, each.high) for each in self.told(name) if isinstance(each, Learned)]

    def ready(self, name: str) -> list[tuple[Stream, int]]:
        return [(each.stream, each.number) for each in self.told(name) if isinstance(each, Ready)]

    def announced(self, name: str) -> list[tuple[Stream, int]]:
        return [(each.stream, each.high) for each in self.told(name) if isinstance(each, Announced)]

    def _send(self, sender: str, wire: bytes) -> None:
        self.packets += 1
        interest = Interest.decode(wire)
        for name in list(self.members):
            if name != sender and self.random.random() >= self.loss:
                self._later(lambda name=name: self._hear(name, interest))  # type: ignore[misc]

    def _hear(self, name: str, interest: Interest) -> None:
        if name in self.members:
            self.act(name, self.members[name].receive(Asked(interest), self.now))

    def _save(self, name: str, effect: Save) -> None:
        member = self.members[name]

        def through() -> None:
            if self.members.get(name) is member:
                self.disks[name] = effect.data if effect.replace else self.disks.get(name, b"") + effect.data
                self.act(name, member.receive(Saved(effect.file, effect.ticket), self.now))

        self._later(through)

    def _later(self, action: Callable[[], None]) -> None:
        heappush(self._heap, (self.now + MS, next(self._order), action))
