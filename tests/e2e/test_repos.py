"""Three repos as processes, a panel and a consumer: what is confirmed is kept and delivered, whatever fails."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path

import pytest
from tests.hall import GROUP, Hall, RepoProcess, three_repos

from roost.errors import Unreachable
from roost.host import Face, connect
from roost.host.keystore import KeyStore
from roost.host.publishing import RunningPanel
from roost.host.streams import StreamGroup
from roost.host.subscribing import Subscription
from roost.naming import Name
from roost.wire import DigestSigner

STREAM = "room1/temp"
WHOLE = Name.parse(f"{GROUP.name}/pi1/{STREAM}")


@pytest.fixture
def hall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hall:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "nobody"))
    return Hall(tmp_path)


def run(test: Callable[[], Coroutine[None, None, None]], limit_s: float = 90) -> None:
    """Run a test; an exception in a callback, which asyncio would only log, fails it."""
    troubles: list[dict[str, object]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context))
        async with asyncio.timeout(limit_s):
            await test()

    asyncio.run(main())
    assert troubles == []


@contextlib.asynccontextmanager
async def at(hall: Hall, who: str, *repos: RepoProcess) -> AsyncIterator[Face]:
    """A face of somebody to some repos, the first one first."""
    keys = KeyStore(hall.home(who))
    now = time.time_ns()
    signer = keys.keychain() if who != "reader" else DigestSigner()
    uris = [repo.uri for repo in repos]
    async with connect(uris if len(uris) > 1 else uris[0], verifier=keys.verifier(now), signer=signer) as face:
        yield face


def group_of(face: Face) -> StreamGroup:
    return face.group(GROUP.name)


async def held(hall: Hall, repo: RepoProcess, count: int) -> list[float]:
    """The values of the stream as one repo has them, once it has so many."""
    async with at(hall, "reader", repo) as face:
        group = group_of(face)
        while True:
            with contextlib.suppress(Unreachable):  # there is a hole, which it will fill
                readings = await group.read(WHOLE, repo=repo.name)
                if len(readings) >= count:
                    assert [reading.number for reading in readings] == list(range(1, count + 1))
                    return [float(str(reading.value)) for reading in readings]
            await asyncio.sleep(0.02)


async def take(subscription: Subscription, count: int) -> list[int]:
    return [(await anext(subscription)).number for _ in range(count)]


async def publish(panel: RunningPanel, low: int, high: int) -> None:
    for number in range(low, high + 1):
        assert await panel.publish(STREAM, number, unit="Cel") == number


def test_panels_and_consumers_go_on_with_another_repo_when_theirs_is_killed(hall: Hall, tmp_path: Path) -> None:
    async def test() -> None:
        with three_repos(hall) as repos:
            async with (
                at(hall, "pi1", *repos) as face,
                at(hall, "reader", *repos) as reader,
                group_of(face).panel("pi1", folder=tmp_path) as panel,
                group_of(reader).subscribe("+/+/temp") as subscription,
            ):
                await subscription.subscribed()
                await publish(panel, 1, 50)
                assert await take(subscription, 50) == list(range(1, 51))
                for repo in repos:
                    assert await held(hall, repo, 50) == list(range(1, 51))
                repos[0].kill()
                await publish(panel, 51, 100)
                await panel.flush()
                assert await take(subscription, 50) == list(range(51, 101))
            repos[0].start()
            for repo in repos:
                assert await held(hall, repo, 100) == list(range(1, 101))

    run(test)


def test_what_a_repo_confirmed_and_could_not_pass_on_before_it_was_killed_is_delivered_when_it_is_back(
    hall: Hall, tmp_path: Path
) -> None:
    count = 300

    async def test() -> None:
        with three_repos(hall) as repos:
            async with (
                at(hall, "pi1", *repos) as face,
                at(hall, "reader", *repos) as reader,
                group_of(face).panel("pi1", folder=tmp_path) as panel,
                group_of(reader).subscribe("+/+/temp") as subscription,
            ):
                await subscription.subscribed()
                publishing = asyncio.create_task(publish(panel, 1, count))
                taken = await take(subscription, count // 3)
                repos[0].kill()
                await publishing
                await panel.flush()  # with the help of others
                repos[0].start()
                assert taken + await take(subscription, count - len(taken)) == list(range(1, count + 1))
                assert panel.refused() == []
            for repo in repos:
                assert await held(hall, repo, count) == list(range(1, count + 1))

    run(test)


def test_what_two_repos_confirmed_is_there_although_the_one_in_use_burnt_down(hall: Hall, tmp_path: Path) -> None:
    async def test() -> None:
        with three_repos(hall) as repos:
            async with (
                at(hall, "pi1", *repos) as face,
                group_of(face).panel("pi1", folder=tmp_path, copies=2) as panel,
            ):
                await publish(panel, 1, 50)
                await panel.flush()
                repos[0].kill()
                shutil.rmtree(hall.store(repos[0].name))
            for repo in repos[1:]:
                assert await held(hall, repo, 50) == list(range(1, 51))

    run(test)


def test_a_repo_replaced_by_an_empty_one_has_everything_again(hall: Hall, tmp_path: Path) -> None:
    async def test() -> None:
        with three_repos(hall) as repos:
            async with at(hall, "pi1", *repos) as face, group_of(face).panel("pi1", folder=tmp_path) as panel:
                await publish(panel, 1, 100)
                await panel.flush()
            for repo in repos:
                await held(hall, repo, 100)
            repos[0].kill()
            shutil.rmtree(hall.store(repos[0].name))
            repos[0].start()
            assert await held(hall, repos[0], 100) == list(range(1, 101))

    run(test)


def test_a_block_that_was_damaged_on_the_disk_is_fetched_again_from_another_repo(hall: Hall, tmp_path: Path) -> None:
    async def test() -> None:
        with three_repos(hall) as repos:
            damaged = repos[0]
            async with at(hall, "pi1", *repos) as face, group_of(face).panel("pi1", folder=tmp_path) as panel:
                await panel.publish_many([(STREAM, number) for number in range(1, 101)])
                await panel.flush()
            for repo in repos:
                await held(hall, repo, 100)
            damaged.stop()
            damaged.start()  # which writes its log to tables
            damaged.stop()
            assert flip(hall.store(damaged.name)) > 0
            damaged.start()
            assert await held(hall, damaged, 100) == list(range(1, 101))

    run(test)


def flip(store: Path) -> int:
    """Flip a byte in the first half of every table of a store; says in how many."""
    tables = list(store.rglob("*.sst"))
    for table in tables:
        content = bytearray(table.read_bytes())
        content[len(content) // 4] ^= 0xFF
        table.write_bytes(content)
    return len(tables)


def test_while_the_disk_of_the_repo_is_full_the_panel_keeps_its_readings_and_goes_on_when_there_is_room(
    hall: Hall, tmp_path: Path
) -> None:
    count = 2000
    repo = RepoProcess(hall, "repo1")
    readings = [(STREAM, number) for number in range(1, count + 1)]

    async def test() -> None:
        repo.start(limit_bytes=100_000)  # no file of it gets larger
        async with at(hall, "pi1", repo) as face, group_of(face).panel("pi1", folder=tmp_path) as panel:
            await panel.publish_many(readings)
            while not panel.part.dispatch.failed:  # noqa: ASYNC110  a counter has no event
                await asyncio.sleep(0.02)
            assert 0 < panel.part.acknowledged < count
            assert panel.waiting == count - panel.part.acknowledged
            repo.stop()
            repo.start()
            await panel.flush()
            assert panel.refused() == []
        assert await held(hall, repo, count) == list(range(1, count + 1))

    try:
        run(test)
    finally:
        repo.close()
