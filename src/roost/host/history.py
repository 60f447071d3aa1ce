"""What a group's repos have: the newest reading, a stretch of a stream, the catalogue. Everything is verified.

Questions go to any repo of the group, or to one (`repo="Repo1"`). They are those of `roost.repo.question`; what is said
of the newest is said by a repo at that moment, and never by a cache: who has just published finds it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from roost.errors import Nacked, Unreachable
from roost.naming import Name
from roost.naming.building import REPO, Group, numbered
from roost.pubsub.consumers.arrival import Arrival, arrival_of
from roost.repo.catalogue import Catalogue, catalogue_of
from roost.repo.question import ASK, Asked, Bundle, Bundled, Latest, decode_bundle, decode_streams, encode_question
from roost.wire import Data

_PER_QUESTION: Final = 64  # readings; what does not fit an answer is asked for again


class Fetch(Protocol):
    """`Face.fetch`."""

    async def __call__(
        self, name: Name, *, can_be_prefix: bool = ..., must_be_fresh: bool = ..., hints: tuple[Name, ...] = ...
    ) -> Data: ...


class History:
    """Asks the repos of one group; `verify` checks what came inside an answer, `where` says over which face.

    `opened` opens what is sealed, as far as the keys of that face do.
    """

    def __init__(
        self,
        group: Group,
        fetch: Fetch,
        verify: Callable[[Data], Awaitable[None]],
        clock: Callable[[], int],
        where: Callable[[], str],
        opened: Callable[[Arrival], Awaitable[Arrival]],
    ) -> None:
        self._group: Final = group
        self._fetch: Final = fetch
        self._verify: Final = verify
        self._clock: Final = clock
        self._where: Final = where
        self._opened: Final = opened

    async def streams(self, prefix: Name, repo: str | None = None) -> dict[Name, int]:
        """All streams at or below a prefix, each with its highest number; repos' own records only if asked for."""
        records = self._group.name / REPO
        found: dict[Name, int] = {}
        after: Name | None = None
        while True:
            streams = decode_streams((await self.ask(Latest(prefix, after, self._clock()), repo)).content)
            found.update(
                (stream, number)
                for stream, number in streams.entries
                if prefix.starts_with(records) or not stream.starts_with(records)
            )
            if not streams.more or not streams.entries:
                return found
            after = streams.entries[-1][0]

    async def latest(self, stream: Name, repo: str | None = None) -> Arrival | None:
        """The newest reading of a stream, None if there is none."""
        number = (await self.streams(stream, repo)).get(stream, 0)
        readings = await self.read(stream, number, number, repo) if number else []
        return readings[0] if readings else None

    async def read(self, stream: Name, low: int, high: int | None, repo: str | None = None) -> list[Arrival]:
        """The readings low to high of a stream, or to the newest; without those that were dropped on purpose."""
        last = (await self.streams(stream, repo)).get(stream, 0)
        last = last if high is None else min(high, last)
        found: list[Arrival] = []
        number = low
        while number <= last:
            asked = Bundle(stream, number, min(last, number + _PER_QUESTION - 1))
            bundled = decode_bundle((await self.ask(asked, repo)).content, asked)
            following = _behind(bundled, number)
            readings = [(each, data) for each, data in bundled.readings if each < following]
            for _, data in readings:
                await self._verify(data)
            if following == number:  # too large for a bundle, or on its way from another repo: the name says
                readings = [(number, await self._one(numbered(stream, number), repo))]
                following += 1
            found += [await self._opened(arrival_of(stream, each, data, self._clock())) for each, data in readings]
            number = following
        return found

    async def catalogue(self, repo: str | None = None) -> Catalogue:
        """What the panels say about their streams."""
        catalogue = Catalogue(self._group.name)
        for stream in await self.streams(self._group.name, repo):
            if stream == catalogue_of(stream.prefix(-2)):
                for arrival in await self.read(stream, 1, None, repo):
                    catalogue.take(arrival.data.name, arrival.data.content)
        return catalogue

    async def _one(self, name: Name, repo: str | None) -> Data:
        try:
            return await self._fetch(name, hints=(self._prefix(repo),))
        except Unreachable as error:
            where = "the repo that was asked" if repo is None else repo
            raise Unreachable(
                f"{where} has later readings than {name}, but not this one: it fetches what it lacks from other repos, "
                f"so try again soon ({error})"
            ) from None

    def _prefix(self, repo: str | None) -> Name:
        return self._group.service if repo is None else self._group.repo(repo).name

    async def ask(self, question: Asked, repo: str | None = None) -> Data:
        """Ask what `roost.repo.question` has words for; the answer is verified."""
        name = self._prefix(repo) / ASK / encode_question(question)
        try:
            return await self._fetch(name, can_be_prefix=True, must_be_fresh=True)
        except Nacked:
            who = "no repo" if repo is None else f"no repo {repo}"
            raise Unreachable(
                f"{who} of {self._group.name} can be reached over {self._where()}: check the group's name, and that a "
                "repo runs and this face leads to it"
            ) from None


def _behind(bundled: Bundled, number: int) -> int:
    """The first number from this one on that a bundle says nothing of."""
    runs = sorted([*bundled.dropped, *[(each, each) for each, _ in bundled.readings]])
    for low, high in runs:
        if low > number:
            break
        number = max(number, high + 1)
    return number
