"""A repo in this process, as applications see it: two groups in a chain, retention, notifications, policies."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
from tests.loops import run

from roost.cli import main
from roost.host import Face, Listen, connect
from roost.host.keystore import KeyStore
from roost.host.paths import home, node_socket
from roost.host.repo import RunningRepo, duty_of, running_repo
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.naming.conventions import sequence
from roost.naming.topic import TopicFilter
from roost.pubsub.repos.events import EVENTS, SNAPSHOT
from roost.pubsub.repos.permission import signer_of
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.cause import INSERT
from roost.repo.event import decode_event, decode_snapshot
from roost.repo.question import ASK, Latest, encode_question
from roost.repo.retention import Rule

ELECTRICITY, ENERGY = (Name.parse(f"/BigCompany/Building1/{system}") for system in ("Electricity", "Energy"))
VOLTAGE = ELECTRICITY / "Panel1" / "Heater" / "Voltage"
PROGRAM = sha256(b"mean of two").digest()


@pytest.fixture(autouse=True)
def building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0


@contextlib.asynccontextmanager
async def repo(*groups: Name, rules: tuple[Rule, ...] = ()) -> AsyncIterator[RunningRepo]:
    """Repo1 of some groups, in memory, on the socket where `connect` looks for a node."""
    keys, now = KeyStore(home()), time.time_ns()
    settings = RepoSettings(retention=rules)
    duties = [duty_of(keys, Group.at(group).repo("Repo1"), None, settings, now) for group in groups]
    async with running_repo(duties, Listen(unix=node_socket()), keys.verifier(now)) as running:
        yield running


async def publish(face: Face, low: int, high: int) -> None:
    async with face.group(ELECTRICITY).panel("Panel1") as panel:
        await panel.publish_many([("Heater/Voltage", number) for number in range(low, high + 1)])
        await panel.flush()


async def average(face: Face, target: Name, panel: str, low: int, pairs: int) -> None:
    """An aggregator: the mean of each two readings of one group, published into this or another one."""
    pair = []
    async with face.group(target).panel(panel) as meter:
        async for reading in face.group(ELECTRICITY).subscribe("+/+/Voltage", since=low):
            pair.append(reading)
            if len(pair) == 2:
                mean = sum(float(str(each.value)) for each in pair) / 2
                pairs -= 1
                await meter.publish("Heater/Mean", mean, unit="V", inputs=pair, program=PROGRAM)
                pair = []
            if not pairs:
                break
        await meter.flush()


def test_a_consumer_of_one_group_publishes_into_another_and_names_what_it_used() -> None:
    for key in (ENERGY, ENERGY / "Repo" / "Repo1", ENERGY / "Meter"):
        assert main(["keys", "make", str(key)]) == 0

    async def test() -> None:
        async with repo(ELECTRICITY, ENERGY) as running, connect() as face:
            await publish(face, 1, 4)
            await average(face, ENERGY, "Meter", low=1, pairs=2)
            means = await face.group(ENERGY).read("Meter/Heater/Mean")
            assert [mean.value for mean in means] == [1.5, 3.5]
            lineages = [mean.reading.lineage for mean in means if mean.reading is not None]
            named = [lineage.inputs for lineage in lineages if lineage is not None]
            assert named == [
                (numbered(VOLTAGE, 1), numbered(VOLTAGE, 2)),
                (numbered(VOLTAGE, 3), numbered(VOLTAGE, 4)),
            ]
            assert {lineage.program for lineage in lineages if lineage is not None} == {PROGRAM}
            assert [machine.name for machine in running.repos] == [
                ELECTRICITY / "Repo" / "Repo1",
                ENERGY / "Repo" / "Repo1",
            ]
            for group in (ELECTRICITY, ENERGY):  # each answers with the key it has for this group
                question = Group.at(group).service / ASK / encode_question(Latest(group))
                answer = await face.fetch(question, can_be_prefix=True, must_be_fresh=True)
                assert signer_of(answer.signature) == group / "Repo" / "Repo1"

    run(test)


def test_readings_are_dropped_only_when_the_aggregate_that_names_them_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.pubsub.repos.pruning.ROUND", 1)
    assert main(["keys", "make", str(ELECTRICITY / "Meter")]) == 0
    rule = Rule(TopicFilter("+/+/Voltage"), max_count=1, replaced_by=TopicFilter("+/+/Mean"))

    async def test() -> None:
        async with repo(ELECTRICITY, rules=(rule,)) as running, connect() as face:
            (machine,) = running.repos
            await publish(face, 1, 5)
            while machine.pruning.waiting != 1:  # noqa: ASYNC110  a round that dropped nothing has no event
                await asyncio.sleep(0.01)
            assert machine.shelf.holdings.dropped(VOLTAGE, 1, 5) == []
            await average(face, ELECTRICITY, "Meter", low=1, pairs=1)
            while not machine.shelf.holdings.dropped(VOLTAGE, 1, 5):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert machine.shelf.holdings.dropped(VOLTAGE, 1, 5) == [(1, 2)]
            assert [number for number, _ in machine.store.range(VOLTAGE, 1, 5, 9)] == [3, 4, 5]
            await average(face, ELECTRICITY, "Meter", low=3, pairs=1)
            while machine.shelf.holdings.dropped(VOLTAGE, 1, 5) != [(1, 4)]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    run(test)


def test_an_application_follows_the_notifications_and_repairs_a_gap_by_their_names() -> None:
    async def test() -> None:
        async with repo(ELECTRICITY) as running, connect() as face, connect() as other:
            (machine,) = running.repos
            place = machine.name / EVENTS
            first = asyncio.create_task(face.fetch(place, can_be_prefix=True, must_be_fresh=True))
            await publish(other, 1, 2)  # the first notification is answered when it is there
            stream = (await first).name.prefix(-1)
            told: list[Name] = []
            number = 1
            for low in (3, 5, 7):  # nobody listens
                await publish(other, low, low + 1)
            while numbered(VOLTAGE, 8) not in told:
                event = decode_event((await face.fetch(stream / sequence(number))).content)
                assert event.cause == INSERT or not [name for name in event.names if name.starts_with(VOLTAGE)]
                told += event.names
                number += 1
            assert [name for name in told if name.starts_with(VOLTAGE)] == [numbered(VOLTAGE, n) for n in range(1, 9)]
            newest = await face.fetch(place / SNAPSHOT, can_be_prefix=True, must_be_fresh=True)
            snapshot = decode_snapshot(newest.content)
            assert snapshot.covers >= number - 1
            assert numbered(VOLTAGE, 8) in snapshot.names

    run(test)


def test_a_sample_has_one_of_each_block_and_latest_passes_over_what_there_was_no_room_for() -> None:
    async def test() -> None:
        async with repo(ELECTRICITY), connect() as face, connect() as other:
            group = face.group(ELECTRICITY)
            async with (
                group.subscribe("+/+/Voltage", policy="latest", room=1) as newest,
                group.subscribe("+/+/Voltage", policy="sample(5)", since=1) as sampled,
            ):
                await newest.subscribed()
                await publish(other, 1, 50)
                shown = [(await anext(newest)).number]
                while shown[-1] != 50:
                    shown.append((await anext(newest)).number)
                assert shown == sorted(set(shown))
                assert len(shown) <= 3
                taken = [(await anext(sampled)).number for _ in range(10)]
                assert [(number - 1) // 5 for number in taken] == list(range(10))

    run(test)
