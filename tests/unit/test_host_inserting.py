"""Inserting as pipelines do it: a repo in this process, packets that were signed before, tried again and again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import pytest
from tests.loops import run

from roost.cli import main
from roost.errors import InvalidInput, Unreachable
from roost.host import Listen, connect, connect_sync
from roost.host.inserting import RunningInserter
from roost.host.keystore import KeyStore
from roost.host.paths import home, node_socket
from roost.host.repo import RunningRepo, duty_of, running_repo
from roost.machine import Effect
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.pubsub.orders import Outcome
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.cause import REPLICATION
from roost.trust import KeyChain
from roost.wire import Data, make_data
from roost.wire.digest import DigestSigner
from roost.wire.reading import TEXT, Reading

GROUP = Name.parse("/BigCompany/Building1/Electricity")
STREAM = GROUP / "Panel1" / "Heater" / "Mean"


@pytest.fixture(scope="module")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with keys, made once: what is published stays in memory."""
    folder = tmp_path_factory.mktemp("building")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("ROOST_HOME", str(folder / "roost"))
        assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0
    return folder


@pytest.fixture(autouse=True)
def building(monkeypatch: pytest.MonkeyPatch, made_home: Path) -> None:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(made_home))
    monkeypatch.setenv("ROOST_HOME", str(made_home / "roost"))


@contextlib.asynccontextmanager
async def repo() -> AsyncIterator[RunningRepo]:
    keys, now = KeyStore(home()), time.time_ns()
    duty = duty_of(keys, Group.at(GROUP).repo("Repo1"), None, RepoSettings(), now)
    async with running_repo([duty], Listen(unix=node_socket()), keys.verifier(now)) as running:
        yield running


@contextlib.asynccontextmanager
async def inserting() -> AsyncIterator[tuple[RunningRepo, RunningInserter]]:
    async with repo() as running, connect() as face, face.group(GROUP).inserter("Panel1") as inserter:
        yield running, inserter


@cache
def keys_at(folder: Path) -> KeyChain:
    return KeyStore(folder).keychain()


def packet(number: int, text: str = "", freshness_ms: int = 1000) -> Data:
    """A reading that is always the same: nothing in it comes from a clock."""
    name = numbered(STREAM, number)
    content = Reading(number, TEXT, (text or f"value {number}").encode()).encode()
    return make_data(name, content, keys_at(home()).signer_for(name, time.time_ns()), freshness_ms=freshness_ms)


def test_what_is_inserted_is_there_once_however_often_it_is_tried() -> None:
    packets = [packet(number) for number in range(1, 301)]

    async def test() -> None:
        async with inserting() as (running, inserter):
            (machine,) = running.repos
            assert await inserter.insert(packets[:200]) == Outcome(kept=200)
            both = tuple(await asyncio.gather(inserter.insert(packets), inserter.insert(packets[100:])))
            assert both == (Outcome(kept=300), Outcome(kept=200))
            assert machine.shelf.holdings.of(STREAM).held == [(1, 300)]
            assert [wire for _, wire in machine.store.range(STREAM, 1, 300, 300)] == [each.wire for each in packets]
            assert await inserter.insert([]) == Outcome()

    run(test)


def test_another_content_under_a_name_is_a_conflict_and_the_same_by_another_key_is_present() -> None:
    first, second = packet(1), packet(2)
    again = packet(2, freshness_ms=5)  # other bytes are signed, as another key would have it
    assert again.wire != second.wire

    async def test() -> None:
        async with inserting() as (running, inserter):
            (machine,) = running.repos
            assert await inserter.insert([first, second]) == Outcome(kept=2)
            outcome = await inserter.insert([packet(1, "something else"), again, packet(3)])
            assert (outcome.kept, outcome.present, outcome.refused) == (1, 1, ())
            ((name, reason),) = outcome.conflicts
            assert name == first.name
            assert "content is not that" in reason
            assert machine.store.get(first.name) == first.wire
            assert machine.store.get(second.name) == second.wire

    run(test)


def test_what_was_dropped_is_not_published_again() -> None:
    async def test() -> None:
        async with inserting() as (running, inserter):
            (machine,) = running.repos
            await inserter.insert([packet(1), packet(2)])
            gone = asyncio.Event()

            def then(_refusals: list[str], _now: int) -> list[Effect]:
                gone.set()
                return []

            running.act(machine, machine.shelf.drop([packet(1).name], then, time.time_ns(), cause=REPLICATION))
            await gone.wait()
            assert await inserter.insert([packet(1), packet(2)]) == Outcome(kept=1, dropped=1)

    run(test)


def test_packets_of_other_panels_are_not_inserted_and_what_nobody_signed_is_refused_with_the_rule() -> None:
    async def test() -> None:
        async with inserting() as (_, inserter):
            with pytest.raises(InvalidInput, match="not of"):
                await inserter.insert([make_data(GROUP / "Panel2" / "x" / "y", b"", DigestSigner())])
            unsigned = make_data(numbered(STREAM, 2), b"", DigestSigner())
            outcome = await inserter.insert([packet(1), unsigned])
            assert outcome.kept == 1
            ((name, reason),) = outcome.refused
            assert name == unsigned.name
            assert "#reading" in reason

    run(test)


def test_who_finds_no_repo_is_told_how_many_wait_and_can_try_again() -> None:
    async def test() -> None:
        async with connect() as face, face.group(GROUP).inserter("Panel1", timeout_s=0.2) as inserter:
            with pytest.raises(Unreachable, match=r"2 readings wait, and no repo of .* confirmed any for 0\.2 s"):
                await inserter.insert([packet(1), packet(2)])
            assert len(inserter.part.orders) == 0

    run(test)


def test_an_insert_waits_for_a_repo_that_comes_back() -> None:
    async def test() -> None:
        async with contextlib.AsyncExitStack() as later:
            async with repo():
                face = await later.enter_async_context(connect())
                inserter = await later.enter_async_context(face.group(GROUP).inserter("Panel1"))
                assert await inserter.insert([packet(1)]) == Outcome(kept=1)
            inserting = asyncio.create_task(inserter.insert([packet(number) for number in range(1, 101)]))
            await asyncio.sleep(0)  # it has begun, and nobody is there
            running = await later.enter_async_context(repo())
            assert await inserting == Outcome(kept=100)
            assert running.repos[0].shelf.holdings.of(STREAM).held == [(1, 100)]

    run(test)


def test_a_notebook_inserts_without_await() -> None:
    ready, stop = asyncio.Event(), asyncio.Event()

    async def serve() -> None:
        async with repo():
            ready.set()
            await stop.wait()

    async def test() -> None:
        serving = asyncio.create_task(serve())
        await ready.wait()

        def work() -> Outcome:
            with connect_sync() as face, face.group(GROUP).inserter("Panel1") as inserter:
                return inserter.insert([packet(1), packet(2)])

        assert await asyncio.to_thread(work) == Outcome(kept=2)
        stop.set()
        await serving

    run(test)
