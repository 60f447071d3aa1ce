"""Other repos as this node knows them: whether they answer, how many readings they lack, and when they are silent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.gateway_world import GROUP, Beside, bring
from tests.loops import run

from roost.errors import Backpressure
from roost.forwarding.pending import Question
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.repos.repo import Repo
from roost.repo.cause import INSERT
from roost.repo.question import Streams, encode_streams
from roost.repo.record import Held, encode_named
from roost.web.api import neighbours
from roost.web.api.neighbours import GRACE, SILENT, Neighbours, RepoState
from roost.web.index import Index
from roost.wire import Data, DigestSigner, make_data

TEMP = GROUP.panel("Panel1").name + Name.parse("/room1/temp")
HUM = GROUP.panel("Panel1").name + Name.parse("/room1/hum")
OTHER = GROUP.repo("Repo2").name


class World:
    """A repo with messages in it, and another one that says how far it is."""

    def __init__(self) -> None:
        self.beside = Beside()
        self.index = Index()
        self.group = self.index.add_group(self.beside.repo)
        self.beside.repo.peers.add(OTHER)
        self.says: int | None = None  # how many of our records it has; None: it is silent
        self.content: bytes | None = None  # in place of that
        self.trouble: Exception | None = None
        self.neighbours = Neighbours(self.index, lambda: self.beside.now, self.ask)  # type: ignore[arg-type]

    async def ask(self, question: Question) -> Data | None:
        assert question.name.starts_with(OTHER)
        if self.trouble is not None:
            raise self.trouble
        if self.content is not None:
            return make_data(question.name, self.content, DigestSigner())
        if self.says is None:
            return None
        told = Streams(((self.beside.repo.name, self.says),) if self.says else ())
        return make_data(question.name, encode_streams(told), DigestSigner())

    async def look(self, after: int = 0) -> RepoState:
        if after:
            self.neighbours._note(self.group)
            self.beside.now += after
        await self.neighbours._look_at(self.group, OTHER)
        return self.state()

    def state(self) -> RepoState:
        ours, other = self.neighbours.repos(self.group, self.beside.now)
        assert (ours.here, ours.health, ours.lag) == (True, "ok", 0)
        return other

    def record(self, number: int, *held: Held, names: Sequence[Name] = ()) -> None:
        """Have our repo tell of what it took in."""
        [content] = encode_named(held, names, INSERT)
        bring(self.beside, make_data(numbered(self.beside.repo.name, number), content, DigestSigner()))


def test_a_repo_that_has_all_our_records_is_well_and_one_that_lacks_some_lags_by_their_readings() -> None:
    async def test() -> None:
        world = World()
        world.record(1, Held(TEMP, 1, 10))
        world.record(2, Held(TEMP, 11, 15), Held(HUM, 1, 2), names=[HUM / "KEY"])
        world.says = 2
        state = await world.look()
        assert (state.name, state.health, state.lag, state.seen) == ("Repo2", "ok", 0, world.beside.now)
        world.says = 1
        state = await world.look(after=GRACE - 1)
        assert (state.health, state.lag) == ("ok", 8), "they are on their way"
        state = await world.look(after=1)
        assert (state.health, state.lag) == ("lagging", 8)
        world.says = 0
        assert (await world.look()).lag == 18
        world.says = 2
        assert (await world.look()).health == "ok"

    run(test)


def test_a_repo_that_goes_along_with_a_stream_that_never_rests_does_not_lag() -> None:
    async def test() -> None:
        world = World()
        for number in range(1, 30):
            world.record(number, Held(TEMP, number, number))
            world.says = number - 1
            state = await world.look(after=SECOND)
            assert (state.health, state.lag) == ("ok", 1)
        world.says = 10
        assert (await world.look()).health == "lagging"
        assert len(world.neighbours._told[GROUP.name]) <= GRACE // SECOND + 2

    run(test)


class Lacking:
    """A repo that lacks three records of another one."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.replication = self

    def lacking(self, _: Name) -> int:
        return 3

    def __getattr__(self, name: str) -> object:
        return getattr(self._repo, name)


def test_our_own_repo_lags_as_late_as_others() -> None:
    world = World()
    world.group.repo = Lacking(world.beside.repo)  # type: ignore[misc, assignment]
    found = []
    for _ in range(3):
        world.neighbours._note(world.group)
        found += [(each.health, each.lag) for each in world.neighbours.repos(world.group, world.beside.now)[:1]]
        world.beside.now += GRACE // 2
    assert found == [("ok", 3), ("ok", 3), ("lagging", 3)], "what is on its way is no trouble"


def test_records_that_are_many_or_cannot_be_read_count_as_a_reading_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "MAX_RECORDS", 1)

    async def test() -> None:
        world = World()
        world.record(1, Held(TEMP, 1, 10))
        world.record(2, Held(TEMP, 11, 15))
        world.says = 0
        assert (await world.look()).lag == 11

    run(test)


def test_a_repo_is_unknown_at_first_silent_after_a_while_and_well_when_it_answers() -> None:
    async def test() -> None:
        world = World()
        assert world.state().health == "unknown"
        assert (await world.look()).health == "unknown"
        world.beside.now += SILENT + SECOND
        state = await world.look()
        assert (state.health, state.seen) == ("silent", None)
        world.says = world.beside.repo.shelf.holdings.highest(world.beside.repo.name)
        answered = world.beside.now
        assert (await world.look()).health == "ok"
        world.says = None
        world.beside.now += SILENT // 2
        assert (await world.look()).health == "ok", "it may be busy"
        world.beside.now += SILENT
        state = await world.look()
        assert (state.health, state.seen) == ("silent", answered)

    run(test)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"\xbb\x03abc"])
def test_an_answer_that_is_none_is_no_answer(content: bytes) -> None:
    async def test() -> None:
        world = World()
        world.content = content
        assert (await world.look()).seen is None

    run(test)


def test_too_many_questions_at_once_are_asked_later() -> None:
    async def test() -> None:
        world = World()
        world.trouble = Backpressure("full", 1000)
        assert (await world.look()).seen is None

    run(test)


def test_repos_whose_records_are_here_are_known_before_they_speak() -> None:
    world = World()
    world.beside.repo.shelf.holdings.add(GROUP.repo("Repo3").name, 1, 100)
    names = [state.name for state in world.neighbours.repos(world.group, world.beside.now)]
    assert names == ["Repo1", "Repo2", "Repo3"]


def test_all_are_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "EVERY_S", 0)

    async def test() -> None:
        world = World()
        asked: list[Question] = []
        enough = asyncio.Event()

        async def ask(question: Question) -> Data | None:
            asked.append(question)
            if len(asked) == 3:
                enough.set()
            await asyncio.sleep(0)
            return None

        world.neighbours._ask = ask  # type: ignore[misc]
        looking = asyncio.create_task(world.neighbours.look())
        await enough.wait()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)

    run(test)
