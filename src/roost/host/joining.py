"""Groups for people: `async with face.join("/group") as group`, and `face.follow` for partial sync.

number = await group.produce("/me")      the number to go on with, after a restart too
await group.announce("/me", number)      returns once it is on the disk and the group is being told
async for learned in group: ...          what others have announced; news of a stream not yet taken are joined

What must not be forgotten of a group is kept in one file per group and protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.errors import InvalidInput
from roost.host.group import Group
from roost.host.paths import home
from roost.host.residence import Way
from roost.machine import Effect
from roost.naming import Name, NameLike, as_name
from roost.sync.port import Announced, Member, Ready
from roost.sync.psync_consumer import PSyncConsumer
from roost.sync.subscriptions import NameRange

_READABLE: Final = 80  # characters of a group's name in the name of its file


class Joined(Group[Member]):
    """A group we are a member of."""

    def __init__(self, way: Way, make: Callable[[bytes], Member], path: Path | None) -> None:
        super().__init__(way, make, path)
        self._next: Final[dict[Name, int]] = {}  # with which our streams go on; bound: the ledger's
        self._told_next: Final[dict[Name, int]] = {}  # as far as our caller knows; bound: as above

    async def produce(self, stream: NameLike) -> int:
        """Make a stream ours; returns the number to go on with. The same stream must not be produced elsewhere."""
        name = as_name(stream)
        if name not in self._next:
            self.command(lambda now: self.member.produce(name, now))
        await self.until(lambda: name in self._next)
        self._told_next[name] = self._next[name]
        return self._next[name]

    async def announce(self, stream: NameLike, high: int) -> None:
        """Tell the group that a stream of ours has come to `high`; store what it stands for before, serve it after.

        A number that was announced before is no news and returns at once. Raises `InvalidInput` if it turns out that
        the group knows numbers behind the one to go on with, from a time that our disk has forgotten: they must not be
        given twice, and `produce` says how to go on.
        """
        name = as_name(stream)
        if name not in self._told_next:
            raise InvalidInput(f"{name} is not ours: call `produce` first, which says with which number to go on")
        if high < self._told_next[name]:
            return
        if not self._surprised(name):
            self.command(lambda now: self.member.announce(name, high, now))
            await self.until(lambda: self._told_next[name] > high or self._surprised(name))
        if self._surprised(name):
            raise InvalidInput(
                f"the group knows {name} up to {self._next[name] - 1} already, which our disk does not: "
                "`produce` says with which number to go on"
            )

    def note(self, effect: Effect) -> bool:
        """Take in what the member tells."""
        if isinstance(effect, Ready):
            self._next[effect.stream.name] = effect.number
        elif isinstance(effect, Announced):
            self._next[effect.stream.name] = self._told_next[effect.stream.name] = effect.high + 1
        else:
            return super().note(effect)
        return True

    def _surprised(self, name: Name) -> bool:
        """Whether others knew numbers that our caller would have given next."""
        return self._next[name] > self._told_next[name]


class Followed(Group[PSyncConsumer]):
    """A producer's streams, of which we follow some."""

    def subscribe(self, wanted: NameLike | NameRange) -> None:
        """Follow more; what there is of it already is learnt too."""
        self.command(lambda now: self.member.subscribe(_wanted(wanted), now))

    def unsubscribe(self, wanted: NameLike | NameRange) -> None:
        """Follow it no longer."""
        self.command(lambda now: self.member.unsubscribe(_wanted(wanted), now))
        self.forget_news()

    def available(self) -> Mapping[Name, int]:
        """Every stream the producer has (with ranges: in them), and its number, as it said when we last asked."""
        return self.member.available()


Reached = TypeVar("Reached", bound=Group[Any])


def _wanted(wanted: NameLike | NameRange) -> Name | NameRange:
    return wanted if isinstance(wanted, NameRange) else as_name(wanted)


def group_file(folder: Path | str | None, group: Name, kind: str) -> Path:
    """Where what we must not forget of a group is kept; the digest tells groups apart whose names look alike."""
    readable = "".join([letter if letter.isalnum() else "-" for letter in str(group)[1:]])[:_READABLE]
    digest = sha256(group.value).hexdigest()[:8]
    return (home() / "sync" if folder is None else Path(folder)) / f"{readable}-{digest}.{kind}"
