"""A sync group reached through a face: a membership (`roost.pubsub.membership`), and its news for whoever takes them.

Each time before the group is joined its Interests are made to go to all members (`roost.host.choosing`). Who uses it
are `roost.host.joining`'s `Joined` and `Followed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Generic, Self

from roost.forwarding.requests import CommandWriter
from roost.host.choosing import choose_multicast
from roost.host.residence import Residence, Way
from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.membership import Membership, Whom
from roost.sync.port import Learned, Stream


class Group(Residence[Membership[Whom]], Generic[Whom]):
    """A group and our part in it; `make` makes the member from what is found on the disk. Used by `async with`."""

    def __init__(self, way: Way, make: Callable[[bytes], Whom], path: Path | None) -> None:
        self._commands: Final = CommandWriter(way.commands, way.session.randomness)
        self._news: Final[dict[Stream, tuple[int, int]]] = {}  # low and high, not yet taken; bound: the known streams
        super().__init__(way, lambda found: Membership(make(found), way.verifier), path)

    @property
    def member(self) -> Whom:
        """The machine that speaks the protocol."""
        return self.part.member

    @property
    def name(self) -> Name:
        """The group's name."""
        return self.member.group

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream, ours included."""
        return self.member.latest()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Learned:
        await self.until(lambda: bool(self._news) or self.closed)
        if not self._news:
            raise StopAsyncIteration
        stream = next(iter(self._news))
        low, high = self._news.pop(stream)
        return Learned(stream, low, high)

    def command(self, command: Callable[[int], list[Effect]]) -> None:
        """Give the member a command, which takes the time and returns effects."""
        self.act(lambda now: self.part.act(command(now), now))

    def note(self, effect: Effect) -> bool:
        """Take in what the member tells; whether somebody may wait for it."""
        if not isinstance(effect, Learned):
            return False
        low, high = self._news.get(effect.stream, (effect.low, effect.high))
        self._news[effect.stream] = (min(low, effect.low), max(high, effect.high))
        return True

    def forget_news(self) -> None:
        """Drop the news of streams that are not known any more."""
        known = self.latest()
        for stream in [stream for stream in self._news if stream not in known]:
            del self._news[stream]

    async def before_start(self) -> None:
        """Have what we say sent to all members."""
        if self.member.multicast is not None:
            await choose_multicast(self._session, self._commands, self.member.multicast)
